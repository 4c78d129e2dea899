"""The report's sections on the plan's tables, models and tests."""

import re
from collections.abc import Hashable, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Any

import pandas as pd

from analysis.data.row_filters import where_words
from analysis.figures.drawing.sheet import Drawing
from analysis.planned.models import FittedModel
from analysis.planned.results import PlannedResults
from analysis.planned.tests import EQUIVALENCE, MAIN, PAIRED
from analysis.preregistration.deviations import NOT_LOCKED, Registration
from analysis.report.confidence_section import confidence_section
from analysis.report.deviation_sentences import changed_tests_sentence, deviation_of_tests, family_sentence
from analysis.report.formatting import ShownTable, cell_words, heading, shown
from analysis.report.html import with_markup
from analysis.report.methods_section import ADJUSTMENTS, n_contrasts_of_family
from analysis.report.model_notes import model_note
from analysis.report.planned_sentences import (
    CORRECTIONS,
    SYMBOLS,
    WELCH_BAYES,
    anova_sentence,
    effect_sentence,
    label_of_test,
    level_of_significance,
    model_words,
    ratio_sentences,
    sentence_of_test,
    term_sentences,
    term_words,
    test_name,
    unit_value_sentences,
    with_symbols,
)
from analysis.sentences import count, percent
from experiment.study.planned_analyses import PlannedAnalyses, PlannedTable

PARTS = {
    "anova": "Terms",
    "effect_sizes": "Effect sizes of terms",
    "means": "Estimated marginal means",
    "contrasts": "Contrasts of marginal means",
    "coefficients": "Coefficients",
    "odds_ratios": "Odds ratios",
    "thresholds": "Thresholds",
    "ratios": "Ratios of means",
    "standardized": "Standardized coefficients",
    "random": "Random effects",
    "correlations": "Correlations of random effects",
    "fit": "Fit",
}
"""The title of each table of a statistical model, in the order of the report."""
OF_COEFFICIENTS = ("coefficients", "odds_ratios", "ratios", "standardized")
"""Tables with one row per coefficient."""
MOST_OPEN_ROWS = 12
"""A table of contrasts with more rows than this is closed, until the reader opens it."""


def planned_section(
    results: PlannedResults,
    plan: PlannedAnalyses,
    figures: dict[str, list[Drawing]],
    registration: Registration = NOT_LOCKED,
) -> dict[str, Any]:
    """Return the input of the template `planned.html`. `figures` is the result of `planned_figures`."""
    rows = results.tests.to_dict("records")
    deviation = "" if results.tests.empty else _test_deviation(results.tests, plan, registration)
    return {
        "not_computed": results.not_computed,
        "tests": None if results.tests.empty else _tests(results.tests, plan),
        "test_deviation": deviation,
        "test_notes": " ".join(filter(None, [*_test_notes(results.tests, plan), deviation])),
        "confidence": plan.confidence,
        "test_sentences": _test_sentences(rows, plan),
        "test_warnings": warnings_of_tests(results.tests, plan),
        "models": [_model(model, plan, figures.get(name, [])) for name, model in results.models.items()],
        "confidence_ratings": confidence_section(results, plan, figures),
        "tables": [
            {"name": name, "exploratory": plan.tables[name].exploratory,
             "words": _table_words(plan.tables[name], table),
             "table": shown(table, plan.confidence, units=_units_of_means(plan.tables[name], table, plan))}
            for name, table in results.tables.items()
        ],
    }  # fmt: skip


def _test_sentences(rows: Sequence[Mapping[Hashable, Any]], plan: PlannedAnalyses) -> list[dict[str, Any]]:
    """Return a sentence for each test. An analysis of variance with several factors has one for each effect too."""
    entries: list[dict[str, Any]] = []
    for name, of_test in groupby(rows, key=lambda row: row["name"]):
        tests = [*of_test]
        exploratory = tests[0]["exploratory"]
        if len(plan.tests[name].factors) > 1:
            effects = [effect_sentence(row, plan) for row in tests]
            entries.append({"words": anova_sentence(tests[0], plan), "effects": effects, "exploratory": exploratory})
        else:
            entries += [
                {"words": sentence_of_test(row, plan), "effects": [], "exploratory": exploratory} for row in tests
            ]
    return entries


def _tests(tests: pd.DataFrame, plan: PlannedAnalyses) -> ShownTable:
    """Return the table of tests. Equivalence tests have a smaller confidence level than other tests, such as 90 %.

    If the table has equivalence tests, the headings do not state the confidence level.
    """
    named = tests.assign(test=[test_name(row, plan) for row in tests.to_dict("records")])
    confidence = None if _has_equivalence(tests) else plan.confidence
    dropped = ["warnings", "n_family", "who", *(name for name in ("exploratory", "against") if not tests[name].any())]
    of_anova = ["generalized_eta_squared", "partial_omega_squared", "cohens_f"]
    dropped += [] if tests["generalized_eta_squared"].notna().any() else of_anova
    first = [name for name in ("name", "exploratory") if name not in dropped]
    columns = [name for name in named if name not in (*dropped, *first)]
    return shown(with_symbols(named[[*first, *columns]]), confidence)


