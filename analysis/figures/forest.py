"""The forest plot: one estimate with its interval per row, and a line at a reference value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.figures.accuracy import MOST_IN_WORDS
from analysis.figures.drawing.axes import label_x, nice_ticks, number_labels, number_text
from analysis.figures.drawing.lettering import (
    LINE,
    SIZE,
    SMALL,
    distinct_labels,
    printable,
    shortened,
    text_width,
    wrapped,
)
from analysis.figures.drawing.sheet import SOFT, WIDTH, Drawing, FigureSheet, finished, style, text_height
from analysis.figures.drawing.subject_names import SubjectNames, parts_of
from analysis.figures.drawing.subject_styles import BLUE, Look, Subject, draw_marker, style_of
from analysis.sentences import level_words

MOST_ROWS = 60
"""Largest number of rows in a figure. For a longer table, the first rows are drawn, and a note states the total."""


def forest_plot(
    table: pd.DataFrame, name: str, *, label: str, estimate: str, ci_low: str, ci_high: str,
    reference: float | None = 0,
    x_label: str, group: str | None = None, scale: float = 1, styles: Mapping[Subject, Look] | None = None,
) -> Drawing | None:  # fmt: skip
    """Draw one estimate with its interval for each row of the table, and write the numbers at the right.

    Parameters
    ----------
    table : DataFrame
        One row per estimate, such as a coefficient of a model, or the difference between people and a language model.
    name : str
        The name of the figure's files, without the file extension.
    label, estimate, ci_low, ci_high : str
        Columns of the table. A missing estimate or interval is not drawn, and the figure states that it is missing. If
        an interval is much wider than the other intervals, it is cut off at an arrow. The numbers at the right give
        the whole interval.
    reference : float or None
        Position of the dashed line, such as 0 for no difference; None for no line.
    x_label : str
        Label of the horizontal axis: the measure, its unit, and the kind of interval.
    group : str, optional
        Column that groups the rows. The groups are in the order of their first rows.
    scale : float
        The figure shows the numbers of the table times `scale`, such as 100 for percentage points. The data of the
        figure are not multiplied.
    styles : dict, optional
        Styles of subjects (`looks`), if the labels are subjects. By default, all rows have the same style.

    Returns
    -------
    Drawing or None
        None if there is no estimate. If the table has more than `MOST_ROWS` rows, only the first rows are drawn, but
        the data of the figure have all rows.
    """
    finite = table.assign(**{column: scale * _finite(table[column]) for column in (estimate, ci_low, ci_high)})
    if finite[estimate].isna().all():
        return None
    if group is not None:
        finite = finite.sort_values(group, key=lambda values: pd.Series(pd.factorize(values)[0]), kind="stable")
    shown = finite.head(MOST_ROWS)
    rows = [
        _Row(
            level_words(said), "" if group is None else level_words(under),
            style_of(str(said), styles or {}) or Look("s", BLUE, True, ()), *(float(number) for number in numbers),
        )
        for said, under, numbers in zip(
            shown[label], shown[label if group is None else group],
            shown[[estimate, ci_low, ci_high]].itertuples(index=False), strict=True,
        )
    ]  # fmt: skip
    cut = len(finite) - len(rows)
    note = f"The first {len(rows)} of {len(finite)} rows." if cut else ""
    with style():
        sheet = _draw(rows, reference, printable(x_label), note, are_subjects=styles is not None)
        title = f"Forest plot: {x_label}"
        return finished(sheet, name, title, _words(rows, reference, x_label, note), table)


@dataclass(frozen=True)
class _Row:
    label: str
    group: str
    look: Look
    estimate: float
    ci_low: float
    ci_high: float


def _finite(values: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(values).astype(float)
    return numbers.where(np.isfinite(numbers))


def _draw(rows: Sequence[_Row], reference: float | None, x_label: str, note: str, *, are_subjects: bool) -> FigureSheet:
    low, high = _limits(rows, reference)
    numbers = _numbers(rows, high - low)
    right = max(text_width(text) for text in numbers) + 12
    indent = 12.0 if rows[0].group else 4.0
    for label_width in (190.0, 130.0, 84.0):
        names, width = _names(rows, label_width, are_subjects=are_subjects)
        left = width + indent + 8
        if WIDTH - left - right >= 110:
            break
    plot = WIDTH - left - right
    y, places, headings = 5.0, [], []
    for place, row in enumerate(rows):
        if row.group and (place == 0 or rows[place - 1].group != row.group):
            headings.append((y + 3, row.group))
            y += 15
        height = SIZE * LINE * max(len(lines) for _, lines in names[place]) + 4
        places.append(y + height / 2)
        y += height
    titles = wrapped(x_label, WIDTH - 8, most_lines=3)
    sheet = FigureSheet(WIDTH, y + 13 + text_height(len(titles)) + 5 + (11 if note else 0))
    axes = sheet.axes(left, 5, plot, y - 5)
    axes.set_xlim(low, high)
    axes.set_ylim(y, 5)
    axes.spines["left"].set_visible(False)
    if reference is not None:
        axes.axvline(reference, color=SOFT, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    for at, row, columns, text in zip(places, rows, names, numbers, strict=True):
        if np.isfinite(row.estimate):
            axes.plot([max(row.ci_low, low), min(row.ci_high, high)], [at, at], color=row.look.colour, linewidth=1.2)
            for beyond, edge, arrow in ((row.ci_low < low, low, "<"), (row.ci_high > high, high, ">")):
                if beyond:
                    draw_marker(axes, edge, at, Look(arrow, row.look.colour, True, ()), size=4)
            draw_marker(axes, row.estimate, at, row.look, size=4)
        for x, lines in columns:
            sheet.write(indent + x, at, lines)
        sheet.write(left + plot + 10, at, text)
    for at, heading in headings:
        sheet.write(4, at, shortened(heading, WIDTH - 8, bold=True), bold=True, at="top")
    ticks = nice_ticks(low, high, 5)
    label_x(sheet, axes, ticks, number_labels(ticks))
    half = max(text_width(line) for line in titles) / 2
    middle = min(max(left + plot / 2, half + 4), WIDTH - half - 4)
    sheet.write(middle, y + 13, titles, align="center", at="top")
    if note:
        sheet.write(4, sheet.height - 3, note, at="bottom", size=SMALL, colour=SOFT)
    return sheet


def _names(
    rows: Sequence[_Row], most: float, *, are_subjects: bool
) -> tuple[list[list[tuple[float, list[str]]]], float]:
    """Return the name of each row as columns (position and lines of text), and the width of all columns in points."""
    labels = [row.label for row in rows]
    if are_subjects:
        names = SubjectNames.of(
            [parts_of(row.label, row.look.model) for row in rows], most, groups=[row.group for row in rows]
        )
        return [names.columns(row) for row in range(len(rows))], names.width
    lines = distinct_labels(labels, most, most_lines=3)
    return [[(0.0, each)] for each in lines], max(text_width(line) for each in lines for line in each)


def _limits(rows: Sequence[_Row], reference: float | None) -> tuple[float, float]:
    """Return the limits of the axis, which contain all estimates.

    The axis extends beyond the estimates to show the intervals. At each end, it extends by at most twice the median
    width of the intervals, or twice the range of the estimates (the larger of both). Longer intervals are cut off.
    """
    estimates = [row.estimate for row in rows if np.isfinite(row.estimate)]
    estimates += [] if reference is None else [reference]
    bounds = [bound for row in rows for bound in (row.ci_low, row.ci_high) if np.isfinite(bound)]
    widths = [row.ci_high - row.ci_low for row in rows if np.isfinite(row.ci_high - row.ci_low)]
    least, most = min(estimates), max(estimates)
    usual = max(most - least, float(np.median(widths)) if widths else 0.0)
    low = max(min([least, *bounds]), least - 2 * usual)
    high = min(max([most, *bounds]), most + 2 * usual)
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return low - margin, high + margin


def _numbers(rows: Sequence[_Row], span: float) -> list[str]:
    """Return the estimate and interval of each row as text.

    The number of decimals depends on `span`, the length of the axis.
    """
    digits = 0 if span >= 100 else 1 if span >= 20 else max(2, 1 - int(np.floor(np.log10(span))))

    def text(value: float) -> str:
        return f"{value:,.{digits}f}".replace("-", "−")

    return [
        "no estimate" if not np.isfinite(row.estimate)
        else f"{text(row.estimate)} [{text(row.ci_low)}, {text(row.ci_high)}]"
        if np.isfinite(row.ci_low) and np.isfinite(row.ci_high)
        else f"{text(row.estimate)} (no CI)"
        for row in rows
    ]  # fmt: skip


def _words(rows: Sequence[_Row], reference: float | None, x_label: str, note: str) -> str:
    numbers = [(row, text) for row, text in zip(rows, _numbers(rows, 1), strict=True) if np.isfinite(row.estimate)]
    opening = f"{x_label}. {note}".strip()
    with_ci = [row for row, _ in numbers if np.isfinite(row.ci_low) and np.isfinite(row.ci_high)]
    if reference is not None and with_ci:
        above = sum(row.ci_low > reference for row in with_ci)
        below = sum(row.ci_high < reference for row in with_ci)
        at = number_text(reference)
        counted = (
            f"Of {len(with_ci)} CIs, {above} {'is' if above == 1 else 'are'} above {at} and {below} "
            f"{'is' if below == 1 else 'are'} below {at}."
            if len(with_ci) > 1
            else f"The CI is {'above' if above else 'below' if below else 'not above or below'} {at}."
        )
        opening = f"{x_label}. {counted} {note}".strip()
    if len(numbers) > MOST_IN_WORDS:
        ordered = sorted(numbers, key=lambda entry: entry[0].estimate)
        numbers = [ordered[0], ordered[-1]]
    said = [f"{row.group + ', ' if row.group else ''}{row.label}: {text}" for row, text in numbers]
    return f"{opening} {'; '.join(said)}."
