"""Power of the comparison of people with a language model, from simulated responses."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.row_filters import matching
from analysis.measures.accuracy import cluster_labels
from analysis.power.simulated_responses import Bools, Effect, Floats, PlannedTrials
from analysis.power.simulation import Equivalence, Outcome, PowerAnalysis
from analysis.statistics.equivalence import equivalence_of_interval
from analysis.statistics.intervals import Interval, mover_difference, weighted_accuracy
from analysis.statistics.participant_intervals import proportion_interval
from analysis.statistics.random_items import correlation_over_items, crossed_proportion
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import Level, PlannedComparison


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A language model with stored responses."""

    name: str
    """The name of the model in the report."""
    items: pd.DataFrame
    """The result of `accuracy.item_counts` for the trials of the model."""


def planned_comparison(plan: AnalysisPlan, name: str | None) -> PlannedComparison:
    """Return the comparison `name` of a plan. Without a name, return the comparison over all items.

    Raises
    ------
    InputError
        If the plan does not have the comparison.
    """
    if name is None:
        return PlannedComparison()
    if name not in plan.comparisons:
        known = f"choose one of {', '.join(plan.comparisons)}" if plan.comparisons else "add a comparison to the plan"
        raise InputError(f"the plan has no comparison `{name}`. Fix: {known}.")
    return plan.comparisons[name]


def comparison_analysis(
    trials: PlannedTrials,
    plan: AnalysisPlan,
    model: float | StoredModel,
    name: str | None = None,
    levels: Mapping[str, Level] | None = None,
    *,
    alpha: float = 0.05,
    is_equivalence: bool = False,
) -> PowerAnalysis:
    """Return the power analysis of a comparison of people's accuracy with the accuracy of a language model.

    Parameters
    ----------
    trials : PlannedTrials
        The trials of the simulated people.
    plan : AnalysisPlan
        The plan. Its setting `items` states whether the interval generalizes to other items. Its setting
        `item_cluster` is the factor that groups related items.
    model : float or StoredModel
        A number is the model's expected accuracy over items like those of the study. In each simulated study, the
        model then responds once to each item, with simulated responses. A `StoredModel` has stored responses, which
        are the same in each simulated study.
    name : str, optional
        Name of a comparison in the plan. By default, the comparison over all items.
    levels : mapping, optional
        One level of each factor of the comparison, if it has factors. Only trials with these levels are compared.
    alpha : float
        The level of significance. The interval has the confidence level 1 - alpha, or 1 - 2 alpha for equivalence.
    is_equivalence : bool
        True to find the power to show equivalence with the margin of the comparison.

    Raises
    ------
    InputError
        If the plan does not have the comparison, or the levels do not fit it. Also if an equivalence test has no
        margin, or if people and model share no item.

    Notes
    -----
    The interval is computed as in `analysis.measures.differences`, but faster for many simulated studies.

    Examples
    --------
    Two participants are right at three of four items, and the model at one of two items.

    >>> from analysis.power.simulated_responses import planned_trials
    >>> trials = planned_trials(pd.DataFrame({"group": 1, "item_id": ["a", "b"]}), 2)
    >>> analysis = comparison_analysis(trials, AnalysisPlan(), 0.5)
    >>> model = np.array([1.0, 0.0, 1.0, 0.0])
    >>> analysis.run(np.array([1.0, 1.0, 1.0, 0.0]), np.full(4, True), model).estimate
    0.25
    """
    planned = planned_comparison(plan, name)
    what = f"the comparison `{name}`" if name else "the comparison of people with the model"
    margin = planned.equivalence_margin if is_equivalence else None
    if is_equivalence and margin is None:
        raise InputError(
            f"{what} has no margin. Fix: add a comparison with `equivalence_margin` to the plan, and name it."
        )
    rows = _rows_of_cell(trials, planned, levels or {}, what)
    items, item_ids = pd.factorize(trials.table["item_id"].astype("str"))
    n_right, n_replies = np.zeros(len(item_ids)), np.ones(len(item_ids), dtype=np.int64)
    if isinstance(model, StoredModel):
        known = model.items.reindex(item_ids)
        rows = rows & known["n_trials"].notna().to_numpy(dtype=bool)[items]
        if not rows.any():
            raise InputError(f"{what}: `{model.name}` has no responses to these items. Fix: choose another model.")
        n_right = known["n_correct"].fillna(0).to_numpy(dtype="float64")
        n_replies = known["n_trials"].fillna(1).to_numpy(dtype="int64")
        accuracy = float((n_right / n_replies)[items[rows]].mean())
        compared = f"`{model.name}` (accuracy {accuracy:.3g})"
    else:
        accuracy, compared = model, f"a model with an accuracy of {model:g}"
    is_stored = isinstance(model, StoredModel)
    confidence = 1 - (alpha if margin is None else 2 * alpha)
    clusters = pd.factorize(cluster_labels(trials.table, plan), sort=True)[0]
    place = f" at {Effect(levels, 0.0).place}" if levels else ""
    of_plan = f", by the plan's comparison `{name}`" if name else ""
    return PowerAnalysis(
        f"people's accuracy against {compared}{place}{of_plan}",
        _Comparison(trials, plan, rows, items, clusters, n_right, n_replies, confidence, margin).run,
        "people minus model",
        (_STORED if is_stored else _SIMULATED,),
        equal="If people are as accurate as the model",
        equal_accuracy=np.full(len(rows), accuracy),
        model_accuracy=None if is_stored else np.full(len(rows), accuracy),
        equivalence=None if margin is None else Equivalence(margin, rows),
        remedy="set `items: random` in the analysis plan" if plan.items == "fixed" else "use more items",
    )


