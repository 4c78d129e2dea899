"""The figures of the plan's statistical models: coefficients as a forest plot, marginal means as lines."""

import pandas as pd

from analysis.figures.drawing.sheet import Drawing
from analysis.figures.forest import forest_plot
from analysis.figures.interaction import interaction_plot
from analysis.planned.models import FittedModel
from analysis.sentences import level_words, percent

MOST_COEFFICIENTS = 40
"""Greatest number of coefficients in a forest plot. A model with more coefficients has only the table."""


def model_figures(fitted: FittedModel, confidence: float) -> list[Drawing]:
    """Return the figures of a fitted statistical model; `confidence` is the coverage of the confidence intervals."""
    interval = f"with {percent(confidence, 0)} CI"
    coefficients = fitted.model.coefficients.query("term != '(Intercept)'")
    figures: list[Drawing | None] = []
    if 0 < len(coefficients) <= MOST_COEFFICIENTS:
        scale = "log-odds" if fitted.planned.family == "binomial" else "units of the outcome"
        figures.append(
            forest_plot(
                coefficients, f"{fitted.name}_coefficients", label="term", estimate="estimate", ci_low="ci_low",
                ci_high="ci_high", x_label=f"coefficient in {scale}, {interval}",
            )
        )  # fmt: skip
    for place, (asked, means) in enumerate(zip(fitted.planned.contrasts, fitted.means, strict=True), start=1):
        factors = [*asked.of, *asked.by]
        number = f"_{place}" if len(fitted.means) > 1 else ""
        measure = "probability" if fitted.planned.family == "binomial" else "estimate"
        low, high = ("ci_low", "ci_high") if measure == "estimate" else ("probability_ci_low", "probability_ci_high")
        lines = " and ".join(factors[1:]) or "line"
        table = means.assign(**{lines: _lines(means, factors[1:])})
        figures.append(
            interaction_plot(
                table, factors[0], lines, f"{fitted.name}_means{number}", measure, low, high,
                f"{fitted.planned.formula.split('~')[0].strip()}, marginal mean {interval}",
            )
        )  # fmt: skip
    return [drawing for drawing in figures if drawing is not None]


def _lines(means: pd.DataFrame, factors: list[str]) -> list[str]:
    """Return the name of the line of each marginal mean.

    The levels `yes` and `no` have the factor's name before them.
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
