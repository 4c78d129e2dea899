"""The report's section on ungraded items: shares of responses, and means of numeric responses."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from analysis.data.columns import is_graded
from analysis.figures import response_figure, value_figure
from analysis.figures.drawing.subject_styles import Look, Subject
from analysis.measures.accuracy import file_names
from analysis.measures.response_shares import OPTION_SET, participant_shares
from analysis.report.formatting import ShownTable, shown
from analysis.report.html import ShownFigure
from analysis.second_process import Task
from analysis.sentences import count, level_words, listed, percent
from experiment.study.analysis_plan import AnalysisPlan

MOST_SETS = 6
"""Largest number of sets of options that the report shows. The CSV files have all."""

NO_ACCURACY = "No test item has a right answer (`key: null`), so this report has no accuracy."


def ungraded_words(trials: pd.DataFrame) -> str:
    """Return a sentence on the ungraded test items, or an empty text if all test items have a right answer.

    `trials` is the tidy table.
    """
    test = trials[trials["phase"] == "test"]
    graded = is_graded(test)
    n_all = test["item_id"].nunique()
    n_ungraded = n_all - test.loc[graded, "item_id"].nunique()  # A coded item can have answers without a code.
    if not n_ungraded:
        return ""
    if not graded.any():
        return NO_ACCURACY
    return (
        f"{n_ungraded:,} of {count(n_all, 'test item')} are ungraded: no response to them is right or wrong. All "
        "accuracies use only the other items."
    )


def ungraded_figures(
    trials: pd.DataFrame, plan: AnalysisPlan, tables: Mapping[str, pd.DataFrame], styles: Mapping[Subject, Look]
) -> list[Task]:
    """Return the figures of the section. `trials` is the tidy table with `excluded_by`."""
    figures: list[Task] = []
    for factor, ending in _endings(plan).items():
        by = [] if factor is None else [factor]
        if f"responses_{ending}" in tables:
            own = participant_shares(trials, by, plan)
            for name, option_set, table in _by_option_set(tables, ending):
                figures.append(
                    partial(
                        response_figure, table, factor, plan.confidence, name,
                        participants=own[own[OPTION_SET] == option_set], styles=styles,
                    )
                )  # fmt: skip
        for name, _, table in _by_task(tables, ending):
            figures.append(partial(value_figure, table, factor, plan.confidence, name, styles=styles))
    return figures


def responses_section(
    trials: pd.DataFrame, plan: AnalysisPlan, tables: Mapping[str, pd.DataFrame], figures: Mapping[str, ShownFigure]
) -> dict[str, Any] | None:
    """Return the input of the template: the tables with their titles and figures; None if all items are graded.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`.
    plan : AnalysisPlan
        The plan.
    tables : mapping of DataFrame
        The tables of the analysis.
    figures : mapping of Drawing
        The figures of the analysis, with their markup.
    """
    words = ungraded_words(trials)
    if not words and "responses_overall" not in tables:  # Graded answers have shares too if they are coded.
        return None
    parts: list[dict[str, Any]] = []
    for factor, ending in _endings(plan).items():
        where = "" if factor is None else f" by {factor}"
        for name, option_set, table in _by_option_set(tables, ending):
            parts.append({
                "title": f"Responses{where}: {option_set}", "figure": figures.get(name),
                "table": _shown(table.drop(columns=OPTION_SET), factor, plan), "file": f"responses_{ending}",
                "caption": f"Percentage of valid responses, with {percent(plan.confidence, 0)} CI. Small points: "
                "single participants, and single runs of models.",
            })  # fmt: skip
        for name, task, table in _by_task(tables, ending):
            parts.append({
                "title": f"Mean response{where}: task {task}", "figure": figures.get(name),
                "table": _shown(table.drop(columns="task"), factor, plan), "file": f"values_{ending}",
                "caption": f"Mean of the numeric responses, with {percent(plan.confidence, 0)} CI.",
            })  # fmt: skip
    return {"sentence": words, "parts": parts, "remarks": _remarks(tables)}


def _remarks(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return sentences on responses that the section does not show."""
    remarks = []
    if "responses_overall" in tables:
        n_sets = tables["responses_overall"][OPTION_SET].nunique()
        if n_sets > MOST_SETS:
            remarks.append(
                f"The items have {n_sets} sets of options; the report shows the first {MOST_SETS}. The table "
                "responses_overall.csv has all."
            )
        if tables["responses_overall"]["n_invalid"].any():
            remarks.append("Invalid and missing responses of models are left out of the shares.")
    tasks = set(tables["values_overall"]["task"]) if "values_overall" in tables else set()
    if tasks:
        remarks.append(
            f"The means pool all items of the task {listed(sorted(tasks))} with a number as the response. Means of "
            "items with different scales cannot be interpreted."
        )
    return remarks


def _endings(plan: AnalysisPlan) -> dict[str | None, str]:
    """Return the ending of the tables' names for each factor of the plan, and for no factor."""
    return {None: "overall"} | {factor: name.removeprefix("accuracy_") for factor, name in file_names(plan.by).items()}


def _by_option_set(tables: Mapping[str, pd.DataFrame], ending: str) -> list[tuple[str, str, pd.DataFrame]]:
    """Return the name of the figure, the option set and the rows of each option set that the report shows."""
    table = tables.get(f"responses_{ending}")
    if table is None:
        return []
    sets = tables["responses_overall"][OPTION_SET].drop_duplicates().tolist()[:MOST_SETS]
    return [
        (f"responses_{ending}_{number}", option_set, table[table[OPTION_SET] == option_set])
        for number, option_set in enumerate(sets, start=1)
    ]


def _by_task(tables: Mapping[str, pd.DataFrame], ending: str) -> list[tuple[str, str, pd.DataFrame]]:
    """Return the name of the figure, the task and the rows of each task with numeric responses."""
    table = tables.get(f"values_{ending}")
    if table is None:
        return []
    return [(f"values_{ending}_{task}", str(task), rows) for task, rows in table.groupby("task", sort=False)]


def _shown(table: pd.DataFrame, factor: str | None, plan: AnalysisPlan) -> ShownTable:
    words = {} if factor is None else {factor: table[factor].map(level_words)}
    empty = [name for name in ("n_invalid",) if name in table and not table[name].any()]
    names = {"n_participants": "participants_or_runs"} if "choice" in table and (table["kind"] == "model").any() else {}
    table = table.assign(**words).drop(columns=["kind", *empty]).rename(columns=names)
    return shown(table, plan.confidence, of_study=True)
