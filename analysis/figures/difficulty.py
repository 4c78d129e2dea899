"""Accuracy over ordered levels, such as levels of inference or temperatures, for people and for models."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.figures.accuracy import (
    MOST_IN_WORDS,
    MOST_LEVELS,
    PERCENT_LABELS,
    PERCENT_TICKS,
    accuracies_of,
    cells_of,
    estimate_words,
)
from analysis.figures.drawing.lines import MOST_LINES, Line, Scale, draw_lines, point_of
from analysis.figures.drawing.sheet import Drawing, finished, style
from analysis.figures.drawing.subject_styles import Look, Subject, looks, style_of, subjects_of
from analysis.sentences import level_words, percent
from analysis.statistics.factor_levels import level_order


def difficulty_figure(
    table: pd.DataFrame, name: str, *, of: str, confidence: float = 0.95, chance: float | None = None,
    participants: pd.DataFrame | None = None, styles: Mapping[Subject, Look] | None = None,
) -> Drawing | None:  # fmt: skip
    """Draw accuracy over ordered levels. Each subject has one line, with intervals.

    Parameters
    ----------
    table : DataFrame
        `subject, kind, level, accuracy, ci_low, ci_high`; levels are drawn in natural order, at equal distances. A
        further column `point_subject` has the subject of each point if one line joins several subjects.
    name : str
        The name of the figure's files, without the file extension.
    of : str
        The name of the levels in words, such as `inference level`.
    confidence : float
        Confidence level of the intervals, such as 0.95. The title of the axis states it.
    chance : float, optional
        Mean chance level of the trials, drawn as a dashed line.
    participants : DataFrame, optional
        The accuracy of each participant or run: `subject, kind, level, accuracy`. These accuracies are small points
        behind the means.
    styles : dict, optional
        The colour and marker of each subject (`subject_styles.looks`). By default, they are chosen for the subjects in
        the table.

    Returns
    -------
    Drawing or None
        None if there is no accuracy, or there are more than `MOST_LEVELS` levels or `MOST_LINES` subjects.
    """
    with_accuracy = table[table["accuracy"].notna()]
    subjects = subjects_of(with_accuracy)
    levels = sorted(with_accuracy["level"].drop_duplicates().tolist(), key=level_order)
    if with_accuracy.empty or len(levels) > MOST_LEVELS or len(subjects) > MOST_LINES:
        return None
    styles = looks(subjects) if styles is None else styles
    lines = []
    for kind, subject in subjects:
        own = with_accuracy[(with_accuracy["kind"] == kind) & (with_accuracy["subject"] == subject)]
        points = [point_of(cells_of(own, "level", level), "accuracy", "ci_low", "ci_high") for level in levels]
        look = styles.get((kind, subject)) or style_of(subject, styles) or looks(subjects)[kind, subject]
        behind = [
            accuracies_of(None if participants is None else cells_of(participants, "level", level), (kind, subject))
            for level in levels
        ]
        lines.append(Line(subject, look, points, behind, _markers(own, levels, look, styles)))
    title = f"percent correct, {percent(confidence, 0)} CI"
    words = "" if chance is None else f"chance {percent(chance)}"
    scale = Scale(title, (0, 1), PERCENT_TICKS, PERCENT_LABELS, chance, words)
    with style():
        sheet = draw_lines(lines, levels, of, scale)
        return finished(sheet, name, f"Accuracy by {of}", _words(with_accuracy, of, confidence, chance), table)


def _markers(own: pd.DataFrame, levels: list[Any], look: Look, styles: Mapping[Subject, Look]) -> list[Look]:
    """Return the style of each point of a line. A point with a `point_subject` has the style of this subject."""
    if "point_subject" not in own:
        return [look] * len(levels)
    names = [cells_of(own, "level", level)["point_subject"] for level in levels]
    return [style_of(name.iloc[0], styles) or look if len(name) else look for name in names]


def _words(table: pd.DataFrame, of: str, confidence: float, chance: float | None) -> str:
    rows = table.to_dict("records")
    if len(rows) > MOST_IN_WORDS:
        ordered = table.sort_values("accuracy", kind="stable").to_dict("records")
        rows = [ordered[0], ordered[-1]]
    said = [f"{row['subject']}, {of} {level_words(row['level'])}: {estimate_words(row)}" for row in rows]
    opening = "" if chance is None else f"Chance is {percent(chance)}. "
    which = "" if len(rows) == len(table) else "The lowest and the highest: "
    return f"{opening}{percent(confidence, 0)} CIs are in parentheses. {which}{'; '.join(said)}."
