"""The proportion of correct responses for each subject and each level of the factors, with confidence intervals."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.columns import dtype_of_levels, factor_columns, is_graded, subject_order
from analysis.statistics.chance_correction import chance_corrected
from analysis.statistics.factor_levels import level_order
from analysis.statistics.intervals import Interval, weighted_accuracy
from analysis.statistics.participant_intervals import proportion_interval
from analysis.statistics.random_items import CrossedProportion, crossed_proportion
from batteries.errors import InputError
from experiment.study.analysis_plan import OF_RUNS, AnalysisPlan

MEASURES = ("n_participants", "n_trials", "n_correct", "accuracy", "ci_low", "ci_high")
CHANCE_MEASURES = ("chance", "chance_corrected", "chance_corrected_ci_low", "chance_corrected_ci_high")
COUNTED_COLUMNS = ("kind", "subject", "participant", "correct", "counted_as")
"""Columns that `participant_counts` needs in addition to the factors."""
Whole = npt.NDArray[np.int64]
ItemCounts = tuple[npt.NDArray[np.float64], Whole, Whole, Whole | None]
TABLE_COLUMNS = {"kind", "subject", *MEASURES, *CHANCE_MEASURES, "people", "model", "n_items", "accuracy_people",
                 "accuracy_model", "accuracy_ratio", "accuracy_ratio_ci_low", "accuracy_ratio_ci_high",
                 "normalized_accuracy", "normalized_accuracy_ci_low", "normalized_accuracy_ci_high",
                 "n_items_only_model", "n_items_only_people", "equivalence_margin", "is_equivalent",
                 "equivalence_ci_low", "equivalence_ci_high", "difference"}  # fmt: skip


def accuracy(trials: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> pd.DataFrame:
    """Return the proportion of correct test trials, for each subject and each combination of the factors' levels.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`. Only trials in the analysis whose items have a right
        answer are counted.
    by : sequence of str
        Factors of the items, or settings of models' runs (`OF_RUNS`), such as `temperature`. If there are no factors,
        the table has one row per subject.
    plan : AnalysisPlan
        The plan states the confidence level.

    Returns
    -------
    DataFrame
        `kind, subject, <by...>, n_participants, n_trials, n_correct, accuracy, ci_low, ci_high` and `CHANCE_MEASURES`.
        A subject is `people`, `simulated participants`, or a model under one condition. For a model, `n_participants`
        is the number of its runs: one for each time that the model was asked the items. `chance` is the mean chance
        level of the trials: the probability that a random response is correct. It is missing if the chance level of a
        trial is missing. `chance_corrected` is the accuracy on a scale on which chance is 0 and perfect accuracy is 1
        (`chance_correction.chance_corrected`). A cell is one subject at one combination of the factors' levels. A cell
        without trials has no row. If an item has no level of a factor, its trials are in a row in which the level of
        this factor is missing. `participant_intervals.proportion_interval` computes the intervals of people. If the
        plan has `items: random`, `random_items.crossed_proportion` computes them instead. `intervals.weighted_accuracy`
        computes the intervals of models. A model's responses to the same item, or to items of the same cluster
        (`item_cluster` of the plan), are not treated as independent. If `by` has a setting of runs, the level of this
        setting is missing in the row of people.
    """
    check_factors(trials, by)
    kept = graded_trials(trials, [*COUNTED_COLUMNS, "chance", "item_id", *cluster_columns(plan), *by])
    is_model = kept["kind"] == "model"
    cells = ["kind", "subject", *by]
    rows: list[tuple[Any, ...]] = []
    of_people = kept[~is_model].groupby(cells, dropna=False, sort=False)
    for cell, members in participant_counts(kept[~is_model], by).groupby(cells, dropna=False, sort=False):
        n_trials, n_correct = int(members["n_trials"].sum()), int(members["n_correct"].sum())
        own = of_people.get_group(cell)
        crossed = crossed_over_items(own, plan) if plan.items == "random" else None
        interval = crossed.pooled.interval(plan.confidence) if crossed else interval_of(members, plan)
        proportion = n_correct / n_trials
        counts = len(members), n_trials, n_correct
        rows.append((*cell, *counts, proportion, *interval, *_corrected(proportion, interval, own)))
    for cell, asked in kept[is_model].groupby(cells, dropna=False, sort=False):
        of_items = item_counts(asked, plan)
        proportion, interval = accuracy_of_items(of_items, of_items["n_trials"], plan)
        n_runs, n_trials, n_correct = asked["participant"].nunique(), len(asked), int(asked["correct"].sum())
        counts = n_runs, n_trials, n_correct
        rows.append((*cell, *counts, proportion, *interval, *_corrected(proportion, interval, asked)))
    return ordered_table(rows, ["kind", "subject"], by, (*MEASURES, *CHANCE_MEASURES), kept)


def mean_chance(trials: pd.DataFrame) -> float:
    """Return the mean chance level of trials. It is missing if the chance level of a trial is missing."""
    return float(trials["chance"].astype("float64").mean(skipna=False))


def _corrected(proportion: float, interval: Interval, trials: pd.DataFrame) -> tuple[float, ...]:
    chance = mean_chance(trials)
    return chance, *chance_corrected(proportion, interval, chance)


@dataclass(frozen=True)
class FactorAccuracy:
    """The table of accuracy for one factor in `by` of the plan."""

    factor: str
    """The name of the factor."""
    name: str
    """File name of the table and of the figure, without the file extension."""
    table: pd.DataFrame
    """The table of `accuracy`."""


def accuracy_by_factor(trials: pd.DataFrame, plan: AnalysisPlan) -> list[FactorAccuracy]:
    """Return the table of `accuracy` for each factor in `by` of the plan."""
    names = file_names(plan.by)
    return [FactorAccuracy(factor, name, accuracy(trials, [factor], plan)) for factor, name in names.items()]


def file_names(factors: Sequence[str]) -> dict[str, str]:
    """Return a valid file name for each factor. If two names are equal, add a number to all names."""
    names = [re.sub(r"[^A-Za-z0-9_-]+", "_", factor).strip("_").lower() or "factor" for factor in factors]
    if len(set(names)) < len(names):
        names = [f"{name}_{index}" for index, name in enumerate(names, start=1)]
    return {factor: f"accuracy_by_{name}" for factor, name in zip(factors, names, strict=True)}


def kept_trials(trials: pd.DataFrame, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the test trials that are in the analysis, with all columns or only with `columns`."""
    is_kept = _in_the_analysis(trials)
    return trials[is_kept] if columns is None else trials[list(dict.fromkeys(columns))][is_kept]


