"""People minus model, over the same items in the same mixture."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.accuracy import check_factors, interval_of, kept_trials, ordered_table, participant_counts
from analysis.columns import PEOPLE, level_order
from analysis.statistics.intervals import Interval, mover_difference, weighted_accuracy
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
        two are never put together. `n_items` counts the items that people answered and the run was asked; only these
        enter both accuracies. A model's unanswered or invalid trials count as not correct, as in `accuracy`. Positive
        differences are in the people's favour.

    Notes
    -----
    The people's trials are pooled, so an item weighs as many as the answers it got from people; the model's items
    weigh the same (`intervals.weighted_accuracy`). Otherwise a difference would speak of the items that happened to
    be asked more often. The interval joins the two accuracies' own intervals (`intervals.mover_difference`). It
    speaks of other participants and other answers to the same items, not of other items, and is not adjusted for the
    number of comparisons.
    """
    check_factors(trials, by)
    kept = kept_trials(trials)
    rows: list[tuple[Any, ...]] = []
    runs = dict(list(kept[kept["kind"] == "model"].groupby("run", sort=False)))
    for kind, people in PEOPLE.items():
        theirs = kept[(kept["kind"] == kind) & kept["response"].notna()]
        for run, asked in runs.items():
            shared = theirs[theirs["item_id"].isin(asked["item_id"])]
            ours = asked[asked["item_id"].isin(shared["item_id"])]
            rows += [(kind, people, run, *row) for row in _cells(shared, ours, by, plan)]
    return ordered_table(rows, ["kind", "people", "model"], by, MEASURES, kept)


def _cells(people: pd.DataFrame, model: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> list[tuple[Any, ...]]:
    if people.empty:
        return []
    rows = []
    answers, asked = _by_cell(people, by), _by_cell(model, by)
    for cell, counts in _by_cell(participant_counts(people, by), by).items():
        if cell not in asked:  # pragma: no cover - an item has the same factors for everyone
            continue
        weights = answers[cell]["item_id"].value_counts()
        first, first_ci = _proportion(counts), interval_of(counts, plan)
        second, second_ci = _in_mixture(asked[cell], weights, plan)
        interval = mover_difference(first, first_ci, second, second_ci)
        levels = counts[list(by)].iloc[0].tolist() if by else []
        rows.append((*levels, len(weights), first, second, first - second, *interval))
    return rows


def _by_cell(table: pd.DataFrame, by: Sequence[str]) -> dict[tuple[object, ...], pd.DataFrame]:
    """Return the rows of each cell, named by its levels; missing levels are one level."""
    groups = table.groupby(["kind", *by], dropna=False, sort=False)
    return {tuple(str(level_order(level)) for level in cell[1:]): rows for cell, rows in groups}


def _in_mixture(asked: pd.DataFrame, weights: pd.Series, plan: AnalysisPlan) -> tuple[float, Interval]:
    """Return the accuracy of one run with its interval, its items weighing as many as people's answers to them."""
    correct = asked["correct"].fillna(False).astype("int64")
    items = correct.groupby(asked["item_id"]).agg(n_correct="sum", n_trials="size")
    counts = (items["n_correct"], items["n_trials"], weights.reindex(items.index, fill_value=0))
    n_correct, n_trials, n_answers = (count.to_numpy(dtype="int64") for count in counts)
    return weighted_accuracy(n_correct, n_trials, n_answers, plan.confidence)


def _proportion(counts: pd.DataFrame) -> float:
    return float(counts["n_correct"].sum() / counts["n_trials"].sum())
