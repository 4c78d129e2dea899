"""Rows as they are kept: the view `trials` of a store, opened read-only, or a CSV export with the same columns."""

import csv
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pandas as pd

from analysis.columns import VIEW_COLUMNS
from analysis.csv_text import unguarded
from batteries.errors import InputError

SQLITE_HEADER = b"SQLite format 3\x00"


def read_raw_rows(path: Path) -> pd.DataFrame:
    """Return the columns of the view `trials` as they are kept, uninterpreted; further columns are not read.

    Parameters
    ----------
    path : Path
        A store (SQLite) or a `.csv` export of its view `trials`.

    Raises
    ------
    InputError
        If there is no such file, or it is neither a store nor such an export.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"{path}: this {what}; name a store (.sqlite) or a CSV export of it.")
    if path.suffix.lower() == ".csv":
        return _rows_of_csv(path)
    with path.open("rb") as file:
        if file.read(len(SQLITE_HEADER)) != SQLITE_HEADER:
            raise InputError(f"{path}: this is no store (no SQLite file); name a store, or an export ending in .csv.")
    return _rows_of_store(path)


def _rows_of_store(path: Path) -> pd.DataFrame:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as store:
            present = [row[1] for row in store.execute("PRAGMA table_info(trials)")]
            if not present:
                raise InputError(f"{path}: this database has no view `trials`; name a store made by Equipoise.")
            _refuse_missing_columns(path, present)
            columns = ", ".join(f'"{column}"' for column in VIEW_COLUMNS)
            rows = store.execute(f"SELECT {columns} FROM trials").fetchall()  # noqa: S608 - our own column names
    except sqlite3.Error as error:
        raise InputError(f"{path}: the store cannot be read ({error}); check that the file is whole.") from error
    return pd.DataFrame.from_records(rows, columns=list(VIEW_COLUMNS)).astype(object)


def _rows_of_csv(path: Path) -> pd.DataFrame:
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            _refuse_missing_columns(path, header)
            rows = []
            for row in reader:
                if len(row) != len(header) and row:
                    raise InputError(
                        f"{path}, line {reader.line_num}: {len(row)} cells where the header has {len(header)}; "
                        "the file is cut off or was edited: export it again."
                    )
                if row:
                    rows.append([unguarded(cell) or None for cell in row])
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is not UTF-8 text; save the CSV as UTF-8.") from error
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: this is not CSV ({error}); export it again.") from error
    finally:
        csv.field_size_limit(limit)
    return pd.DataFrame(rows, columns=header, dtype=object)[list(VIEW_COLUMNS)]


def _refuse_missing_columns(path: Path, present: list[str]) -> None:
    missing = [column for column in VIEW_COLUMNS if column not in present]
    if missing:
        names = ", ".join(f"`{column}`" for column in missing)
        raise InputError(
            f"{path}: no column {names}; use a store or an unchanged export of its view `trials` "
            "(columns separated by commas)."
        )
    twice = sorted({column for column in present if present.count(column) > 1})
    if twice:
        raise InputError(f"{path}: the column `{twice[0]}` stands twice; keep one of them.")
