"""Labels of axes: ticks at round values, their labels, titles, and the names of levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from analysis.figures.drawing.lettering import LINE, SIZE, SMALL, distinct_labels, printable, text_width, wrapped
from analysis.figures.drawing.sheet import FigureSheet, text_height
from analysis.sentences import level_words


def label_x(
    sheet: FigureSheet, axes: Axes, ticks: Sequence[float], labels: Sequence[str], title: str | Sequence[str] = ""
) -> None:
    """Draw ticks and labels below the axes. If labels would overlap, draw only every second, third or later label."""
    axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelbottom=False)
    low, _ = axes.get_ylim()
    places = [sheet.place_of(axes, tick, low) for tick in ticks]
    every = next(step for step in range(1, len(ticks) + 2) if _have_room(places[::step], labels[::step]))
    for (x, y), label in list(zip(places, labels, strict=True))[::every]:
        sheet.write(x, y + 3.5, label, align="center", at="top", size=SMALL)
    if title:
        box = axes.get_position()
        x, y = sheet.width * (box.x0 + box.x1) / 2, sheet.height * (1 - box.y0)
        sheet.write(x, y + 13, title, align="center", at="top")


def _have_room(places: Sequence[tuple[float, float]], labels: Sequence[str]) -> bool:
    edges = [(x - text_width(label, SMALL) / 2, x + text_width(label, SMALL) / 2)
             for (x, _), label in zip(places, labels, strict=True)]  # fmt: skip
    return all(left[1] + 3 <= right[0] for left, right in pairwise(edges))


def room_for_y(labels: Sequence[str], title: str, height: float) -> float:
    """Return the space in points that `label_y` needs at the left of axes with this height."""
    lines = wrapped(title, height, most_lines=3) if title else []
    widest = max((text_width(label, SMALL) for label in labels), default=0.0)
    return widest + 7 + (text_height(len(lines)) + 5 if lines else 0)


def label_y(sheet: FigureSheet, axes: Axes, ticks: Sequence[float], labels: Sequence[str], title: str = "") -> None:
    """Draw ticks and labels at the left of the axes. The title is turned by 90 degrees and has up to three lines."""
    axes.yaxis.set_major_locator(FixedLocator(list(ticks)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="y", labelleft=False)
    box = axes.get_position()
    left, middle = sheet.width * box.x0, sheet.height * (1 - (box.y0 + box.y1) / 2)
    for tick, label in zip(ticks, labels, strict=True):
        _, y = sheet.place_of(axes, axes.get_xlim()[0], tick)
        sheet.write(left - 5, y, label, align="right", size=SMALL)
    if title:
        height = sheet.height * (box.y1 - box.y0)
        x = left - room_for_y(labels, title, height) + 0.6 * SIZE
        for place, line in enumerate(wrapped(title, height, most_lines=3)):
            sheet.write_upwards(x + place * SIZE * LINE, middle, line)


@dataclass(frozen=True)
class LevelNames:
    """The names of levels below axes, in up to three lines. If a word is too wide, all names are rotated by 90°."""

    lines: list[list[str]]
    slot: float
    upwards: bool
    height: float

    @classmethod
    def of(cls, levels: Sequence[Any], slot: float) -> "LevelNames":
        """Return the names of levels. The space for each name is `slot` points wide."""
        words = [printable(level_words(level)) for level in levels]
        if any(text_width(part, SMALL) > slot - 4 for word in words for part in word.split(" ")):
            lines = distinct_labels(words, 90, SMALL, most_lines=1)
            return cls(lines, slot, True, 8 + max(text_width(line, SMALL) for (line,) in lines))
        lines = distinct_labels(words, slot - 4, SMALL, most_lines=3)
        return cls(lines, slot, False, 7 + text_height(max(map(len, lines)), SMALL))

    def write(self, sheet: FigureSheet, left: float, top: float) -> None:
        """Write the names below axes.

        `left` is the position of the left edge of the axes, and `top` is the position of the bottom edge.
        """
        for place, lines in enumerate(self.lines):
            middle = left + self.slot * (place + 0.5)
            if self.upwards:
                sheet.write_upwards(middle, top + 4, lines[0], size=SMALL, align="right")
            else:
                sheet.write(middle, top + 4, lines, align="center", at="top", size=SMALL)


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most `most` round values from `low` to `high`. The step is 1, 2, 2.5 or 5 times a power of ten.

    Examples
    --------
    >>> nice_ticks(-0.13, 0.42)
    [-0.1, 0.0, 0.1, 0.2, 0.3, 0.4]
    """
    ticks = MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [round(float(tick), 12) for tick in ticks if low - 1e-12 <= tick <= high + 1e-12]


def number_labels(ticks: Sequence[float]) -> list[str]:
    """Return ticks as text, all with the number of decimals that the most precise tick needs.

    Examples
    --------
    >>> number_labels([-0.5, 0.0, 0.25])
    ['−0.50', '0.00', '0.25']
    """
    digits = max((len(np.format_float_positional(tick, trim="-").partition(".")[2]) for tick in ticks), default=0)
    return [f"{tick:,.{digits}f}".replace("-", "−") for tick in ticks]


def number_text(value: float) -> str:
    """Return a number with three significant digits. A number of 1000 or more is rounded to a whole number.

    Examples
    --------
    >>> number_text(-0.01234), number_text(12345.6), number_text(2)
    ('−0.0123', '12,346', '2')
    """
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")
