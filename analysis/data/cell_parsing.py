"""Columns of raw cells, and the parsing of JSON cells.

Equal cells of a column are converted only once, which saves time and memory (`benchmarks/accuracy_pipeline.py`).
"""

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from batteries.errors import InputError

NOT_CONVERTED = (ValueError, TypeError, OverflowError, RecursionError)
"""Errors that a function raises if it cannot convert a cell. Then the cell is invalid."""
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Cells:
    """A column of raw cells. Equal cells are converted once, and the value is copied to all rows with this cell."""

    name: str
    distinct: list[Any]
    """The different cells of the column, each once."""
    number: npt.NDArray[np.integer[Any]]
    """The cell of each row, as an index in `distinct`; -1 for an empty cell. A small integer type saves memory."""

    @classmethod
    def of(cls, name: str, cells: pd.Series) -> "Cells":
        """Return a column of raw cells as an object with its different cells."""
        if isinstance(cells.dtype, pd.CategoricalDtype):
            codes, distinct = cells.cat.codes.to_numpy(), cells.cat.categories
            # Without this check, some categories could have no row.
            if np.bincount(codes + 1, minlength=len(distinct) + 1)[1:].all():
                return cls(name, distinct.tolist(), codes)
        number, distinct = pd.factorize(cells)
        return cls(name, distinct.tolist(), number)

    def first_row(self, number: int) -> int:
        """Return the first row with the cell that has this index in `distinct`."""
        return int(np.argmax(self.number == number))

    def converted(self, convert: Callable[[Any], Any], what: str, where: str) -> list[Any]:
        """Return the converted value of each cell in `distinct`.

        `what` describes a valid cell for the error message, such as "a JSON object".
        """
        values = []
        for number, cell in enumerate(self.distinct):
            try:
                values.append(convert(cell))
            except NOT_CONVERTED:
                raise not_converted(cell, self.first_row(number), self.name, what, where) from None
        return values

    def spread(self, values: Sequence[Any], dtype: str, empty: Any = None) -> pd.Series:
        """Return the value of each row.

        `values` has one value for each cell in `distinct`; empty cells get the value `empty`.
        """
        column = pd.Series([*values, empty], dtype=dtype)
        if dtype == "Int64" and column.between(-(2**31), 2**31 - 1).fillna(True).all():
            column = column.astype("Int32")  # Int32 takes half the memory.
        return pd.Series(column.array.take(self.number), copy=False)  # Index -1 is the last value, `empty`.

    def texts(self) -> pd.Series:
        """Return the texts of the rows, as categories in alphabetical order."""
        order = sorted(range(len(self.distinct)), key=self.distinct.__getitem__)
        place = np.full(len(order) + 1, -1, dtype=np.min_scalar_type(-len(order) - 1))
        place[order] = np.arange(len(order))
        distinct = pd.Index([self.distinct[number] for number in order], dtype="str")
        return pd.Series(pd.Categorical.from_codes(place[self.number], distinct, validate=False), copy=False)


def not_converted(cell: Any, row: int, column: str, what: str, where: str) -> InputError:
    """Return the error for an invalid cell. `row` is the index of the row, from 0."""
    shown = str(cell) if len(str(cell)) < 60 else f"{str(cell)[:60]}..."
    return InputError(
        f"{where}, row {row + 1}: `{column}` is {shown!r}, which is not {what}. Fix: export the data again."
    )


def json_value(cell: Any) -> Any:
    """Parse a JSON text.

    This function takes half the time of `json.loads`, because it skips spaces around the text only if necessary.
    """
    try:
        value, end = _DECODER.raw_decode(cell)
    except (ValueError, TypeError):
        return json.loads(cell)
    return value if end == len(cell) else json.loads(cell)


def json_object(cell: Any) -> dict[str, Any] | None:
    """Return the JSON object of a text, or None for `null`. Raise `ValueError` for any other text."""
    value = json_value(cell)
    if value is None or isinstance(value, dict):
        return value
    raise ValueError


def json_objects(texts: Sequence[str]) -> list[dict[str, Any] | None]:
    """Return the JSON object of each text, or None for `null`.

    Parsing all texts together takes half the time of parsing one text after another.

    Raises
    ------
    ValueError, TypeError, OverflowError, RecursionError
        If a text is neither a JSON object nor `null`.
    """
    mark = secrets.token_hex(8)  # The separator cannot be in any text, so that no text begins or ends inside another.
    values: list[Any] = json.loads("[" + f',"{mark}",'.join(texts) + "]")
    if values[1::2] != [mark] * (len(texts) - 1) or not {dict, type(None)}.issuperset(map(type, values[::2])):
        raise ValueError
    return values[::2]
