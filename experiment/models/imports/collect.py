"""Collection of the replies of all files of one import, with the problems of each file."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from batteries.errors import InputError
from experiment.models.imports import anthropic_batch, inspect_log, openai_batch
from experiment.models.imports.column_map import ColumnMap
from experiment.models.imports.logprob_choice import with_logprob_choice
from experiment.models.imports.recognise import STORED_BLACKBOX, Format, recognise
from experiment.models.imports.replies import ImportedReply, Problem, ProblemKind, storable
from experiment.models.imports.runs import ImportedRuns
from experiment.models.imports.spool import LOGPROB, Spool, run_key
from experiment.models.imports.stored_blackbox import read_stored_runs
from experiment.models.imports.study_items import StudyItems
from experiment.study.definition import Study

_N_NAMED = 3
"""Number of problems of each kind that the report of a file describes."""
_LONGEST_DETAIL = 120


@dataclass
class FileReport:
    """The problems of one file."""

    path: Path
    format: str
    n_replies: int = 0
    n_repeated: int = 0
    """Number of lines that repeat the reply of another line."""
    counts: Counter[ProblemKind] = field(default_factory=Counter)
    named: dict[ProblemKind, list[Problem]] = field(default_factory=dict)
    """The first problems of each kind."""

    def add(self, problem: Problem) -> None:
        """Count a problem."""
        self.counts[problem.kind] += 1
        named = self.named.setdefault(problem.kind, [])
        if len(named) < _N_NAMED:
            named.append(problem)

    def sentences(self) -> list[str]:
        """Return a sentence for each kind of problem."""
        said = [
            f"{self.path}: {n:,} {_lines(n)} {kind.value if n > 1 else _singular(kind)} "
            f"({'; '.join(map(_named, self.named[kind]))}{'; ...' if n > _N_NAMED else ''})."
            for kind, n in sorted(self.counts.items())
        ]
        if self.n_repeated:
            n = self.n_repeated
            said.append(f"{self.path}: {n:,} {_lines(n)} {'repeats' if n == 1 else 'repeat'} the same reply.")
        return said


def _lines(n: int) -> str:
    return "line" if n == 1 else "lines"


def _singular(kind: ProblemKind) -> str:
    verb, space, rest = kind.value.partition(" ")
    return {"are": "is", "belong": "belongs", "have": "has"}.get(verb, verb) + space + rest


def _named(problem: Problem) -> str:
    request = f", `{storable(problem.request)[:80]}`" if problem.request else ""
    detail = " ".join(storable(problem.detail).split())
    shown = detail if len(detail) <= _LONGEST_DETAIL else f"{detail[:_LONGEST_DETAIL]}..."
    return f"line {problem.line}{request}: {shown.rstrip('.')}"


@dataclass
class Collected:
    """The runs of an import, and the problems of its files."""

    runs: ImportedRuns
    reports: list[FileReport]
    other_batteries: Counter[str]
    """Number of lines for each battery that is not the study's.

    The key is the first eight digits of the battery's digest.
    """


@contextmanager
def collected(
    study: Study,
    paths: Sequence[Path],
    column_map: ColumnMap | None = None,
    advance: Callable[[], None] = lambda: None,
    choice: str | None = None,
) -> Iterator[Collected]:
    """Read all files of an import, and yield the runs. The replies are in a temporary file until the `with` block ends.

    Parameters
    ----------
    study
        The study whose items the models were asked.
    paths
        The files, in any order.
    column_map
        The map that says what the columns of the files contain; None if the format of the files says this.
    advance
        Function to call after each file.
    choice
        `logprob` to take the response from the log-probabilities; None to read the response in each reply.

    Raises
    ------
    InputError
        If a file cannot be read, or its format is unknown; with `choice`, also if a file has no log-probabilities.
    """
    items = StudyItems(study)
    formats = [recognise(path, items, column_map) for path in paths]
    if choice == LOGPROB:
        _check_formats(items, paths, formats)
    blackbox = [path for path, found in zip(paths, formats, strict=True) if found.name == STORED_BLACKBOX]
    stored = read_stored_runs(study, blackbox)
    other_batteries = Counter[str]()
    with closing(Spool(study.battery.canary)) as spool:
        reports = []
        for path, found in zip(paths, formats, strict=True):
            if found.read is not None:
                reports.append(_read_file(path, found, items, spool, other_batteries, choice))
            advance()
        yield Collected(ImportedRuns(items, spool, stored), reports, other_batteries)


def _check_formats(items: StudyItems, paths: Sequence[Path], formats: Sequence[Format]) -> None:
    """Raise an InputError if a file's format has no log-probabilities of tokens, or an item is not multiple choice."""
    for item in items.items:
        if item.task != "multiple_choice":
            raise InputError(
                f"--choice logprob: the item `{item.item_id}` has the task {item.task}. Only multiple_choice has a "
                "choice by log-probability. Fix: omit --choice."
            )
    for path, found in zip(paths, formats, strict=True):
        if found.name not in {openai_batch.NAME, inspect_log.NAME}:
            source = "the API of Anthropic" if found.name == anthropic_batch.NAME else f"the format {found.name}"
            raise InputError(
                f"{path}: {source} has no log-probabilities of a reply's tokens. Fix: import this file without "
                "--choice logprob."
            )


def _read_file(
    path: Path, found: Format, items: StudyItems, spool: Spool, other_batteries: Counter[str], choice: str | None
) -> FileReport:
    assert found.read is not None
    report = FileReport(path, found.name)
    file_time = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    has_logprobs = False
    for record in found.read():
        if isinstance(record, ImportedReply):
            has_logprobs = has_logprobs or bool(record.logprobs)
            problem = _add_reply(record, report, items, spool, file_time, choice)
        else:
            problem = _checked_problem(record, items, spool)
        if problem is not None:
            report.add(problem)
            if problem.battery is not None:
                other_batteries[problem.battery] += 1
    if choice == LOGPROB and report.n_replies and not has_logprobs:
        raise InputError(
            f"{path}: no reply has log-probabilities. Fix: write the requests with --logprobs, or import this file "
            "without --choice logprob."
        )
    return report


def _add_reply(
    reply: ImportedReply,
    report: FileReport,
    items: StudyItems,
    spool: Spool,
    file_time: datetime,
    choice: str | None,
) -> Problem | None:
    item = items.find(reply.line, reply.request)
    if isinstance(item, Problem):
        return item
    if choice == LOGPROB:
        reply = with_logprob_choice(reply, items.items[item.position])
    is_new = spool.add(run_key(report.format, reply, item.request, choice), item.position, reply, file_time)
    if is_new is False:
        detail = "the earlier reply is kept"
        return Problem(reply.line, ProblemKind.DIFFERENT_DUPLICATE, detail, reply.request)
    report.n_replies += 1
    report.n_repeated += is_new is None
    return None


def _checked_problem(problem: Problem, items: StudyItems, spool: Spool) -> Problem:
    """Return the problem of a line. If a request of this study failed, also note the failure in the database.

    If the failed request does not belong to this study, return a problem that says so instead of the failure.
    """
    if problem.kind is not ProblemKind.FAILED or problem.request is None:
        return problem
    item = items.find(problem.line, problem.request)
    if isinstance(item, Problem):
        return item
    spool.add_failure(item.request, item.position)
    return problem
