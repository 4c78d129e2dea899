"""Checking sounds and videos: their headers must be complete, and their duration must be known."""

from io import BytesIO

import ebmlite
from tinytag import TinyTag, TinyTagException

from batteries.errors import InputError

MOST_MINUTES = 30
"""Longest duration of a sound or video, in minutes."""
_NANOSECONDS_PER_TICK = 1_000_000
"""The unit of times in WebM files that do not define another unit."""


def measure_recording(path: str, suffix: str, data: bytes) -> dict[str, int]:
    """Return `duration_ms` of a sound or video, rounded to whole milliseconds.

    Raises
    ------
    InputError
        If the file is damaged, not complete, or too long.
    """
    try:
        duration_s = _webm_duration_s(data) if suffix == ".webm" else _tagged_duration_s(data)
    except (TinyTagException, OSError, ValueError, LookupError, TypeError, ArithmeticError, StopIteration):
        duration_s = None
    if not duration_s or not _is_whole(suffix, data):
        raise InputError(
            f"{path}: this file is damaged or not complete, or it does not contain its duration. Fix: save or convert "
            "the file again."
        )
    if duration_s > MOST_MINUTES * 60:
        raise InputError(
            f"{path}: the file lasts {duration_s / 60:.0f} minutes; the limit is {MOST_MINUTES} minutes. Fix: shorten "
            "the file."
        )
    return {"duration_ms": max(1, round(duration_s * 1000))}


def _tagged_duration_s(data: bytes) -> float | None:
    return TinyTag.get(filename=None, file_obj=BytesIO(data), tags=False).duration


def _webm_duration_s(data: bytes) -> float | None:
    """Return the duration that the header of a WebM file contains, in seconds. None if it contains no duration."""
    document = ebmlite.loadSchema("matroska.xml").load(BytesIO(data))
    segment = next(element for element in document if element.name == "Segment")
    header = next(element for element in segment if element.name == "Info")
    values = {element.name: element.value for element in header if element.name in {"Duration", "TimecodeScale"}}
    if "Duration" not in values:
        return None
    return float(values["Duration"]) * int(values.get("TimecodeScale", _NANOSECONDS_PER_TICK)) / 1e9


def _is_whole(suffix: str, data: bytes) -> bool:
    """Return False if a WAV or MP4 file is shorter than its own headers say. The other formats have no such header."""
    if suffix == ".wav":
        return int.from_bytes(data[4:8], "little") + 8 <= len(data)
    if suffix in {".mp4", ".m4a"}:
        return _boxes_fit(data)
    return True


def _boxes_fit(data: bytes) -> bool:
    """Return True if the boxes of an MP4 file (ISO/IEC 14496-12, section 4.2) end where the file ends."""
    start = 0
    while start < len(data):
        size = int.from_bytes(data[start : start + 4], "big")
        if size == 1:
            size = int.from_bytes(data[start + 8 : start + 16], "big")
        if size == 0:  # The box extends to the end of the file.
            return True
        if size < 8:
            return False
        start += size
    return start == len(data)
