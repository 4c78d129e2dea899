"""Sentences of the methods section on the planned tests: their names, effect sizes and corrections."""

import re

import pandas as pd

from analysis.planned.tests import EQUIVALENCE
from analysis.report.deviation_sentences import family_sentence
from analysis.report.planned_sentences import WELCH_BAYES, level_of_significance, unit_value_sentences
from analysis.sentences import percent
from analysis.statistics.permutation_tests import MEAN_DIFFERENCE
from experiment.study.planned_analyses import PlannedAnalyses

CORRECTIONS = {"holm": "Holm's method", "bh": "the method of Benjamini and Hochberg"}

GREENHOUSE_GEISSER = "Repeated-measures analysis|Mixed analysis"
"""Pattern of the names of tests with the Greenhouse-Geisser correction."""
GENERALIZED = "generalized eta squared"
EFFECT_SIZES = (
    (
        "Cohen's d",
        "The interval of Cohen's d uses the noncentral t distribution (Steiger, 2004).",
        ("steiger",),
    ),
    (
        "average variance",
        "With Welch's test, d is the difference divided by the square root of the mean of both variances (Delacre et "
        "al., 2021).",
        ("delacre",),
    ),
    (
        "^(partial )?eta squared$",
        "The intervals of eta squared and partial eta squared use the noncentral F distribution (Steiger, 2004).",
        ("steiger",),
    ),
    (
        GENERALIZED,
        "Generalized eta squared (Olejnik & Algina, 2003) counts all factors as manipulated. It has no interval: the "
        "interval from the noncentral F distribution is that of partial eta squared.",
        ("olejnik_algina",),
    ),
    (
        GENERALIZED,
        "Partial omega squared estimates an effect size with less bias than partial eta squared (Olejnik & Algina, "
        "2003). With factors within units, its denominator also includes the variance of the units, so its share is "
        "another one.",
        ("olejnik_algina",),
    ),
    (
        GENERALIZED,
        "Cohen's f is the square root of partial eta squared / (1 − partial eta squared) (Cohen, 1988).",
        ("cohen",),
    ),
    (
        "Cramér's V",
        "The interval of Cramér's V uses the noncentral χ² distribution (Smithson, 2003).",
        ("smithson",),
    ),
    (
        "Cohen's g",
        "The interval of Cohen's g is that of a share of the discordant pairs: the exact interval for exact tests "
        "(Clopper & Pearson, 1934), and Wilson's interval for χ² tests (Wilson, 1927).",
        ("clopper_pearson", "wilson"),
    ),
    (
        "eta squared of Q",
        "Eta squared of Cochran's Q has no interval, because no method for it is established.",
        (),
    ),
    (
        "rank-biserial",
        "The effect size of rank tests is the rank-biserial correlation (Kerby, 2014).",
        ("kerby",),
    ),
    (
        "^rank-biserial",
        "For two groups, its interval is Wilson's interval (Wilson, 1927) with an effective number of trials from the "
        "variance of DeLong et al. (1988), and with the quantile of the t distribution.",
        ("delong", "wilson"),
    ),
    (
        "matched-pairs rank-biserial",
        "For pairs, its interval is Wilson's interval (Wilson, 1927) with an effective number of trials from the "
        "variance of the signed-rank statistic under the null hypothesis, and with the quantile of the t distribution.",
        ("wilson",),
    ),
)
"""For each pattern of the name of an effect size: a sentence on the effect size and its interval, and the keys of
cited works.
"""


def test_sentences(plan: PlannedAnalyses, tests: pd.DataFrame) -> tuple[list[str], set[str]]:
    """Return sentences on the tests of a plan, and the keys of cited works. `tests` is the table of tests."""
    others = tests.loc[tests["form"] != EQUIVALENCE, "test"]
    names = [_in_sentence(name) for name in dict.fromkeys(others)]
    cited: set[str] = set()
    for part, key in (("Welch", "welch"), ("McNemar", "mcnemar"), ("Wilcoxon", "wilcoxon"),
                      ("Mann-Whitney", "mann_whitney"),
                      (GREENHOUSE_GEISSER, "greenhouse_geisser")):  # fmt: skip
        if tests["test"].str.contains(part).any() or tests["warnings"].str.contains(part).any():
            cited.add(key)
    sentences = [f"Tests: {', '.join(names)}."]
    welch_within = [
        name for name, planned in plan.tests.items() if planned.test == "welch_t" and planned.within is not None
    ]
    if computed := [name for name in welch_within if name in set(tests["name"])]:
        sentences.append(
            f"The plan names Welch's t test within units for {', '.join(computed)}; this is the paired t test."
        )
    sentences += _anova_words(plan, tests)
    if (tests["against"] == "chance").any():
        sentences.append(
            "Tests against chance compare each unit's accuracy with the mean chance level of the same trials, which is "
            "the probability that a random response is correct."
        )
    permutation = tests.loc[tests["statistic_name"] == MEAN_DIFFERENCE, "test"]
    if len(permutation):
        sentences.append("The statistic of permutation tests is the difference of means (Ernst, 2004).")
        cited.add("ernst")
    if permutation.str.contains("random").any():
        sentences.append(
            f"Random permutations were drawn with the seed {plan.seed}; p = (b + 1) / (m + 1) if b of m "
            "random permutations have at least the observed absolute difference (Phipson & Smyth, 2010)."
        )
        cited.add("phipson_smyth")
    of_effects, cited_for_effects = _effect_size_words(plan, tests)
    sentences += of_effects
    cited |= cited_for_effects
    sentences += [*unit_value_sentences(plan, tests), *_correction_words(plan, tests)]
    sentences.append(
        "The table of tests has the p values after both corrections: Holm's (1979) and that of Benjamini and Hochberg "
        "(1995)."
    )
    cited |= {"holm", "benjamini_hochberg"}
    if (tests["form"] == EQUIVALENCE).any():
        sentences.append("Equivalence was tested by two one-sided tests (Schuirmann, 1987).")
        cited.add("schuirmann")
    if (with_bayes := tests[tests["bayes_factor_10"].notna()]["test"]).size:
        sentences += _bayes_words(with_bayes)
        cited |= {"jzs", "jeffreys"}
    return sentences, cited