def graded_trials(trials: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return `columns` of the trials of `kept_trials` whose items have a right answer. All accuracies use these trials.

    A response to an ungraded item is neither correct nor wrong.
    """
    return trials[list(dict.fromkeys(columns))][_in_the_analysis(trials) & is_graded(trials)]


def _in_the_analysis(trials: pd.DataFrame) -> pd.Series:
    if "excluded_by" not in trials.columns:
        raise InputError(
            "the trials have no column `excluded_by`. Fix: apply the exclusions first (`apply_exclusions`)."
        )
    return trials["excluded_by"].isna() & (trials["phase"] == "test")


def participant_counts(kept: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the numbers of trials and of correct responses of each participant, in each cell."""
    cells = ["kind", "subject", "participant", *by]
    work = kept[cells].assign(_correct=kept["correct"].fillna(False).astype("int64"))
    counts = work.groupby(cells, dropna=False, sort=False)["_correct"]
    return counts.agg(n_trials="size", n_correct="sum").reset_index()


def participant_accuracy(trials: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return the accuracy of each participant and of each run, in each combination of the factors' levels.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by` and `counted_as`, from `apply_exclusions`.
    by : sequence of str
        Factors.

    Returns
    -------
    DataFrame
        `kind, subject, participant, <by...>, accuracy`. A participant without counted trials in a cell has no row.
    """
    cells = ["kind", "subject", "participant", *by]
    means = graded_trials(trials, [*cells, "counted_as"]).groupby(cells, dropna=False, sort=False)["counted_as"].mean()
    return means.rename("accuracy").dropna().astype("float64").reset_index()


def cluster_columns(plan: AnalysisPlan) -> list[str]:
    """Return a list with the column of the clusters of items; empty if the plan has no `item_cluster`."""
    return [] if plan.item_cluster is None else [plan.item_cluster]


def item_counts(asked: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    """Return the numbers of trials and of correct responses of one model at each item, and the cluster of each item.

    Returns
    -------
    DataFrame
        `n_correct` (the sum of `counted_as`), `n_trials`, and `cluster` (the number of the item's cluster) if the plan
        has `item_cluster`. The index has the items. An item without a level of `item_cluster` is the only item of its
        cluster.
    """
    codes, items = pd.factorize(asked["item_id"], sort=True)
    n_correct = np.bincount(codes, weights=asked["counted_as"].to_numpy(dtype="float64"))
    columns: dict[str, Any] = {"n_correct": n_correct, "n_trials": np.bincount(codes)}
    if plan.item_cluster is not None:
        first_rows = np.unique(codes, return_index=True)[1]
        clusters = pd.factorize(asked[plan.item_cluster].iloc[first_rows])[0]
        alone = clusters < 0
        clusters[alone] = len(clusters) + np.arange(alone.sum())
        columns["cluster"] = clusters
    return pd.DataFrame(columns, index=pd.Index(items.astype("str"), name="item_id"))


def accuracy_of_items(of_items: pd.DataFrame, weights: pd.Series, plan: AnalysisPlan) -> tuple[float, Interval]:
    """Return the weighted mean of a model's accuracies at the items, and its interval.

    `of_items` comes from `item_counts`.
    """
    return weighted_accuracy(*counts_of_items(of_items, weights), plan.confidence)


def counts_of_items(of_items: pd.DataFrame, weights: pd.Series) -> ItemCounts:
    """Return arguments of `intervals.weighted_accuracy`: correct responses, trials, weight and cluster of each item."""
    n_correct = of_items["n_correct"].to_numpy(dtype="float64")
    n_trials, n_weights = (column.to_numpy(dtype="int64") for column in (of_items["n_trials"], weights))
    clusters = of_items["cluster"].to_numpy(dtype="int64") if "cluster" in of_items else None
    return n_correct, n_trials, n_weights, clusters


def interval_of(members: pd.DataFrame, plan: AnalysisPlan) -> Interval:
    """Return the confidence interval of the proportion correct. `members` are rows of `participant_counts`."""
    n_correct, n_trials = (members[name].to_numpy(dtype="int64") for name in ("n_correct", "n_trials"))
    return proportion_interval(n_correct, n_trials, plan.confidence)


def share_of_rows(rows: pd.DataFrame, plan: AnalysisPlan) -> tuple[float, Interval]:
    """Return the share of one subject's rows in which `correct` is 1.

    Its interval is computed like that of an accuracy.

    `rows` has the columns `kind`, `subject`, `participant`, `item_id` and `correct`, and the column of the clusters.
    """
    if rows["kind"].iloc[0] == "model":
        of_items = item_counts(rows.assign(counted_as=rows["correct"].astype("float64")), plan)
        return accuracy_of_items(of_items, of_items["n_trials"], plan)
    members = participant_counts(rows, [])
    return members["n_correct"].sum() / members["n_trials"].sum(), interval_of(members, plan)


@dataclass(frozen=True)
class CrossedOverItems:
    """People's accuracy, and how much it varies over participants and over items."""

    pooled: CrossedProportion
    items: "pd.Index[str]"
    """The names of the items or clusters, in the order of `pooled.item_parts`."""


def crossed_over_items(trials: pd.DataFrame, plan: AnalysisPlan) -> CrossedOverItems:
    """Return the accuracy of people in some trials, for a plan with `items: random`."""
    codes, items = pd.factorize(cluster_labels(trials, plan), sort=True)
    correct = trials["correct"].fillna(False).to_numpy(dtype="float64")
    people = pd.factorize(trials["participant"])[0]
    return CrossedOverItems(crossed_proportion(correct, people, codes), pd.Index(items))


def cluster_labels(trials: pd.DataFrame, plan: AnalysisPlan) -> "pd.Series[str]":
    """Return the cluster of each trial's item. Without a cluster, return the item."""
    items = "item " + trials["item_id"].astype("str")
    if plan.item_cluster is None:
        return items
    levels = trials[plan.item_cluster]
    return ("level " + levels.astype("str")).where(levels.notna(), items)


def check_factors(trials: pd.DataFrame, by: Sequence[str]) -> None:
    """Raise InputError if a name in `by` is not a factor, occurs twice, or is a column name of the result tables.

    The settings of models' runs (`OF_RUNS`) are accepted as factors.
    """
    there = factor_columns(trials)
    for name in by:
        if name not in there and name not in OF_RUNS:
            have = (
                f"choose one of the factors {', '.join(there)}"
                if there
                else "remove `by` from the analysis plan, because the items have no factors"
            )
            raise InputError(f"`by` has the factor `{name}`, but no item has a factor with this name. Fix: {have}.")
        if name in TABLE_COLUMNS:
            raise InputError(
                f"the factor `{name}` has the same name as a column of the result tables. Fix: remove `{name}` from "
                f"`by`, or {'write a table under `tables`' if name in OF_RUNS else 'rename the factor in the battery'}."
            )
    if len(set(by)) < len(by):
        raise InputError("`by` lists a factor twice. Fix: list each factor once.")


def ordered_table(
    rows: list[tuple[Any, ...]], who: Sequence[str], by: Sequence[str], measures: Sequence[str], kept: pd.DataFrame
) -> pd.DataFrame:
    """Return the rows as a table that is sorted by subject and level. Each factor keeps its data type."""
    n_who = len(who)

    def place(row: tuple[Any, ...]) -> Any:
        names = [subject_order(row[0], name) for name in row[1:n_who]]
        return (*names, *(level_order(level) for level in row[n_who : n_who + len(by)]))

    rows = sorted(rows, key=place)
    table = pd.DataFrame(rows, columns=[*who, *by, *measures])
    types = {name: dtype_of_levels(kept[name]) for name in by} | dict.fromkeys(who, "str")
    types |= {name: "int64" if name.startswith("n_") else "float64" for name in measures}
    return table.astype(types)
