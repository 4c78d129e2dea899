"""Columns as text. If many cells have the same value, the value is formatted only once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.time_columns import time_texts

ROWS_AT_ONCE = 20_000
"""Number of rows that are written together, so that the text of a long table is never in memory as a whole."""


def cell_texts(column: pd.Series, write: Callable[[Any], str]) -> list[str]:
    """Return the text of each cell of a column, made by the function `write` from the value of the cell.

    For a missing value, `write` gets None. For equal values, `write` must return equal texts.
    """
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = time_texts(column)
    if column.dtype == "str":
        return list(map(_Written(write).__getitem__, column.tolist()))
    if column.dtype == object:
        values = column.tolist()
        by_id = {name: _write(value, write) for name, value in dict(zip(map(id, values), values, strict=True)).items()}
        return [by_id[name] for name in map(id, values)]
    numbers, distinct = pd.factorize(column)
    texts = [write(value) for value in [*distinct.tolist(), None]]
    cells: list[str] = np.array(texts, dtype=object)[numbers].tolist()  # Index -1, a missing value, is the last text.
    return cells


class _Written(dict[Any, str]):
    """The text of each value. `write` makes a text when the text is first needed."""

    def __init__(self, write: Callable[[Any], str]) -> None:
        self._write = write

    def __missing__(self, value: Any) -> str:
        self[value] = text = _write(value, self._write)
        return text


def _write(value: Any, write: Callable[[Any], str]) -> str:
    missing = not isinstance(value, (str, dict, list)) and pd.isna(value)
    return write(None if missing else value)
