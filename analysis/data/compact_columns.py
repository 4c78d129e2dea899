"""Columns that are filled row by row and need little memory.

Equal cells are stored once, and numbers are stored without Python objects.

The columns are those of the view `trials`. The JSON texts of `jspsych` are parsed at once, because nearly all of them
differ. As texts, they would take more memory than all other columns together (`benchmarks/accuracy_pipeline.py`).
"""

import ctypes
import math
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.cell_parsing import NOT_CONVERTED, json_object, json_objects, not_converted
from analysis.data.time_columns import time_column, time_texts, times_of

ROWS_AT_ONCE = 200
OFTEN_NEW = ("shown_at", "received_at")
"""Columns of times in which nearly all cells differ."""
OFTEN_NEW_NUMBERS = ("rt_ms", "fixation_ms")
"""Columns of numbers in which nearly all cells differ."""
NOTES = ("trial_type", "plugin_version", "time_elapsed", "is_noted")
"""The columns that replace `jspsych`. The first three are values that jsPsych recorded. `is_noted` is true if the
trial has data of jsPsych.
"""

Read = Callable[[Any], Any]


class RawColumns:
    """Columns that are filled row by row.

    Parameters
    ----------
    names
        The names of the columns, in the order of the cells of a row.
    read
        A function that converts each cell before the cell is stored. If `read` is None, the cells are stored unchanged.
    """

    def __init__(self, names: Sequence[str], read: Read | None = None) -> None:
        self._read = read
        self._names = names
        self._columns = [_column(name, read) for name in names]
        self._waiting: list[tuple[Any, ...]] = []

    def step(self, *cells: Any) -> None:
        """Append a row."""
        self._waiting.append(cells)
        if len(self._waiting) == ROWS_AT_ONCE:
            self._put_away()

    def series(self, where: str) -> dict[str, pd.Series]:
        """Return the columns of all appended rows, and remove the rows from this object.

        Parameters
        ----------
        where : str
            The name of the data in error messages.

        Raises
        ------
        InputError
            If a cell of `jspsych` is not a JSON object.
        """
        self._put_away()
        columns = dict(zip(self._names, self._columns, strict=True))
        self._columns.clear()
        found: dict[str, pd.Series] = {}
        for name in self._names:
            column = columns.pop(name)
            found |= column.columns(where) if isinstance(column, NotesColumn) else {name: column.column()}
        return found

    def _put_away(self) -> None:
        # Without rows, the inner zip yields no columns.
        for column, cells in zip(self._columns, zip(*self._waiting, strict=True), strict=False):
            column.take(cells)
        self._waiting.clear()


class RepeatedColumn(dict[Any, int]):
    """A column with few different values. Each value is stored once; each row has the index of its value."""

    def __init__(self, read: Read | None = None) -> None:
        self._read = read
        self._distinct: list[Any] = []
        self._numbers = array("i")

    def __missing__(self, cell: Any) -> int:
        self[cell] = number = len(self._distinct)
        self._distinct.append(self._read(cell) if self._read else cell)
        return number

    def take(self, cells: Sequence[Any]) -> None:
        """Append the cells of further rows."""
        self._numbers.extend(map(self.__getitem__, cells))

    def column(self) -> pd.Series:
        """Return the cells of all rows."""
        return categories(self._distinct, np.array(self._numbers))


class TextColumn:
    """A column in which nearly all values differ."""

    def __init__(self, read: Read | None = None) -> None:
        self._read = read
        self._cells: list[Any] = []

    def take(self, cells: Sequence[Any]) -> None:
        """Append the cells of further rows."""
        self._cells.extend(map(self._read, cells) if self._read else cells)

    def column(self) -> pd.Series:
        """Return the cells of all rows."""
        return pd.Series(self._cells, dtype=object)


class TimeColumn:
    """A column of times in which nearly all cells differ.

    If one of the times is not written as in the store, all times are kept as texts.
    """

    def __init__(self, read: Read | None = None) -> None:
        self._read = read
        self._milliseconds = array("q")
        self._texts: TextColumn | None = None

    def take(self, cells: Sequence[Any]) -> None:
        """Append the cells of further rows."""
        texts = [self._read(cell) for cell in cells] if self._read else cells
        times = times_of(texts) if self._texts is None else None
        if times is not None:
            # Convert now: texts that wait for the last row would fragment the memory.
            self._milliseconds.frombytes(times.tobytes())
            return
        if self._texts is None:
            self._texts = TextColumn()
            before = time_texts(self._times())
            self._texts.take(before.astype(object).where(before.notna(), None).tolist())
        self._texts.take(texts)

    def column(self) -> pd.Series:
        """Return the cells of all rows."""
        return self._times() if self._texts is None else self._texts.column()

    def _times(self) -> pd.Series:
        return time_column(np.array(self._milliseconds).view("datetime64[ms]"))


