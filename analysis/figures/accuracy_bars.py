"""Accuracy of each subject as bars, in one panel for each level of a factor, such as the demand of the items."""

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.figures.accuracy import (
    MOST_LEVELS,
    PERCENT_LABELS,
    PERCENT_TICKS,
    accuracies_of,
    accuracy_words,
    cells_of,
)
from analysis.figures.drawing.axes import label_y
from analysis.figures.drawing.lettering import printable, shortened
from analysis.figures.drawing.lines import MOST_LINES
from analysis.figures.drawing.sheet import SOFT, WIDTH, Drawing, FigureSheet, finished, style
from analysis.figures.drawing.subject_key import CHANCE_DASHES, draw_key, key_of
from analysis.figures.drawing.subject_styles import Look, Subject, draw_marker, draw_participants, looks, subjects_of
from analysis.sentences import percent

N_COLUMNS = 3
"""Number of panels side by side. Six panels fill two rows."""
_LEFT, _GAP, _ABOVE, _HEIGHT = 40.0, 14.0, 26.0, 112.0
"""In points: the space left of the panels, between panels and above a panel, and the height of a panel."""


def accuracy_bars(
    table: pd.DataFrame, panel_by: str, panels: Sequence[str], chance: float, confidence: float, name: str, *,
    participants: pd.DataFrame | None = None, styles: Mapping[Subject, Look] | None = None,
) -> Drawing | None:  # fmt: skip
    """Draw one bar for each subject, in one panel for each level of a factor, with a dashed line at chance.

    Parameters
    ----------
    table : DataFrame
        A table of `accuracy` for `panel_by`.
    panel_by : str
        The factor of the panels, such as `demand`.
    panels : sequence of str
        The levels of this factor, in the order of the panels.
    chance : float
        Mean chance level of the trials.
    confidence : float
        Confidence level of the intervals, such as 0.95. The title of the axis states it.
    name : str
        The name of the figure's files, without the file extension.
    participants : DataFrame, optional
        The accuracy of each participant or run: `kind, subject, <panel_by>, accuracy`. These accuracies are small
        points on the bars.
    styles : dict, optional
        The colour and marker of each subject (`subject_styles.looks`). By default, they are chosen for the subjects in
        the table.

    Returns
    -------
    Drawing or None
        None if there are more than `MOST_LEVELS` panels, or more than `MOST_LINES` subjects.

    References
    ----------
    Prunty et al. (2025), figure 3: accuracy of people and models by inference demand.
    """
    subjects = subjects_of(table)
    if table.empty or len(panels) > MOST_LEVELS or len(subjects) > MOST_LINES:
        return None
    look = looks(subjects) if styles is None else styles
    n_columns = min(len(panels), N_COLUMNS)
    each = (WIDTH - _LEFT - n_columns * _GAP + 8) / n_columns
    key = key_of(subjects, f"chance {percent(chance)}", look)
    top_of_panels = 12.0 * (key[-1].row + 1) + 2
    with style():
        sheet = FigureSheet(WIDTH, top_of_panels + -(-len(panels) // n_columns) * (_ABOVE + _HEIGHT) + 6)
        draw_key(sheet, key, look)
        for place, panel in enumerate(panels):
            row, column = divmod(place, n_columns)
            left = _LEFT + column * (each + _GAP)
            top = top_of_panels + _ABOVE + row * (_ABOVE + _HEIGHT)
            axes = sheet.axes(left, top, each, _HEIGHT)
            axes.set_xlim(-0.6, len(subjects) - 0.4)
            axes.set_ylim(0, 1)
            axes.tick_params(axis="x", bottom=False, labelbottom=False)
            axes.grid(axis="y")
            axes.axhline(chance, color=SOFT, linestyle=CHANCE_DASHES, linewidth=0.9, zorder=2.5)
            behind = None if participants is None else cells_of(participants, panel_by, panel)
            for cell in cells_of(table, panel_by, panel).to_dict("records"):
                who = (str(cell["kind"]), str(cell["subject"]))
                x = subjects.index(who)
                axes.bar(x, cell["accuracy"], 0.72, color=look[who].colour, alpha=0.35, linewidth=0, zorder=2)
                draw_participants(axes, accuracies_of(behind, who), x, 0.25, look[who], upwards=True)
                axes.plot([x, x], [cell["ci_low"], cell["ci_high"]], color=look[who].colour, linewidth=1.1)
                draw_marker(axes, x, cell["accuracy"], look[who])
            heading = shortened(printable(panel).replace("_", " "), each, bold=True)
            sheet.write(left, top - 8, heading, bold=True, at="bottom")
            title = f"percent correct, {percent(confidence, 0)} CI" if column == 0 else ""
            label_y(sheet, axes, PERCENT_TICKS, PERCENT_LABELS if column == 0 else [""] * len(PERCENT_TICKS), title)
        words = accuracy_words(table, panel_by, chance, confidence)
        return finished(sheet, name, f"Accuracy by subject and {panel_by}", words, table)