def _test_notes(tests: pd.DataFrame, plan: PlannedAnalyses) -> list[str]:
    """Return the sentences below the table of tests."""
    has_equivalence, level = _has_equivalence(tests), level_of_significance(plan)
    has_effects = any(len(plan.tests[name].factors) > 1 for name in tests["name"])
    notes = [
        f"A test is called significant if {level} (1 minus the confidence level)"
        + (f" after {CORRECTIONS[plan.correction][1]} correction." if plan.correction in CORRECTIONS else "."),
        *unit_value_sentences(plan, tests),
    ]
    if has_equivalence:
        notes.append(
            f"Confidence intervals: {percent(plan.confidence, 0)}. Only the interval of the difference in an "
            f"equivalence test has {percent(2 * plan.confidence - 1, 0)}."
        )
    notes.append("p values are corrected within each family of tests.")
    notes.append(family_sentence(tests, plan))
    if has_effects:
        notes.append("Each main effect and interaction of an analysis of variance is a test of its family.")
    notes.append("Confirmatory and exploratory tests are corrected separately.")
    if has_equivalence:
        notes.append(
            "Equivalence tests are families of their own: they are corrected apart from the other tests of their "
            "family."
        )
    if tests.loc[tests["bayes_factor_10"].notna(), "test"].str.contains("Welch").any():
        notes.append(WELCH_BAYES)
    if (tests["form"] == PAIRED).any():
        notes.append("The paired form of a test replaces this test in its correction.")
    return [
        *notes,
        "The intervals are not corrected.",
        "Every digit: `tests.csv`.",
    ]


def _test_deviation(tests: pd.DataFrame, plan: PlannedAnalyses, registration: Registration) -> str:
    """Return the deviations from the locked plan that concern the tests, or an empty text."""
    sentences = deviation_of_tests(registration, tests, plan), changed_tests_sentence(registration)
    return " ".join(filter(None, sentences))


def warnings_of_tests(tests: pd.DataFrame, plan: PlannedAnalyses) -> list[str]:
    """Return the warnings of the tests. A warning for all effects of an analysis of variance is written only once."""
    lines = []
    for (name, form), of_form in groupby(tests.to_dict("records"), key=lambda row: (row["name"], row["form"])):
        effects = [*of_form]
        own = [re.split(r"(?<=\.) ", row["warnings"]) if row["warnings"] else [] for row in effects]
        shared = [said[0] for said in takewhile(lambda said: len(set(said)) == 1, zip(*own, strict=False))]
        ending = "" if form == MAIN else f", {form}"
        lines.append((f"{name}{ending}", shared))
        lines += [
            (f"{label_of_test(row, plan)}{ending}", said[len(shared) :]) for row, said in zip(effects, own, strict=True)
        ]
    return [f"{label}: {' '.join(sentences)}" for label, sentences in lines if sentences]


def _has_equivalence(tests: pd.DataFrame) -> bool:
    return not tests.empty and bool((tests["form"] == EQUIVALENCE).any())


def _model(fitted: FittedModel, plan: PlannedAnalyses, figures: list[Drawing]) -> dict[str, Any]:
    tables = fitted.tables()
    parts = []
    for kind, title in PARTS.items():
        for name, table in tables.items():
            if name.removeprefix(f"{fitted.name}.").rstrip("_0123456789") == kind:
                parts.append(
                    {
                        "title": title,
                        "note": _contrasts_note(fitted, name) if kind == "contrasts" else model_note(fitted, kind),
                        "table": shown(
                            _in_words(fitted, kind, table), plan.confidence, units=_units_of_model(fitted, kind)
                        ),
                        "file": name,
                        "is_open": kind == "anova" or (kind == "contrasts" and len(table) <= MOST_OPEN_ROWS),
                    }
                )
    return {
        "name": fitted.name, "exploratory": fitted.planned.exploratory, "words": model_words(fitted),
        "formula": fitted.planned.formula, "warnings": fitted.warnings, "parts": parts,
        "term_sentences": [*term_sentences(fitted, plan.confidence), *ratio_sentences(fitted, plan.confidence)],
        "figures": [with_markup(one) for one in figures],
    }  # fmt: skip