class NumberColumn:
    """A column of numbers in which nearly all cells differ.

    If a cell is not a number, such as a text from a CSV file, all cells are stored as objects.
    """

    def __init__(self, read: Read | None = None) -> None:
        self._numbers = array("d")
        self._objects: TextColumn | None = TextColumn(read) if read else None

    def take(self, cells: Sequence[Any]) -> None:
        """Append the cells of further rows."""
        if self._objects is None and not {float, int, type(None)}.issuperset(map(type, cells)):
            self._objects = TextColumn()
            self._objects.take([None if math.isnan(number) else number for number in self._numbers])
            del self._numbers[:]
        if self._objects is None:
            self._numbers.extend(math.nan if cell is None else cell for cell in cells)
        else:
            self._objects.take(cells)

    def column(self) -> pd.Series:
        """Return the cells of all rows."""
        return pd.Series(np.array(self._numbers)) if self._objects is None else self._objects.column()


class NotesColumn:
    """The data that jsPsych recorded for each trial. The JSON texts of these data are parsed row by row."""

    def __init__(self, read: Read | None = None) -> None:
        self._read = read
        self._texts = {"trial_type": RepeatedColumn(), "plugin_version": RepeatedColumn()}
        self._time_elapsed = array("d")
        self._is_noted = array("b")
        self._not_converted: tuple[Any, int, str] | None = None

    def take(self, cells: Sequence[Any]) -> None:
        """Append the texts of further rows. A row without a text has None."""
        texts = [self._read(cell) for cell in cells] if self._read else cells
        try:
            notes = json_objects(["null" if text is None else text for text in texts])
            times = [_time_elapsed(note) for note in notes]
        except NOT_CONVERTED:
            notes, times = self._one_by_one(texts)
        for name, column in self._texts.items():
            column.take([None if note is None else _text(note.get(name)) for note in notes])
        self._time_elapsed.extend(times)
        self._is_noted.extend(note is not None for note in notes)

    def _one_by_one(self, texts: Sequence[Any]) -> tuple[list[dict[str, Any] | None], list[float]]:
        """Parse texts one by one, if some texts are invalid. Keep the first invalid text for the error message.

        Return jsPsych's data of each trial, and the elapsed time of each trial.
        """
        notes: list[dict[str, Any] | None] = []
        times = []
        for row, text in enumerate(texts, start=len(self._is_noted)):
            note, time, what = None, math.nan, "a JSON object"
            try:
                note = None if text is None else json_object(text)
                what = "a JSON object with a number `time_elapsed_ms`"
                time = _time_elapsed(note)
            except NOT_CONVERTED:
                self._not_converted = self._not_converted or (text, row, what)
            notes.append(note)
            times.append(time)
        return notes, times

    def columns(self, where: str) -> dict[str, pd.Series]:
        """Return the columns in `NOTES` for all rows. For `where` and the error, see `RawColumns.series`."""
        if self._not_converted:
            cell, row, what = self._not_converted
            raise not_converted(cell, row, "jspsych", what, where)
        return {
            **{name: column.column() for name, column in self._texts.items()},
            "time_elapsed": pd.Series(np.array(self._time_elapsed)),
            "is_noted": pd.Series(np.array(self._is_noted, dtype=bool)),
        }


def notes_of(cells: pd.Series, where: str) -> dict[str, pd.Series]:
    """Return the columns in `NOTES`, made from the column `jspsych`.

    For `where` and the error, see `RawColumns.series`.
    """
    notes = NotesColumn()
    for first in range(0, len(cells), ROWS_AT_ONCE):
        some = cells.iloc[first : first + ROWS_AT_ONCE]
        notes.take([None if pd.isna(cell) else cell for cell in some.tolist()])
    return notes.columns(where)


def categories(values: list[Any], number: npt.NDArray[Any]) -> pd.Series:
    """Return a column of categories. `number` has the index of each row's value in `values`.

    `values` may have duplicates.
    """
    codes, distinct = pd.factorize(pd.Series(values, dtype=object))
    return pd.Series(pd.Categorical.from_codes(codes[number], distinct, validate=False), copy=False)


def _column(name: str, read: Read | None) -> RepeatedColumn | TimeColumn | NumberColumn | NotesColumn:
    if name == "jspsych":
        return NotesColumn(read)
    return (
        TimeColumn(read)
        if name in OFTEN_NEW
        else NumberColumn(read)
        if name in OFTEN_NEW_NUMBERS
        else RepeatedColumn(read)
    )


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _time_elapsed(note: dict[str, Any] | None) -> float:
    time = None if note is None else note.get("time_elapsed_ms")
    return math.nan if time is None else float(time)


_M_MMAP_THRESHOLD = -3
"""The number by which `mallopt(3)` of glibc identifies a threshold. A memory block above the threshold is allocated and
released separately."""
_THRESHOLD_BYTES = 2**20


def give_back_freed_arrays() -> None:
    """Set the C library glibc to return the memory of each freed array of a megabyte or more to the system.

    By default, glibc may keep the memory of freed arrays of up to 32 MB. For a million responses, the kept memory is
    140 MB. With another C library, the function has no effect.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl does not have it.
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
