"""The notes below the tables of measures beyond accuracy in a study's report."""

import pandas as pd

from analysis.measures.error_consistency import FEWEST_ITEMS
from analysis.sentences import asked_items, item_units
from experiment.study.analysis_plan import AnalysisPlan

NOTES = {
    "model_differences": (
        "Accuracy of the first model minus accuracy of the second model, over the items {both}. "
        "Each item has the same weight, so an accuracy can differ from that in the other tables. The intervals "
        "generalize to other {units}. They are not adjusted for the number of pairs."
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
        "other two means. If a model has several replies to an item, the item counts with the share of correct "
        "replies: with one correct reply of two, the model is half right. A pair is two participants, or a participant "
        "and the model. n participants: participants with a kappa in at least one pair. Pairs are left out for one of "
        f"two reasons. They share fewer than {FEWEST_ITEMS} items, or kappa is not defined, because a subject is "
        "always right or always wrong on the shared items."
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
    "difficulty_trends": (
        "Slope: change of accuracy if {difficulty} grows by 1 (levels that are texts are numbered 0, 1, 2, …). Change: "
        "accuracy at the last level minus accuracy at the first level."
    ),
}
"""The note of each table that has one."""

OF_MODELS = {
    "difficulty": (
        "A row of a model uses the items that participants answered and {asked}. The weight of an item is the number "
        "of participants' responses, so a model's accuracy can differ from that in the table of accuracy by factor."
    ),
    "difficulty_trends": (
        "A row of a model uses the items that participants answered and {asked}, with the participants' responses as "
        "weights. Slope difference: participants' slope at the items of this row, minus the model's slope. If it is "
        "positive, the participants' slope is greater. The participants' row uses all their items, so the slope "
        "difference can differ from the difference of the two slopes in the table."
    ),
}
"""Addition to a note if the table has participants and models."""

PARTICIPANTS_ONLY = {"difficulty", "perturbations", "variants", "option_positions", "confusion"}
"""Tables in which the intervals of participants never generalize to other items."""


def measure_note(name: str, table: pd.DataFrame, plan: AnalysisPlan) -> str:
    """Return the note below the table of a measure; an empty text if there is no note.

    With `items: random`, the note states which intervals generalize only to other participants.
    """
    kinds = set(table["kind"]) if "kind" in table else set()
    has_both = {"model"} < kinds
    notes = [NOTES.get(name, ""), OF_MODELS.get(name, "") if has_both else ""]
    if plan.items == "random" and kinds - {"model"}:
        if name in PARTICIPANTS_ONLY or name.startswith("signal_"):
            notes.append("The CIs of participants generalize to other participants with these items.")
        elif name == "difficulty_trends":
            notes.append(
                "The CIs of participants' slopes generalize to other participants with these items. In the CI of a "
                "slope difference, the {units} are a random sample only for the model."
            )
        elif name == "error_agreement":
            notes.append("The CIs generalize to other participants with these items.")
    return " ".join(filter(None, notes)).format(
        units=item_units(plan),
        both=asked_items(plan, "both models"),
        asked=asked_items(plan, "the model"),
        difficulty=(plan.difficulty or "").replace("_", " "),
    )
