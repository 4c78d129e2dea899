"""The table of models under each condition: temperature, runs, accuracy, and consistency over repeated runs."""

import math

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.columns import is_graded
from analysis.data.subjects import without_temperature
from analysis.measures.accuracy import (
    accuracy_of_items,
    cluster_columns,
    item_counts,
    kept_trials,
    participant_accuracy,
)
from analysis.statistics.agreement_measures import mean_agreement_interval, repeated_agreement
from analysis.statistics.factor_levels import level_order
from analysis.statistics.run_variance import run_variance
from experiment.study.analysis_plan import AnalysisPlan

MODEL_COLUMNS = [
    "subject", "model", "model_version", "temperature", "n_runs", "n_items", "n_trials", "accuracy", "ci_low",
    "ci_high", "lowest_accuracy_of_a_run", "highest_accuracy_of_a_run", "sd_between_runs", "sd_between_runs_by_chance",
    "p_between_runs", "n_items_repeated", "consistency", "consistency_ci_low", "consistency_ci_high",
]  # fmt: skip
_NEEDED = ["kind", "subject", "participant", "model", "model_version", "temperature", "item_id", "response", "valid",
           "correct", "counted_as"]  # fmt: skip


def models_table(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    """Return one row for each model under each condition.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    plan : AnalysisPlan
        The plan states the confidence level and the clusters of items.

    Returns
    -------
    DataFrame
        The columns `MODEL_COLUMNS`. `n_runs` is the number of runs: one for each time that the model was asked the
        items (an *epoch* of Inspect). `accuracy` and its interval are the same as in the table `accuracy_overall`. They
        and the other measures of accuracy use the `n_trials` trials of the `n_items` graded items. They are missing if
        there is no such item.
        `sd_between_runs` is the standard deviation of the runs' accuracies, over the items that all runs were asked.
        `sd_between_runs_by_chance` is the square root of the variance expected if the runs differ only by chance.
        `p_between_runs` is the p value of the test of this hypothesis. With one run, these three values are missing.
        `consistency` is the probability that two replies to the same item contain the same response, as a mean over the
        `n_items_repeated` items with several replies, graded or not. An invalid or missing reply counts as different
        from every other reply, even from another invalid or missing reply. `consistency` is missing if no item has
        several replies.

    Notes
    -----
    See `run_variance.run_variance`, `agreement_measures.repeated_agreement`, and
    `agreement_measures.mean_agreement_interval` for the interval of `consistency`. The interval of `consistency`
    generalizes to other items, or to other clusters of items (`item_cluster` of the plan).
    """
    kept = kept_trials(trials, [*_NEEDED, "key", *cluster_columns(plan)])
    rows = []
    for subject, asked in kept[kept["kind"] == "model"].groupby("subject", sort=False):
        first, graded = asked.iloc[0], asked[is_graded(asked)]
        described = (subject, first["model"], first["model_version"], first["temperature"])
        counts = (asked["participant"].nunique(), graded["item_id"].nunique(), len(graded))
        measures = _accuracies(graded, plan) if len(graded) else (math.nan,) * 8
        rows.append((*described, *counts, *measures, *_consistency(asked, item_counts(asked, plan), plan)))
    rows.sort(key=lambda row: level_order(row[0]))
    counted = {name: "int64" for name in MODEL_COLUMNS if name.startswith("n_")}
    return pd.DataFrame(rows, columns=MODEL_COLUMNS).astype(counted)


def _accuracies(graded: pd.DataFrame, plan: AnalysisPlan) -> tuple[float, ...]:
    """Return the accuracy, its interval, the lowest and highest accuracy of a run, and the variance between runs."""
    of_items = item_counts(graded, plan)
    accuracy, interval = accuracy_of_items(of_items, of_items["n_trials"], plan)
    of_runs = graded["counted_as"].groupby(graded["participant"]).mean()
    return (accuracy, *interval, of_runs.min(), of_runs.max(), *run_variance(_values_of_runs(graded)))


def _values_of_runs(asked: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the mean score of each run at each item, for the items that all runs were asked; shape (runs, items)."""
    of_runs = asked.groupby(["participant", "item_id"], observed=True)["counted_as"].mean().unstack()
    return of_runs.dropna(axis="columns").to_numpy(dtype="float64")


def _consistency(asked: pd.DataFrame, of_items: pd.DataFrame, plan: AnalysisPlan) -> tuple[int, float, float, float]:
    """Return the number of items with several replies, the consistency, and the bounds of its interval."""
    is_response = asked["response"].notna() & asked["valid"].fillna(True).astype(bool)
    number = pd.factorize(asked["response"].map(repr))[0]
    alone = np.arange(len(asked)) + len(asked)
    items = asked["item_id"].astype("str")
    agreement = repeated_agreement(items.to_numpy(), np.where(is_response.to_numpy(), number, alone))
    if agreement.empty:
        return 0, math.nan, math.nan, math.nan
    cluster = of_items["cluster"].reindex(agreement.index) if "cluster" in of_items else agreement.index
    n_responses = np.asarray(items.value_counts().reindex(agreement.index), dtype=np.float64)
    bounds = mean_agreement_interval(
        agreement.to_numpy(dtype="float64"), n_responses, pd.factorize(cluster)[0], plan.confidence
    )
    return len(agreement), float(agreement.mean()), *bounds


def accuracy_by_temperature(models: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of models that have several temperatures, as a table for `difficulty_figure`.

    Returns
    -------
    DataFrame
        `kind, subject, point_subject, level, accuracy, ci_low, ci_high`. `level` is the temperature, `point_subject` is
        the subject of `models_table`, and `subject` is this subject without the temperature.
    """
    known = models[models["temperature"].notna()]
    table = pd.DataFrame(
        {
            "kind": "model",
            "subject": known["subject"].map(without_temperature),
            "point_subject": known["subject"],
            "level": known["temperature"],
            **{column: known[column] for column in ("accuracy", "ci_low", "ci_high")},
        }
    )
    # Subjects with the same name and temperature differ in something else, so they are not one line.
    once = table[~table.duplicated(["subject", "level"], keep=False)]
    return once[once.groupby("subject")["level"].transform("nunique") > 1].reset_index(drop=True)


def runs_by_temperature(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of each run, with the columns of `accuracy_by_temperature`: `kind, subject, level, accuracy`.

    `trials` is the tidy table with `excluded_by` and `counted_as`.
    """
    runs = participant_accuracy(trials, ["temperature"]).query("kind == 'model'")
    return runs.assign(subject=runs["subject"].map(without_temperature)).rename(columns={"temperature": "level"})
