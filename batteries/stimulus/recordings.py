"""Checking sounds and videos: their headers must be complete, and their duration must be known."""

import math
import struct
from collections.abc import Iterator
from io import BytesIO

from tinytag import TinyTag, TinyTagException

from batteries.errors import InputError

MOST_MINUTES = 30
"""Longest duration of a sound or video, in minutes."""
_SEGMENT, _INFO, _DURATION, _TICK = 0x18538067, 0x1549A966, 0x4489, 0x2AD7B1
"""Ids of elements in WebM files (RFC 9559, section 5.1)."""
_FLOATS = {4: ">f", 8: ">d"}
"""Formats of numbers with a decimal point, by their number of bytes."""
_NANOSECONDS_PER_TICK = 1_000_000
"""The unit of times in WebM files that do not define another unit."""
_DAMAGED = (
    TinyTagException, OSError, ValueError, LookupError, TypeError, ArithmeticError, StopIteration, struct.error,
)  # fmt: skip
"""Errors of reading a damaged file."""


def measure_recording(path: str, suffix: str, data: bytes) -> dict[str, int]:
    """Return `duration_ms` of a sound or video, rounded to whole milliseconds.

    Raises
    ------
    InputError
        If the file is damaged, not complete, or too long.
    """
    try:
        duration_s = _webm_duration_s(data) if suffix == ".webm" else _tagged_duration_s(data)
    except (
        TinyTagException,
        OSError,
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        StopIteration,
        struct.error,
    ):
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
    segment = next(body for name, body in _elements(data) if name == _SEGMENT)
    header = dict(_elements(next(body for name, body in _elements(segment) if name == _INFO)))
    duration = header.get(_DURATION, b"")
    if len(duration) not in _FLOATS:
        return None
    ticks = float(struct.unpack(_FLOATS[len(duration)], duration)[0])
    scale = int.from_bytes(header[_TICK], "big") if _TICK in header else _NANOSECONDS_PER_TICK
    return ticks * scale / 1e9 if math.isfinite(ticks) and ticks > 0 else None


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the ids and bodies of the elements of an EBML document or element (RFC 8794, sections 4 to 6)."""
    start = 0
    while start < len(data):
        id_length = 9 - data[start].bit_length()
        name = int.from_bytes(data[start : start + id_length], "big")
        start += id_length
        size_length = 9 - data[start].bit_length()
        size = int.from_bytes(data[start : start + size_length], "big") & ((1 << 7 * size_length) - 1)
        start += size_length
        # A size of ones is unknown: the element extends to the end of its parent, as in recordings of browsers.
        end = len(data) if size == (1 << 7 * size_length) - 1 else start + size
        yield name, data[start:end]
        start = end


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