def _correction_words(plan: PlannedAnalyses, tests: pd.DataFrame) -> list[str]:
    """Return sentences on the level of significance, and on the tests whose p values are corrected together."""
    level = f"Tests with {level_of_significance(plan)} are called significant (1 minus the confidence level)"
    if plan.correction not in CORRECTIONS:
        return [f"{level}, without a correction for the number of tests."]
    sentences = [
        f"{level}, after the correction of p.",
        f"p values were corrected within each family of tests by {CORRECTIONS[plan.correction]}.",
    ]
    if _has_several_factors(plan, tests):
        sentences.append("Each main effect and interaction of an analysis of variance is a test of its family.")
    if missing := family_sentence(tests, plan):
        sentences.append(missing)
    if tests["exploratory"].nunique() > 1:
        sentences.append("Confirmatory and exploratory tests were corrected separately.")
    if (tests["form"] == EQUIVALENCE).any():
        sentences.append("Equivalence tests were corrected apart from the other tests of their family.")
    return sentences


def _bayes_words(names: "pd.Series[str]") -> list[str]:
    """Return sentences on the Bayes factors of tests. `names` has the names of these tests."""
    sentences = [
        "Bayes factors follow Rouder et al. (2009), with a Cauchy prior of scale √2/2. The words for the strength of "
        "the evidence against the null hypothesis are those of Jeffreys (1961). The same words are used for the "
        "inverse Bayes factor, as evidence for the null hypothesis."
    ]
    if names.str.contains("Welch").any():
        sentences.append(WELCH_BAYES)
    return sentences


def _anova_words(plan: PlannedAnalyses, tests: pd.DataFrame) -> list[str]:
    """Return sentences on the analyses of variance."""
    sentences = []
    if _has_several_factors(plan, tests):
        sentences.append(
            "Analyses of variance with several factors have type III tests with sum-to-zero contrasts. Each effect is "
            "tested over all levels of the other factors, with equal weights."
        )
    if tests["test"].str.contains(GREENHOUSE_GEISSER).any():
        sentences.append(
            "The degrees of freedom of effects within units were multiplied by Greenhouse and Geisser's epsilon (1959)."
        )
    return sentences


def _effect_size_words(plan: PlannedAnalyses, tests: pd.DataFrame) -> tuple[list[str], set[str]]:
    """Return sentences on the effect sizes and their intervals, and the keys of cited works."""
    sentences: list[str] = []
    cited: set[str] = set()
    if tests["effect_ci_low"].notna().any():
        sentences.append(
            f"Effect sizes have two-sided confidence intervals ({percent(plan.confidence, 0)}), which are not "
            "corrected for the number of tests."
        )
    names = set(tests["effect_name"].dropna())
    if tests["generalized_eta_squared"].notna().any():
        names.add(GENERALIZED)
    for pattern, sentence, keys in EFFECT_SIZES:
        if any(re.search(pattern, name) for name in names):
            sentences.append(sentence)
            cited |= set(keys)
    from_0 = tests["effect_name"].str.contains("Cramér's V|^partial eta squared$|^eta squared$", na=False)
    if tests.loc[from_0, "effect_ci_low"].isna().any():
        sentences.append("An interval is missing if the statistic is so small that both bounds would be 0.")
    return sentences, cited


def _has_several_factors(plan: PlannedAnalyses, tests: pd.DataFrame) -> bool:
    return any(len(plan.tests[name].factors) > 1 for name in tests["name"])


def _in_sentence(name: str) -> str:
    """Return the name of a test as written inside a sentence: in lower case, except for the names of people."""
    return name if "'s" in name or name.startswith("Mann-") else name[:1].lower() + name[1:]
