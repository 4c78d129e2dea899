"""CSV whose text cells no spreadsheet takes for formulas, and that can be read back unchanged.

OWASP lists the signs with which a formula begins (https://owasp.org/www-community/attacks/CSV_Injection): = + - @, the
same signs in full width, which Japanese and Chinese spreadsheets read alike, and a tab or line end, which some programs
drop. Some programs also drop spaces and quotation marks before a sign. Such a text gets a leading apostrophe. Texts
that begin with apostrophes before such a sign get one more, so that `unguarded` restores every text. Numbers are never
changed.
"""

import re
from collections.abc import Callable, Iterable
from typing import TextIO

_FORMULA = re.compile(r"""['"\s\x00-\x1f\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠]|['"]*[\t\r\n]""")

_SPECIAL = re.compile(r'[,"\r\n]')


def is_formula(text: str) -> bool:
    """Return True if a spreadsheet may take a text for a formula."""
    return _FORMULA.match(text) is not None


def guarded(text: str) -> str:
    """Return `text` as a cell that a spreadsheet shows and does not compute.

    Examples
    --------
    >>> guarded("=1+1"), guarded("north-3")
    ("'=1+1", 'north-3')
    """
    return f"'{text}" if is_formula(text) else text


def unguarded(text: str) -> str:
    """Return the text from which `guarded` made a cell.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and is_formula(text[1:]) else text


def cell_text(value: object, cell_of: Callable[[str], str] = guarded) -> str:
    """Return a value as a cell of a CSV file, in quotation marks where it needs them; None is an empty cell.

    The module `csv` leaves a lone carriage return unquoted, and readers take it for a line end. So it is not used here.
    """
    text = cell_of(value) if isinstance(value, str) else "" if value is None else str(value)
    return '"{}"'.format(text.replace('"', '""')) if _SPECIAL.search(text) else text


def write_rows(file: TextIO, rows: Iterable[Iterable[object]], cell_of: Callable[[str], str] = guarded) -> None:
    """Write rows as CSV with Unix line ends.

    Parameters
    ----------
    file
        Open for writing with `newline=""`.
    rows
        The rows, the header first.
    cell_of
        Function that makes a cell safe. Only a writer that refuses formulas itself passes anything but `guarded`.
    """
    for row in rows:
        cells = [cell_text(value, cell_of) for value in row]
        file.write(",".join(cells if cells != [""] else ['""']) + "\n")  # An empty line would not be read as a row.
