"""Measure text, and make text fit a width: wrap lines, shorten texts, move labels apart.

Widths come from the tables of DejaVu Sans, a font that is part of matplotlib, so a text has the same layout on every
machine. A browser may draw the text in Verdana or Arial, which are not wider than DejaVu Sans.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
import scipy
from matplotlib.ft2font import FT2Font, LoadFlags

SIZE = 8.0
"""Size of most text, in points."""
SMALL = 7.0
"""Size of the smallest text, in points."""
LINE = 1.22
"""Distance between two lines of a text, as a multiple of the text size."""

_BREAKS_AFTER = "-–—/_·|+"
_ELSEWHERE_EM = 1.15
"""Assumed width of a character that DejaVu Sans lacks, in em. In common fonts, such a character is not wider."""


@lru_cache
def _font(bold: bool) -> FT2Font:
    file = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return FT2Font(str(Path(mpl.get_data_path()) / "fonts" / "ttf" / file))


@lru_cache(maxsize=4096)
def _advance_em(character: str, bold: bool) -> float:
    font = _font(bold)
    if font.get_char_index(ord(character)):
        return font.load_char(ord(character), flags=LoadFlags.NO_SCALE).horiAdvance / font.units_per_EM
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0.0
    return _ELSEWHERE_EM


def text_width(text: str, size: float = SIZE, *, bold: bool = False) -> float:
    """Return the width of a line of text, in points.

    Examples
    --------
    >>> text_width("accuracy", 10)
    45.1171875
    >>> text_width("条件", 10)
    23.0
    """
    return size * sum(_advance_em(character, bold) for character in text)


def printable(text: object) -> str:
    r"""Return text in one line, without unprintable characters.

    Examples
    --------
    >>> printable("two\nlines\x00")
    'two lines'
    """
    seen = "".join(" " if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} else char for char in str(text))
    return re.sub(r" +", " ", seen).strip(" ")


def shortened(text: object, width: float, size: float = SIZE, *, bold: bool = False) -> str:
    """Return a text that fits `width` points. A long text is cut in the middle, because names often differ at the end.

    Examples
    --------
    >>> shortened("deepseek-r1-distill-llama-70b", 80)
    'deepseek-…a-70b'
    """
    line = printable(text)
    if text_width(line, size, bold=bold) <= width:
        return line
    for kept in range(len(line) - 1, 0, -1):
        head, tail = line[: kept - kept * 2 // 5].rstrip(), line[len(line) - kept * 2 // 5 :].lstrip()
        if text_width(f"{head}…{tail}", size, bold=bold) <= width:
            return f"{head}…{tail}"
    return "…"


def wrapped(text: object, width: float, size: float = SIZE, *, most_lines: int = 2, bold: bool = False) -> list[str]:
    """Return the lines of a text, each at most `width` points wide.

    If there are more than `most_lines` lines, the last line is `shortened`. A line ends after a space, a hyphen or a
    dash, or between Chinese, Japanese or Korean characters. A line ends inside a word only if the word is wider than a
    line.

    Examples
    --------
    >>> wrapped("deepseek-r1-distill-llama-70b, no thinking", 90)
    ['deepseek-r1-distill-', 'llama-70b, n…hinking']
    >>> wrapped("people", 90)
    ['people']
    """
    lines: list[str] = []
    line = ""
    pieces = _pieces(printable(text), width, size, bold)
    for place, piece in enumerate(pieces):
        if line and text_width((line + piece).rstrip(), size, bold=bold) > width:
            if len(lines) == most_lines - 1:
                return [*lines, shortened("".join([line, *pieces[place:]]), width, size, bold=bold)]
            lines.append(line.rstrip())
            line = ""
        line += piece
    return [*lines, line.rstrip()]


def distinct_labels(
    texts: Sequence[object], width: float, size: float = SIZE, *, most_lines: int = 2, bold: bool = False
) -> list[list[str]]:
    """Return the lines of each text (`wrapped`). If different texts become equal when they are shortened, add numbers.

    Examples
    --------
    >>> distinct_labels(["a" * 20 + n + "a" * 20 for n in "xy"], 60, most_lines=1)
    [['1: aaaa…aaaa'], ['2: aaaa…aaaa']]
    """
    names = list(dict.fromkeys(printable(text) for text in texts))
    labels = {name: wrapped(name, width, size, most_lines=most_lines, bold=bold) for name in names}
    alike = [[name for name in names if labels[name] == label] for label in labels.values()]
    for group in alike:
        for number, name in enumerate(group if len(group) > 1 else [], start=1):
            labels[name] = wrapped(f"{number}: {name}", width, size, most_lines=most_lines, bold=bold)
    return [labels[printable(text)] for text in texts]


def _pieces(text: str, width: float, size: float, bold: bool) -> list[str]:
    """Split a text at every position where a line may end."""
    pieces: list[str] = []
    piece = ""
    for character in text:
        wide = unicodedata.east_asian_width(character) in "WF" and not unicodedata.category(character).startswith("P")
        too_long = text_width(piece + character, size, bold=bold) > width and _advance_em(character, bold) > 0
        if piece and character != " " and (wide or piece[-1] == " " or piece[-1] in _BREAKS_AFTER or too_long):
            pieces.append(piece)
            piece = ""
        piece += character
    return [*pieces, piece]


def moved_apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    r"""Return the positions that are nearest to the wanted positions and at least `gap` apart, in the same order.

    Parameters
    ----------
    wanted : sequence of float
        The wanted positions, in any order. Equal positions keep their order.
    gap : float
        Smallest distance between two positions.
    low, high : float
        Smallest and largest position. If there is not enough space, the last positions are beyond `high`.

    Notes
    -----
    With :math:`w_i` in ascending order, the positions :math:`p_i = q_i + i g` minimise :math:`\sum (p_i - w_i)^2` for
    :math:`q_{i + 1} \ge q_i`. So the :math:`q_i` are the isotonic regression of :math:`w_i - i g`, limited to the
    bounds.

    Examples
    --------
    >>> moved_apart([10, 10, 30], 4, 0, 100)
    [8.0, 12.0, 30.0]
    >>> moved_apart([99, 98], 4, 0, 100)
    [100.0, 96.0]
    """
    if not len(wanted):
        return []
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    free = np.asarray(wanted, dtype=float)[order] - steps
    if np.any(np.diff(free) < 0):
        free = scipy.optimize.isotonic_regression(free).x
    places = np.maximum(np.minimum(free, high - steps[-1]), low) + steps
    back = np.empty(len(wanted))
    back[order] = places
    return [float(place) for place in back]
