"""Write the methods section of a paper, with its references, from the plan and the results."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from analysis.coding.coded_trials import CodedAnswers
from analysis.coding.words import coding_methods
from analysis.data.columns import PEOPLE, is_graded
from analysis.data.row_filters import where_words
from analysis.exclusions.flow import Exclusions
from analysis.planned.models import FittedModel, has_f_tests, has_random_effects
from analysis.planned.results import PlannedResults
from analysis.preregistration.deviations import Registration
from analysis.report.methods_measures import (
    margins_of_comparisons,
    measure_sentences,
    perfect_models,
    ungraded_sentences,
)
from analysis.report.methods_sample import exclusions_sentences, items_sentences, participants_sentences
from analysis.report.methods_tests import test_sentences
from analysis.report.planned_sentences import level_of_significance
from analysis.report.references import references
from analysis.sentences import asked_items, count, invalid_words, item_units, percent
from analysis.statistics.factor_levels import level_text
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses, PlannedContrasts

ADJUSTMENTS = {
    "tukey": ("Tukey's method (1949)", "tukey"),
    "holm": ("Holm's method (1979)", "holm"),
    "bh": ("the method of Benjamini and Hochberg (1995)", "benjamini_hochberg"),
}
"""The name of each adjustment of p values in the methods section, and the key of the work to cite."""

ENGINE = ", with glmm (Lenartowicz, 2026)"
"""The end of a sentence on models that the package glmm fitted."""


@dataclass
class Methods:
    """Paragraphs of a methods section, and the keys of the works that they cite."""

    paragraphs: list[str] = field(default_factory=list)
    cited: set[str] = field(default_factory=set)

    @property
    def references(self) -> list[str]:
        """The works that the paragraphs cite, as entries of a reference list."""
        return references(self.cited)

    def add(self, sentences: list[str], *cited: str) -> None:
        """Add a paragraph, and the keys of the works that it cites. Without sentences, add nothing."""
        if sentences:
            self.paragraphs.append(" ".join(sentences))
            self.cited |= set(cited)


def methods_of_study(
    exclusions: Exclusions,
    plan: AnalysisPlan,
    results: PlannedResults,
    tables: Mapping[str, pd.DataFrame],
    software_version: str,
    registration: Registration,
    codings: Sequence[CodedAnswers] = (),
) -> Methods:
    """Return the methods section of the analysis of a study. `tables` are the tables of the analysis, by name."""
    methods = Methods()
    if registration.deviations:
        methods.add(
            [
                f"The analysis deviates from the {registration.recorded} plan: "
                f"{count(len(registration.deviations), 'deviation')}, listed in the section on preregistration."
            ]
        )
    methods.add(participants_sentences(exclusions))
    methods.add(items_sentences(exclusions.trials, plan))
    methods.add(exclusions_sentences(exclusions, plan))
    sentences, cited = coding_methods(codings, plan.confidence)
    methods.add(sentences, *cited)
    graded = is_graded(exclusions.trials)
    if len(tables["accuracy_overall"]):
        _add_accuracy(methods, plan, kinds=set(exclusions.trials.loc[graded, "kind"]), tables=tables)
    sentences, cited = ungraded_sentences(tables, plan)
    methods.add(sentences, *cited)
    _add_consistency(methods, exclusions.trials, plan)
    sentences, cited = measure_sentences(tables, plan)
    methods.add(sentences, *cited)
    add_planned(methods, plan, results)
    methods.add([f"The data were analysed with Equipoise {software_version}."])
    return methods


def _add_accuracy(
    methods: Methods, plan: AnalysisPlan, *, kinds: Collection[str], tables: Mapping[str, pd.DataFrame]
) -> None:
    sentences = [
        "Accuracy is the percentage of correct responses among the test trials in the analysis.",
        f"Confidence intervals ({percent(plan.confidence, 0)}) are Wilson intervals (Wilson, 1927).",
    ]
    cited = ["wilson", "frary"]
    is_random = plan.items == "random"
    if PEOPLE.keys() & kinds:
        sentences += [
            "For several participants, the intervals use an effective number of trials and the quantile of the t "
            "distribution (Korn & Graubard, 1998).",
            "This number is computed from the largest of four variances: over participants and "
            f"{item_units(plan)} (Cameron et al., 2011), over participants alone, over {item_units(plan)} alone, and "
            f"of independent trials. So the intervals generalize to other participants and other {item_units(plan)}."
            if is_random
            else "This number is computed from the variance between participants.",
        ]
        cited += ["korn_graubard", "cameron"] if is_random else ["korn_graubard"]
    if "model" in kinds:
        sentences += [
            f"A model's responses to {_related(plan)} are not independent. So the intervals of models use an effective "
            f"number of trials from the variance between {item_units(plan)}, and the quantile of the t distribution "
            "(Korn & Graubard, 1998).",
            *(perfect := perfect_models(plan, tables)),
            f"In the accuracies of a model, its invalid and missing responses {invalid_words(plan)}.",
        ]
        cited += ["korn_graubard", *(["kish"] if perfect else [])]
    sentences.append("An effective number of trials is at most the real number of trials.")
    sentences.append(
        "Chance-corrected accuracy is (accuracy − chance) / (1 − chance) (Frary, 1988). Chance is the mean chance "
        "level of the same trials, and is treated as known. The bounds of its interval are the bounds of the interval "
        "of accuracy, corrected for chance in the same way."
    )
    if "model" in kinds and PEOPLE.keys() & kinds:
        sentences += [
            "The same grader scored the raw responses of participants and models.",
            "Participants were compared with each model over the shared items: the items that participants answered "
            f"and {asked_items(plan, 'the model')}.",
            "In the model's accuracy at the shared items, the weight of an item is the number of participants' "
            "responses. The effective number of trials takes the weights into account (Kish, 1965).",
            "For differences, the confidence intervals of participants and model were combined by MOVER (Zou & Donner, "
            "2008).",
            "A model's normalized accuracy is (model − chance) / (participants − chance) (Mnih et al., 2015). Its "
            "interval is a MOVER interval for ratios (Donner & Zou, 2012).",
            *(
                ["The intervals of ratios of accuracies (model divided by participants) were computed in the same way."]
                if plan.comparisons
                else []
            ),
            *([_correlation_words(plan)] if is_random else []),
            *(margins := margins_of_comparisons(plan)),
        ]
        cited += ["kish", "mover", "mover_ratio", "normalized", *(["schuirmann"] if margins else [])]
    methods.add(sentences, *cited)


def _correlation_words(plan: AnalysisPlan) -> str:
    which = ", of normalized accuracies and of ratios" if plan.comparisons else " and of normalized accuracies"
    return (
        f"The intervals of differences{which} take into account the correlation between participants and model over "
        f"{item_units(plan)}."
    )


def _add_consistency(methods: Methods, trials: pd.DataFrame, plan: AnalysisPlan) -> None:
    models = trials[trials["kind"] == "model"]
    runs = models.groupby("subject", observed=True)["participant"].nunique()
    if not (runs > 1).any():
        return
    has_accuracy = is_graded(models).any()
    methods.add(
        [
            "The consistency of a model is the probability that two replies to the same item contain the same "
            "response (Fleiss, 1971). It is a mean over items. Its intervals are Wilson intervals with the "
            "quantile of the t distribution and an effective number of pairs of replies. This number is computed "
            f"from the variance between {item_units(plan)}, and is at most half the number of replies.",
            *(
                [
                    "The variance between the accuracies of a model's runs was compared with its expected value, over "
                    f"the items {asked_items(plan, 'every run')}. The expected value is that of independent replies, "
                    "with the same probability of a correct reply to an item in all runs. Cochran's Q (Cochran, 1950) "
                    "tests this hypothesis.",
                ]
                if has_accuracy
                else []
            ),
        ],
        "fleiss",
        *(["cochran_q"] if has_accuracy else []),
    )


def _related(plan: AnalysisPlan) -> str:
    if plan.item_cluster is None:
        return "the same item"
    return f"items with the same level of {plan.item_cluster.replace('_', ' ')}"


def methods_of_data(plan: PlannedAnalyses, results: PlannedResults, software_version: str) -> Methods:
    """Return the methods section of the analysis of a tidy file."""
    methods = Methods()
    add_planned(methods, plan, results)
    methods.add([f"The data were analysed with Equipoise {software_version}."])
    return methods


def add_planned(methods: Methods, plan: PlannedAnalyses, results: PlannedResults) -> None:
    """Add paragraphs on the plan's tables of means, statistical models and tests."""
    _add_tables(methods, plan, results)
    if results.models:
        forms = {
            (fitted.planned.family, has_random_effects(fitted))
            for fitted in results.models.values()
            if not fitted.model.bias_reduced
        }
        how = {
            ("gaussian", True): "Linear mixed models were fitted by restricted maximum likelihood",
            ("gaussian", False): "Linear models without random effects were fitted by least squares",
            ("binomial", True): "Logistic mixed models were fitted by maximum likelihood with Laplace's approximation",
            ("binomial", False): "Logistic models without random effects were fitted by maximum likelihood",
            ("gamma", True): "Gamma mixed models (Lo & Andrews, 2015) with a log link were fitted by maximum "
            "likelihood with Laplace's approximation",
            ("gamma", False): "Gamma models with a log link and without random effects were fitted by maximum "
            "likelihood, with the dispersion from Pearson's χ²",
            ("ordinal", True): "Cumulative logit mixed models (proportional odds; McCullagh, 1980) were fitted by "
            "maximum likelihood with Laplace's approximation",
            ("ordinal", False): "Cumulative logit models (proportional odds; McCullagh, 1980) without random effects "
            "were fitted by maximum likelihood",
        }
        sentences = [
            *(_formula_words(name, model) for name, model in results.models.items()),
            *(f"{how[form]}{'' if form[0] == 'ordinal' else ENGINE}." for form in sorted(forms)),
            *_log_words(results),
            *_term_tests(results),
            f"Terms with {level_of_significance(plan)} are called significant (1 minus the confidence level), without "
            "a correction for the number of terms.",
            "R² and the intraclass correlation follow Nakagawa et al. (2017).",
        ]
        cited = {"nakagawa"}
        if any(family != "ordinal" for family, _ in forms):
            cited.add("glmm")
        if any(family == "ordinal" for family, _ in forms):
            cited.add("mccullagh")
        if any(model.model.bias_reduced for model in results.models.values()):
            cited |= {"firth", "glmm"}
        if ("gamma", True) in forms:
            cited.add("lo_andrews")
        if ("gaussian", True) in forms:
            sentences.append("In linear mixed models, the degrees of freedom follow Satterthwaite (1946).")
            cited.add("satterthwaite")
        if with_sizes := [name for name, model in results.models.items() if model.effect_sizes is not None]:
            of = "" if len(with_sizes) == len(results.models) else f" of {', '.join(with_sizes)}"
            sentences.append(
                f"The effect sizes of the terms{of} are partial eta squared, partial omega squared and Cohen's f, "
                "computed from F and its degrees of freedom (Ben-Shachar et al., 2020). Their two-sided confidence "
                f"intervals ({percent(plan.confidence, 0)}) use the noncentral F distribution (Steiger, 2004)."
            )
            cited |= {"effectsize", "steiger"}
        adjusted = {
            asked.adjust
            for model in results.models.values()
            for asked, table in zip(model.planned.contrasts, model.contrasts, strict=True)
            if n_contrasts_of_family(asked, table) > 1
        }
        used = [ADJUSTMENTS[adjust] for adjust in ADJUSTMENTS if adjust in adjusted]
        if used:
            sentences.append(
                "p values of pairwise contrasts of estimated marginal means were adjusted by "
                f"{' or '.join(words for words, _ in used)}, separately for each set of contrasts and each level of "
                "the other factors. The confidence intervals of contrasts were not adjusted."
            )
            cited |= {key for _, key in used}
        methods.add(sentences, *cited)
    if not results.tests.empty:
        sentences, of_tests = test_sentences(plan, results.tests)
        methods.add(sentences, *of_tests)
    _add_confidence_ratings(methods, plan, results)


