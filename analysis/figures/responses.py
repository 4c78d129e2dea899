"""Figures of ungraded items: the share of each response, and the mean of numeric responses, for each subject."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from analysis.figures.accuracy import MOST_LEVELS, Shown, accuracy_figure
from analysis.figures.accuracy_panels import accuracy_panels
from analysis.figures.drawing.lines import MOST_LINES
from analysis.figures.drawing.sheet import Drawing
from analysis.figures.drawing.subject_styles import Look, Subject
from analysis.figures.forest import forest_plot
from analysis.sentences import level_words, percent

RESPONSES = Shown("Responses", "percent of responses")


def response_figure(
    table: pd.DataFrame, by: str | None, confidence: float, name: str, *, participants: pd.DataFrame,
    styles: Mapping[Subject, Look],
) -> Drawing | None:  # fmt: skip
    """Draw the share of each response: one panel per response, with people and models side by side.

    Parameters
    ----------
    table : DataFrame
        Rows of `response_shares` with one set of options, for one factor or without a factor.
    by : str or None
        The factor of the horizontal axis. Without a factor, each panel has one row per subject.
    confidence : float
        Confidence level of the intervals, such as 0.95.
    name : str
        The name of the figure's files, without the file extension.
    participants : DataFrame
        The rows of `participant_shares` for the same factor. These shares are small points.
    styles : dict
        The colour and marker of each subject (`subject_styles.looks`).

    Returns
    -------
    Drawing or None
        None if there are too many responses, levels or subjects for a readable figure.
    """
    choices = table["choice"].drop_duplicates().tolist()
    shares, own = (one.rename(columns={"share": "accuracy", "choice": "response"}) for one in (table, participants))
    if table.empty or len(choices) > MOST_LEVELS or len(table[["kind", "subject"]].drop_duplicates()) > MOST_LINES:
        return None
    drawing = (
        accuracy_figure(
            shares, "response", None, confidence, name, participants=own, styles=styles, levels=choices,
            shown=RESPONSES,
        ) if by is None else
        accuracy_panels(
            shares, by, "response", None, confidence, name, choices, participants=own, styles=styles, shown=RESPONSES
        )
    )  # fmt: skip
    return None if drawing is None else replace(drawing, data=table)


def value_figure(
    table: pd.DataFrame, by: str | None, confidence: float, name: str, *, styles: Mapping[Subject, Look]
) -> Drawing | None:
    """Draw the mean of numeric responses with its interval: one row per subject, in groups by the factor's level.

    Parameters
    ----------
    table : DataFrame
        Rows of `value_means` with one task, for one factor or without a factor.
    by, confidence, name, styles
        See `response_figure`.

    Returns
    -------
    Drawing or None
        None if the table is empty or has more than `MOST_LINES` subjects or more than `MOST_LEVELS` levels.
    """
    n_levels = 1 if by is None else table[by].nunique(dropna=False)
    if table.empty or table["subject"].nunique() > MOST_LINES or n_levels > MOST_LEVELS:
        return None
    rows = table if by is None else table.assign(**{by: table[by].map(level_words)})
    return forest_plot(
        rows, name, label="subject", estimate="value_mean", ci_low="value_ci_low", ci_high="value_ci_high",
        x_label=f"mean response, with {percent(confidence, 0)} CI", reference=None, group=by, styles=styles,
    )  # fmt: skip
