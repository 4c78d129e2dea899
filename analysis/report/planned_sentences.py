"""Sentences on the results of the plan's tests and statistical models."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.planned.models import FittedModel
from analysis.planned.tests import EQUIVALENCE, MAIN, PAIRED
from analysis.planned.units_of_tests import SHARE, is_in_ms
from analysis.report.formatting import cell_words, number, p_words
from analysis.sentences import count, level_words, percent, points
from analysis.statistics.bayes_factors import bayes_factor_words
from analysis.statistics.mixed_models.formulas import parse_formula
from analysis.statistics.permutation_tests import MEAN_DIFFERENCE
from experiment.study.planned_analyses import PlannedAnalyses, PlannedTest

SYMBOLS = {"chisq": "χ²"}
NOUNS = {"participant", "run", "item", "session", "row"}
"""Units of n that are English nouns. Other units are names of columns."""
RANK_SUMS = ("U", "V")
"""Test statistics that are multiples of 1/2, so they are written with one decimal."""
KINDS = {"gaussian": "linear", "binomial": "logistic", "gamma": "gamma", "ordinal": "ordinal (cumulative logit)"}
"""The name of the kind of statistical model, for each family in a plan."""
MOST_RATIOS = 6
"""Largest number of ratios that are also written as sentences."""
NOT_CONVERGED = "No term was tested, because the fit did not converge."
WELCH_BAYES = "Beside Welch's t test, the Bayes factor is that of Student's t test, which assumes equal variances."
CORRECTIONS = {"holm": ("p_holm", "Holm"), "bh": ("p_bh", "Benjamini-Hochberg")}


def sentence_of_test(row: Mapping[Any, Any], plan: PlannedAnalyses) -> str:
    """Return one row of the table of tests as a sentence."""
    planned = plan.tests[row["name"]]
    where = f", where {row['where']}" if row["where"] else ""
    form = {MAIN: "", PAIRED: " (paired form)", EQUIVALENCE: " (equivalence)"}[row["form"]]
    compared = f" against {_against_words(row, planned)}" if row["against"] else f", {_compared(row, planned)}"
    name = test_name(row, plan)
    comma = "," if "," in name and not name.endswith(")") else ""
    begin = f"{row['name']}{form}: {name}{comma} of {row['of']}{compared}{where}: "
    if row["form"] == EQUIVALENCE:
        return begin + _equivalence_words(row, planned, plan)
    return f"{begin}{_numbers(row, planned, plan)} ({_n_words(row)})."


def _against_words(row: Mapping[Any, Any], planned: PlannedTest) -> str:
    """Return the value with which a test compares its units, with its unit if it is a time in ms."""
    if isinstance(planned.against, str) or planned.against is None:
        return str(row["against"])
    return f"{planned.against:,.10g}".replace("-", "−") + ("\u00a0ms" if is_in_ms(row["of"]) else "")


def anova_sentence(row: Mapping[Any, Any], plan: PlannedAnalyses) -> str:
    """Return the name of an analysis of variance with several factors, its outcome and n."""
    where = f", where {row['where']}" if row["where"] else ""
    return f"{row['name']}: {test_name(row, plan)} of {row['of']}{where} ({_n_words(row)}):"


def effect_sentence(row: Mapping[Any, Any], plan: PlannedAnalyses) -> str:
    """Return one effect of an analysis of variance with several factors as a sentence."""
    planned = plan.tests[row["name"]]
    effect = _compared(row, planned)
    return f"{effect[:1].upper()}{effect[1:]}: {_numbers(row, planned, plan)}."


def _numbers(row: Mapping[Any, Any], planned: PlannedTest, plan: PlannedAnalyses) -> str:
    """Return the statistic, p, the difference, the effect size and the Bayes factor of a test."""
    parts = [f"{_statistic(row)}, {_p(row, plan)}"]
    if pd.notna(row["estimate"]) and row["statistic_name"] != MEAN_DIFFERENCE:
        interval = f", {percent(plan.confidence, 0)} CI {_bounds(row)}" if pd.notna(row["ci_low"]) else ""
        parts.append(f"difference {_in_unit(row, row['estimate'])}{interval}")
    if pd.notna(row["effect_name"]):
        size = _effect_size_words(str(row["effect_name"]), row["effect"])
        parts.append(f"{size}{_effect_interval(row, plan)}")
    if len(planned.factors) > 1:
        parts.append(_effect_size_words("generalized eta squared", row["generalized_eta_squared"]))
    if pd.notna(row["bayes_factor_10"]):
        bayes_factor = row["bayes_factor_10"]
        of_student = " (of Student's t test, which assumes equal variances)" if "Welch" in row["test"] else ""
        parts.append(f"Bayes factor{of_student} {number(bayes_factor)}, {bayes_factor_words(bayes_factor)}")
    return "; ".join(parts)


def _effect_size_words(name: str, size: float) -> str:
    """Return an effect size with its name. A share of variance that rounds to 0.000 is `< 0.001`, as in APA style."""
    return f"{name} < 0.001" if "squared" in name and 0 <= size < 0.0005 else f"{name} {number(size)}"


def _compared(row: Mapping[Any, Any], planned: PlannedTest) -> str:
    """Return the compared factor and its levels as text.

    For several factors, return the effect, such as an interaction.
    """
    if len(planned.factors) < 2:
        return f"{row['factor']} {row['levels']}"
    if row["factor"] in planned.factors:
        return f"main effect of {row['factor']} ({row['levels']})"
    return f"interaction {term_words(row['factor'])}"


def term_words(term: str) -> str:
    """Return the name of a term or an effect; an interaction has × between its factors."""
    return term.replace(":", " × ")


def with_symbols(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of tests or terms with the symbols of statistics, and with × in interactions, for the report."""
    words = {name: table[name].map(term_words) for name in ("factor", "term") if name in table}
    if "statistic_name" in table:
        words["statistic_name"] = table["statistic_name"].replace(SYMBOLS)
    return table.assign(**words)


