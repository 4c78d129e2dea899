"""Differences in accuracy between models on the same items."""

import itertools

import numpy as np
import pandas as pd

from analysis.data.columns import subject_order
from analysis.measures.accuracy import cluster_columns, graded_trials, item_counts
from analysis.statistics.paired_differences import paired_difference
from experiment.study.analysis_plan import AnalysisPlan

MODEL_DIFFERENCE_COLUMNS = ["model_1", "model_2", "n_items", "accuracy_1", "accuracy_2", "difference", "ci_low",
                            "ci_high"]  # fmt: skip
_NEEDED = ["kind", "subject", "item_id", "counted_as"]


def model_differences(trials: pd.DataFrame, plan: AnalysisPlan) -> pd.DataFrame:
    """Return the difference in accuracy of each pair of models, over the items that both models were asked.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    plan : AnalysisPlan
        The plan states the confidence level and the clusters of items.

    Returns
    -------
    DataFrame
        The columns `MODEL_DIFFERENCE_COLUMNS`, and one row for each pair of models that share an item. `difference` is
        `accuracy_1` minus `accuracy_2`. A model's accuracy at an item is the mean over its epochs, and each item has
        the same weight.

    Notes
    -----
    See `paired_differences.paired_difference`. The models respond to the same items. So the difference varies less
    than it would between different items. The interval generalizes to other items of the same kind, or to other
    clusters of items. The interval is not adjusted for the number of pairs.
    """
    kept = graded_trials(trials, [*_NEEDED, *cluster_columns(plan)])
    of_models = {
        str(subject): item_counts(asked, plan)
        for subject, asked in kept[kept["kind"] == "model"].groupby("subject", sort=False, observed=True)
    }
    rows = []
    for one, other in itertools.combinations(sorted(of_models, key=lambda name: subject_order("model", name)), 2):
        first, second = of_models[one].align(of_models[other], join="inner", axis=0)
        if first.empty:
            continue
        accuracy_1, accuracy_2 = (
            (counts["n_correct"] / counts["n_trials"]).to_numpy(dtype="float64") for counts in (first, second)
        )
        clusters = first["cluster"].to_numpy() if "cluster" in first else np.arange(len(first))
        difference, interval = paired_difference(accuracy_1 - accuracy_2, clusters, plan.confidence)
        rows.append((one, other, len(first), accuracy_1.mean(), accuracy_2.mean(), difference, *interval))
    table = pd.DataFrame(rows, columns=MODEL_DIFFERENCE_COLUMNS)
    numbers = dict.fromkeys(MODEL_DIFFERENCE_COLUMNS[3:], "float64")
    return table.astype({"model_1": "str", "model_2": "str", "n_items": "int64", **numbers})
