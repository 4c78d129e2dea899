"""The report's sections on the plan's tables, models and tests."""

from typing import Any

from analysis.data.row_filters import where_words
from analysis.figures.drawing.sheet import Drawing
from analysis.planned.models import FittedModel
from analysis.planned.results import PlannedResults
from analysis.report.formatting import shown
from analysis.report.html import with_markup
from analysis.report.planned_sentences import model_words, sentence_of_test, term_sentences
from analysis.sentences import count
from experiment.study.planned_analyses import PlannedAnalyses, PlannedTable

PARTS = {
    "anova": (
        "Terms",
        "Type III Wald χ² tests with treatment contrasts: a main effect is the effect at the reference levels of "
        "the factors in its interactions.",
    ),
    "means": (
        "Estimated marginal means",
        "Other factors are averaged with equal weights; covariates are at their means.",
    ),
    "contrasts": ("Differences between them", "Estimates are first minus second."),
    "coefficients": (
        "Coefficients",
        "Degrees of freedom are Satterthwaite's in a linear model; a logistic model's tests are Wald's z.",
    ),
    "odds_ratios": ("Odds ratios", "Coefficients, exponentiated."),
    "standardized": ("Standardized coefficients", "From a refit with outcome and covariates in standard deviations."),
    "random": ("Random effects", "Standard deviations; the residual has a row of its own."),
    "correlations": ("Correlations of random effects", ""),
    "fit": ("Fit", "R² is Nakagawa's."),
}
"""Title and note of each table of a model, in the order of the report."""


def planned_section(
    results: PlannedResults, plan: PlannedAnalyses, figures: dict[str, list[Drawing]]
) -> dict[str, Any]:
    """Return the input of the template `planned.html`; `figures` are those of each model, by its name."""
    rows = results.tests.to_dict("records")
    return {
        "not_computed": results.not_computed,
        "tests": None if results.tests.empty else shown(results.tests.drop(columns=["warnings", "exploratory"])),
        "test_sentences": [{"words": sentence_of_test(row, plan), "exploratory": row["exploratory"]} for row in rows],
        "test_warnings": [f"{row['name']}, {row['form']}: {row['warnings']}" for row in rows if row["warnings"]],
        "models": [_model(model, plan, figures.get(name, [])) for name, model in results.models.items()],
        "tables": [
            {"name": name, "exploratory": plan.tables[name].exploratory, "words": _table_words(plan.tables[name]),
             "table": shown(table)}
            for name, table in results.tables.items()
        ],
    }  # fmt: skip


def _model(fitted: FittedModel, plan: PlannedAnalyses, figures: list[Drawing]) -> dict[str, Any]:
    tables = fitted.tables()
    parts = []
    for kind, (title, note) in PARTS.items():
        for name, table in tables.items():
            if name.removeprefix(f"{fitted.name}.").rstrip("_0123456789") == kind:
                parts.append({"title": title, "note": note, "table": shown(table), "file": name,
                              "is_open": kind == "anova"})  # fmt: skip
    return {
        "name": fitted.name, "exploratory": fitted.planned.exploratory, "words": model_words(fitted),
        "formula": fitted.planned.formula, "warnings": fitted.model.warnings, "parts": parts,
        "term_sentences": term_sentences(fitted, plan.confidence), "figures": [with_markup(one) for one in figures],
    }  # fmt: skip


def _table_words(planned: PlannedTable) -> str:
    means = count(len(planned.of), "column")
    chosen = where_words(planned.where)
    words = f"Means of {means} by {' and '.join(planned.by)}{f', where {chosen}' if chosen else ''}."
    words += " Standard errors treat the rows as independent."
    return words + (f" The first {planned.first} by {', '.join(planned.order_by)}." if planned.first else "")
