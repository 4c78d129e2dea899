"""Collection of the replies of all files of one import, with the problems of each file."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from experiment.models.imports.column_map import ColumnMap
from experiment.models.imports.recognise import STORED_BLACKBOX, Format, recognise
from experiment.models.imports.replies import ImportedReply, Problem, ProblemKind, storable
from experiment.models.imports.runs import ImportedRuns
from experiment.models.imports.spool import Spool, run_key
from experiment.models.imports.stored_blackbox import read_stored_runs
from experiment.models.imports.study_items import StudyItems
from experiment.study.definition import Study

_N_NAMED = 3
"""Number of problems of each kind that a report names."""
_LONGEST_DETAIL = 120


@dataclass
class FileReport:
    """The problems of one file."""

    path: Path
    format: str
    n_replies: int = 0
    n_repeated: int = 0
    """Number of lines that repeat another line."""
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
    """Number of lines that belong to each other battery. A key is the first eight digits of a battery's digest."""


@contextmanager
def collected(
    study: Study,
    paths: Sequence[Path],
    column_map: ColumnMap | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Iterator[Collected]:
    """Read all files of an import, and yield the runs. The replies are in a temporary file until the block ends.

    Parameters
    ----------
    study
        The study whose items the models were asked.
    paths
        The files, in any order.
    column_map
        The columns of the files, or None.
    advance
        Function to call after each file.

    Raises
    ------
    InputError
        If a file cannot be read, or its format is unknown.
    """
    items = StudyItems(study)
    formats = [recognise(path, items, column_map) for path in paths]
    blackbox = [path for path, found in zip(paths, formats, strict=True) if found.name == STORED_BLACKBOX]
    stored = read_stored_runs(study, blackbox)
    other_batteries = Counter[str]()
    with closing(Spool(study.battery.canary)) as spool:
        reports = []
        for path, found in zip(paths, formats, strict=True):
            if found.read is not None:
                reports.append(_read_file(path, found, items, spool, other_batteries))
            advance()
        yield Collected(ImportedRuns(items, spool, stored), reports, other_batteries)


def _read_file(path: Path, found: Format, items: StudyItems, spool: Spool, other_batteries: Counter[str]) -> FileReport:
    assert found.read is not None
    report = FileReport(path, found.name)
    file_time = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    for record in found.read():
        if isinstance(record, ImportedReply):
            problem = _add_reply(record, report, items, spool, file_time)
        else:
            problem = _checked_problem(record, items, spool)
        if problem is not None:
            report.add(problem)
            if problem.battery is not None:
                other_batteries[problem.battery] += 1
    return report


def _add_reply(
    reply: ImportedReply, report: FileReport, items: StudyItems, spool: Spool, file_time: datetime
) -> Problem | None:
    item = items.find(reply.line, reply.request)
    if isinstance(item, Problem):
        return item
    is_new = spool.add(run_key(report.format, reply, item.request), item.position, reply, file_time)
    if is_new is False:
        detail = "the earlier reply is kept"
        return Problem(reply.line, ProblemKind.DIFFERENT_DUPLICATE, detail, reply.request)
    report.n_replies += 1
    report.n_repeated += is_new is None
    return None


def _checked_problem(problem: Problem, items: StudyItems, spool: Spool) -> Problem:
    """Return the problem of a line. A failed request of this study is also noted in the database.

    If a failed request does not belong to this study, this second problem is returned, because it is more important.
    """
    if problem.kind is not ProblemKind.FAILED or problem.request is None:
        return problem
    item = items.find(problem.line, problem.request)
    if isinstance(item, Problem):
        return item
    spool.add_failure(item.request, item.position)
    return problem
