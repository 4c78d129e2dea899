"""`equipoise export`: write the data of a study into a new folder, in one of several formats."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import click
import pandas as pd
from ruamel.yaml import YAML

from analysis.data.compact_columns import give_back_freed_arrays
from analysis.data.portions import TidyPortions
from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.in_portions import RunningExclusions
from analysis.exports.coarse import without_free_texts
from analysis.exports.codebook import (
    CODEBOOK_HEADER,
    TABLES,
    Column,
    codebook_json,
    codebook_rows,
    described,
    factor_column,
)
from analysis.exports.documents import (
    CHECKSUMS,
    PROVENANCE,
    About,
    as_json_text,
    check_license,
    citation_text,
    license_text,
    provenance_json,
    readme_text,
    write_checksums,
)
from analysis.exports.formats import FORMATS, Format
from analysis.exports.table_files import TableFile, require_package
from analysis.provenance.record import RunningDigest, columns_since_the_digest
from batteries.files.atomic_folder import new_private_folder
from batteries.files.csv_files import write_rows
from batteries.stimulus.parts import FOLDER, asset_parts, path_of, stored_name
from equipoise.commands.export.stored_trials import StoredTrials
from equipoise.commands.export.tables import (
    events_table,
    frame,
    participants_table,
    refuse_unknown_format,
    runs_table,
    sessions_table,
)
from equipoise.commands.store_access import (
    StoreAddress,
    StudyFolder,
    loaded,
    note_access,
    setting_of,
    shown_location,
    store_to_read,
)
from equipoise.commands.study_trials import may_have_responses, no_responses
from equipoise.progress_bar import progress_bar
from experiment.records import Kind
from experiment.study.definition import Study
from server.asset_copies import kept_asset
from server.locations import store_location
from server.settings import read_settings
from server.store import Access, Store
from server.store.database import Database
from server.store.sql.assignment_log import stream_log
from server.store.sql.sessions import stream_sessions
from server.store.sql.studies import nearest

MANY_TRIALS = 100_000
"""Number of trials above which a format that needs all trials in memory prints a note."""
RECORDS_AT_ONCE = 5_000
"""Number of sessions or events that become a data frame together."""


@dataclass(frozen=True)
class Export:
    """Result of an export."""

    folder: Path
    n_trials: int
    """Number of trials in the export. A log of Inspect has only test trials of participants with a response."""
    n_participants: int
    """Number of participants and runs."""


def export(
    study: StudyFolder,
    output: Path | str,
    form: str = "csv",
    full: bool = False,
    license: str | None = None,
    authors: Sequence[str] = (),
    store: StoreAddress | None = None,
) -> Export:
    """Write the data of a study into a new folder: trials, participants, codebook, items, plan, checksums and README.

    Participants have pseudonyms, and no panel id is exported. Either the whole folder is written or nothing.

    Parameters
    ----------
    study
        The study or its folder.
    output
        New folder for the export.
    form
        `csv`, `parquet`, `jsonl`, `psych-ds`, `bids`, `inspect` (a log of Inspect) or `spss`.
    full
        True to keep free texts of participants and their exact answers to questions about them. By default, these data
        are coarse.
    license
        Licence of the data, such as `CC-BY-4.0`. By default, the file LICENSE says that no licence was chosen.
    authors
        Names of the authors, for the citation.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    Export
        The folder, and the numbers of trials and participants.

    Raises
    ------
    InputError
        If an argument is invalid, a package is missing, the folder has files already, there are no responses yet, or
        the store or the folder cannot be used.
    """
    refuse_unknown_format(form, FORMATS)
    check_license(license)
    chosen = FORMATS[form]
    if chosen.package is not None:
        require_package(chosen.package, form)
    study = loaded(study)
    location = store_location(study, read_settings(store=setting_of(store)))
    if store is None and not may_have_responses(location):
        raise no_responses(location, study)
    give_back_freed_arrays()
    with store_to_read(study, store) as opened, new_private_folder(Path(output)) as folder:
        with opened.snapshot() as db:
            writer = _Writer(study, opened, db, chosen, folder, full, shown_location(study, store))
            writer.write_tables()
        writer.write_documents(license, tuple(authors))
        note_access(opened, study, Access.EXPORTED, what=f"{form} export", number=writer.n_rows["trials"])
    return Export(Path(output), writer.n_rows["trials"], writer.n_rows["participants"])


@dataclass
class _Writer:
    """Writes the files of one export."""

    study: Study
    store: Store
    db: Database
    format: Format
    folder: Path
    is_full: bool
    where: str
    codebook: dict[str, Sequence[Column]] = field(default_factory=dict)
    n_rows: dict[str, int] = field(default_factory=dict)
    n_participants: dict[str, int] = field(default_factory=dict)
    versions: tuple[str, ...] = ()
    batteries: tuple[str, ...] = ()
    data_digest: str = ""
    since_the_digest: set[str] = field(default_factory=set)
    has_assets: bool = False
    """True if the items of the data have pictures, sounds or videos."""

    @property
    def assets(self) -> Path:
        """The folder of the pictures, sounds and videos, next to the items."""
        return (self.folder / self.format.path_of("items.jsonl")).parent / FOLDER

    def write_tables(self) -> None:
        """Write all tables, and the items."""
        trials = StoredTrials(self.db, self.study.name)
        if not trials.sessions:
            raise no_responses(self.where, self.study)
        if not self.format.is_in_portions and trials.n_rows > MANY_TRIALS:
            click.echo(
                f"Note: --format {self.format.name} needs all {trials.n_rows:,} trials in memory. If this computer has "
                "too little memory, choose csv or parquet.",
                err=True,
            )
        sample = trials.sample()
        form = TidyPortions(sample, self.where)
        exclusions = self._exclusions(trials, form)
        flow = exclusions.flow()
        self._write("exclusions", described("exclusions", flow.columns, {}), [flow])
        self._write_participants(exclusions.participants())
        excluded_by = exclusions.excluded_by()
        del exclusions
        self._write_trials(trials, form, excluded_by)
        if not self.format.is_data_frame_of_trials:
            self._write_logs(trials)
        columns, runs = runs_table(sample)
        if len(runs):
            self._write("runs", columns, [runs])
        registered = nearest(self.db, self.study)
        log = stream_log(self.db, registered.study_digest) if registered else ()
        columns, events = events_table(log, self.is_full)
        self._write("events", columns, _frames(columns, events))
        self._write_items(trials)

    def _write_participants(self, participants: pd.DataFrame) -> None:
        """Write the sessions, and the participants with their answers to the questions about them."""
        self.n_participants = {str(kind): int(n) for kind, n in participants["kind"].value_counts().items()}
        read = partial(stream_sessions, self.db, self.study.name)
        of_sessions, sessions, answers = sessions_table(read, self.study.demographics, self.is_full)
        self._write("sessions", of_sessions, _frames(of_sessions, sessions))
        columns, table = self.format.participants(*participants_table(participants, answers, of_sessions))
        self._write("participants", columns, [table])

    def _portions(self, trials: StoredTrials, form: TidyPortions, what: str) -> Iterator[pd.DataFrame]:
        """Yield the tidy table in portions, without free texts if the export is not full."""
        with progress_bar(what, len(trials.sessions)) as advance:
            for rows in trials.portions():
                yield form.tidy(rows if self.is_full else without_free_texts(rows))
                for _ in range(rows["session"].nunique()):
                    advance()

    def _exclusions(self, trials: StoredTrials, form: TidyPortions) -> RunningExclusions:
        exclusions = RunningExclusions(self.study.definition.analysis)
        versions: set[str] = set()
        batteries: set[str] = set()
        for portion in self._portions(trials, form, "Applying the exclusions"):
            self.since_the_digest |= columns_since_the_digest(portion)
            versions.update(portion["study_version"].cat.categories)
            batteries.update(portion["battery"].cat.categories)
            exclusions.add(portion)
        self.versions, self.batteries = tuple(sorted(versions)), tuple(sorted(batteries))
        return exclusions

    def _write_trials(self, trials: StoredTrials, form: TidyPortions, excluded_by: pd.Series) -> None:
        factors = {name: factor_column(name, form.sample[name]) for name in form.factors}
        names = [name for name in (*form.columns, "excluded_by") if name != "content"]
        self.codebook["trials"] = columns = described("trials", names, factors)
        digest = RunningDigest(self.since_the_digest)
        first = 0
        with ExitStack() as stack:
            file = None
            if self.format.is_data_frame_of_trials:
                file = stack.enter_context(self._trials_file(columns))
            for portion in self._portions(trials, form, "Writing the trials"):
                digest.add(portion)
                last = first + len(portion)
                portion["excluded_by"] = excluded_by.iloc[first:last].astype("str").to_numpy()
                if file is not None:
                    file.write(portion)
                first = last
        self.n_rows["trials"], self.data_digest = first, digest.value()
        if not self.format.is_data_frame_of_trials:
            del self.codebook["trials"]

    def _write_logs(self, trials: StoredTrials) -> None:
        """Write a log of Inspect for people, and one for simulated participants. All trials are in memory."""
        from equipoise.commands.export.inspect_log import refuse_without_people, write_people_log  # noqa: PLC0415

        rows = pd.concat(list(trials.portions()), ignore_index=True)
        table = tidy_trials(rows if self.is_full else without_free_texts(rows), self.where)
        kinds = (Kind.HUMAN, Kind.SIMULATED)
        self.n_rows["trials"] = sum(
            write_people_log(self.study, table, kind, self.folder / f"trials-{kind.value}.eval") for kind in kinds
        )
        refuse_without_people(self.n_rows["trials"], Path(self.where), "people")

    def _trials_file(self, columns: Sequence[Column]) -> TableFile:
        if self.format.trials_file is not None:
            return self.format.trials_file(self.folder, columns)
        return self.format.table_file(self.folder / self.format.path_of_table("trials", self.study.name), columns)

    def _write(self, table: str, columns: Sequence[Column], portions: Iterable[pd.DataFrame]) -> None:
        """Write a table in portions."""
        path = self.folder / self.format.path_of_table(table, self.study.name)
        self.codebook[table], self.n_rows[table] = columns, 0
        with self.format.table_file(path, columns) as file:
            for portion in portions:
                file.write(portion)
                self.n_rows[table] += len(portion)

    def _write_items(self, trials: StoredTrials) -> None:
        """Write the items of all batteries in the data, with the digest of the battery of each item."""
        contents = {key: json.loads(values[2]) for key, values in trials.items.items()}
        missing = self._copy_assets(contents.values())
        with self._opened("items.jsonl") as file:
            header: dict[str, Any] = {"study": self.study.name, "batteries": list(self.batteries)}
            if missing:
                header["files_not_found"] = missing
            if self.study.battery.canary is not None:
                header["canary"] = self.study.battery.canary
            file.write(json.dumps(header, ensure_ascii=False) + "\n")
            for (battery, item_id), (task, *values) in trials.items.items():
                factors, content, key = (json.loads(value) for value in values)
                item = {"battery": battery, "item_id": item_id, "task": task, "factors": factors, "content": content,
                        "key": key}  # fmt: skip
                file.write(json.dumps(item, ensure_ascii=False) + "\n")

    def _copy_assets(self, contents: Iterable[Mapping[str, Any]]) -> list[str]:
        """Copy the pictures, sounds and videos of items, named by their digests. Return the names of missing files.

        A file is missing if sessions began with an earlier file, and the server's copy is on another machine.
        """
        parts = {stored_name(part): part for content in contents for part in asset_parts(content)}
        self.has_assets = bool(parts)
        missing = []
        for name, part in sorted(parts.items()):
            data = kept_asset(self.study, read_settings(), part)
            if data is None:
                missing.append(f"{path_of(part)} ({name})")
                continue
            self.assets.mkdir(parents=True, exist_ok=True)
            (self.assets / name).write_bytes(data)
        return missing

    def _opened(self, name: str) -> TextIO:
        path = self.folder / self.format.path_of(name)
        path.parent.mkdir(exist_ok=True)
        return path.open("w", encoding="utf-8", newline="")

    def _text(self, name: str, text: str) -> None:
        with self._opened(name) as file:
            file.write(text)

    def write_documents(self, license_name: str | None, authors: tuple[str, ...]) -> None:
        """Write the codebook, the plan, the README and the other files for readers, and the checksums last."""
        about = About(
            format=self.format.name,
            study=self.study.name,
            title=self.study.definition.title,
            versions=self.versions,
            batteries=self.batteries,
            n_rows=self.n_rows,
            n_participants=self.n_participants,
            data_digest=self.data_digest,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            software_version=version("equipoise"),
            is_full=self.is_full,
            authors=authors,
            license=license_name,
        )
        tables = {
            table: self.format.path_of_table(table, self.study.name) for table in TABLES if table in self.codebook
        }
        if self.format.trials_file is not None:
            tables["trials"] = "sub-*_beh.tsv"
        elif not self.format.is_data_frame_of_trials:
            tables = {"trials": "trials-*.eval", **tables}
        with self._opened("codebook.csv") as file:
            write_rows(file, [CODEBOOK_HEADER, *codebook_rows(self.codebook)])
        self._text("codebook.json", as_json_text(codebook_json(self.codebook)))
        self._text("analysis-plan.yaml", _plan_text(self.study))
        self._text("study.json", as_json_text(self._definitions()))
        self._text("LICENSE", license_text(about))
        self._text("CITATION.cff", citation_text(about))
        self.format.write_documents(self.folder, about, self.codebook, tables)
        self._text(PROVENANCE, provenance_json(about, {"tables": tables, "items": self.format.path_of("items.jsonl"),
                   "codebook": self.format.path_of("codebook.json")}))  # fmt: skip
        files = {self.format.path_of(name): meaning for name, meaning in _MEANINGS.items()}
        if self.has_assets:
            files[f"{self.assets.relative_to(self.folder).as_posix()}/"] = (
                "pictures, sounds and videos of the items; each name is the `sha256` of the file in items.jsonl"
            )
        self._text("README.md", readme_text(about, files, tables, self.format.about_trials))
        write_checksums(self.folder)

    def _definitions(self) -> list[dict[str, Any]]:
        """Return the definitions with which sessions began, without the codes and addresses of the recruitment."""
        return [
            {
                "registered_at": registered.registered_at,
                "n_sessions": registered.n_sessions,
                "definition": registered.definition.model_dump(
                    mode="json", exclude={"recruitment"}, exclude_defaults=True
                ),
            }
            for registered in self.store.registered_definitions(self.study)
        ]


_MEANINGS = {
    "items.jsonl": "the items of all batteries, with contents, right answers and the digest of the battery",
    "analysis-plan.yaml": "the analysis plan: exclusion rules, tables, models and tests",
    "study.json": "the definitions of the study with which sessions began",
    "codebook.csv": "type, unit, meaning and levels of each column",
    "codebook.json": "the same for programs",
    PROVENANCE: "digests, versions and numbers of rows, for programs",
    CHECKSUMS: "checksums of all files",
    "LICENSE": "the licence of the data",
    "CITATION.cff": "how to cite the data",
}
"""The meaning of the files that are not tables."""


def _plan_text(study: Study) -> str:
    """Return the analysis plan as YAML, without fields that have their default values."""
    plan = study.definition.analysis.model_dump(mode="json", exclude_defaults=True)
    text = StringIO()
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    yaml.dump(plan, text)
    return f"# The analysis plan of the study {study.name}.\n{text.getvalue()}"


def _frames(columns: Sequence[Column], records: Iterable[Mapping[str, Any]]) -> Iterator[pd.DataFrame]:
    """Yield records as data frames, some at a time."""
    rest = iter(records)
    while some := list(islice(rest, RECORDS_AT_ONCE)):
        yield frame(columns, some)
