"""Reliability diagram: accuracy against confidence, with one point for each bin of confidence."""

import pandas as pd

from analysis.figures.accuracy import PERCENT_LABELS, PERCENT_TICKS
from analysis.figures.drawing.axes import label_x, label_y, room_for_y
from analysis.figures.drawing.lettering import SMALL, wrapped
from analysis.figures.drawing.sheet import INK, SOFT, WIDTH, Drawing, FigureSheet, finished, style, text_height
from analysis.sentences import count, percent

MARGIN = 0.03
LARGEST_AREA = 60.0
"""Area of the largest point, in square points. It belongs to the bin with the most responses."""


def reliability_diagram(bins: pd.DataFrame, name: str, who: str, confidence: float) -> Drawing:
    """Draw the accuracy of each bin against its mean confidence.

    Parameters
    ----------
    bins : DataFrame
        One row per bin with responses: `n`, `mean_confidence`, `accuracy`, `ci_low`, `ci_high`. A missing interval is
        not drawn.
    name : str
        The name of the figure's files, without the file extension.
    who : str
        The subject and the levels of the factors in words, for the title.
    confidence : float
        Confidence level of the intervals, such as 0.95.

    References
    ----------
    Murphy, A. H., & Winkler, R. L. (1977). Reliability of subjective probability forecasts of precipitation and
    temperature. Applied Statistics, 26, 41-47.
    """
    interval = f"{percent(confidence, 0)} CI"
    note = f"Area: number of responses. Lines: {interval}. Dashed: accuracy equals confidence."
    with style():
        sheet = _draw(bins, note, interval)
        said = "; ".join(
            f"confidence {percent(row['mean_confidence'])}: {percent(row['accuracy'])} of {row['n']:,} correct"
            for row in bins.to_dict("records")
        )
        title = f"Confidence and accuracy of {who}"
        return finished(sheet, name, title, f"{count(len(bins), 'bin')} with responses. {said}.", bins)


def _draw(bins: pd.DataFrame, note: str, interval: str) -> FigureSheet:
    y_title = f"percent correct, {interval}"
    left = room_for_y(PERCENT_LABELS, y_title, 170) + 3
    side = min(WIDTH - left - 10, 210.0)
    lines = wrapped(note, WIDTH - 8, SMALL, most_lines=3)
    top = text_height(len(lines), SMALL) + 12
    sheet = FigureSheet(WIDTH, top + side + 28)
    sheet.write(4, 3, lines, at="top", size=SMALL)
    axes = sheet.axes(left, top, side, side)
    axes.set_xlim(-MARGIN, 1 + MARGIN)
    axes.set_ylim(-MARGIN, 1 + MARGIN)
    axes.plot([0, 1], [0, 1], color=SOFT, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    for row in bins.to_dict("records"):
        axes.plot([row["mean_confidence"]] * 2, [row["ci_low"], row["ci_high"]], color=INK, linewidth=1.0)
    axes.plot(bins["mean_confidence"], bins["accuracy"], color=INK, linewidth=0.8)
    area = bins["n"] * LARGEST_AREA / bins["n"].max()
    axes.scatter(bins["mean_confidence"], bins["accuracy"], s=area, color=INK, linewidths=0, clip_on=False, zorder=3)
    label_x(sheet, axes, PERCENT_TICKS, PERCENT_LABELS, "mean confidence, percent")
    label_y(sheet, axes, PERCENT_TICKS, PERCENT_LABELS, y_title)
    return sheet