def n_contrasts_of_family(asked: PlannedContrasts, contrasts: pd.DataFrame) -> int:
    """Return the number of contrasts in a family, whose p values are adjusted together.

    If the plan has contrasts at each level of another factor, each level is a family.
    """
    return len(contrasts) // (len(contrasts[list(asked.by)].drop_duplicates()) if asked.by else 1)


def _add_confidence_ratings(methods: Methods, plan: PlannedAnalyses, results: PlannedResults) -> None:
    if not results.confidence_ratings:
        return
    bins = sorted({found.planned.bins for found in results.confidence_ratings.values()})
    tables = [found.table for found in results.confidence_ratings.values()]
    units = dict.fromkeys(unit for table in tables if "unit" in table for unit in table["unit"].astype(str))
    methods.add(
        [
            f"Confidence ratings: {', '.join(results.confidence_ratings)}. Over-confidence is the mean confidence "
            "minus the accuracy.",
            "The Brier score (Brier, 1950) is the mean squared difference between confidence and correctness. It was "
            "divided into reliability, resolution and uncertainty (Murphy, 1973), and a part for different confidences "
            "within a bin (Stephenson et al., 2008).",
            "The expected calibration error (Naeini et al., 2015) is the mean absolute difference between confidence "
            f"and accuracy over {' or '.join(map(str, bins))} bins of equal width. It was compared with the error that "
            "is expected of a calibrated respondent with the same confidences (Bröcker & Smith, 2007; 1,000 "
            f"simulations with the seed {plan.seed}).",
            f"Confidence intervals ({percent(plan.confidence, 0)}) of mean confidence, over-confidence and the Brier "
            "score use the t distribution"
            + (
                f" and standard errors of a ratio of sums over units (Cochran, 1977; units: {', '.join(units)})."
                if units
                else ", with rows treated as independent."
            ),
            "The intervals of accuracy are Wilson intervals (Wilson, 1927)"
            + (" with an effective number of trials (Korn & Graubard, 1998)." if units else "."),
        ],
        "brier", "murphy", "stephenson", "naeini", "brocker_smith", "wilson",
        *(["cochran", "korn_graubard"] if units else []),
    )  # fmt: skip


