"""The rules by which a study's numbers are computed, in sentences, for the section Computation of the report."""

from collections.abc import Sequence

from analysis.sentences import asked_items, invalid_words, item_units, percent, without_variance
from experiment.study.analysis_plan import AnalysisPlan


def _clusters_words(plan: AnalysisPlan) -> str:
    if plan.item_cluster is None:
        return "A model's responses to the same item in several epochs are not independent."
    return f"A model's responses to items with the same level of `{plan.item_cluster}` are not independent."


def _people_interval(plan: AnalysisPlan) -> str:
    begin = f"CI of several participants ({percent(plan.confidence, 0)}): Wilson's interval with an effective number of"
    if plan.items == "fixed":
        return (
            f"{begin} trials (Korn & Graubard, 1998). This number is computed from the variance between participants, "
            "because the trials of one participant are not independent. The interval uses the quantile of "
            "the t distribution."
        )
    units, one = ("items", "item") if plan.item_cluster is None else (f"levels of `{plan.item_cluster}`", "level")
    return (
        f"{begin} trials. This number is computed from a variance over participants and {units}, because the trials "
        f"of one participant, or of one {one}, are not independent. It is the largest of four variances: over both "
        f"(Cameron et al., 2011), over participants alone, over {units} alone, and of independent trials. The "
        "interval uses the quantile of the t distribution."
    )


def _scope(plan: AnalysisPlan) -> str:
    units = item_units(plan)
    if plan.items == "random":
        tests = (
            " A test generalizes to other units of the kind that its n counts. So tests whose units are participants "
            "or runs stay with these items."
        )
        return (
            f"In the tables of accuracy and of differences from models, the CIs treat the {units} as a random sample. "
            f"So they generalize to other {units} of the same kind. The CI of a difference takes into account the "
            f"correlation between participants and model over the {units}. The other sections have other CIs: for "
            "participants and models as groups, measures beyond accuracy, tables of means and confidence "
            f"ratings, no CI of participants generalizes to other {units}.{tests if plan.tests else ''}"
        )
    return (
        "The CI of participants generalizes to other participants with these items. The CI of a model treats the "
        f"{units} as a random sample. So it generalizes to other {units} of the same kind. In the CI of a difference, "
        f"the participants are a random sample. The {units} are a random sample only for the model's accuracy."
    )


def rule_sentences(plan: AnalysisPlan, participants: Sequence[str]) -> list[str]:
    """Return sentences on the rules by which the numbers are computed, one rule per entry.

    `participants` has `people`, `simulated participants`, or both, as in the data.
    """
    level = percent(plan.confidence, 0)
    ratio = (
        "Ratio of accuracies: the model's accuracy divided by participants' accuracy, over the same items with the "
        "same weights as the difference. MOVER for ratios combines the same two intervals (Donner & Zou, 2012). If the "
        "CI of participants' accuracy includes 0, the ratio has no upper bound."
    )
    return [
        "The same grader scores the raw responses of participants and models. A model's invalid and missing responses "
        f"{invalid_words(plan)}.",
        "Accuracy is the share of correct responses among a subject's test trials in the analysis.",
        _people_interval(plan),
        f"CI of one participant or one model ({level}): Wilson's interval. {_clusters_words(plan)} So the interval of "
        "such a model uses an effective number of trials and the quantile of the t distribution (Korn & "
        "Graubard, 1998). If all or none of the responses of a model are correct, the variance is unknown. "
        f"{without_variance(plan)}",
        "An effective number of trials is at most the real number of trials.",
        "Difference: participants' accuracy minus the model's accuracy, over the items that participants answered and "
        f"{asked_items(plan, 'the model')}. In the model's accuracy in a difference, the weight of an item is the "
        "number of participants' responses to the item. The model's Wilson interval uses the effective number of "
        "trials (Kish, 1965; Korn & Graubard, 1998). MOVER combines the intervals of participants and model (Zou & "
        "Donner, 2008).",
        *([ratio] if plan.comparisons else []),
        f"{_scope(plan)} The CIs are not adjusted for the number of comparisons.",
        "The chance level is the mean accuracy of random responses over the test trials in the analysis.",
        *([f"Exclusion rules apply to {' and to '.join(participants)}."] if participants else []),
        *(["People and simulated participants are never pooled."] if len(participants) > 1 else []),
    ]
