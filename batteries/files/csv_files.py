"""CSV files that are safe in spreadsheets: no text is read as a formula, and every text can be restored.

OWASP lists the signs with which a formula can begin (https://owasp.org/www-community/attacks/CSV_Injection). The signs
are = + - @, the full-width forms of these signs (in Japanese and Chinese spreadsheets), a tab, and a line end. Some
spreadsheet programs ignore tabs, line ends, spaces and quotation marks before the sign.

`guarded` puts an apostrophe before a text that a spreadsheet program could read as a formula. If there are apostrophes
before the sign already, `guarded` adds one more. So `unguarded` restores every text. Numbers are never changed.
"""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from batteries.errors import InputError

_FORMULA = re.compile(r"""['"\s\x00-\x1f\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠]|['"]*[\t\r\n]""")

_INDEX_NAME = re.compile(r"(index|unnamed: \d+(\.\d+)?)?", re.IGNORECASE)
"""The names that pandas, R and spreadsheet programs use for a column of row numbers."""
_INDEX_CELL = re.compile(r"(\d+(\.0*)?|canary.*)?", re.DOTALL)
"""A cell of a column of row numbers: a row number (1 or 1.0), a name that begins with `canary`, or nothing."""

_SPECIAL = re.compile(r'[,"\r\n]')


def is_formula(text: str) -> bool:
    """Return True if a spreadsheet program could read a text as a formula."""
    return _FORMULA.match(text) is not None


def guarded(text: str) -> str:
    """Return `text` as a cell that a spreadsheet program shows but does not compute.

    Examples
    --------
    >>> guarded("=1+1"), guarded("north-3")
    ("'=1+1", 'north-3')
    """
    return f"'{text}" if is_formula(text) else text


def unguarded(text: str) -> str:
    """Return the original text of a cell that `guarded` made.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and is_formula(text[1:]) else text


def cell_text(value: object, cell_of: Callable[[str], str] = guarded) -> str:
    """Return a value as a cell of a CSV file, in quotes if necessary. For None, the cell is empty.

    The module `csv` is not used, because it writes a single carriage return without quotes, which programs read as a
    line end.
    """
    text = cell_of(value) if isinstance(value, str) else "" if value is None else str(value)
    return '"{}"'.format(text.replace('"', '""')) if _SPECIAL.search(text) else text


def write_rows(file: TextIO, rows: Iterable[Iterable[object]], cell_of: Callable[[str], str] = guarded) -> None:
    """Write rows as CSV with Unix line ends.

    Parameters
    ----------
    file
        A file that is open for writing with `newline=""`.
    rows
        The header, then the rows.
    cell_of
        Function from a text to its cell. `guarded` makes formulas safe. With any other function, the caller must check
        that no text is a formula.
    """
    for row in rows:
        cells = [cell_text(value, cell_of) for value in row]
        file.write(",".join(cells if cells != [""] else ['""']) + "\n")  # An empty line would not be read as a row.


class CsvTable(NamedTuple):
    """The cells of a CSV file, as text."""

    header: list[str]
    """Names of the columns, without spaces around them."""
    rows: list[list[str]]
    """Cells of each row below the header. The list of a blank line is empty."""
    lines: list[int]
    """Line of the file (from 1) on which each row begins."""


def parse_csv(text: str, path: Path, *, separator: str = ",", is_ragged: bool = False) -> CsvTable:
    """Return the cells of a CSV text that was read from the file `path`. Empty rows above the header are skipped.

    Parameters
    ----------
    text
        The text of the file.
    path
        The file. Errors contain this path.
    separator
        Character between two cells.
    is_ragged
        True if rows may have more or fewer cells than the header.

    Raises
    ------
    InputError
        If the text is empty or is not CSV with this separator. Unless `is_ragged`, also if a row has more or fewer
        cells than the header.
    """
    if "\0" in text:
        raise InputError(f"{path}: this is not a text file. Fix: save the table as CSV in UTF-8.")
    header: list[str] = []
    rows, lines = [], []
    line = 1
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    with long_cells():
        try:
            for cells in reader:
                if header:
                    is_whole = is_ragged or len(cells) == len(header)
                    if not is_whole and any(cell.strip() for cell in cells):
                        raise InputError(f"{path}, line {line}: {_wrong_count(len(cells), len(header), separator)}")
                    rows.append(cells if is_whole else [])
                    lines.append(line)
                elif any(cell.strip() for cell in cells):
                    header = [unguarded(cell).strip() for cell in cells]
                    if len(header) == 1 and separator == "," and (";" in header[0] or "\t" in header[0]):
                        other = "semicolons" if ";" in header[0] else "tabs"
                        raise InputError(
                            f"{path}, line {line}: the columns are not separated by commas, but by {other}. Fix: save "
                            "the table as CSV with commas."
                        )
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(f"{path}, line {line}: {_reason(error)}") from None
    if not header:
        raise InputError(f"{path}: the file is empty. Fix: write the names of the columns into the first line.")
    return CsvTable(header, rows, lines)


@contextmanager
def long_cells() -> Iterator[None]:
    """Let the module `csv` read cells of any length, for example long responses of language models."""
    limit = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # The limit is a C long, which has 32 bits on Windows.
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _wrong_count(n: int, expected: int, separator: str) -> str:
    name = {",": "a comma", ";": "a semicolon", "\t": "a tab"}[separator]
    fix = f"put each cell that contains {name} in double quotes" if n > expected else "add the missing cells"
    return f"this row has {n} {'cell' if n == 1 else 'cells'}, but the header has {expected}. Fix: {fix}."


def _reason(error: csv.Error) -> str:
    if "end of data" in str(error):
        return "this is not CSV (a double quote is not closed). Fix: close the double quote."
    return f"this is not CSV ({error}). Fix: write each double quote inside a quoted cell twice."


def refuse_duplicate_columns(header: Iterable[str], path: Path) -> None:
    """Raise an InputError if two columns of a CSV file have the same name."""
    for name, n in Counter(header).items():
        if name and n > 1:
            raise InputError(f"{path}, line 1: duplicate column `{name}`. Fix: rename or delete one of the columns.")


def is_index(name: str, cells: Iterable[str]) -> bool:
    """Return True if a column contains only row numbers, such as the index that pandas and R write.

    Examples
    --------
    >>> is_index("Unnamed: 0", ["0", "1"]), is_index("index", ["0.0", "1.0"]), is_index("index", ["a", "b"])
    (True, True, False)
    """
    return bool(_INDEX_NAME.fullmatch(name.strip())) and all(_INDEX_CELL.fullmatch(cell.strip()) for cell in cells)