def _add_tables(methods: Methods, plan: PlannedAnalyses, results: PlannedResults) -> None:
    if not results.tables:
        return
    sentences, cited = [f"Tables of means: {', '.join(results.tables)}."], {"cochran", "wilson"}
    tables = results.tables.values()
    units = dict.fromkeys(unit for table in tables if "unit" in table for unit in table["unit"].astype(str))
    if units:
        sentences.append(
            f"Their standard errors are those of a ratio of sums over units (Cochran, 1977). Units: {', '.join(units)}."
        )
    if any("unit" not in table for table in tables):
        only = "" if not units else " in the tables without a column of units"
        sentences.append(f"The rows{only} were treated as independent.")
    sentences.append(
        f"Confidence intervals ({percent(plan.confidence, 0)}) of means use the t distribution with the number of "
        "units minus 1 degrees of freedom. Columns with only yes and no (1 and 0) have Wilson intervals (Wilson, 1927)"
    )
    if units:
        sentences[-1] += " with an effective number of trials (Korn & Graubard, 1998)"
        cited.add("korn_graubard")
    sentences[-1] += "."
    methods.add(sentences, *cited)


def _formula_words(name: str, fitted: FittedModel) -> str:
    """Return a sentence with the formula of a statistical model, its rows and its reference levels."""
    planned, model = fitted.planned, fitted.model
    where = where_words(planned.where)
    rows = f"{count(int(model.fit['n'].iloc[0]), 'row')}{f', where {where}' if where else ''}"
    references = ", ".join(f"{factor}: {level_text(levels[0])}" for factor, levels in model.levels.items())
    return (
        f"The formula of the statistical model {name} is {planned.formula} ({rows}"
        f"{f'; reference levels: {references}' if references else ''})."
    )


