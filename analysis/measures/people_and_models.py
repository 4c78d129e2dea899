"""Accuracy of people as one group and of all models as one group, over the same items."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.columns import PEOPLE
from analysis.data.subjects import programs_among
from analysis.measures.accuracy import accuracy, graded_trials, ordered_table
from analysis.measures.differences import differences
from analysis.statistics.intervals import Interval, mover_difference
from analysis.statistics.participant_intervals import pooled_proportions
from experiment.study.analysis_plan import OF_RUNS, AnalysisPlan

MEASURES = ("n_items", "n_participants", "accuracy_people", "accuracy_people_ci_low", "accuracy_people_ci_high",
            "n_models", "accuracy_models", "accuracy_models_ci_low", "accuracy_models_ci_high", "difference", "ci_low",
            "ci_high", "n_items_left_out")  # fmt: skip


def people_and_models(trials: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> pd.DataFrame:
    """Return the accuracy of people and of models as two groups, for each combination of the factors' levels.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    by : sequence of str
        Factors of the items. Settings of models' runs (`OF_RUNS`) are ignored, because they divide the models, not the
        items.
    plan : AnalysisPlan
        The plan states the confidence level. Its setting `items` has no effect.

    Returns
    -------
    DataFrame
        `kind, people, <by...>` and `MEASURES`. The table is empty if there are fewer than two models. Baselines
        (programs that compute a response) are left out. All numbers use only items that people responded to and that
        every model was asked; `n_items_left_out` is the number of other items. The columns on people are computed as
        in `accuracy`. In a model's accuracy, the weight of an item is the number of people's responses. If a model has
        several conditions, such as temperatures, its accuracy is the mean over the conditions. `accuracy_models` is
        the mean over `n_models` models, each with the same weight. `difference` is people minus models.

    Notes
    -----
    The interval of the models comes from the variance between models (`participant_intervals.pooled_proportions`, with
    models instead of participants). So the interval generalizes to other models if the models of the study are a
    random sample. With few models, the interval is wide. The interval of the difference combines both intervals
    (`intervals.mover_difference`). Both groups responded to the same items, and the intervals do not generalize to
    other items.
    """
    by = [factor for factor in by if factor not in OF_RUNS]
    plan = plan.model_copy(update={"items": "fixed"})  # The variance between models does not include other items.
    rows: list[tuple[Any, ...]] = []
    kept = graded_trials(trials, ["kind", "subject", "model", "item_id", "response"])
    names = _model_of_subject(kept)
    for kind, people in PEOPLE.items():
        responses = kept[(kept["kind"] == kind) & kept["response"].notna()]
        if responses.empty or len(set(names.values())) < 2:
            continue
        shared = _shared_items(kept, responses, names)
        n_all = len(set(responses["item_id"]) | set(kept.loc[kept["subject"].isin(list(names)), "item_id"]))
        is_used = trials["item_id"].isin(list(shared)) & (
            (trials["kind"] == kind) | trials["subject"].isin(list(names))
        )
        rows += _cells(trials[is_used], kind, people, by, plan, names, n_all)
    return ordered_table(rows, ["kind", "people"], by, MEASURES, trials)


def _model_of_subject(kept: pd.DataFrame) -> dict[str, str]:
    """Return the name of the model of each subject, without baselines."""
    runs = kept.loc[kept["kind"] == "model", ["subject", "model"]].drop_duplicates().astype(object)
    names = dict(zip(runs["subject"], runs["model"].fillna(runs["subject"]), strict=True))
    baselines = programs_among(names.values()).get("baseline", [])
    return {subject: model for subject, model in names.items() if model not in baselines}


def _shared_items(kept: pd.DataFrame, responses: pd.DataFrame, names: dict[str, str]) -> set[str]:
    asked = kept[kept["subject"].isin(list(names))].groupby("subject", observed=True)["item_id"]
    return set(responses["item_id"]).intersection(*(set(items) for _, items in asked))


def _cells(
    trials: pd.DataFrame, kind: str, people: str, by: list[str], plan: AnalysisPlan, names: dict[str, str], n_all: int
) -> list[tuple[Any, ...]]:
    """Return the row of each cell."""
    if trials.empty:
        return []
    of_people = accuracy(trials[trials["kind"] == kind], by, plan)
    of_models = differences(trials, by, plan)
    model = of_models["model"].map(names)
    rows = []
    n_used = int(graded_trials(trials, ["item_id"])["item_id"].nunique())
    for row in of_people.to_dict("records"):
        same = np.logical_and.reduce([of_models[factor].isin([row[factor]]) for factor in by], initial=True)
        cell = of_models[np.broadcast_to(same, len(of_models))]
        means = cell.groupby(model)["accuracy_model"].mean().to_numpy(dtype="float64")
        n_items = int(cell["n_items"].iloc[0])
        n = np.full((len(means), 1), float(n_items))
        pooled = pooled_proportions(means[:, None] * n, n)
        own, theirs = Interval(row["ci_low"], row["ci_high"]), pooled.intervals(plan.confidence)[0]
        difference = row["accuracy"] - float(means.mean())
        bounds = mover_difference(row["accuracy"], own, float(means.mean()), theirs)
        levels = [row[factor] for factor in by]
        measures = (n_items, row["n_participants"], row["accuracy"], *own, len(means), float(means.mean()), *theirs,
                    difference, *bounds, n_all - n_used)  # fmt: skip
        rows.append((kind, people, *levels, *measures))
    return rows
