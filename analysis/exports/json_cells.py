"""JSON values as cells of a table: a text stays as it is if this is unambiguous, so that people can read the cell."""

import json
import re
from typing import Any

_NOT_PLAIN = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def json_cell(value: Any) -> str:
    """Return a JSON value as a text that is not empty. `json_value_of` returns the value again.

    A text is written without quotation marks if it cannot be mistaken for JSON.

    Examples
    --------
    >>> [json_cell(value) for value in ("north-3", "3", 3, {"response": 0}, "")]
    ['north-3', '"3"', '3', '{"response": 0}', '""']
    """
    if isinstance(value, str) and value.strip() == value != "" and not _NOT_PLAIN.search(value):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return value
    cell = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if _NOT_PLAIN.search(cell) else cell


def json_value_of(cell: str) -> Any:
    """Return the value of a cell that `json_cell` made."""
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell
