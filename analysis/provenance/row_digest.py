"""Fast digests of the rows of a table.

Equal cells of a column are converted to JSON only once (`benchmarks/accuracy_pipeline.py` measures the time).
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from analysis.data.cell_text import ROWS_AT_ONCE, cell_texts

_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode


def row_digests(table: pd.DataFrame, names: Mapping[str, str]) -> bytearray:
    """Return the SHA-256 digests of all rows, joined in the order of the rows.

    Each cell is written as JSON, `"name":value`; a missing value is null. The digest of a row is that of its cells,
    sorted by name and separated by commas.

    Parameters
    ----------
    table : DataFrame
        The rows.
    names : mapping
        The name in the JSON for each column of the table. Columns that are not in `names` are left out.
    """
    columns = sorted(names, key=lambda column: names[column])
    digests = bytearray()
    for first in range(0, len(table), ROWS_AT_ONCE):
        rows = table.iloc[first : first + ROWS_AT_ONCE]
        cells = [cell_texts(rows[column], _named(names[column])) for column in columns]
        digests += b"".join(hashlib.sha256(",".join(row).encode()).digest() for row in zip(*cells, strict=True))
    return digests


def _named(name: str) -> Callable[[Any], str]:
    """Return a function that writes a value after its name, as in a JSON object."""
    before = f"{_encode(name)}:"
    return lambda value: before + sorted_json(value)


def sorted_json(value: Any) -> str:
    """Return a value as JSON with sorted keys; equal values have equal texts."""
    # For a finite number, `repr` returns the same text and is faster than the encoder.
    return repr(value) if isinstance(value, float) and math.isfinite(value) else _encode(value)