def _effect_interval(row: Mapping[Any, Any], plan: PlannedAnalyses) -> str:
    if pd.isna(row["effect_ci_low"]):
        return ""
    low, high = number(row["effect_ci_low"]), number(row["effect_ci_high"])
    return f", {percent(plan.confidence, 0)} CI [{low}, {high}]"


def label_of_test(row: Mapping[Any, Any], plan: PlannedAnalyses) -> str:
    """Return the name of a test in the plan. For an analysis of variance with several factors, add the effect."""
    several = len(plan.tests[row["name"]].factors) > 1
    return f"{row['name']}: {term_words(row['factor'])}" if several else str(row["name"])


def test_name(row: Mapping[Any, Any], plan: PlannedAnalyses) -> str:
    """Return the name of the method of a test.

    For an equivalence test of shares or of times in ms, it contains the bounds with their unit.
    """
    name, margin = str(row["test"]), plan.tests[row["name"]].equivalence_margin
    if row["form"] != EQUIVALENCE or margin is None:
        return name
    bounds = f"between {-margin:g} and {margin:g}"
    if row["estimate_unit"] == SHARE:
        return name.replace(bounds, f"between {points(-margin)} and {points(margin)} points")
    size = f"{margin:,.10g}"
    return name.replace(bounds, f"between −{size} and {size}{_unit_words(row)}")


def _n_words(row: Mapping[Any, Any]) -> str:
    """Return n with its unit as text, such as `n = 36 participants`."""
    unit, n = str(row["n_unit"]), int(row["n"])
    if unit == "participant or run":
        return f"n = {count(n, unit, 'participants and runs')}"
    return f"n = {count(n, unit)}" if unit in NOUNS else f"n = {n:,}, unit: {unit}"


def _in_unit(row: Mapping[Any, Any], value: float) -> str:
    """Return an estimate of a test with its unit. A difference of shares is in percentage points."""
    return f"{_without_unit(row, value)}{_unit_words(row)}"


def _without_unit(row: Mapping[Any, Any], value: float) -> str:
    return points(value) if row["estimate_unit"] == SHARE else number(value, 1 if _unit_words(row) else 3)


def _unit_words(row: Mapping[Any, Any]) -> str:
    """Return the unit of an estimate with the space before it. A column such as `rt_ms` has times in ms."""
    unit = row["estimate_unit"]
    return "\u00a0points" if unit == SHARE else "\u00a0ms" if is_in_ms(unit) else ""


