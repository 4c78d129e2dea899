"""Read raw rows from the view `trials` of a store (opened read-only), or from a CSV export of this view.

`benchmarks/accuracy_pipeline.py` measures the time and memory of reading a million responses.
"""

import csv
import sqlite3
import sys
from contextlib import closing
from operator import itemgetter
from pathlib import Path

import pandas as pd

from analysis.data.columns import FORMER_COLUMNS, LATER_COLUMNS, VIEW_COLUMNS
from analysis.data.compact_columns import NOTES, RawColumns
from analysis.data.store_columns import read_columns
from batteries.errors import InputError
from batteries.files.csv_files import unguarded
from batteries.store_format import KNOWN_MIGRATIONS

SQLITE_HEADER = b"SQLite format 3\x00"
PATIENCE_S = 5.0
LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
UNREADABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR}

RAW_COLUMNS = (*(column for column in VIEW_COLUMNS if column != "jspsych"), *NOTES)


def read_raw_rows(path: Path) -> pd.DataFrame:
    """Return the raw columns of the view `trials` (`RAW_COLUMNS`). The JSON of `jspsych` is parsed.

    Columns in which many cells are equal are categories. The order of the categories has no meaning.

    Parameters
    ----------
    path : Path
        A store (SQLite) or a `.csv` export of its view `trials`.

    Raises
    ------
    InputError
        If the file does not exist, is neither a store nor an export, or cannot be read, for example because it is
        locked. Also if a newer Equipoise wrote the store, or if a cell of `jspsych` is not a JSON object.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path}: this {what}. Fix: name a store (equipoise.db) or a CSV export of a store.")
    try:
        with path.open("rb") as file:
            beginning = file.read(len(SQLITE_HEADER))
    except OSError as error:
        raise InputError(
            f"{path}: you may not read this file ({error.strerror}). Fix: ask the owner of the file for access."
        ) from error
    if path.suffix.lower() == ".csv":
        return _rows_of_csv(path)
    if beginning != SQLITE_HEADER:
        raise InputError(
            f"{path}: this is not a store (not an SQLite file). Fix: name a store, or an export ending in .csv."
        )
    return _rows_of_store(path)


def _rows_of_store(path: Path) -> pd.DataFrame:
    try:
        try:
            return _select_trials(path, "mode=ro")
        except sqlite3.Error as error:
            # SQLite needs files beside a store and cannot make them in a read-only folder. Without a -wal no program
            # has the store open, so the store does not change while it is read.
            if _kind_of(error) not in UNREADABLE or _wal(path).exists():
                raise
            return _select_trials(path, "mode=ro&immutable=1")
    except sqlite3.Error as error:
        if _kind_of(error) in LOCKED:
            sentence = "the store is locked by another program ({}). Fix: try again when that program has ended."
        elif _kind_of(error) in UNREADABLE:
            sentence = (
                "the store cannot be opened ({}). Fix: copy the store to another folder, together with its -wal file "
                "if this file exists."
            )
        else:
            sentence = "the store is damaged ({}). Fix: use a backup of the store."
        raise InputError(f"{path}: {sentence.format(error)}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the store is damaged ({error}). Fix: use a backup of the store.") from error


def _wal(path: Path) -> Path:
    """Return the path of SQLite's write-ahead log. This file has data that are not yet in the store's file."""
    return path.resolve().with_name(f"{path.resolve().name}-wal")


def _kind_of(error: sqlite3.Error) -> int:
    """Return SQLite's number for the kind of an error (the primary result code)."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _select_trials(path: Path, how: str) -> pd.DataFrame:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, timeout=PATIENCE_S)) as store:
        _refuse_newer_store(path, store)
        present = [row[1] for row in store.execute("PRAGMA table_info(trials)")]
        if not present:
            raise InputError(
                f"{path}: this database is not a store of Equipoise (it has no view `trials`, the table of all "
                "trials). Fix: name the store of a study (equipoise.db)."
            )
        _refuse_missing_columns(path, present)
        store.execute("BEGIN")  # All following queries read one state of the store, even if responses arrive meanwhile.
        names = {column: _name_in(column, present) for column in VIEW_COLUMNS}
        rows = read_columns(store, names, str(path))
    return pd.DataFrame({column: rows[column] for column in RAW_COLUMNS}, copy=False)


def _name_in(column: str, present: list[str]) -> str:
    """Return the SQL expression for a column: its name or former name in this view, or NULL if the view lacks it."""
    name = column if column in present else FORMER_COLUMNS.get(column, column)
    return f'"{name}"' if name in present else "NULL"


def _refuse_newer_store(path: Path, store: sqlite3.Connection) -> None:
    """Raise InputError if a newer Equipoise changed the store, because the columns of its view `trials` may differ."""
    if not store.execute("PRAGMA table_info(_sqlite_migrations)").fetchall():
        return
    applied = store.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = 'equipoise'")
    unknown = sorted({name for (name,) in applied} - set(KNOWN_MIGRATIONS))
    if unknown:
        raise InputError(
            f"{path}: this store was written by a newer version of Equipoise (your version does not know the "
            f"changes {', '.join(unknown)}). Fix: update Equipoise."
        )


def _rows_of_csv(path: Path) -> pd.DataFrame:
    rows = RawColumns(VIEW_COLUMNS, lambda cell: unguarded(cell) or None)
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            _refuse_missing_columns(path, header)
            place = {column: number for number, column in enumerate(header)}
            place = {column: place[former] for column, former in FORMER_COLUMNS.items() if former in place} | place
            in_order = itemgetter(*(place.get(column, -1) for column in VIEW_COLUMNS))
            for row in reader:
                if len(row) != len(header) and row:
                    raise InputError(
                        f"{path}, line {reader.line_num}: this row has {len(row)} cells, but the header has "
                        f"{len(header)} cells; the file is cut off or was edited. Fix: export the data again."
                    )
                if row:
                    rows.step(*in_order([*row, ""]))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is not UTF-8 text. Fix: save the CSV as UTF-8.") from error
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: this is not CSV ({error}). Fix: export the data again."
        ) from error
    finally:
        csv.field_size_limit(limit)
    return pd.DataFrame(rows.series(str(path)), columns=list(RAW_COLUMNS), copy=False)


def _refuse_missing_columns(path: Path, present: list[str]) -> None:
    missing = [column for column in VIEW_COLUMNS if column not in (*present, *LATER_COLUMNS)]
    if missing:
        names = ", ".join(f"`{column}`" for column in missing)
        raise InputError(
            f"{path}: there is no column {names}. Fix: name a store (equipoise.db), or an unchanged CSV export of its "
            "table `trials`, with columns separated by commas."
        )
    twice = sorted({column for column in present if present.count(column) > 1})
    if twice:
        raise InputError(f"{path}: duplicate column `{twice[0]}`. Fix: keep only one of these columns.")
