"""People minus model, over the items that both answered."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.accuracy import check_factors, interval_of, kept_trials, ordered_table, participant_counts
from analysis.columns import PEOPLE, level_order
from analysis.intervals import mover_difference
from experiment.preregistration import AnalysisPlan

MEASURES = ("n_items", "accuracy_people", "accuracy_model", "difference", "ci_low", "ci_high")


def differences(trials: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> pd.DataFrame:
    """Return the difference in accuracy between people and each model's run, by the factors crossed.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, as `apply_exclusions` gives it.
    by : sequence of str
        Factors; empty for one row a pair.
    plan : AnalysisPlan
        Confidence and bootstrap settings.

    Returns
    -------
    DataFrame
        `kind, people, model, <by...>, n_items, accuracy_people, accuracy_model, difference, ci_low, ci_high`.
        `kind` and `people` say who the people are: `human`, `people`, or `simulated`, `simulated participants`; the
        two are never put together. `n_items` counts the items answered by both (a model's invalid answer is an
        answer); only these enter both accuracies. Positive differences are in the people's favour.

    Notes
    -----
    The interval joins the two accuracies' own intervals (`intervals.mover_difference`). It speaks of other
    participants and other answers to the same items, not of other items, and is not adjusted for the number of
    comparisons.
    """
    check_factors(trials, by)
    kept = kept_trials(trials)
    answered = kept[kept["response"].notna()]
    rows: list[tuple[Any, ...]] = []
    runs = dict(list(answered[answered["kind"] == "model"].groupby("run", sort=False)))
    for kind, people in PEOPLE.items():
        theirs = answered[answered["kind"] == kind]
        for run, answers in runs.items():
            shared = theirs[theirs["item_id"].isin(answers["item_id"])]
            ours = answers[answers["item_id"].isin(shared["item_id"])]
            rows += [(kind, people, run, *row) for row in _cells(shared, ours, by, plan)]
    return ordered_table(rows, ["kind", "people", "model"], by, MEASURES, kept)


def _cells(people: pd.DataFrame, model: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> list[tuple[Any, ...]]:
    if people.empty:
        return []
    rows = []
    whole = ["kind", "subject", *by]
    of_people = _by_cell(participant_counts(people, by), whole)
    of_model = _by_cell(participant_counts(model, by), whole)
    n_items = _by_cell(model.assign(subject=model["run"]), whole)
    for cell, theirs in of_people.items():
        if cell not in of_model:  # pragma: no cover - an item has the same factors for everyone
            continue
        ours = of_model[cell]
        first, second = _proportion(theirs), _proportion(ours)
        interval = mover_difference(first, interval_of(theirs, plan), second, interval_of(ours, plan))
        levels = theirs[list(by)].iloc[0].tolist() if by else []
        rows.append((*levels, n_items[cell]["item_id"].nunique(), first, second, first - second, *interval))
    return rows


def _by_cell(table: pd.DataFrame, whole: Sequence[str]) -> dict[tuple[object, ...], pd.DataFrame]:
    """Return the rows of each cell, named by its levels without kind and subject; missing levels are one level."""
    groups = table.groupby(list(whole), dropna=False, sort=False)
    return {tuple(str(level_order(level)) for level in cell[2:]): rows for cell, rows in groups}


def _proportion(counts: pd.DataFrame) -> float:
    return float(counts["n_correct"].sum() / counts["n_trials"].sum())
