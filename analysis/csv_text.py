"""Cells that a spreadsheet will not take for formulas (OWASP: CSV injection), written so that they can be read back.

Text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return gets a leading apostrophe; so does text that
begins with apostrophes before one of these, which makes the change reversible. Numbers are never touched.
"""

import io
import re
from typing import Any

import pandas as pd

from analysis.written_cells import ROWS_AT_ONCE, written_cells

_GUARD = re.compile(r"'*[=+\-@\t\r]")
_SPECIAL = re.compile(r'[,"\r\n]')
_UNGUARD = re.compile(r"'+[=+\-@\t\r]")


def guarded(text: str) -> str:
    """Return `text` as a spreadsheet may show it.

    Examples
    --------
    >>> guarded("=1+1"), guarded("north-3")
    ("'=1+1", 'north-3')
    """
    return f"'{text}" if _GUARD.match(text) else text


def unguarded(text: str) -> str:
    """Undo `guarded`."""
    return text[1:] if text.startswith("'") and _UNGUARD.match(text) else text


def csv_bytes(table: pd.DataFrame) -> bytes:
    """Return `table` as CSV in UTF-8 with Unix line ends, its text guarded, missing values as empty cells."""
    file = io.BytesIO()
    file.write(f"{','.join(_written(str(name)) for name in table.columns)}\n".encode())
    write = _written_alone if table.shape[1] == 1 else _written
    for first in range(0, len(table), ROWS_AT_ONCE):
        rows = table.iloc[first : first + ROWS_AT_ONCE]
        cells = [written_cells(rows.iloc[:, place], write) for place in range(table.shape[1])]
        file.write("".join(f"{','.join(row)}\n" for row in zip(*cells, strict=True)).encode())
    return file.getvalue()


def _written(value: Any) -> str:
    """Return a value as a cell, in quotation marks where it must be."""
    text = guarded(value) if isinstance(value, str) else "" if value is None else str(value)
    return '"{}"'.format(text.replace('"', '""')) if _SPECIAL.search(text) else text


def _written_alone(value: Any) -> str:
    """Return a value as the only cell of its row, which no reader takes for a blank line."""
    return _written(value) or '""'
