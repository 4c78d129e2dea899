"""`equipoise import`: read an export of Equipoise back, or tables of another program, for the analysis."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.data.columns import VIEW_COLUMNS
from analysis.exports.reading import find_export
from analysis.imports.table_map import read_table_map
from analysis.imports.trial_records import read_records
from analysis.imports.view_rows import OfStudy, plain_rows, pseudonyms, view_rows
from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import write_rows
from equipoise.commands.store_access import StudyFolder, loaded
from equipoise.progress_bar import progress_bar


@dataclass(frozen=True)
class Imported:
    """Result of an import."""

    n_trials: int
    notes: tuple[str, ...] = ()
    """Sentences on what the researcher should check."""


def import_data(
    sources: Path | str | Sequence[Path | str],
    output: Path | str,
    map: Path | str | None = None,
    study: StudyFolder | None = None,
    keep_ids: bool = False,
) -> Imported:
    """Write a CSV file for `equipoise analyze --data`, from an export of Equipoise or from tables of another program.

    Parameters
    ----------
    sources
        The folder of an export; or with `map`, one or more tables as CSV, JSON or JSON Lines.
    output
        New CSV file.
    map
        The columns of the tables: a YAML file, or the name of a ready-made map such as `gorilla`. By default, `sources`
        is an export.
    study
        The study whose items were shown. Then the file has the same form as a study's own data, and its responses are
        scored with the study's items. By default, the file is a plain table with the scores of the tables.
    keep_ids
        True to keep the ids of participants in the tables. By default, participants are called P1, P2 and so on.

    Returns
    -------
    Imported
        The number of trials, and notes on what to check.

    Raises
    ------
    InputError
        If a source cannot be read or was changed, the map does not fit, or the file cannot be written.
    """
    paths = [Path(sources)] if isinstance(sources, (str, Path)) else [Path(source) for source in sources]
    output = Path(output)
    _check_new_csv(output)
    if map is None:
        if len(paths) != 1 or study is not None or keep_ids:
            raise InputError(
                "--study, --keep-ids and several tables need a map of the columns. Fix: add --map, or name one folder "
                "of an export."
            )
        found = find_export(paths[0])
        with progress_bar("Reading", found.n_trials) as advance:
            _write(output, VIEW_COLUMNS, _counted(found.rows(), advance))
        return Imported(found.n_trials)
    records = read_records(paths, read_table_map(map))
    names = pseudonyms(records, keep_ids)
    if study is None:
        header, rows = plain_rows(records, names)
        _write(output, header, rows)
        return Imported(len(rows))
    shown = loaded(study)
    of_study = OfStudy(
        shown.name,
        shown.definition.version,
        shown.battery,
        tuple(shown.definition.practice),
        tuple(shown.definition.attention_checks),
    )
    rows, notes = view_rows(records, of_study, names)
    _write(output, VIEW_COLUMNS, rows)
    return Imported(len(rows), tuple(notes))


def _counted(rows: Iterable[list[Any]], advance: Any) -> Iterable[list[Any]]:
    for row in rows:
        yield row
        advance()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with atomic_write(path, is_private=True) as file:
        write_rows(file, [header])
        write_rows(file, rows)


def _check_new_csv(path: Path) -> None:
    """Raise an InputError if a path is not the name of a new CSV file."""
    if path.suffix != ".csv":
        raise InputError(f"{path}: the name of this file does not end in .csv. Fix: write a name such as trials.csv.")
    if path.exists():
        raise InputError(f"{path}: this file exists already. Fix: choose a new name.")
