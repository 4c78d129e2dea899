"""Reading of JSON Lines and CSV files line by line. A bad line is reported, and the other lines are still read."""

import csv
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from batteries.errors import InputError
from batteries.files.csv_files import long_cells, unguarded
from experiment.models.imports.replies import Problem, ProblemKind

Fields = dict[str, Any]
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LARGEST_NUMBER = 1e12
LONGEST_MS = 86_400_000


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading.

    Raises
    ------
    InputError
        If the file is missing or unreadable.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise InputError(f"{path}: this file does not exist. Fix: check the name and the current folder.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: this file cannot be read ({reason}). Fix: check its name and permissions.") from None
    with file:
        yield file


def json_objects(path: Path) -> Iterator[tuple[int, Fields | Problem]]:
    """Yield the number and the JSON object of each line. Empty lines are skipped."""
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            content = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
            if content.strip():
                yield number, _parsed(number, content)


def _parsed(number: int, line: bytes) -> Fields | Problem:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        return Problem(number, ProblemKind.UNREADABLE, f"not JSON at column {error.colno}")
    except UnicodeDecodeError:
        return Problem(number, ProblemKind.UNREADABLE, "not UTF-8 text")
    except RecursionError:
        return Problem(number, ProblemKind.UNREADABLE, "too many levels of lists and objects inside each other")
    except ValueError:
        return Problem(number, ProblemKind.UNREADABLE, "a number with too many digits")
    return value if isinstance(value, dict) else Problem(number, ProblemKind.UNREADABLE, "not a JSON object")


def csv_header(path: Path) -> list[str]:
    """Return the names of the columns of a CSV file; an empty list if the file is empty."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        first = file.readline()
    rows = csv.reader([first], delimiter=_separator(first))
    return [unguarded(cell).strip() for cell in next(rows, [])]


def csv_rows(path: Path) -> Iterator[tuple[int, Fields | Problem]]:
    """Yield the line number and the cells of each row of a CSV file. The keys of the cells are the columns' names."""
    with opened(path):
        header = csv_header(path)
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file, long_cells():
        separator = _separator(file.readline())
        file.seek(0)
        reader = csv.reader(file, delimiter=separator, strict=True)
        next(reader, None)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                yield line, Problem(line, ProblemKind.UNREADABLE, f"not CSV ({error})")
                continue
            if cells is None:
                return
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                detail = f"{len(cells)} cells, but the header has {len(header)}"
                yield line, Problem(line, ProblemKind.UNREADABLE, detail)
            else:
                yield line, dict(zip(header, map(unguarded, cells), strict=True))


def _separator(header: str) -> str:
    return max((",", ";", "\t"), key=header.count)


def text_of(value: object) -> str:
    """Return a cell or a JSON value as text; the empty text for a missing value."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number_of(value: object, most: float = LARGEST_NUMBER) -> float | None:
    """Return a number from 0 to `most`. The value can be a number or a text. Return None for any other value."""
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number <= most else None


def whole_of(value: object) -> int | None:
    """Return a number that is whole and not negative; None for any other value."""
    number = number_of(value)
    return int(number) if number is not None and number.is_integer() else None


def time_of(value: object) -> datetime | None:
    """Return a time in UTC from seconds since 1970 or from ISO 8601 text; None for any other value."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
        number = number_of(value)
        return datetime.fromtimestamp(number, UTC) if number else None
    except (ValueError, OverflowError, OSError):
        return None


def inner(value: object, *path: str | int) -> Any:
    """Return the value at a path of names and positions in nested JSON; None if there is no such value."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value
