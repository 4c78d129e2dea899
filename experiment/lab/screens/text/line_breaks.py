"""Line breaks: at spaces, after hyphens, and between the characters of Chinese and Japanese."""

import unicodedata
from collections.abc import Callable, Iterator

Measure = Callable[[int, int], float]
"""Function that returns the width in pixels of a part of the text, from its start index to its end index."""

_SPACES = frozenset(" \t\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u200b\u205f\u3000")
"""Spaces at which a line may end. A line may not end at a no-break space."""
_HYPHENS = frozenset("-\u2010\u2013\u2014")
_NEVER_FIRST = frozenset(
    "、。，．：；！？）］｝」』】〕〉》ー々ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮ…‥·・%％)]},.:;!?\"'”’"
)
_NEVER_LAST = frozenset("（［｛「『【〔〈《([{\"'“‘")


def wrapped(text: str, width_px: float, measure: Measure) -> list[tuple[int, int]]:
    """Return the index of the start and of the end of each line.

    Spaces at the end of a line belong to no line. A line feed ends a line. A word that is wider than a line is split.

    Parameters
    ----------
    text
        The text.
    width_px
        Largest width of a line.
    measure
        Function that measures parts of the text.
    """
    lines: list[tuple[int, int]] = []
    start = 0
    for paragraph in text.split("\n"):
        end = start + len(paragraph)
        lines.extend(_wrapped(text, start, end, width_px, measure))
        start = end + 1
    return lines


def _wrapped(text: str, start: int, end: int, width_px: float, measure: Measure) -> Iterator[tuple[int, int]]:
    line_start = line_end = start
    for piece_start, piece_end in _pieces(text, start, end):
        if line_end > line_start and measure(line_start, piece_end) > width_px:
            yield line_start, line_end
            line_start = piece_start
        while measure(line_start, piece_end) > width_px:
            cut = _longest_that_fits(text, line_start, piece_end, width_px, measure)
            if cut == piece_end:
                break
            yield line_start, cut
            line_start = cut
        line_end = piece_end
    yield line_start, line_end


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of the text that may not be split. The parts contain no spaces."""
    piece_start: int | None = None
    for index in range(start, end):
        if text[index] in _SPACES:
            if piece_start is not None:
                yield piece_start, index
            piece_start = None
        elif piece_start is None:
            piece_start = index
        elif _may_break(text, piece_start, index):
            yield piece_start, index
            piece_start = index
    if piece_start is not None:
        yield piece_start, end


def _may_break(text: str, piece_start: int, index: int) -> bool:
    before, after = text[index - 1], text[index]
    if after in _NEVER_FIRST or before in _NEVER_LAST or _continues(text, index):
        return False
    if before in _HYPHENS:
        return index - 1 > piece_start and after.isalnum()
    return _allows_breaks(before) or _allows_breaks(after)


def _allows_breaks(character: str) -> bool:
    """Return True if lines may end on both sides of a character.

    Korean is excluded, because Korean is written with spaces.
    """
    is_hangul = "\uac00" <= character <= "\ud7a3"
    return unicodedata.east_asian_width(character) in {"W", "F"} and not is_hangul


def _continues(text: str, index: int) -> bool:
    """Return True if the character at `index` is combined with the previous character."""
    return unicodedata.category(text[index]).startswith("M") or "\u200d" in text[index - 1 : index + 1]


def _longest_that_fits(text: str, start: int, end: int, width_px: float, measure: Measure) -> int:
    """Return the index at which to split a word that is too wide for a line.

    At least one character stays on the line.
    """
    fitting = None
    for cut in range(start + 1, end):
        if _continues(text, cut):
            continue
        if fitting is not None and measure(start, cut) > width_px:
            break
        fitting = cut
    return end if fitting is None else fitting
