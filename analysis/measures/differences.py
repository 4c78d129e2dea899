"""Differences in accuracy: people minus model. Both accuracies use the same items with the same weights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.measures.accuracy import (
    COUNTED_COLUMNS,
    CrossedOverItems,
    accuracy_of_items,
    check_factors,
    cluster_columns,
    cluster_labels,
    crossed_over_items,
    graded_trials,
    interval_of,
    item_counts,
    mean_chance,
    ordered_table,
    participant_counts,
)
from analysis.measures.shared_items import compared, of_responses
from analysis.statistics.chance_correction import normalized_accuracy
from analysis.statistics.factor_levels import level_order
from analysis.statistics.intervals import Interval, mover_difference, mover_ratio
from analysis.statistics.random_items import correlation_over_items
from experiment.study.analysis_plan import OF_RUNS, AnalysisPlan

MEASURES = ("n_items", "accuracy_people", "accuracy_model", "difference", "ci_low", "ci_high", "accuracy_ratio",
            "accuracy_ratio_ci_low", "accuracy_ratio_ci_high", "normalized_accuracy", "normalized_accuracy_ci_low",
            "normalized_accuracy_ci_high", "n_items_only_model", "n_items_only_people")  # fmt: skip


def differences(trials: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> pd.DataFrame:
    """Return the difference in accuracy between people and each model, for each combination of the factors' levels.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    by : sequence of str
        Factors of the items, or settings of models' runs (`OF_RUNS`), such as `temperature`. If there are no factors,
        the table has one row for each pair of people and model. People have no settings, so all responses of people
        are compared with the runs at each level of a setting.
    plan : AnalysisPlan
        The plan states the confidence level.

    Returns
    -------
    DataFrame
        `kind, people, model, <by...>` and `MEASURES`. If `kind` is `human`, `people` is `people`. If `kind` is
        `simulated`, `people` is `simulated participants`. `n_items` is the number of items that the model was asked
        and people responded to. Both accuracies use only these items. `n_items_only_model` is the number of items that
        only the model was asked. `n_items_only_people` is the number of items that only people responded to. A model's
        unanswered or invalid trials count as not correct, as in `accuracy`. A positive difference means that people
        are more accurate. `accuracy_ratio` is the model's accuracy divided by people's accuracy. The ratio is missing
        if people's accuracy is 0. The upper bound of the ratio is infinite if the interval of people's accuracy
        reaches 0. `normalized_accuracy` is the model's accuracy on a scale on which chance is 0 and people's accuracy
        is 1 (`chance_correction.normalized_accuracy`).

    Notes
    -----
    The trials of all people are pooled, so the weight of an item is the number of people's responses to this item. The
    items of the model have the same weights (`intervals.weighted_accuracy`). With other weights, people and the model
    could differ merely because people responded to some items more often. The interval of a difference or ratio
    combines the intervals of the two accuracies (`intervals.mover_difference`, `mover_ratio`). The interval
    generalizes to other participants with the same items. If the plan has `items: random`, the interval also
    generalizes to other items. It then takes into account that the same items may be difficult for people and for the
    model (`random_items.correlation_over_items`). The interval is not adjusted for the number of comparisons.
    """
    check_factors(trials, by)
    kept = graded_trials(trials, [*COUNTED_COLUMNS, "item_id", "chance", "response", *cluster_columns(plan), *by])
    models = kept[kept["kind"] == "model"]
    of_items = [factor for factor in by if factor not in OF_RUNS]
    pairs = compared(kept)
    rows: list[tuple[Any, ...]] = []
    for pair, cells in zip(
        pairs, of_responses(pairs, lambda responses: _people_cells(responses, of_items, plan)), strict=True
    ):
        n_model = _n_items(models[models["subject"] == pair.model], by)
        n_people = {}
        if pair.n_items_only_people or "epoch" in by:
            n_people = _n_items(kept[(kept["kind"] == pair.kind) & kept["response"].notna()], of_items)
        for name, asked in _by_cell(pair.asked, by).items():
            cell = cells.get(tuple(level for level, factor in zip(name, by, strict=True) if factor in of_items))
            if cell is None:
                continue
            if asked["item_id"].nunique() < len(cell.n_responses):  # Only some epochs have all items.
                shared = pair.responses[pair.responses["item_id"].isin(asked["item_id"])]
                cell = _people_cells(shared, of_items, plan)[cell.name]
            n_shared = len(cell.n_responses)
            only = n_model[name] - n_shared, n_people.get(cell.name, n_shared) - n_shared
            levels = asked[list(by)].iloc[0].tolist() if by else []
            rows.append((*pair.names.values(), *levels, *_compared(cell, asked, plan), *only))
    return ordered_table(rows, ["kind", "people", "model"], by, MEASURES, kept)


@dataclass(frozen=True)
class _PeopleCell:
    """People's responses in one cell of the factors."""

    name: tuple[object, ...]
    n_responses: pd.Series
    """Number of responses to each item."""
    accuracy: float
    interval: Interval
    chance: float
    """Mean chance level of the responses."""
    crossed: CrossedOverItems | None
    """The accuracy, and how much it varies over participants and items; None if the plan does not have `items:
    random`.
    """