def _in_words(fitted: FittedModel, kind: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of a model for the report: with words for coefficients, and one column for the statistic."""
    if kind in OF_COEFFICIENTS:
        return fitted.with_words(table)
    if kind == "fit":  # One row: each measure becomes a row.
        fit = {str(name): table[name].tolist()[0] for name in table}
        return pd.DataFrame(
            {"measure": map(heading, fit), "value": [cell_words(name, value) for name, value in fit.items()]}
        )
    if "term" in table:
        table = table.assign(term=table["term"].map(term_words))
    if kind != "anova":
        return table
    symbols = table["statistic_name"].replace(SYMBOLS).unique()  # None if the formula has no terms.
    without = ["test", "statistic_name", *(["df_error"] if table["df_error"].isna().all() else [])]
    return table.drop(columns=without).rename(columns={"statistic": "".join(symbols)})


def _units_of_model(fitted: FittedModel, kind: str) -> dict[str, str]:
    """Return the units of the columns in a table of a statistical model, if its outcome is a yes-no column."""
    if not fitted.is_share:
        return {}
    if fitted.planned.family == "binomial":
        return dict.fromkeys(["probability", "probability_ci_low", "probability_ci_high"], "percent")
    if kind not in {"means", "contrasts", "coefficients"}:
        return {}
    unit = "percent" if kind == "means" else "points"
    return {**dict.fromkeys(["estimate", "ci_low", "ci_high"], unit), "std_error": "size"}


def _units_of_means(planned: PlannedTable, table: pd.DataFrame, plan: PlannedAnalyses) -> dict[str, str]:
    """Return the units of the columns in a table of means: percent for the means of yes-no columns."""
    units: dict[str, str] = {}
    for column in planned.of:
        if column in {"correct", *plan.flags} and table[f"{column}_mean"].dropna().between(0, 1).all():
            units |= dict.fromkeys([f"{column}_mean", f"{column}_ci_low", f"{column}_ci_high"], "percent")
            units |= dict.fromkeys([f"{column}_sd", f"{column}_se"], "size")
    return units


def _contrasts_note(fitted: FittedModel, name: str) -> str:
    """Return the note of a table of contrasts. It states which p values are adjusted together, and by which method."""
    number = name.rpartition("contrasts")[2].removeprefix("_")
    place = int(number) - 1 if number else 0
    asked, table = fitted.planned.contrasts[place], fitted.contrasts[place]
    words = "An estimate is the first mean minus the second mean."
    if fitted.model.has_log_scale:
        words += " These means are logarithms. A ratio is the first mean divided by the second mean."
    n_contrasts = n_contrasts_of_family(asked, table)
    if n_contrasts == 1:
        return f"{words} There is one contrast{_at_each(asked.by)}, so p values and CIs need no adjustment."
    family = f"{n_contrasts} contrasts{_at_each(asked.by)}"
    if asked.adjust == "none":
        return f"{words} Neither p values nor CIs are adjusted for the number of contrasts ({family})."
    return (
        f"{words} The column p, adjusted has p values that are adjusted by {ADJUSTMENTS[asked.adjust][0]} for the "
        f"family of {family}. Contrasts in other tables are other families. The CIs are not adjusted: each CI alone "
        "has the stated confidence. So a CI can exclude 0 although the adjusted p value is not significant."
    )


def _at_each(by: Sequence[str]) -> str:
    return f" at each level of {' and '.join(by)}" if by else ""


def _table_words(planned: PlannedTable, table: pd.DataFrame) -> str:
    means = count(len(planned.of), "column")
    chosen = where_words(planned.where)
    words = f"Means of {means} by {' and '.join(planned.by)}{f', where {chosen}' if chosen else ''}."
    if "unit" not in table:
        words += " Standard errors and confidence intervals treat the rows as independent."
    else:
        units = ", ".join(dict.fromkeys(table["unit"].astype(str)))
        words += (
            f" Standard errors and confidence intervals are computed from the units in the column unit ({units}), "
            "because the rows of one unit are not independent. So they generalize only to other units of this kind."
        )
    words += (
        " The interval of a column with only yes and no (1 and 0) is Wilson's interval. Other "
        "intervals use the t distribution."
    )
    if table[[f"{column}_se" for column in planned.of]].isna().any(axis=None):
        words += " A cell with fewer than two units has no standard error and no interval."
    return f"{words}{_order_words(planned)}"


def _order_words(planned: PlannedTable) -> str:
    """Return a sentence on the order of the rows and on the rows that are left out, or an empty text."""
    columns = [
        f"{name.removeprefix('-')} ({'descending' if name.startswith('-') else 'ascending'})"
        for name in planned.order_by
    ]
    order = f" The rows are sorted by {', then '.join(columns)}." if columns else ""
    if planned.first is None:
        return order
    return f"{order} The table has only the first {count(planned.first, 'row')}."