def _log_words(results: PlannedResults) -> list[str]:
    """Return a sentence on models of a log-transformed outcome (`log()` in the formula)."""
    names = [name for name, fitted in results.models.items() if fitted.model.log_outcome]
    if not names:
        return []
    return [
        f"The outcome of {', '.join(names)} is a natural logarithm. Marginal means and their intervals were "
        "transformed back by exponentiation, so they are geometric means, and contrasts are ratios of geometric means."
    ]


def _term_tests(results: PlannedResults) -> list[str]:
    """Return sentences on the tests of terms.

    If the models have different kinds of tests, the sentences name the models.
    """
    models = results.models
    kinds = [(model.planned.term_tests, has_f_tests(model)) for model in models.values()]
    everywhere = "tests over all levels of the other factors, with equal weights (type III)"
    words = {
        ("joint", True): f"F {everywhere}",
        ("joint", False): f"Wald χ² {everywhere}",
        ("treatment", False): "Wald χ² tests of treatment contrasts (type III)",
    }
    said = [words[kind] for kind in kinds]
    sentences = []
    for tests in dict.fromkeys(said):
        names = [name for name, own in zip(models, said, strict=True) if own == tests]
        of = "" if len(names) == len(models) else f" of {', '.join(names)}"
        sentences.append(f"The terms{of} were tested by {tests}.")
    if reduced := [name for name, model in models.items() if model.model.bias_reduced]:
        sentences.append(
            f"The likelihood of {', '.join(reduced)} has no finite maximum (separation), so Firth's bias reduction "
            "(1993) was used, with glmm (Lenartowicz, 2026)."
        )
    return sentences
