"""Sentences of the methods section on measures beyond accuracy."""

from collections.abc import Collection, Mapping

import pandas as pd

from analysis.sentences import asked_items, item_units, percent, without_variance
from experiment.study.analysis_plan import AnalysisPlan

MEASURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "model_differences": (
        "Pairs of models were compared on the items {both}. The intervals of these paired differences "
        "follow Bonett and Price (2012). They use means over the epochs of an item and the quantile of t, and treat "
        "the {units} as random.",
        ("bonett_price",),
    ),
    "people_and_models": (
        "Models were also analysed as one group, over the items that participants answered and {every}. In a model's "
        "accuracy in this analysis, the weight of an item is the number of participants' responses. Each model has "
        "the same weight. The accuracy of a model with several conditions is the mean over these conditions. "
        "In this analysis, the intervals of participants and of models use an effective number of trials from the "
        "variance between participants, or between models (Korn & Graubard, 1998). The interval of the difference is a "
        "MOVER interval (Zou & Donner, 2008). So these intervals treat the participants and the models as random "
        "samples, but not the items.",
        ("korn_graubard", "mover"),
    ),
    "demands": (
        "Accuracy was also computed at the items with each demand. An item has a demand if its number of inferences of "
        "this kind is at least 1, so an item can have several demands.",
        (),
    ),
    "item_agreement": (
        "Agreement by item is the correlation between the accuracies of participants and of a model at the shared "
        "items. It is Pearson's, and Spearman's with mean ranks of ties. For the reliability of participants' "
        "accuracies, the participants were split 1,000 times into random halves. The two halves were correlated over "
        "the items that both responded to. The mean correlation was extrapolated to all participants (Spearman-Brown "
        "formula; Spearman, 1910; Brown, 1910). The ceiling of a correlation with participants is the square root of "
        "the reliability. Intervals of correlations are jackknife intervals over items (Efron & Tibshirani, 1993) on "
        "Fisher's z scale (Fisher, 1921). They use the quantile of t, and a standard error of at least 1/√(n − 3) for "
        "n items.",
        ("spearman", "brown", "jackknife", "fisher_z"),
    ),
    "error_agreement": (
        "Agreement in errors is error consistency (Geirhos et al., 2020): Cohen's kappa (Cohen, 1960) of correct and "
        "not correct responses to shared items. It is a mean over pairs of participants, or over pairs of a "
        "participant and a model. The epochs of a model are combined before kappa is computed: an item "
        "counts with the share of its correct replies. If a subject was "
        "always right or always wrong, kappa is not defined. Intervals use the variance between participants and the "
        "t distribution. Among participants, the variance comes from the jackknife over participants (Efron & "
        "Tibshirani, 1993).",
        ("error_consistency", "cohen_kappa", "jackknife"),
    ),
    "difficulty_trends": (
        "The slope of accuracy over the levels of {difficulty} is that of the least-squares line through all trials. "
        "In a model's slope, the weight of a level is the number of participants' responses. Intervals of slopes "
        "combine the intervals of the accuracies at the levels by MOVER (Zou & Donner, 2008). For participants, the "
        "intervals of the accuracies use the variance between participants, and MOVER uses the correlations between "
        "the levels (Zou, 2007).",
        ("mover", "mover_correlated"),
    ),
    "perturbations": (
        "The effect of a perturbation is the accuracy at the perturbed items minus the accuracy at the same items "
        "without perturbation.",
        (),
    ),
    "variants": (
        "Surviving accuracy is the share of items with correct responses to the original item and to all its variants.",
        (),
    ),
    "confusion": (
        "The table of confusions counts trials by the category of the right answer and the category of the response.",
        (),
    ),
}
"""The sentence for each table of a measure, and the keys of the works to cite."""

SIGNAL = (
    "For {signals}, the response that was measured is a hit if it is right, and a false alarm if it is wrong. d' and "
    "the criterion c were computed with the log-linear correction (Hautus, 1995)."
)


def measure_sentences(tables: Collection[str], plan: AnalysisPlan) -> tuple[list[str], set[str]]:
    """Return the sentences of the methods section on measures, and the keys of the works that the sentences cite.

    Parameters
    ----------
    tables
        Names of the tables of an analysis. There is one sentence for each table in `MEASURES`.
    plan
        The analysis plan.
    """
    sentences: list[str] = []
    cited: set[str] = set()
    for name, (words, works) in MEASURES.items():
        if name in tables:
            sentences.append(
                words.format(
                    difficulty=(plan.difficulty or "").replace("_", " "),
                    units=item_units(plan),
                    both=asked_items(plan, "both models"),
                    every=asked_items(plan, "every model"),
                )
            )
            cited |= set(works)
    signals = [name for name in plan.signals if f"signal_{name}" in tables]
    if signals:
        sentences.append(SIGNAL.format(signals=", ".join(signals)))
        cited.add("hautus")
    return sentences, cited


def ungraded_sentences(tables: Mapping[str, pd.DataFrame], plan: AnalysisPlan) -> tuple[list[str], set[str]]:
    """Return the sentences of the methods section on ungraded items, and the keys of the works that they cite."""
    sentences, cited = [], set()
    if "responses_overall" in tables:
        sentences.append(
            "For ungraded items, the share of each response among the valid responses was computed, separately for "
            f"each set of options. Confidence intervals ({percent(plan.confidence, 0)}) of these shares are Wilson "
            "intervals (Wilson, 1927) with an effective number of trials from the variance between participants, or "
            f"between {item_units(plan)} for a model (Korn & Graubard, 1998)."
        )
        cited |= {"wilson", "korn_graubard"}
    if "values_overall" in tables:
        units = ", ".join(dict.fromkeys(tables["values_overall"]["unit"].astype(str)))
        sentences.append(
            "Numeric responses to ungraded items were averaged. Standard errors of these means are those of a ratio "
            f"of sums over units (Cochran, 1977; units: {units}). Confidence intervals "
            f"({percent(plan.confidence, 0)}) use the t distribution with the number of units minus 1 degrees of "
            "freedom."
        )
        cited.add("cochran")
    return sentences, cited


def perfect_models(plan: AnalysisPlan, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return a sentence on intervals if a model has only correct or only incorrect responses, else an empty list."""
    counted = [table for table in tables.values() if {"kind", "n_trials", "n_correct"}.issubset(table.columns)]
    if not any(
        ((table["kind"] == "model") & ((table["n_correct"] == 0) | (table["n_correct"] == table["n_trials"]))).any()
        for table in counted
    ):
        return []
    return [f"If all or none of a model's responses are correct, this variance is unknown. {without_variance(plan)}"]


def margins_of_comparisons(plan: AnalysisPlan) -> list[str]:
    """Return a sentence on the equivalence margins of the plan's comparisons, if there are any."""
    names = [name for name, compared in plan.comparisons.items() if compared.equivalence_margin is not None]
    if not names:
        return []
    return [
        f"In the comparisons {', '.join(names)}, participants and a model are equivalent if the interval "
        f"({percent(2 * plan.confidence - 1, 0)}) of the difference is within the margin. This is the result of two "
        "one-sided tests (Schuirmann, 1987)."
    ]
