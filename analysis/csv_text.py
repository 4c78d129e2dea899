"""Cells that a spreadsheet will not take for formulas (OWASP: CSV injection), written so that they can be read back.

Text that begins with `=`, `+`, `-`, `@`, a tab or a carriage return gets a leading apostrophe; so does text that
begins with apostrophes before one of these, which makes the change reversible. Numbers are never touched.
"""

import re

import numpy as np
import pandas as pd

_GUARD = re.compile(r"'*[=+\-@\t\r]")
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
    return text[1:] if _UNGUARD.match(text) else text


def csv_bytes(table: pd.DataFrame) -> bytes:
    """Return `table` as CSV in UTF-8 with Unix line ends, its text guarded, missing values as empty cells."""
    safe = table.rename(columns=lambda name: guarded(str(name)))
    for position, column in enumerate(table.columns):
        values = table[column]
        if not pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            cells = [guarded(value) if isinstance(value, str) else value for value in values.tolist()]
            safe.isetitem(position, np.array([*cells, None], dtype=object)[:-1])
    return safe.to_csv(index=False, lineterminator="\n").encode()
