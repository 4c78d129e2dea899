"""Measures of people and models beyond accuracy: items, errors, difficulty, signals, perturbed text, variants."""

import pandas as pd

from analysis.data.columns import PEOPLE, factor_columns
from analysis.measures.confusion import confusion
from analysis.measures.demands import demand_tables
from analysis.measures.difficulty import accuracy_by_level, trends
from analysis.measures.error_consistency import FEWEST_ITEMS, error_agreement
from analysis.measures.item_agreement import item_agreement, item_table
from analysis.measures.model_differences import model_differences
from analysis.measures.perturbations import DEGREES, perturbation_effects
from analysis.measures.signal_detection import signal_measures
from analysis.measures.variants import has_variants, option_positions, variant_accuracy
from batteries.errors import collect_input_error, input_error_about
from experiment.study.analysis_plan import AnalysisPlan

TITLES = {
    "model_differences": "Differences between models",
    "item_agreement": "Agreement by item",
    "error_agreement": "Agreement in errors",
    "difficulty": "Accuracy by level of difficulty",
    "difficulty_trends": "Slope of accuracy over difficulty",
    "perturbations": "Accuracy with perturbed text",
    "variants": "Accuracy in all variants of an item",
    "option_positions": "Choices by position of the option",
    "confusion": "Confusion of categories",
}
"""The heading of each measure in the report, in this order. The heading of a signal is the name of the signal."""

EXPLANATIONS = {
    "model_differences": (
        "Accuracy of the first model minus accuracy of the second model, over the items that both were asked. The "
        "intervals generalize to other {units}. They are not adjusted for the number of pairs."
    ),
    "item_agreement": (
        "Every item has the same weight. In Spearman's rho, items with the same accuracy have the mean of their ranks. "
        "Reliability: the correlation between the accuracies of two random halves of the participants, extrapolated to "
        "all participants. The ceiling is its square root: the largest correlation that can be expected of a subject "
        "whose accuracies have no random error. The accuracies of a model with few replies per item have a large "
        "random error. So the expected correlation of such a model is far below the ceiling, even if the model is like "
        "the participants. There is no correlation with a subject that has the same "
        "accuracy at all items. The intervals treat items as independent."
    ),
    "error_agreement": (
        "Observed: share of the shared items at which both subjects of a pair are right, or both are not right. "
        "Expected: this share if they were right independently, each with its own accuracy. Kappa: (observed − "
        "expected) / (1 − expected). Each column is a mean over pairs, so the mean kappa does not follow from the "
        "other two means. A pair is two participants, or a participant and the model. n participants: participants "
        "with a kappa in at least one pair. Pairs are left out for one of two reasons. They share fewer than "
        f"{FEWEST_ITEMS} items, or kappa is not defined, because a subject is always right or always wrong on the "
        "shared items."
    ),
    "variants": (
        "Surviving accuracy: share of items with correct responses to the original item and to all its variants (other "
        "orders of options, other wordings). Consistency: probability that the same option is chosen in two orders."
    ),
    "option_positions": (
        "Chosen: share of trials in which the option at this position was chosen. Right: share of these trials in "
        "which the right option was at this position."
    ),
    "confusion": (
        "Numbers of trials: a row for each category of the right answer, a column for each category of the response. A "
        "response can be wrong although its category is right, for example if the ray exits at another port. So the "
        "number of correct responses can be smaller than the number of responses in the right category. The file also "
        "has shares with intervals."
    ),
}
"""A sentence below the table of some measures."""


def study_measures(trials: pd.DataFrame, plan: AnalysisPlan, not_computed: list[str]) -> dict[str, pd.DataFrame]:
    """Return the tables of the measures that the data and the plan allow. The keys are file names.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`.
    plan : AnalysisPlan
        The plan. Its entries `demands`, `difficulty` and `signals` request measures. All other measures, such as the
        agreement in errors, are computed if the data allow it.
    not_computed : list of str
        A list; this function appends a sentence about each result that cannot be computed.
    """
    trials = _named_by_responses(trials)
    tables: dict[str, pd.DataFrame] = {}
    kinds = set(trials["kind"])
    if "model" in kinds and kinds & PEOPLE.keys():
        tables["items"] = item_table(trials)
        tables["item_agreement"] = item_agreement(trials, plan)
        tables["error_agreement"] = error_agreement(trials, plan)
    if trials.loc[trials["kind"] == "model", "subject"].nunique() > 1:
        tables["model_differences"] = model_differences(trials, plan)
    tables |= demand_tables(trials, plan, not_computed)
    if plan.difficulty is not None:
        with collect_input_error(not_computed), input_error_about(f"the difficulty `{plan.difficulty}`"):
            tables["difficulty"] = accuracy_by_level(trials, plan.difficulty, plan)
            tables["difficulty_trends"] = trends(trials, plan.difficulty, plan)
    if all(factor in factor_columns(trials) for degrees in DEGREES.values() for factor in degrees):
        with collect_input_error(not_computed), input_error_about("the effects of perturbations"):
            tables["perturbations"] = perturbation_effects(trials, plan)
    if has_variants(trials):
        with collect_input_error(not_computed), input_error_about("the accuracy in variants"):
            tables["variants"] = variant_accuracy(trials, plan)
            positions = option_positions(trials, plan)
            if len(positions):
                tables["option_positions"] = positions
    confusions = confusion(trials, plan)
    if len(confusions):
        tables["confusion"] = confusions
    for name, planned in plan.signals.items():
        with collect_input_error(not_computed), input_error_about(f"the signal `{name}`"):
            tables[f"signal_{name}"] = signal_measures(
                trials, plan, signal=planned.signal, noise=planned.noise or None, response=planned.response
            )
    return tables


def _named_by_responses(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials with new names of the participants. The new names depend only on the responses.

    Random halves and random pairs of participants depend on the order of the participants' names. Pseudonyms are
    random, so the same responses in another store would give other results. With the new names, the same responses
    always give the same results.
    """
    responses = pd.DataFrame({"item_id": trials["item_id"], "correct": trials["correct"].astype("str")})
    digests = pd.Series(pd.util.hash_pandas_object(responses, index=False).to_numpy(), index=trials.index)
    content = digests.where(trials["excluded_by"].isna(), 0).groupby(trials["participant"]).sum()
    in_order = content.sort_index().sort_values(kind="stable").index
    names = {name: f"{place:09}" for place, name in enumerate(in_order)}
    return trials.assign(participant=trials["participant"].map(names).astype("str"))
