"""Shaping of a line: joined letters, and the order of scripts that are read from right to left.

Text that needs no shaping is drawn unchanged, and looks the same on every machine. Other text uses Pillow's RAQM layout
(HarfBuzz and FriBiDi) if the machine has RAQM. On a machine without RAQM, `arabic_reshaper` and `python-bidi` shape the
text. These two packages come with the `lab` extra. The order of letters follows Unicode Standard Annex 9.
"""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from PIL import features

from batteries.errors import InputError, how_to_install

Direction = Literal["ltr", "rtl"]

_RIGHT_TO_LEFT = frozenset({"R", "AL"})
_ORDERED_LIKE_LATIN = frozenset({"L", "EN", "AN"})
_ALWAYS_SHAPED = ((0x0600, 0x08FF), (0x0900, 0x0DFF), (0x0E00, 0x0EFF), (0x0F00, 0x109F), (0x1780, 0x17FF))
"""Code points of scripts whose letters change with the letters beside them.

These scripts are Arabic to N'Ko, Indic, Thai, Lao, Tibetan, Burmese and Khmer.
"""


@dataclass(frozen=True)
class Shaped:
    """A piece of a line that is drawn from its left end."""

    text: str
    direction: Direction | None
    """Direction for the RAQM layout, which orders the letters; None for text in its final order."""


@lru_cache(maxsize=1)
def raqm_is_usable() -> bool:
    """Return True if Pillow can shape text. Shaping needs FriBiDi, a system library that may be missing."""
    return bool(features.check("raqm") and features.check("fribidi"))


def base_direction(text: str, usual: Direction) -> Direction:
    """Return the direction of a text: `usual`, unless all letters of the text have the other direction."""
    kinds = {unicodedata.bidirectional(character) for character in text}
    has_rtl, has_ltr = bool(kinds & _RIGHT_TO_LEFT), "L" in kinds
    if has_rtl == has_ltr:
        return usual
    return "rtl" if has_rtl else "ltr"


def goes_against(text: str, direction: Direction) -> bool:
    """Return True if a text has letters or digits that are read in the other direction than `direction`."""
    against = _ORDERED_LIKE_LATIN if direction == "rtl" else _RIGHT_TO_LEFT
    if direction == "ltr" and text.isascii():
        return False
    return any(unicodedata.bidirectional(character) in against for character in text)


@lru_cache(maxsize=8192)
def shaped(text: str, direction: Direction) -> Shaped:
    """Return the drawable form of a piece of a line.

    Raises
    ------
    InputError
        If the text needs shaping that this machine cannot do.
    """
    composed = unicodedata.normalize("NFC", text)
    if not needs_shaping(composed, direction):
        return Shaped(_without_invisible(composed), None)
    if raqm_is_usable():
        return Shaped(composed, direction)
    return Shaped(_without_invisible(_with_reshaper(composed, direction)), None)


def needs_shaping(text: str, direction: Direction) -> bool:
    """Return True if the letters of a text must be joined, or must be reordered for display."""
    if direction == "rtl" and not text.isalnum():
        return True  # In such a text, the full stop of `1.` is at the left.
    return not text.isascii() and any(
        unicodedata.bidirectional(character) in _RIGHT_TO_LEFT
        or unicodedata.category(character) in {"Mn", "Mc"}
        or any(first <= ord(character) <= last for first, last in _ALWAYS_SHAPED)
        for character in text
    )


def _without_invisible(text: str) -> str:
    """Remove control characters, such as a soft hyphen, which would be drawn as empty boxes."""
    return "".join(character for character in text if unicodedata.category(character) not in {"Cf", "Cc"})


def _with_reshaper(text: str, direction: Direction) -> str:
    strange = [character for character in text if not _reshaper_can_draw(character)]
    if strange:
        raise InputError(
            f"the text {text[:40]!r} cannot be drawn on this machine. Its script joins neighbouring letters, and only "
            f"the program library FriBiDi can join {strange[0]!r}. Fix: install FriBiDi (Debian and Ubuntu: "
            "libfribidi0; macOS: brew install fribidi; Windows: put fribidi.dll on the PATH). Pillow finds FriBiDi "
            "automatically."
        )
    try:
        from arabic_reshaper import ArabicReshaper  # noqa: PLC0415 - an extra's, and needed for few scripts
        from bidi import get_display  # noqa: PLC0415
    except ImportError:
        raise InputError(
            f"the text {text[:40]!r} cannot be drawn, because the Python packages arabic-reshaper and python-bidi are "
            f"missing. Fix: {how_to_install('lab')}"
        ) from None
    return str(get_display(ArabicReshaper({"delete_harakat": False}).reshape(text), base_dir=direction[0].upper()))


def _reshaper_can_draw(character: str) -> bool:
    if 0x064B <= ord(character) <= 0x0652:
        return True  # Arabic vowel signs, which fonts set above or below the next letter.
    return unicodedata.category(character) not in {"Mn", "Mc"} and not 0x0700 <= ord(character) <= 0x17FF
