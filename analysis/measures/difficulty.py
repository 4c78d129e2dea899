"""Difficulty: accuracy over the ordered levels of a factor, for people and for models."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.columns import dtype_of_levels
from analysis.measures.accuracy import (
    COUNTED_COLUMNS,
    accuracy_of_items,
    check_factors,
    cluster_columns,
    graded_trials,
    item_counts,
    participant_counts,
)
from analysis.measures.shared_items import Compared, Subject, of_responses, subjects_compared
from analysis.statistics.factor_levels import level_order
from analysis.statistics.intervals import Interval
from analysis.statistics.participant_intervals import pooled_proportions
from analysis.statistics.trends import Floats, mover_contrast, trend_weights
from experiment.study.analysis_plan import AnalysisPlan

WHO = ["people", "kind", "subject"]
ITEM_COUNTS = ["n_items", "n_items_only_model", "n_items_only_people"]
TREND_COLUMNS = [
    *WHO, *ITEM_COUNTS, "first_level", "last_level", "slope", "slope_ci_low", "slope_ci_high", "change",
    "change_ci_low", "change_ci_high", "slope_difference", "slope_difference_ci_low", "slope_difference_ci_high",
]  # fmt: skip


@dataclass(frozen=True)
class _Levels:
    """One subject's accuracy at each level."""

    names: list[Any]
    """The levels, in order."""
    numbers: Floats
    """Each level as a number, which is the predictor in the trend."""
    n_items: list[int]
    n_trials: list[int]
    weights: Floats
    """Weight of each level in the trend: the number of people's responses."""
    accuracy: Floats
    intervals: list[Interval]
    correlations: Floats | None = None
    """Correlations between the accuracies of the levels; None for a model, because its items are independent."""

    def contrast(self, weights: Floats) -> tuple[float, Interval]:
        """Return the sum of the accuracies of the levels, each times its weight, and the interval of the sum."""
        interval = mover_contrast(weights, self.accuracy, self.intervals, self.correlations)
        return float(weights @ self.accuracy), interval

    def slope(self) -> tuple[float, Interval]:
        """Return the change of accuracy if the level grows by 1, and the interval."""
        return self.contrast(trend_weights(self.numbers, self.weights))

    def change(self) -> tuple[float, Interval]:
        """Return the accuracy at the last level minus the accuracy at the first level, and the interval."""
        ends = np.zeros(len(self.names))
        ends[0], ends[-1] = -1, 1
        return self.contrast(ends)


def accuracy_by_level(trials: pd.DataFrame, factor: str, plan: AnalysisPlan) -> pd.DataFrame:
    """Return the accuracy of people and of each model at each level of a factor.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    factor : str
        A factor whose levels have an order, such as `inference_level`.
    plan : AnalysisPlan
        The plan states the confidence level.

    Returns
    -------
    DataFrame
        `people, kind, subject, <factor>, n_items, n_items_only_model, n_items_only_people, n_trials, accuracy, ci_low,
        ci_high`. The column `people` states with whom a model is compared: `people` or `simulated participants`. If
        the data have only models, `people` is missing, and the rows of a model use all items of the model. The weight
        of an item is the number of people's responses to this item, as in `differences`. The rows of a model leave out
        the items that only the model was asked and the items that only people responded to. `n_items_only_model` and
        `n_items_only_people` are the numbers of these items. Items without a level of the factor are left out of all
        rows.
    """
    kept = _with_level(trials, factor, plan)
    rows = []
    for subject, levels in _subjects(kept, factor, plan):
        only = _only(subject.pair, kept, factor) if subject.pair else {}
        who = subject.names.values()
        for name in _numbers(kept[factor]):
            if name in levels.names:
                place = levels.names.index(name)
                measures = (levels.n_trials[place], float(levels.accuracy[place]), *levels.intervals[place])
                rows.append((*who, name, levels.n_items[place], *only.get(name, (None, None)), *measures))
            elif name in only:
                rows.append((*who, name, 0, *only[name], 0, None, None, None))
    columns = [*WHO, factor, *ITEM_COUNTS, "n_trials", "accuracy", "ci_low", "ci_high"]
    types = (
        dict.fromkeys(WHO, "str")
        | dict.fromkeys([*ITEM_COUNTS, "n_trials"], "Int64")
        | {factor: dtype_of_levels(kept[factor])}
    )
    types |= dict.fromkeys(["accuracy", "ci_low", "ci_high"], "float64")
    return pd.DataFrame(rows, columns=columns).astype(types)


def _only(pair: Compared, kept: pd.DataFrame, factor: str) -> dict[Any, tuple[int, int]]:
    """Return two numbers by level: items that only the model was asked, and items that only people responded to."""
    asked = kept[(kept["kind"] == "model") & (kept["subject"] == pair.model)]
    answered = kept[(kept["kind"] == pair.kind) & kept["response"].notna()]
    of_run, of_people = (
        side[~side["item_id"].isin(pair.asked["item_id"])].groupby(factor)["item_id"].nunique()
        for side in (asked, answered)
    )
    levels = [*asked[factor].unique(), *answered[factor].unique()]
    return {level: (int(of_run.get(level, 0)), int(of_people.get(level, 0))) for level in levels}


