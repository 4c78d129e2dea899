"""Estimates by two factors, such as marginal means or accuracies: lines with intervals."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.figures.accuracy import MOST_IN_WORDS, MOST_LEVELS, cells_of
from analysis.figures.drawing.axes import number_text
from analysis.figures.drawing.lines import MOST_LINES, Line, Point, data_scale, draw_lines, point_of
from analysis.figures.drawing.sheet import Drawing, finished, style
from analysis.figures.drawing.subject_styles import Look, Subject, kind_of, looks
from analysis.sentences import level_words
from analysis.statistics.factor_levels import level_order


def interaction_plot(
    means: pd.DataFrame, x: str, lines: str, name: str, estimate: str, ci_low: str, ci_high: str, y_label: str,
    *, scale: float = 1, participants: pd.DataFrame | None = None, means_are: str = "means of participants or runs",
    styles: Mapping[Subject, Look] | None = None,
) -> Drawing | None:  # fmt: skip
    """Draw estimates with intervals over the levels of one factor; each level of a second factor is a line.

    Parameters
    ----------
    means : DataFrame
        One row per combination of levels of `x` and `lines`, such as estimated marginal means.
    x, lines : str
        The two factors, as columns of the table. Levels of `x` are drawn in natural order, at equal distances. The
        lines are in the order of the table. A line with an empty name has no label. `people` and `simulated
        participants` each have the same style in all figures.
    name : str
        The name of the figure's files, without the file extension.
    estimate, ci_low, ci_high : str
        Columns of the estimate and its interval; missing values are not drawn.
    y_label : str
        Label of the vertical axis: the measure, its unit, and the kind of interval.
    scale : float
        The figure shows the numbers of the table times `scale`, such as 100 for percent. The data of the figure are
        not multiplied.
    participants : DataFrame, optional
        Each participant's mean at each combination of levels, in the column `mean`. These means are small points
        behind the estimates.
    means_are : str
        The kind of the small points in words, for the title.
    styles : dict, optional
        The colour and marker of each subject (`subject_styles.looks`), for lines that are subjects.

    Returns
    -------
    Drawing or None
        None if there is no estimate, or there are more than `MOST_LEVELS` levels of `x` or `MOST_LINES` lines.
    """
    scaled = means.assign(**{column: scale * means[column] for column in (estimate, ci_low, ci_high)})
    with_estimate = scaled[means[estimate].notna()]
    levels = sorted(with_estimate[x].drop_duplicates().tolist(), key=level_order)
    groups = with_estimate[lines].drop_duplicates().tolist()
    if with_estimate.empty or len(levels) > MOST_LEVELS or len(groups) > MOST_LINES:
        return None
    names = [level_words(group) for group in groups]
    subjects = [(kind_of(said), said) for said in names]
    look = {**looks(subjects), **{who: found for who in subjects if (found := (styles or {}).get(who))}}
    drawn = []
    for group, said in zip(groups, names, strict=True):
        own = cells_of(with_estimate, lines, group)
        points = [point_of(cells_of(own, x, level), estimate, ci_low, ci_high) for level in levels]
        behind = [_means_of(participants, {x: level, lines: group}, scale) for level in levels]
        drawn.append(Line(said, look[kind_of(said), said], points, behind, is_connected=x != "subject"))
    bounds = with_estimate[[estimate, ci_low, ci_high]].to_numpy(dtype=float).ravel().tolist()
    bounds += [value for line in drawn for values in line.participants for value in values]
    with style():
        sheet = draw_lines(drawn, levels, x, data_scale(y_label, bounds))
        title = f"{y_label} by {x}" if names == [""] else f"{y_label} by {x} and {lines}"
        if any(len(values) > 1 for line in drawn for values in line.participants):
            title += f"; small points: {means_are}"
        return finished(sheet, name, title, _words(drawn, levels, x, y_label), means)


def _means_of(participants: pd.DataFrame | None, cell: dict[str, Any], scale: float) -> list[float]:
    """Return the participants' means at one combination of levels, times `scale`."""
    if participants is None or participants.empty:
        return []
    is_own = pd.Series(True, index=participants.index)
    for factor, level in cell.items():
        is_own &= participants[factor].map(level_words) == level_words(level)
    return [scale * float(mean) for mean in participants["mean"][is_own]]


def _words(lines: list[Line], levels: list[object], x: str, y_label: str) -> str:
    points = [
        (f"{line.name}, " if line.name else "", level_words(level), point)
        for line in lines for level, point in zip(levels, line.points, strict=True) if pd.notna(point.estimate)
    ]  # fmt: skip
    chosen = points
    if len(points) > MOST_IN_WORDS:
        ordered = sorted(points, key=lambda entry: entry[2].estimate)
        chosen = [("least: " + ordered[0][0], *ordered[0][1:]), ("greatest: " + ordered[-1][0], *ordered[-1][1:])]
    said = [f"{who}{x} {level}: {_estimate_words(point)}" for who, level, point in chosen]
    return f"{y_label}; CIs are in parentheses. " + "; ".join(said) + "."


def _estimate_words(point: Point) -> str:
    if pd.isna(point.ci_low) or pd.isna(point.ci_high):
        return f"{number_text(point.estimate)} (no CI)"
    return f"{number_text(point.estimate)} ({number_text(point.ci_low)} to {number_text(point.ci_high)})"
