"""Accuracy by subject: one panel per level of a factor, and one row per subject in each panel.

A missing accuracy or interval is not drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.figures.drawing.axes import label_x
from analysis.figures.drawing.lettering import SMALL, printable, shortened, text_width
from analysis.figures.drawing.sheet import SOFT, WIDTH, Drawing, FigureSheet, finished, style
from analysis.figures.drawing.subject_key import CHANCE_DASHES
from analysis.figures.drawing.subject_names import SubjectNames
from analysis.figures.drawing.subject_styles import (
    Look,
    Subject,
    draw_marker,
    draw_participants,
    looks,
    parts_in,
    subjects_of,
)
from analysis.sentences import level_words, percent
from analysis.statistics.factor_levels import level_order

MOST_LEVELS = 24
"""Largest number of levels in a readable figure. A factor with more levels has only a table."""

PERCENT_TICKS, PERCENT_LABELS = [0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"]
MOST_IN_WORDS = 40
"""Largest number of accuracies in the alternative text of a figure.

If a figure has more accuracies, the text has only the lowest and the highest accuracy. A longer text would tire a
person who listens to a screen reader.
"""


@dataclass(frozen=True)
class Shown:
    """Words for the shares that a figure shows."""

    title: str
    axis: str


ACCURACY = Shown("Accuracy", "percent correct")


def accuracy_figure(
    table: pd.DataFrame, by: str | None, chance: float | None, confidence: float, name: str, *,
    participants: pd.DataFrame | None = None, styles: Mapping[Subject, Look] | None = None,
    levels: Sequence[Any] = (), shown: Shown = ACCURACY,
) -> Drawing:  # fmt: skip
    """Draw the accuracies of a table: one panel per level, one row per subject, and a dashed line at chance.

    Parameters
    ----------
    table : DataFrame
        A table of `accuracy` for one factor or without a factor. The table must not be empty.
    by : str or None
        The factor, with at most `MOST_LEVELS` levels; None for one panel.
    chance : float or None
        Mean chance level of the trials; None for no line.
    confidence : float
        Confidence level of the intervals, such as 0.95. The title of the axis states it.
    name : str
        The name of the figure's files, without the file extension.
    participants : DataFrame, optional
        The table of `participant_accuracy` for the same factor. These accuracies are small points behind the means.
    styles : dict, optional
        The colour and marker of each subject (`subject_styles.looks`). By default, they are chosen for the subjects in
        the table.
    levels : sequence, optional
        The levels of `by` in the order of the panels. By default, all levels in natural order.
    shown : Shown
        The words for other shares than accuracies.
    """
    subjects = subjects_of(table)
    if not levels:
        levels = [None] if by is None else sorted(table[by].drop_duplicates().tolist(), key=level_order)
    styles = looks(subjects) if styles is None else styles
    layout = _Layout.of(subjects, styles, len(levels), titled=by is not None)
    with style():
        sheet = FigureSheet(WIDTH, layout.height)
        for place, level in enumerate(levels):
            cells = table if by is None else cells_of(table, by, level)
            behind = participants if by is None or participants is None else cells_of(participants, by, level)
            last = place + layout.n_columns >= len(levels)
            title = "" if by is None else f"{printable(by)}: {level_words(level)}"
            x_title = f"{shown.axis}, {percent(confidence, 0)} CI" if last else ""
            _subject_rows(sheet, layout, place, cells, behind, styles, subjects, chance, title, x_title)
        title = f"{shown.title} by subject" if by is None else f"{shown.title} by subject and {by}"
        return finished(sheet, name, title, accuracy_words(table, by, chance, confidence), table)


@dataclass(frozen=True)
class _Layout:
    """Sizes and positions in `accuracy_figure`, in points."""

    names: SubjectNames
    left: float
    row: float
    panel_width: float
    panel_height: float
    n_columns: int
    height: float
    above: float

    @classmethod
    def of(cls, subjects: list[Subject], styles: Mapping[Subject, Look], n_panels: int, *, titled: bool) -> "_Layout":
        names = SubjectNames.of([parts_in(styles, subject) for _, subject in subjects], 190 if n_panels == 1 else 155)
        left, row = names.width + 14, max(names.row_height, _LEAST_HEIGHT)
        n_columns = 2 if n_panels == 4 else min(n_panels, 3)
        if n_columns == 3 and WIDTH - left - 3 * _BESIDE < 3 * _LEAST_WIDTH:
            n_columns = 2
        panel_width = (WIDTH - left - n_columns * _BESIDE) / n_columns
        panel_height = row * len(subjects)
        above, n_rows = (30.0 if titled else 16.0), -(-n_panels // n_columns)
        height = n_rows * (above + panel_height + _BELOW) + 13
        return cls(names, left, row, panel_width, panel_height, n_columns, height, above)


_BESIDE, _BELOW = 30.0, 15.0
"""Margins of a panel in points: at the right for the numbers, and below for the axis."""
_LEAST_HEIGHT = 17.0
"""Smallest height of a row, so that the points of participants have space, in points."""
_LEAST_WIDTH = 66.0
"""Smallest width of a panel if three panels are side by side, in points."""


def _subject_rows(
    sheet: FigureSheet, layout: _Layout, place: int, cells: pd.DataFrame, participants: pd.DataFrame | None,
    styles: Mapping[Subject, Look], subjects: list[Subject], chance: float | None, title: str, x_title: str,
) -> None:  # fmt: skip
    row, column = divmod(place, layout.n_columns)
    left = layout.left + column * (layout.panel_width + _BESIDE)
    top = layout.above + row * (layout.above + layout.panel_height + _BELOW)
    axes = sheet.axes(left, top, layout.panel_width, layout.panel_height)
    axes.set_xlim(0, 1)
    axes.set_ylim(len(subjects) - 0.5, -0.5)
    axes.grid(axis="x")
    room = layout.panel_width + _BESIDE - 10
    if title:
        sheet.write(left, top - 17, shortened(title, room, bold=True), bold=True, at="bottom")
    if chance is not None:
        axes.axvline(chance, color=SOFT, linestyle=CHANCE_DASHES, linewidth=0.9, zorder=1)
        said = f"chance {percent(chance)}"
        middle = left + chance * layout.panel_width
        half = text_width(said, SMALL) / 2
        sheet.write(min(max(middle, left + half), left + room - half), top - 4, said, align="center", at="bottom",
                    size=SMALL, colour=SOFT)  # fmt: skip
    for cell in cells[cells["accuracy"].notna()].to_dict("records"):
        who = (str(cell["kind"]), str(cell["subject"]))
        y = subjects.index(who)
        draw_participants(axes, accuracies_of(participants, who), y, 0.3, styles[who])
        axes.plot([cell["ci_low"], cell["ci_high"]], [y, y], color=styles[who].colour, linewidth=1.3)
        draw_marker(axes, cell["accuracy"], y, styles[who])
        sheet.write(left + layout.panel_width + 8, top + layout.row * (y + 0.5), f"{100 * cell['accuracy']:.0f}")
    if column == 0:
        for y in range(len(subjects)):
            layout.names.write(sheet, 4, top + layout.row * (y + 0.5), y)
    label_x(sheet, axes, PERCENT_TICKS, PERCENT_LABELS, x_title)


def accuracies_of(participants: pd.DataFrame | None, who: Subject) -> list[float]:
    """Return the accuracies of the participants or runs of a subject, from a table of `participant_accuracy`."""
    if participants is None:
        return []
    kind, subject = who
    is_own = (participants["kind"] == kind) & (participants["subject"] == subject)
    return [float(accuracy) for accuracy in participants["accuracy"][is_own]]


def cells_of(table: pd.DataFrame, factor: str, level: Any) -> pd.DataFrame:
    """Return the rows at one level of a factor. If `level` is NaN, return the rows without a level."""
    return table[table[factor].isna() if pd.isna(level) else table[factor].eq(level)]


def accuracy_words(table: pd.DataFrame, by: str | None, chance: float | None, confidence: float) -> str:
    """Return the accuracies of a table in words, for the alternative text of a figure."""
    rows = [
        f"{row['subject']}{'' if by is None else f', {level_words(row[by])}'}: {estimate_words(row)}"
        for row in table.to_dict("records")
    ]
    return f"{opening_words(chance, confidence)} {'; '.join(rows)}."


def opening_words(chance: float | None, confidence: float) -> str:
    """Return the first sentence of the alternative text: the chance level, and the meaning of the parentheses."""
    before = "" if chance is None else f"Chance is {percent(chance)}; "
    return f"{before}{percent(confidence, 0)} CIs are in parentheses."


def estimate_words(row: Mapping[Any, Any]) -> str:
    """Return an accuracy and its interval in words; each of the two may be missing."""
    if pd.isna(row["accuracy"]):
        return "no accuracy"
    if pd.isna(row["ci_low"]) or pd.isna(row["ci_high"]):
        return f"{percent(row['accuracy'])} (no CI)"
    return f"{percent(row['accuracy'])} ({percent(row['ci_low'])} to {percent(row['ci_high'])})"
