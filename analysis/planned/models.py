"""The fitted mixed models of a plan, with marginal means, contrasts and standardized coefficients."""

import math
from dataclasses import dataclass

import pandas as pd

from analysis.data.row_filters import chosen_rows
from analysis.planned.grouping_warnings import grouping_warnings
from analysis.planned.run_groups import who_of, with_people_as_groups
from analysis.sentences import level_words
from analysis.statistics.mixed_models.contrasts import pairwise_contrasts
from analysis.statistics.mixed_models.fit import MixedModel, fit_mixed_model, standardized_coefficients
from analysis.statistics.mixed_models.formulas import parse_formula
from analysis.statistics.mixed_models.marginal_means import marginal_means
from analysis.statistics.mixed_models.ratios import odds_ratios, ratios
from analysis.statistics.mixed_models.term_tests import effect_sizes_of_terms
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedModel


@dataclass(frozen=True)
class FittedModel:
    """A fitted statistical model of the plan, with all results for the report."""

    name: str
    planned: PlannedModel
    model: MixedModel
    means: tuple[pd.DataFrame, ...]
    """Estimated marginal means, one table for each entry of `contrasts` in the plan."""
    contrasts: tuple[pd.DataFrame, ...]
    """Pairwise contrasts, one table for each entry of `contrasts` in the plan."""
    standardized: pd.DataFrame
    """Coefficients after division of the outcome and of the numeric predictors by their standard deviations."""
    exponentiated: dict[str, pd.DataFrame]
    """The exponentiated coefficients, by the name of their table: `odds_ratios` of a logistic or ordinal
    model, `ratios` of a model on a log scale. Empty for other models."""
    effect_sizes: pd.DataFrame | None
    """Effect sizes of the terms (main effects and interactions) of a linear model; None if the terms have no F tests.
    """
    observed: tuple[pd.DataFrame, ...]
    """Each participant's mean outcome at each combination of levels, one table for each entry of `contrasts`. A table
    is empty if the data have no column `participant`.
    """
    is_share: bool
    """True if the outcome is a yes-no column, so that its mean is a share."""
    warnings: tuple[str, ...]
    """Warnings about the formula and the fit, as sentences."""
    who: str
    """The origin of the fitted trials: `people`, `models` or `everyone`; empty for data that are not from a study."""

    def with_words(self, coefficients: pd.DataFrame) -> pd.DataFrame:
        """Return a table with one row per coefficient, in which `term` has words instead of R's names.

        R's name `subjectgpt-4o:conditionB` becomes `subject: gpt-4o × condition: B`.
        """
        levels = self.model.levels
        words = {column.name(levels): column.words(levels, level_words) for column in self.model.columns}
        return coefficients.assign(term=coefficients["term"].map(lambda term: words.get(term, term)))

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of the model. The keys are file names without `.csv`."""
        model = self.model
        tables = {"coefficients": model.coefficients, "anova": model.anova, "random": model.random, "fit": model.fit,
                  "standardized": self.standardized}  # fmt: skip
        if not model.thresholds.empty:
            tables["thresholds"] = model.thresholds
        if not model.correlations.empty:
            tables["correlations"] = model.correlations
        tables |= self.exponentiated
        if self.effect_sizes is not None:
            tables["effect_sizes"] = self.effect_sizes
        for place, (means, contrasts) in enumerate(zip(self.means, self.contrasts, strict=True), start=1):
            number = f"_{place}" if len(self.means) > 1 else ""
            tables |= {f"means{number}": means, f"contrasts{number}": contrasts}
        return {f"{self.name}.{table}": content for table, content in tables.items()}


def has_random_effects(fitted: FittedModel) -> bool:
    """Return True if the statistical model has random effects."""
    return bool((fitted.model.random["group"] != "Residual").any())


def has_f_tests(fitted: FittedModel) -> bool:
    """Return True if the terms of the statistical model have F tests, and False if they have chi-square tests."""
    return bool((fitted.model.anova["statistic_name"] == "F").any())


def fit_planned_model(data: pd.DataFrame, name: str, planned: PlannedModel, confidence: float) -> FittedModel:
    """Fit the statistical model `name` of the plan to the rows that `where` in its plan entry selects.

    Raises
    ------
    InputError
        If the model cannot be fitted. The message names the model.
    """
    what = f"the model `{name}`"
    rows = chosen_rows(data, planned.where, what)
    try:
        rows = with_people_as_groups(rows, planned.formula)
        model = fit_mixed_model(
            rows,
            planned.formula,
            family=planned.family,
            reference=planned.reference,
            term_tests=planned.term_tests,
            confidence=confidence,
        )
        means = [marginal_means(model, asked.of, by=asked.by, confidence=confidence) for asked in planned.contrasts]
        contrasts = [
            pairwise_contrasts(model, asked.of, by=asked.by, adjust=asked.adjust, confidence=confidence)
            for asked in planned.contrasts
        ]
        standardized = standardized_coefficients(
            rows, planned.formula, family=planned.family, reference=planned.reference, confidence=confidence
        )
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
    formula = parse_formula(planned.formula)
    outcome = formula.outcome
    exponentiated = {}
    if planned.family in ("binomial", "ordinal"):
        exponentiated["odds_ratios"] = odds_ratios(model, confidence=confidence)
    elif model.has_log_scale:
        exponentiated["ratios"] = ratios(model, confidence=confidence)
    return FittedModel(
        name=name,
        planned=planned,
        model=model,
        means=tuple(means),
        contrasts=tuple(contrasts),
        standardized=standardized,
        exponentiated=exponentiated,
        effect_sizes=effect_sizes_of_terms(model.anova, confidence) if planned.family == "gaussian" else None,
        observed=tuple(
            _participants_means(rows, outcome, [*asked.of, *asked.by], are_geometric=model.log_outcome)
            for asked in planned.contrasts
        ),
        is_share=outcome in rows and bool(rows[outcome].dropna().isin([0, 1]).all()),
        warnings=(*model.warnings, *grouping_warnings(rows, planned.formula, planned.family)),
        who=who_of(rows, formula.columns),
    )


def _participants_means(rows: pd.DataFrame, outcome: str, factors: list[str], *, are_geometric: bool) -> pd.DataFrame:
    """Return each participant's mean of the outcome at each combination of the factors' levels."""
    if not {outcome, "participant", *factors} <= set(rows.columns):
        return pd.DataFrame(columns=[*factors, "mean"])
    values = pd.to_numeric(rows[outcome]).astype("float64")
    by_cell = [rows["participant"], *(rows[factor] for factor in factors)]
    means = (values.map(math.log) if are_geometric else values).groupby(by_cell).mean()
    means = means.map(math.exp) if are_geometric else means
    return means.rename("mean").dropna().reset_index().drop(columns="participant")
