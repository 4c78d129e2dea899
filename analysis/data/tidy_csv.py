"""Any tidy file: a CSV with a header, one row per observation, and any columns."""

import csv
import io
import math
import re
import sys
from collections import Counter
from pathlib import Path

import pandas as pd

from analysis.data.columns import LATER_COLUMNS, VIEW_COLUMNS
from analysis.data.row_filters import levels_of
from analysis.statistics.factor_levels import level_text
from batteries.errors import InputError
from batteries.files.csv_files import unguarded
from batteries.files.file_reading import read_text

MISSING = ("", "NA", "NaN", "nan", "N/A", "null")
MOST_LEVELS_SHOWN = 12
WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)", re.ASCII)
NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read_data_file(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV file; columns of numbers become numbers, of true and false yes and no, the rest text.

    Empty cells and `NA`, `NaN`, `N/A`, `null` are missing. Text that our own exports guarded against spreadsheets is
    unguarded.

    Raises
    ------
    InputError
        If the file cannot be read, is empty, has a duplicate or unnamed column, or a row of another length.
    """
    text = read_text(path, newline="")
    if "\0" in text:
        raise InputError(f"{path}: this is not a text file. Fix: save the table as CSV in UTF-8.")
    columns = _columns(path, text)
    return pd.DataFrame({name: _typed(pd.Series(cells, dtype="str")) for name, cells in columns.items()})


def _typed(values: pd.Series) -> pd.Series:
    """Return a column as numbers, yes and no, or text.

    Values with a leading zero are names (`01` is not `1`), and so are whole numbers that a float cannot hold.
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
    """Return True if a CSV file is an export of a store's view `trials`, which has its own reader."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            heading = next(csv.reader(file), [])
    except (OSError, csv.Error):  # Reported when it is read completely.
        return False
    return set(VIEW_COLUMNS) - set(LATER_COLUMNS) <= set(heading)


def _columns(path: Path, text: str) -> dict[str, list[str | None]]:
    """Return the cells of each column by its name; refuse anything that would need a silent correction."""
    csv.field_size_limit(sys.maxsize)  # Models' responses are long.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        names = _names(path, text, next(reader, []))
        for row in reader:
            if row and len(row) != len(names):
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(row)} cells, but the header has {len(names)}. Fix: "
                    "correct the row."
                )
            if row:
                rows.append(row)
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: this is not CSV ({error}). Fix: correct the quotes."
        ) from None
    if not rows:
        raise InputError(f"{path}: there are no rows under the heading. Fix: export the data again.")
    cells = zip(*rows, strict=True)
    return {
        name: [None if cell in MISSING else cell for cell in column] for name, column in zip(names, cells, strict=True)
    }


def _names(path: Path, text: str, heading: list[str]) -> list[str]:
    names = [unguarded(name).strip() for name in heading]
    if not text.strip():
        raise InputError(f"{path}: the file is empty. Fix: name the columns in its first line.")
    if not any(names):
        raise InputError(f"{path}, line 1: the line is blank. Fix: name the columns in the first line.")
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise InputError(
            f"{path}, line 1: the columns are not separated by commas. Fix: save the table as CSV with commas."
        )
    for place, name in enumerate(names, start=1):
        if not name:
            raise InputError(f"{path}, line 1: column {place} has no name. Fix: give it one.")
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise InputError(f"{path}, line 1: duplicate column `{twice[0]}`. Fix: rename one.")
    return names


def columns_in_words(data: pd.DataFrame) -> pd.DataFrame:
    """Return one row per column: its kind, its levels or range, and its number of missing values."""
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