def _people_cells(
    responses: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan
) -> dict[tuple[object, ...], _PeopleCell]:
    sizes = (
        responses.groupby(["kind", *by, "item_id"], dropna=False, sort=False).size().rename("n_responses").reset_index()
    )
    n_responses = {name: rows.set_index("item_id")["n_responses"] for name, rows in _by_cell(sizes, by).items()}
    own = _by_cell(responses, by)
    crossed = {}
    if plan.items == "random":
        crossed = {name: crossed_over_items(trials, plan) for name, trials in own.items()}
    return {
        name: _PeopleCell(
            name,
            n_responses[name],
            float(counts["n_correct"].sum() / counts["n_trials"].sum()),
            crossed[name].pooled.interval(plan.confidence) if crossed else interval_of(counts, plan),
            mean_chance(own[name]),
            crossed.get(name),
        )
        for name, counts in _by_cell(participant_counts(responses, by), by).items()
    }


def _compared(cell: _PeopleCell, asked: pd.DataFrame, plan: AnalysisPlan) -> tuple[Any, ...]:
    of_items = item_counts(asked, plan)
    weights = cell.n_responses.reindex(of_items.index, fill_value=0)
    accuracy, interval = accuracy_of_items(of_items, weights, plan)
    r = 0.0
    if cell.crossed is not None:
        parts = weights * (of_items["n_correct"] / of_items["n_trials"] - accuracy) / weights.sum()
        items = asked.drop_duplicates("item_id")
        labels = cluster_labels(items, plan).set_axis(items["item_id"].astype("str")).reindex(parts.index)
        of_clusters = parts.groupby(labels).sum().reindex(cell.crossed.items, fill_value=0.0)
        r = correlation_over_items(cell.crossed.pooled, of_clusters.to_numpy(dtype="float64"))
    difference = mover_difference(cell.accuracy, cell.interval, accuracy, interval, r)
    ratio = (math.nan,) * 3
    if cell.accuracy > 0:
        ratio = (accuracy / cell.accuracy, *mover_ratio(accuracy, interval, cell.accuracy, cell.interval, r))
    normalized = normalized_accuracy(accuracy, interval, cell.accuracy, cell.interval, cell.chance, r)
    accuracies = cell.accuracy, accuracy, cell.accuracy - accuracy
    return (len(cell.n_responses), *accuracies, *difference, *ratio, *normalized)


def _n_items(trials: pd.DataFrame, by: Sequence[str]) -> dict[tuple[object, ...], int]:
    return {cell: int(rows["item_id"].nunique()) for cell, rows in _by_cell(trials, by).items()}


def _by_cell(table: pd.DataFrame, by: Sequence[str]) -> dict[tuple[object, ...], pd.DataFrame]:
    """Return the rows of each cell. The keys are the levels of the cells. Missing levels of a factor are one level."""
    groups = table.groupby(["kind", *by], dropna=False, sort=False)
    return {tuple(str(level_order(level)) for level in cell[1:]): rows for cell, rows in groups}