def _bounds(row: Mapping[Any, Any]) -> str:
    return f"[{_without_unit(row, row['ci_low'])}, {_without_unit(row, row['ci_high'])}]"


def _statistic(row: Mapping[Any, Any]) -> str:
    degrees = [cell_words("df", row[name]) for name in ("df", "df_error") if pd.notna(row[name])]
    symbol = SYMBOLS.get(row["statistic_name"], row["statistic_name"])
    if symbol == MEAN_DIFFERENCE:
        return f"{symbol} = {_in_unit(row, row['estimate'])}"
    in_brackets = f"({', '.join(degrees)})" if degrees else ""
    value = number(row["statistic"], 1 if symbol in RANK_SUMS else 3)
    return f"{symbol}{in_brackets} = {value}"


def _p(row: Mapping[str, Any], plan: PlannedAnalyses) -> str:
    own = _equals(p_words(row["p_value"]))
    if plan.correction not in CORRECTIONS:
        return f"p {own}"
    column, name = CORRECTIONS[plan.correction]
    return f"p {own}, {name}-corrected p {_equals(p_words(row[column]))}"


def _equals(words: str) -> str:
    return words if words.startswith("<") else f"= {words}"


def _equivalence_words(row: Mapping[str, Any], planned: PlannedTest, plan: PlannedAnalyses) -> str:
    margin = planned.equivalence_margin or 0.0
    bounds = f"{percent(2 * plan.confidence - 1, 0)} CI {_bounds(row)}"
    size = f"{(100 if row['estimate_unit'] == SHARE else 1) * margin:,.10g}{_unit_words(row)}"
    verdict = (
        "the difference is smaller than the margin"
        if row[decisive_p(plan)] < 1 - plan.confidence
        else "these data do not show that the difference is smaller than the margin"
    )
    return f"{verdict} of ±{size} ({bounds}; {_p(row, plan)})."


def level_of_significance(plan: PlannedAnalyses) -> str:
    """Return the level of significance as text, such as `p < 0.05` if the confidence level is 0.95."""
    return f"p < {1 - plan.confidence:.2g}"


def unit_value_sentences(plan: PlannedAnalyses, tests: pd.DataFrame) -> list[str]:
    """Return sentences on the values of units (such as participants) in the tests; none if no test has such values."""
    summaries = {
        name: plan.tests[name].summary
        for name in dict.fromkeys(tests["name"])
        if plan.tests[name].per is not None and plan.tests[name].test != "chi_square"
    }
    if not summaries:
        return []
    sums = [name for name, summary in summaries.items() if summary == "sum"]
    rows = "the mean of its rows, with equal weights of the rows"
    if len(sums) == len(summaries):
        rows = "the sum of its rows"
    elif sums:
        rows += f" (in {', '.join(sums)}: the sum of its rows)"
    return [
        f"The value of a unit, such as a participant, is {rows}.",
        "Each unit has the same weight, even if the units have different numbers of rows.",
    ]


def decisive_p(plan: PlannedAnalyses) -> str:
    """Return the column with the p values after the plan's correction for several tests."""
    return CORRECTIONS.get(plan.correction, ("p_value", ""))[0]


def model_words(fitted: FittedModel) -> str:
    """Return a paragraph on a statistical model: its family, random effects, number of rows, and fit."""
    fit = fitted.model.fit.iloc[0]
    groups = [str(group) for group in fitted.model.random["group"].drop_duplicates() if group != "Residual"]
    kind = KINDS[fitted.planned.family]
    if groups:
        how = (
            "restricted maximum likelihood"
            if fitted.model.reml
            else "Firth's bias reduction"
            if fitted.model.bias_reduced
            else "maximum likelihood, by Laplace's approximation"
        )
        what, effects = f"{kind} mixed model", f"with random effects of {', '.join(groups)} ({how})"
    else:
        what, effects = f"{kind} model", "without random effects"
        if fitted.model.bias_reduced:
            effects += " (Firth's bias reduction)"
    words = f"{'An' if kind.startswith('o') else 'A'} {what} of {count(int(fit['n']), 'row')}, {effects}."
    if fitted.planned.family == "ordinal":
        words += (
            " Coefficients, means and contrasts are log-odds of higher categories; the odds ratio of an effect is the "
            "same at every threshold between categories (proportional odds)."
        )
    if fitted.model.has_log_scale:
        outcome = parse_formula(fitted.model.formula).outcome
        words += (
            f" The outcome is the natural logarithm of {outcome}, so means in the unit of {outcome} are geometric means"
            if fitted.model.log_outcome
            else f" The link is the logarithm, so means are also in the unit of {outcome}"
        )
        words += f", and an exponentiated coefficient or contrast is a ratio of {_mean_words(fitted)}."
    shares = [
        f"{name} {number(fit[column])}"
        for column, name in (("r2_marginal", "marginal R²"), ("r2_conditional", "conditional R²"),
                             ("icc_adjusted", "adjusted ICC"))
        if pd.notna(fit[column])
    ]  # fmt: skip
    fitting = ", ".join(shares)
    return f"{words} {fitting[:1].upper()}{fitting[1:]}." if shares else words