def trends(trials: pd.DataFrame, factor: str, plan: AnalysisPlan) -> pd.DataFrame:
    r"""Return the change of accuracy over the levels of a factor, for people and models, and the difference in slope.

    Parameters
    ----------
    trials, factor, plan
        See `accuracy_by_level`.

    Returns
    -------
    DataFrame
        `TREND_COLUMNS`. There is one row for each subject of `accuracy_by_level` that has two levels or more. `slope`
        is the change of accuracy if the level grows by 1. `slope` is negative if accuracy falls from level to level.
        `change` is the accuracy at the last level minus the accuracy at the first level. `slope_difference` is the
        slope of people over the shared items, minus the slope of the model. `slope_difference` is 0 if the accuracies
        of people and of the model change equally.

    Notes
    -----
    The slope is that of the least-squares line through all trials (`trends.trend_weights`). Levels that are numbers,
    such as 0, 2 and 3, are used unchanged; levels that are texts become 0, 1, 2, ... in natural order. The weight of a
    level is the number of people's responses, also for a model. So a difference in slope does not come from different
    weights. The interval of a slope combines the intervals of the levels (`trends.mover_contrast`). For people, the
    interval takes into account that the same participants responded at several levels
    (`participant_intervals.pooled_proportions`). The interval of a difference in slope combines the intervals of the
    two slopes.
    """
    kept = _with_level(trials, factor, plan)
    numbers = _numbers(kept[factor])
    subjects = [(subject, levels) for subject, levels in _subjects(kept, factor, plan) if len(levels.names) > 1]
    pairs = [subject.pair for subject, _ in subjects if subject.pair]
    theirs = of_responses(pairs, lambda responses: _levels_of_people(responses, factor, numbers, plan).slope())
    slopes_of_people = iter(theirs)
    rows: list[dict[str, Any]] = []
    for subject, levels in subjects:
        row: dict[str, Any] = {**subject.names, "n_items": sum(levels.n_items)}
        row |= {"first_level": levels.names[0], "last_level": levels.names[-1]}
        slope, change = levels.slope(), levels.change()
        row |= _named("slope", *slope) | _named("change", *change)
        if subject.pair:
            other = next(slopes_of_people)
            difference = mover_contrast([1, -1], [other[0], slope[0]], [other[1], slope[1]])
            row |= subject.pair.counts | _named("slope_difference", other[0] - slope[0], difference)
        rows.append(row)
    table = pd.DataFrame(rows, columns=TREND_COLUMNS)
    levels_type = dict.fromkeys(["first_level", "last_level"], dtype_of_levels(kept[factor]))
    measures = dict.fromkeys(TREND_COLUMNS[TREND_COLUMNS.index("slope") :], "float64")
    return table.astype({**dict.fromkeys(WHO, "str"), **dict.fromkeys(ITEM_COUNTS, "Int64"), **levels_type, **measures})


def _named(name: str, value: float, interval: Interval) -> dict[str, float]:
    return {name: value, f"{name}_ci_low": interval.low, f"{name}_ci_high": interval.high}


def _with_level(trials: pd.DataFrame, factor: str, plan: AnalysisPlan) -> pd.DataFrame:
    check_factors(trials, [factor])
    kept = graded_trials(trials, [*COUNTED_COLUMNS, "item_id", "response", *cluster_columns(plan), factor])
    return kept[kept[factor].notna()]


def _numbers(levels: pd.Series) -> dict[Any, float]:
    """Return the levels in order, each with its number in the trend."""
    ordered = sorted(levels.unique().tolist(), key=level_order)
    if pd.api.types.is_numeric_dtype(levels) and not pd.api.types.is_bool_dtype(levels):
        return {level: float(level) for level in ordered}
    return {level: float(place) for place, level in enumerate(ordered)}


def _subjects(kept: pd.DataFrame, factor: str, plan: AnalysisPlan) -> list[tuple[Subject, _Levels]]:
    numbers = _numbers(kept[factor])
    return [
        (subject, _levels_of_run(subject, factor, numbers, plan))
        if subject.kind == "model"
        else (subject, _levels_of_people(subject.trials, factor, numbers, plan))
        for subject in subjects_compared(kept)
    ]


def _levels_of_people(
    responses: pd.DataFrame, factor: str, numbers: Mapping[Any, float], plan: AnalysisPlan
) -> _Levels:
    counts = participant_counts(responses, [factor])
    names = [name for name in numbers if (counts[factor] == name).any()]
    tables = [
        counts.pivot(index="participant", columns=factor, values=of)
        .reindex(columns=names)
        .fillna(0)
        .to_numpy(dtype="float64")
        for of in ("n_correct", "n_trials")
    ]
    pooled = pooled_proportions(*tables)
    items = responses.groupby(factor)["item_id"].nunique()
    return _Levels(
        names,
        np.array([numbers[name] for name in names]),
        [int(items[name]) for name in names],
        [int(n) for n in pooled.n_trials],
        pooled.n_trials,
        pooled.proportions,
        pooled.intervals(plan.confidence),
        pooled.correlations,
    )


def _levels_of_run(subject: Subject, factor: str, numbers: Mapping[Any, float], plan: AnalysisPlan) -> _Levels:
    asked = subject.trials
    items = item_counts(asked, plan)
    items = items.assign(
        level=asked.drop_duplicates("item_id").set_index("item_id")[factor],
        n_responses=subject.responses_to_item.reindex(items.index),
    )
    names = [name for name in numbers if (items["level"] == name).any()]
    cells = [items[items["level"] == name] for name in names]
    counted = [accuracy_of_items(cell, cell["n_responses"], plan) for cell in cells]
    return _Levels(
        names,
        np.array([numbers[name] for name in names]),
        [len(cell) for cell in cells],
        [int(cell["n_trials"].sum()) for cell in cells],
        np.array([float(cell["n_responses"].sum()) for cell in cells]),
        np.array([accuracy for accuracy, _ in counted]),
        [interval for _, interval in counted],
    )
