"""The CSV file of the flashes that `equipoise lab flashes` has shown, for the comparison with a recording."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.files.csv_files import parse_csv, write_rows
from batteries.files.file_reading import read_text


@dataclass(frozen=True)
class ShownFlash:
    """One flash, with its timing as the program recorded it. All times are in s since the window was opened."""

    flash: int
    """Number of the flash, from 1."""
    onset_s: float
    """Time of the flip that showed the white patch."""
    offset_s: float
    """Time of the flip that removed the white patch."""
    black_ms: float
    """Duration of the black before the flash, in ms."""
    black_frames: int
    """Duration of the black, in frames."""
    black_frames_intended: int
    white_ms: float
    """Duration of the flash, in ms."""
    white_frames: int
    """Duration of the flash, in frames."""
    white_frames_intended: int
    frames_dropped: int
    """Number of frames that the program knows to be dropped in the black."""
    code: int | None
    """Event code of the onset; None if no codes were sent."""
    code_s: float | None
    """Time at which the program had sent the code."""
    frame_ms: float
    """Duration of a frame, in ms."""
    pacing: str
    """Unit in which the program timed the flash: `frames` if flips wait for the screen, otherwise `clock`."""


COLUMNS = tuple(field.name for field in fields(ShownFlash))
_WHOLE = {"flash", "black_frames", "black_frames_intended", "white_frames", "white_frames_intended", "frames_dropped"}


def write_flashes(flashes: Sequence[ShownFlash], path: Path) -> None:
    """Write flashes as CSV, with one row per flash. Times in s are rounded to six decimals.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    rows = [[_cell(name, getattr(flash, name)) for name in COLUMNS] for flash in flashes]
    with atomic_write(path) as file:
        write_rows(file, [COLUMNS, *rows])


def _cell(name: str, value: object) -> object:
    if isinstance(value, float):
        return round(value, 6 if name.endswith("_s") else 4)
    return value


def read_flashes(path: Path) -> list[ShownFlash]:
    """Read the file of `write_flashes`.

    Raises
    ------
    InputError
        If the file is not such a file, or if its onsets do not increase.
    """
    table = parse_csv(read_text(path, newline=""), path)
    missing = [name for name in COLUMNS if name not in table.header]
    if missing:
        raise InputError(
            f"{path}, line 1: the column `{missing[0]}` is missing. Fix: name the file that `equipoise lab flashes` "
            "has written."
        )
    flashes: list[ShownFlash] = []
    for line, cells in zip(table.lines, table.rows, strict=True):
        if not cells:
            continue
        row = dict(zip(table.header, cells, strict=True))
        flash = ShownFlash(**{name: _value(name, row[name], f"{path}, line {line}") for name in COLUMNS})  # type: ignore[arg-type]
        if flashes and flash.onset_s <= flashes[-1].onset_s:
            raise InputError(f"{path}, line {line}: `onset_s` does not increase. Fix: use the file of one run.")
        flashes.append(flash)
    if not flashes:
        raise InputError(f"{path}: the file has no flashes. Fix: run `equipoise lab flashes` again.")
    return flashes


def _value(name: str, text: str, place: str) -> object:
    if name == "pacing":
        return text
    if name in {"code", "code_s"} and text == "":
        return None
    try:
        value = int(text) if name in _WHOLE or name == "code" else float(text)
    except ValueError:
        value = float("nan")
    if not -1e12 < value < 1e12 or (name == "frame_ms" and value <= 0):
        raise InputError(f"{place}: `{name}` is not a valid number ({text[:40]!r}). Fix: use the unchanged file.")
    return value