@dataclass(frozen=True, eq=False)
class _Comparison:
    """The comparison of people with a model at one combination of levels (a cell)."""

    trials: PlannedTrials
    plan: AnalysisPlan
    rows: Bools
    """True for each trial of people in the cell, at an item that the model was asked."""
    items: npt.NDArray[np.intp]
    """The item of each trial, as an index from 0."""
    clusters: npt.NDArray[np.intp]
    """The cluster of each trial's item, as an index from 0. If the plan has no `item_cluster`, each item is a cluster.
    """
    n_right: Floats
    """Number of the model's right responses to each item; 0 if the model's responses are simulated."""
    n_replies: npt.NDArray[np.int64]
    """Number of the model's responses to each item."""
    confidence: float
    margin: float | None
    """The margin of equivalence; None for a test of a difference."""

    def run(self, correct: Floats, kept: Bools, model_right: Floats | None = None) -> Outcome:
        """Compare people with the model.

        `interval_decides` of the result is true if the interval shows the difference, or the equivalence.
        """
        used = kept & self.rows
        if not used.any():
            raise InputError("no participant remains. Fix: simulate more participants.")
        items, responses = self.items[used], correct[used]
        n_right = self.n_right
        if model_right is not None:
            n_right = n_right.copy()
            n_right[items] = model_right[used]
        weights = np.bincount(items, minlength=len(n_right))
        people, interval, r = self._people(responses, used, weights * n_right / self.n_replies, weights)
        model, model_interval = weighted_accuracy(
            n_right,
            self.n_replies,
            weights,
            None if self.plan.item_cluster is None else self._cluster_of_item,
            self.confidence,
        )
        low, high = mover_difference(people, interval, model, model_interval, r)
        decision = (
            not low <= 0 <= high
            if self.margin is None
            else equivalence_of_interval(low, high, -self.margin, self.margin)
        )
        return Outcome(math.nan, people - model, interval_decides=decision)

    def _people(
        self, responses: Floats, used: Bools, weighted_right: Floats, weights: npt.NDArray[np.intp]
    ) -> tuple[float, Interval, float]:
        """Return people's accuracy, its interval, and its correlation with the model's accuracy."""
        people = np.unique(self.trials.participants[used], return_inverse=True)[1]
        if self.plan.items == "fixed":
            n_correct = np.bincount(people, responses).astype(np.int64)
            return float(responses.mean()), proportion_interval(n_correct, np.bincount(people), self.confidence), 0.0
        there, codes = np.unique(self.clusters[used], return_inverse=True)
        pooled = crossed_proportion(responses, people, codes)
        total = weights.sum()
        parts = (weighted_right - weights * weighted_right.sum() / total) / total
        of_clusters = np.bincount(self._cluster_of_item, parts).astype(np.float64)
        return pooled.proportion, pooled.interval(self.confidence), correlation_over_items(pooled, of_clusters[there])

    @cached_property
    def _cluster_of_item(self) -> npt.NDArray[np.intp]:
        return self.clusters[np.unique(self.items, return_index=True)[1]]


_SIMULATED = (
    "The model responds once to each item. Items that are easy for people are also easy for the model: both have the "
    "same item intercepts."
)
_STORED = (
    "The model's responses are the stored responses in every simulated study. But the interval treats them as a "
    "sample, so the analysis is cautious: its rate of false positives is usually lower than alpha."
)


def _rows_of_cell(trials: PlannedTrials, planned: PlannedComparison, levels: Mapping[str, Level], what: str) -> Bools:
    """Return True for each trial with these levels.

    Raise InputError if `levels` does not have exactly the factors of the comparison.
    """
    if set(levels) != set(planned.by):
        wanted = ",".join(f"{factor}=LEVEL" for factor in planned.by)
        fix = f"name one level of each factor as the term, {wanted}" if planned.by else "omit the term"
        raise InputError(
            f"{what} has {'the factors ' + ', '.join(planned.by) if planned.by else 'no factor'}. Fix: {fix}."
        )
    rows: Bools = matching(trials.table, dict(levels), what).to_numpy(dtype=bool)
    if not rows.any():
        raise InputError(f"{what}: no test item has these levels together. Fix: choose other levels.")
    return rows
