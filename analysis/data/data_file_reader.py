"""Reader of any tidy CSV file, with a header, one row per observation, and any columns."""

import csv
import math
import re
from pathlib import Path

import pandas as pd

from analysis.data.columns import LATER_COLUMNS, VIEW_COLUMNS
from analysis.data.row_filters import levels_of
from analysis.statistics.factor_levels import level_text
from batteries.errors import InputError
from batteries.files.csv_files import parse_csv, refuse_duplicate_columns, unguarded
from batteries.files.file_reading import read_text

MISSING = ("", "NA", "NaN", "nan", "N/A", "null")
MOST_LEVELS_SHOWN = 12
WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)", re.ASCII)
NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read_data_file(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV file, with a type for each column.

    A column of numbers becomes numbers. A column of true and false becomes yes and no. Any other column becomes text.
    Empty cells and `NA`, `NaN`, `N/A`, `null` are missing. Exports of Equipoise have an apostrophe before each text
    that a spreadsheet would read as a formula. The function removes this apostrophe.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, has a duplicate or unnamed column, or has a row with more or fewer cells
        than the header.
    """
    columns = _columns(path, read_text(path, newline=""))
    return pd.DataFrame({name: _typed(pd.Series(cells, dtype="str")) for name, cells in columns.items()})


def _typed(values: pd.Series) -> pd.Series:
    """Return a column as numbers, as yes and no, or as text.

    Values with a leading zero are text (`01` is not `1`). Whole numbers that are too large for a float are text too.
    """
    distinct = values.dropna().unique().tolist()
    if distinct and all(WHOLE.fullmatch(text) for text in distinct):
        numbers: dict[str, float] = {text: int(text) for text in distinct}
        if max(map(abs, numbers.values())) <= 2**53:
            return values.map(numbers).astype("float64" if values.isna().any() else "int64")
    elif all(NUMBER.fullmatch(text) for text in distinct):
        numbers = {text: float(text) for text in distinct}
        if all(map(math.isfinite, numbers.values())):
            return values.map(numbers).astype("float64")
    elif {text.lower() for text in distinct} <= {"true", "false"}:
        return values.map({text: text.lower() == "true" for text in distinct}).astype("boolean")
    return values.map({text: unguarded(text) for text in distinct}).astype("str")


def is_export(path: Path) -> bool:
    """Return True if a CSV file is an export of a store's view `trials`. `trials_reader` reads such exports."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            heading = next(csv.reader(file), [])
    except (OSError, csv.Error):  # The error is reported when the complete file is read.
        return False
    return set(VIEW_COLUMNS) - set(LATER_COLUMNS) <= set(heading)


def _columns(path: Path, text: str) -> dict[str, list[str | None]]:
    """Return the cells of each column. The keys are the column names. Raise InputError for an invalid header."""
    table = parse_csv(text, path)
    for number, name in enumerate(table.header, start=1):
        if not name:
            raise InputError(f"{path}, line 1: column {number} has no name. Fix: give the column a name.")
    refuse_duplicate_columns(table.header, path)
    rows = [row for row in table.rows if row]
    if not rows:
        raise InputError(f"{path}: there are no rows under the header. Fix: export the data again.")
    columns = zip(table.header, zip(*rows, strict=True), strict=True)
    return {name: [None if cell in MISSING else cell for cell in cells] for name, cells in columns}


def columns_in_words(data: pd.DataFrame) -> pd.DataFrame:
    """Describe each column in one row: kind, range or levels, number of different values, number of missing values."""
    rows = []
    for name in data.columns:
        values = data[name]
        is_number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if is_number and values.notna().any():
            words = f"{level_text(values.min())} to {level_text(values.max())}"
        else:
            levels = [level_text(level) for level in levels_of(data, name, "the data").values()]
            more = f" and {len(levels) - MOST_LEVELS_SHOWN} more" if len(levels) > MOST_LEVELS_SHOWN else ""
            words = ", ".join(levels[:MOST_LEVELS_SHOWN]) + more
        kind = "number" if is_number else "yes or no" if pd.api.types.is_bool_dtype(values) else "text"
        rows.append((name, kind, words, int(values.nunique()), int(values.isna().sum())))
    return pd.DataFrame(rows, columns=["column", "kind", "values", "n_distinct", "n_missing"])
