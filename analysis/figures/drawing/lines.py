"""Lines over the levels of a factor; each line has intervals, and its name is at the right end."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.figures.drawing.axes import LevelNames, label_y, nice_ticks, number_labels, room_for_y
from analysis.figures.drawing.lettering import (
    LINE,
    SIZE,
    distinct_labels,
    moved_apart,
    printable,
    shortened,
    text_width,
)
from analysis.figures.drawing.sheet import SOFT, WIDTH, FigureSheet
from analysis.figures.drawing.subject_styles import Look, draw_marker, draw_participants

MOST_LINES = 12
"""Greatest number of lines that a reader can distinguish."""


class Point(NamedTuple):
    """The estimate at one level, and its interval. A missing value is NaN."""

    estimate: float
    ci_low: float
    ci_high: float


def point_of(cells: pd.DataFrame, estimate: str, ci_low: str, ci_high: str) -> Point:
    """Return the point in the first row of a table.

    For a table without rows, return a point with missing values (a gap).
    """
    if cells.empty:
        return Point(math.nan, math.nan, math.nan)
    return Point(*(float(value) for value in cells[[estimate, ci_low, ci_high]].iloc[0]))


class Line(NamedTuple):
    """One line: its name, its style, and one point per level."""

    name: str
    look: Look
    points: Sequence[Point]
    participants: Sequence[Sequence[float]] = ()
    """The values of the participants at each level, drawn behind the points."""
    markers: Sequence[Look] = ()
    """The style of each point, if the points are different subjects."""
    is_connected: bool = True
    """False if the levels are separate subjects, between which a line would mean nothing."""


class Scale(NamedTuple):
    """The vertical axis."""

    title: str
    limits: tuple[float, float]
    ticks: Sequence[float]
    labels: Sequence[str]
    dashed_at: float | None = None
    """Value of a horizontal dashed line, such as the chance level; None for no line."""
    dashed_words: str = ""


def draw_lines(lines: Sequence[Line], levels: Sequence[object], x_title: str, scale: Scale) -> FigureSheet:
    """Return a sheet with lines over levels at equal distances. Call this function in a `with style():` block.

    Lines are shifted slightly, so that their intervals do not hide one another. The names at the right are moved
    apart, and a thin line connects each name to the end of its line. A line has a gap at a level without an estimate.
    """
    least = len(levels) * max(16.0, 4.5 * (len(lines) + 1))
    names = [*(line.name for line in lines), *([scale.dashed_words] if scale.dashed_at is not None else [])]
    for label_width in (130.0, 78.0):
        labels = distinct_labels(names, label_width)
        gap = SIZE * LINE * max(map(len, labels)) + 2
        height = max(130.0, gap * len(labels))
        left = room_for_y(scale.labels, scale.title, height) + 2
        right = _LEADER + 14 + max(text_width(line) for label in labels for line in label) if any(names) else 8.0
        plot = WIDTH - left - right
        if plot >= least:
            break
    slot = plot / len(levels)
    level_names = LevelNames.of(levels, slot)
    sheet = FigureSheet(WIDTH, 8 + height + level_names.height + 13)
    axes = sheet.axes(left, 8, plot, height)
    axes.set_xlim(-0.5, len(levels) - 0.5)
    axes.set_ylim(*scale.limits)
    axes.grid(axis="y")
    label_y(sheet, axes, scale.ticks, scale.labels, scale.title)
    level_names.write(sheet, left, 8 + height)
    sheet.write(left + plot / 2, 8 + height + level_names.height, shortened(x_title, plot), align="center", at="top")
    if scale.dashed_at is not None:
        axes.axhline(scale.dashed_at, color=SOFT, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    ends = []
    step = min(6.0, 0.6 * slot / len(lines)) / slot
    spread = 0.35 * step if len(lines) > 1 else min(8.0, 0.25 * slot) / slot
    for place, line in enumerate(lines):
        x = np.arange(len(levels)) + step * (place - (len(lines) - 1) / 2)
        y = np.array([point.estimate for point in line.points], dtype=float)
        if line.is_connected:
            axes.plot(x, y, color=line.look.colour, linestyle=(0, line.look.dashes) if line.look.dashes else "-")
        markers = line.markers or [line.look] * len(levels)
        for at, values in zip(x, line.participants, strict=False):
            draw_participants(axes, values, at, spread, line.look, upwards=True)
        for at, point, look in zip(x, line.points, markers, strict=True):
            axes.plot([at, at], [point.ci_low, point.ci_high], color=line.look.colour, linewidth=1.0)
            if np.isfinite(point.estimate):
                draw_marker(axes, at, point.estimate, look)
        last = int(np.flatnonzero(np.isfinite(y))[-1])
        ends.append(sheet.place_of(axes, x[last], y[last]))
    if scale.dashed_at is not None:
        ends.append(sheet.place_of(axes, len(levels) - 0.5, scale.dashed_at))
    if any(names):
        _name_lines(sheet, lines, labels, ends, gap, left + plot, 8 + height)
    return sheet


_LEADER = 12.0
"""Length of the line that leads from the edge of the axes to a name, in points."""


def _name_lines(
    sheet: FigureSheet, lines: Sequence[Line], labels: Sequence[Sequence[str]], ends: Sequence[tuple[float, float]],
    gap: float, right: float, bottom: float,
) -> None:  # fmt: skip
    paper = sheet.paper()
    places = moved_apart([y for _, y in ends], gap, 8 + gap / 2, bottom - gap / 2)
    for place, ((end_x, end_y), y, label) in enumerate(zip(ends, places, labels, strict=True)):
        paper.plot([end_x + 4, right + 2, right + _LEADER], [end_y, end_y, y], color=SOFT, linewidth=0.5, zorder=0)
        if place < len(lines):
            draw_marker(paper, right + _LEADER + 4, y, lines[place].look)
        sheet.write(right + _LEADER + 10, y, label)


def data_scale(title: str, values: Sequence[float]) -> Scale:
    """Return an axis with round ticks for the finite values."""
    finite = [value for value in values if np.isfinite(value)]
    low, high = min(finite), max(finite)
    margin = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    limits = (low - margin, high + margin)
    ticks = nice_ticks(*limits)
    return Scale(printable(title), limits, ticks, number_labels(ticks))
