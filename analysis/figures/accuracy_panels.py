"""Accuracy by one factor, in one panel for each level of a second factor. People and models are side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from analysis.figures.accuracy import (
    ACCURACY,
    MOST_IN_WORDS,
    MOST_LEVELS,
    PERCENT_LABELS,
    PERCENT_TICKS,
    Shown,
    accuracies_of,
    cells_of,
    estimate_words,
    opening_words,
)
from analysis.figures.drawing.axes import LevelNames, label_y
from analysis.figures.drawing.lettering import printable, shortened, wrapped
from analysis.figures.drawing.lines import MOST_LINES
from analysis.figures.drawing.sheet import SOFT, WIDTH, Drawing, FigureSheet, finished, style
from analysis.figures.drawing.subject_key import CHANCE_DASHES, draw_key, key_of
from analysis.figures.drawing.subject_styles import Look, Subject, draw_marker, draw_participants, looks, subjects_of
from analysis.sentences import level_words, percent
from analysis.statistics.factor_levels import level_order


def accuracy_panels(
    table: pd.DataFrame, by: str, panel_by: str, chance: float | None, confidence: float, name: str,
    panels: Sequence[Any] = (), *, participants: pd.DataFrame | None = None,
    styles: Mapping[Subject, Look] | None = None, shown: Shown = ACCURACY,
) -> Drawing | None:  # fmt: skip
    """Draw accuracy by one factor, in one panel for each level of a second factor.

    People and models are side by side. The dashed line is the chance level.

    Parameters
    ----------
    table : DataFrame
        A table of `accuracy` for `by` and `panel_by`.
    by : str
        The factor of the horizontal axis in each panel.
    panel_by : str
        The factor of the panels, such as the inference demand.
    chance : float or None
        Mean chance level of the trials; None for no line.
    confidence : float
        Confidence level of the intervals, such as 0.95. The title of the axis states it.
    name : str
        The name of the figure's files, without the file extension.
    panels : sequence
        The levels of `panel_by`, in the order of the panels. By default, all levels in natural order.
    participants : DataFrame, optional
        The table of `participant_accuracy` for both factors. These accuracies are small points behind the means.
    styles : dict, optional
        The colour and marker of each subject (`subject_styles.looks`). By default, they are chosen for the subjects in
        the table.
    shown : Shown
        The words for other shares than accuracies.

    Returns
    -------
    Drawing or None
        None if the table is empty, has more than `MOST_LEVELS` panels or has more than `MOST_LINES` subjects. Also None
        if the page is too narrow to distinguish the markers of all levels and subjects.

    References
    ----------
    Prunty et al. (2025), figure 3: accuracy of people and models by inference demand.
    """
    table = table[table["accuracy"].notna()]
    if table.empty:
        return None
    subjects = subjects_of(table)
    styles = looks(subjects) if styles is None else styles
    levels = sorted(table[by].drop_duplicates().tolist(), key=level_order)
    panels = panels or sorted(table[panel_by].drop_duplicates().tolist(), key=level_order)
    least = len(levels) * max(_PITCH * (len(subjects) + 2), 14.0)
    n_columns = next((n for n in _columns(len(panels)) if _panel_width(n) >= least), 0)
    if len(panels) > MOST_LEVELS or len(subjects) > MOST_LINES or not n_columns:
        return None
    panel_width = _panel_width(n_columns)
    names = LevelNames.of(levels, panel_width / len(levels))
    key = key_of(subjects, None if chance is None else f"chance {percent(chance)}", styles)
    top_of_panels, row_height = 12.0 * (key[-1].row + 1) + 2, _ABOVE + _PANEL_HEIGHT + names.height
    with style():
        sheet = FigureSheet(WIDTH, top_of_panels + -(-len(panels) // n_columns) * row_height + 13)
        draw_key(sheet, key, styles)
        for place, panel in enumerate(panels):
            row, column = divmod(place, n_columns)
            left = _LEFT + column * (panel_width + _GAP)
            top = top_of_panels + _ABOVE + row * row_height
            axes = sheet.axes(left, top, panel_width, _PANEL_HEIGHT)
            axes.set_xlim(-0.5, len(levels) - 0.5)
            axes.set_ylim(0, 1)
            axes.grid(axis="y")
            if chance is not None:
                axes.axhline(chance, color=SOFT, linestyle=CHANCE_DASHES, linewidth=0.9, zorder=1)
            behind = None if participants is None else cells_of(participants, panel_by, panel)
            slots = _Slots(by, levels, subjects, panel_width / len(levels))
            _side_by_side(axes, cells_of(table, panel_by, panel), behind, slots, styles)
            heading = wrapped(f"{printable(panel_by)}: {level_words(panel)}", panel_width, bold=True)
            sheet.write(left, top - 7, heading, bold=True, at="bottom")
            if column == 0:
                label_y(sheet, axes, PERCENT_TICKS, PERCENT_LABELS, f"{shown.axis}, {percent(confidence, 0)} CI")
            else:
                label_y(sheet, axes, PERCENT_TICKS, [""] * len(PERCENT_TICKS))
            names.write(sheet, left, top + _PANEL_HEIGHT)
            if place + n_columns >= len(panels):
                below = top + _PANEL_HEIGHT + names.height
                sheet.write(left + panel_width / 2, below, shortened(by, panel_width), align="center", at="top")
        title = f"{shown.title} by subject, {by} and {panel_by}"
        return finished(sheet, name, title, _panel_words(table, by, panel_by, panels, chance, confidence), table)


_LEFT, _GAP, _ABOVE, _PANEL_HEIGHT, _PITCH = 40.0, 14.0, 26.0, 126.0, 4.0
"""In points: the space left of the panels, between panels and above a panel, the height of a panel, and the smallest
distance between subjects.
"""


def _columns(n_panels: int) -> list[int]:
    return [2, 1] if n_panels in {2, 4} else [min(n_panels, n) for n in (3, 2, 1)]


def _panel_width(n_columns: int) -> float:
    return (WIDTH - _LEFT - n_columns * _GAP + 8) / n_columns


@dataclass(frozen=True)
class _Slots:
    """The positions of the subjects at each level of the horizontal axis."""

    by: str
    levels: list[Any]
    subjects: list[Subject]
    width: float
    """Space for one level, in points."""

    @property
    def step(self) -> float:
        """Distance between two subjects, in points."""
        return min(9.0, 0.8 * self.width / len(self.subjects))

    def x(self, level: int, who: Subject) -> float:
        return level + self.step / self.width * (self.subjects.index(who) - (len(self.subjects) - 1) / 2)


def _side_by_side(
    axes: Axes, cells: pd.DataFrame, participants: pd.DataFrame | None, slots: _Slots, styles: Mapping[Subject, Look]
) -> None:
    for place, level in enumerate(slots.levels):
        behind = None if participants is None else cells_of(participants, slots.by, level)
        for cell in cells_of(cells, slots.by, level).to_dict("records"):
            who = (str(cell["kind"]), str(cell["subject"]))
            x = slots.x(place, who)
            draw_participants(
                axes, accuracies_of(behind, who), x, 0.35 * slots.step / slots.width, styles[who], upwards=True
            )
            axes.plot([x, x], [cell["ci_low"], cell["ci_high"]], color=styles[who].colour, linewidth=1.1)
            draw_marker(axes, x, cell["accuracy"], styles[who], size=min(4.8, slots.step))


def _panel_words(
    table: pd.DataFrame, by: str, panel_by: str, panels: Sequence[Any], chance: float | None, confidence: float
) -> str:
    opening = opening_words(chance, confidence)
    parts = []
    for panel in panels:
        cells = cells_of(table, panel_by, panel)
        if len(table) > MOST_IN_WORDS:
            ordered = cells.sort_values("accuracy", kind="stable").to_dict("records")
            chosen = [("least", ordered[0]), ("greatest", ordered[-1])]
        else:
            chosen = [("", row) for row in cells.to_dict("records")]
        said = "; ".join(
            f"{which} {row['subject']}, {by} {level_words(row[by])}: {estimate_words(row)}".strip()
            for which, row in chosen
        )
        parts.append(f"{panel_by} {level_words(panel)}: {said}.")
    return " ".join([opening, *parts])
