"""The figures of the plan: contrasts or coefficients as forest plots, marginal means as lines, reliability diagrams."""

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.figures.drawing.lines import MOST_LINES
from analysis.figures.drawing.sheet import Drawing
from analysis.figures.drawing.subject_styles import Look, Subject
from analysis.figures.forest import forest_plot
from analysis.figures.interaction import interaction_plot
from analysis.figures.reliability_diagram import reliability_diagram
from analysis.planned.confidence_ratings import ConfidenceRatings, cell_name
from analysis.planned.models import FittedModel
from analysis.planned.results import PlannedResults
from analysis.sentences import level_words, percent
from analysis.statistics.mixed_models.formulas import parse_formula

MEASURES = {"binomial": ("probability", "marginal mean"), "gamma": ("mean", "marginal mean")}
"""The column of marginal means on the scale of the outcome, and the name of these means, for each family that has
them.
"""
MOST_COEFFICIENTS = 40
"""Largest number of coefficients or contrasts in a forest plot. More of them have only the table."""
SUBJECT = "subject"
"""The factor whose levels are people and models. Its levels are lines, not positions, if there is a second factor."""

WHOSE = {"people": "participants", "models": "runs", "everyone": "participants or runs"}
"""The units whose means are small points behind a model's means, for each value of `who`."""
MOST_DIAGRAMS = 12
"""Largest number of reliability diagrams for one entry of `confidence_ratings`."""


def planned_figures(
    results: PlannedResults, confidence: float, styles: Mapping[Subject, Look] | None = None
) -> dict[str, list[Drawing]]:
    """Return the figures of a plan. The keys are the names of the models, and the names that `ratings_key` returns."""
    figures = {name: model_figures(model, confidence, styles) for name, model in results.models.items()}
    for name, found in results.confidence_ratings.items():
        figures[ratings_key(name)] = _reliability_diagrams(name, found, confidence)
    return figures


def ratings_key(name: str) -> str:
    """Return the key for the figures of an entry of `confidence_ratings`. A model cannot have this name."""
    return f"confidence_ratings/{name}"


def _reliability_diagrams(name: str, found: ConfidenceRatings, confidence: float) -> list[Drawing]:
    """Return a diagram for each of the first `MOST_DIAGRAMS` rows of the table."""
    rows = found.bins.to_dict("records")
    bins_of: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        bins_of.setdefault(cell_name(row, found.by), []).append(place)
    return [
        reliability_diagram(found.bins.iloc[places], f"{name}_reliability_{number}", who or "all responses", confidence)
        for number, (who, places) in enumerate(list(bins_of.items())[:MOST_DIAGRAMS], start=1)
    ]


def model_figures(
    fitted: FittedModel, confidence: float, styles: Mapping[Subject, Look] | None = None
) -> list[Drawing]:
    """Return the figures of a fitted statistical model: its contrasts, or else its coefficients, and its means.

    Parameters
    ----------
    fitted : FittedModel
        The fitted model.
    confidence : float
        Confidence level of the intervals, such as 0.95.
    styles : dict, optional
        The colour and marker of each subject (`subject_styles.looks`), for lines that are subjects.
    """
    interval = f"with {percent(confidence, 0)} CI"
    figures = _forest_plots(fitted, interval)
    outcome = parse_formula(fitted.planned.formula).outcome
    outcome = f"percent {outcome}" if fitted.is_share else outcome
    kind_of_means = "geometric means" if fitted.model.log_outcome else "means"
    for place, (asked, means, observed) in enumerate(
        zip(fitted.planned.contrasts, fitted.means, fitted.observed, strict=True), start=1
    ):
        factors = [*asked.of, *asked.by]
        if len(factors) > 1 and factors[0] == SUBJECT and means[SUBJECT].nunique() <= MOST_LINES:
            factors = [*factors[1:], SUBJECT]
        number = f"_{place}" if len(fitted.means) > 1 else ""
        measure, label = MEASURES.get(fitted.planned.family, ("estimate", "marginal mean"))
        if fitted.model.log_outcome:
            measure, label = "geometric_mean", "geometric mean"
        if fitted.planned.family == "ordinal":
            label = "marginal mean in log-odds of higher categories"
        low, high = (f"{measure}_{bound}".removeprefix("estimate_") for bound in ("ci_low", "ci_high"))
        lines = " and ".join(factors[1:]) or "line"
        # The means of an ordinal model are not in the unit of the participants' ratings.
        is_same_unit = fitted.planned.family != "ordinal"
        behind = observed.assign(**{lines: _lines(observed, factors[1:])}) if is_same_unit else None
        figures.append(
            interaction_plot(
                means.assign(**{lines: _lines(means, factors[1:])}), factors[0], lines,
                f"{fitted.name}_means{number}", measure, low, high, f"{outcome}, {label} {interval}",
                scale=100 if fitted.is_share else 1, styles=styles,
                participants=behind,
                means_are=f"{kind_of_means} of {WHOSE[fitted.planned.who]}",
            )
        )  # fmt: skip
    return [drawing for drawing in figures if drawing is not None]


def _forest_plots(fitted: FittedModel, interval: str) -> list[Drawing | None]:
    """Return a forest plot of each set of contrasts. A model without contrasts has one of its coefficients."""
    is_linear_share = fitted.is_share and fitted.planned.family != "binomial"
    has_log_odds = fitted.planned.family in {"binomial", "ordinal"}
    outcome = parse_formula(fitted.planned.formula).outcome
    unit = "log-odds" if has_log_odds else "percentage points" if is_linear_share else f"units of {outcome}"
    unit = f"log units of {outcome}" if fitted.model.has_log_scale else unit
    scale = 100 if is_linear_share else 1
    coefficients = fitted.with_words(fitted.model.coefficients.query("term != '(Intercept)'"))
    tables = [
        (f"contrasts_{place}" if len(fitted.contrasts) > 1 else "contrasts", table, "contrast",
         f"difference of marginal means of {' and '.join(asked.of)} in {unit}, {interval} (not adjusted)", asked.by)
        for place, (asked, table) in enumerate(zip(fitted.planned.contrasts, fitted.contrasts, strict=True), start=1)
    ] or [("coefficients", coefficients, "term", f"coefficient in {unit}, {interval}", ())]  # fmt: skip
    return [
        forest_plot(
            table.assign(**{GROUP: _levels_words(table, by)}), f"{fitted.name}_{name}", label=label,
            estimate="estimate", ci_low="ci_low", ci_high="ci_high", x_label=x_label, scale=scale,
            group=GROUP if by else None,
        )
        for name, table, label, x_label, by in tables
        if 0 < len(table) <= MOST_COEFFICIENTS
    ]  # fmt: skip


GROUP = "at"
"""Column with the levels at which a contrast is computed."""


def _levels_words(table: pd.DataFrame, factors: Sequence[str]) -> list[str]:
    """Return the levels of each row's factors, such as `condition: A, side: left`."""
    return [
        ", ".join(f"{factor}: {level_words(row[factor])}" for factor in factors) for row in table.to_dict("records")
    ]


def _lines(means: pd.DataFrame, factors: list[str]) -> list[str]:
    """Return the name of the line to which each marginal mean belongs.

    A level `yes` or `no` comes after the name of the factor.
    """
    words = [
        means[factor].map(
            lambda level, factor=factor: f"{factor}: {level_words(level)}" if _is_yes_no(level) else level_words(level)
        )
        for factor in factors
    ]
    return [", ".join(row) for row in zip(*words, strict=True)] if words else [""] * len(means)


def _is_yes_no(level: object) -> bool:
    return level_words(level) in {"yes", "no"}