def _mean_words(fitted: FittedModel) -> str:
    return "geometric means" if fitted.model.log_outcome else "means"


def ratio_sentences(fitted: FittedModel, confidence: float) -> list[str]:
    """Return one sentence with the ratios of each set of contrasts, for a statistical model on a log scale.

    A set of more than `MOST_RATIOS` contrasts has no sentence.
    """
    sentences: list[str] = []
    if not fitted.model.fit["converged"].iloc[0]:
        return sentences
    for asked, table in zip(fitted.planned.contrasts, fitted.contrasts, strict=True):
        known = table[table["ratio"].notna()] if "ratio" in table else table.head(0)
        if not 0 < len(known) <= MOST_RATIOS:
            continue
        adjusted = "" if asked.adjust == "none" or table["p_adjusted"].equals(table["p_value"]) else "adjusted "
        ratios = [
            f"{', '.join([*(level_words(row[factor]) for factor in asked.by), row['contrast'].replace(' - ', ' / ')])} "
            f"{number(row['ratio'])}, {percent(confidence, 0)} CI [{number(row['ratio_ci_low'])}, "
            f"{number(row['ratio_ci_high'])}], {adjusted}p {_equals(p_words(row['p_adjusted']))}"
            for row in known.to_dict("records")
        ]
        sentences.append(f"Ratios of {_mean_words(fitted)}: {'; '.join(ratios)}.")
    return sentences


def term_sentences(fitted: FittedModel, confidence: float) -> list[str]:
    """Return one sentence for each significant term of a statistical model, and one sentence for all other terms.

    A term without a p value could not be estimated, so the sentence makes no claim about its effect.
    """
    if not fitted.model.fit["converged"].iloc[0]:
        return [NOT_CONVERGED]
    terms = terms_of(fitted)
    is_significant = terms["p_value"] < 1 - confidence
    sentences = [
        f"{term_words(row['term'])}: {_test_words(row)}{_effect_size(fitted, row['term'], confidence)}."
        for row in terms[is_significant].to_dict("records")
    ]
    others = terms[~is_significant & terms["p_value"].notna()].to_dict("records")
    if names := "; ".join(f"{term_words(row['term'])}, {_test_words(row)}" for row in others):
        sentences.append(f"Not significant at {1 - confidence:.2g}: {names}.")
    if names := ", ".join(term_words(term) for term in terms.loc[terms["p_value"].isna(), "term"]):
        sentences.append(f"Not estimated: {names}.")
    return sentences


def _test_words(row: Mapping[Any, Any]) -> str:
    return f"{_statistic(row)}, p {_equals(p_words(row['p_value']))}"


def _effect_size(fitted: FittedModel, term: str, confidence: float) -> str:
    """Return partial eta squared of a term and its interval as text. The text is empty for a term without an F test."""
    if fitted.effect_sizes is None:
        return ""
    sizes = fitted.effect_sizes.set_index("term").to_dict("index")[term]
    words = f", partial η² {number(sizes['partial_eta_squared'])}"
    low, high = (sizes[f"partial_eta_squared_ci_{bound}"] for bound in ("low", "high"))
    return words if pd.isna(high) else f"{words}, {percent(confidence, 0)} CI [{number(low)}, {number(high)}]"


def terms_of(fitted: FittedModel) -> pd.DataFrame:
    """Return the tests of a model's terms, without the intercept."""
    return fitted.model.anova.query("term != '(Intercept)'")
