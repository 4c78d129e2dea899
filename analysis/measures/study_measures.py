"""Measures of people and models beyond accuracy: items, errors, difficulty, signals, perturbed text, variants."""

import pandas as pd

from analysis.data.columns import PEOPLE, factor_columns, is_graded
from analysis.measures.confusion import confusion
from analysis.measures.demands import demand_tables
from analysis.measures.difficulty import accuracy_by_level, trends
from analysis.measures.error_consistency import error_agreement
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
    always give the same results. Responses to ungraded items have no effect.
    """
    responses = pd.DataFrame({"item_id": trials["item_id"], "correct": trials["correct"].astype("str")})
    digests = pd.Series(pd.util.hash_pandas_object(responses, index=False).to_numpy(), index=trials.index)
    content = digests.where(trials["excluded_by"].isna() & is_graded(trials), 0).groupby(trials["participant"]).sum()
    in_order = content.sort_index().sort_values(kind="stable").index
    names = {name: f"{place:09}" for place, name in enumerate(in_order)}
    return trials.assign(participant=trials["participant"].map(names).astype("str"))
