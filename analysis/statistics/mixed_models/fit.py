"""Linear, logistic, gamma and ordinal models with or without random effects, from a formula in R's notation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.statistics.mixed_models.bias_reduction import bias_reduced_estimate
from analysis.statistics.mixed_models.design_matrix import DesignColumn, Floats, column_values, design_columns
from analysis.statistics.mixed_models.engine import Estimates, GroupedEffect, estimate
from analysis.statistics.mixed_models.explained_variance import (
    LOGISTIC_VARIANCE,
    gamma_variance,
    random_effect_variance,
    root_mean_squared_error,
    variance_shares,
)
from analysis.statistics.mixed_models.fit_warnings import (
    duplicate_warnings,
    fit_warnings,
    redundancy_warnings,
    separation,
    separation_warnings,
)
from analysis.statistics.mixed_models.formulas import RandomTerm, parse_formula
from analysis.statistics.mixed_models.model_frame import ModelFrame, model_frame
from analysis.statistics.mixed_models.ordinal import ordinal_estimate
from analysis.statistics.mixed_models.random_tables import random_tables
from analysis.statistics.mixed_models.term_tests import joint_tests, treatment_tests
from analysis.statistics.mixed_models.wald_tests import DegreesOfFreedom, wald_table
from batteries.errors import InputError

TermTests = Literal["joint", "treatment"]

NO_REFERENCE: Mapping[str, object] = MappingProxyType({})

EXACT_SHARE = 1e-14
"""A residual variance below this share of the outcome's variance counts as a rounding error: the fit is exact."""


@dataclass(frozen=True, eq=False)
class MixedModel:
    """A fitted linear, logistic, gamma or ordinal model."""

    formula: str
    family: str
    """`gaussian` for a linear model, `binomial` for a logistic model, `gamma` for a gamma model with a log link,
    `ordinal` for a cumulative logit model."""
    log_outcome: bool
    """True for a linear model of the natural logarithm of the outcome."""
    bias_reduced: bool
    """True if the outcome of a logistic model was separated, so that Firth's bias reduction was used."""
    reml: bool
    """True if the restricted likelihood was maximized."""
    coefficients: pd.DataFrame
    """`term`, `estimate`, `std_error`, `statistic`, `df`, `p_value`, `ci_low`, `ci_high`. The terms have the same names
    as in R. `df` is missing for a z test. In an ordinal model, `(Intercept)` is minus the mean of the thresholds.
    """
    thresholds: pd.DataFrame
    """Thresholds of an ordinal model: `threshold`, `estimate`, `std_error`, `ci_low`, `ci_high`. Empty for other
    models."""
    anova: pd.DataFrame
    """`term`, `test` (`joint` or `treatment`), `statistic_name` (`F` or `chisq`), `statistic`, `df`, `df_error`,
    `p_value`: the test of each term, given the other terms (type III). See `joint_tests` and `treatment_tests`."""
    random: pd.DataFrame
    """`group`, `term`, `sd` of each random effect. The last row of a linear model is the residual, with the group
    `Residual`."""
    correlations: pd.DataFrame
    """`group`, `term_1`, `term_2`, `correlation` of random intercepts and slopes."""
    fit: pd.DataFrame
    """One row with `n`, `loglik`, `aic`, `bic`, `icc_adjusted`, `r2_marginal`, `r2_conditional`, `rmse`, `converged`,
    `singular`. A gamma model also has `dispersion`: the variance of an outcome, divided by its squared mean."""
    covariance: Floats
    """Covariance of the coefficients, shape (p, p)."""
    warnings: tuple[str, ...]
    """Warnings about the fit, as sentences. The report shows them before the numbers."""
    columns: tuple[DesignColumn, ...]
    """The columns of the design matrix, including redundant columns."""
    retained: npt.NDArray[np.bool_]
    """True for each column of the design matrix that has a coefficient. A linear combination of earlier columns has no
    coefficient.
    """
    redundancies: Floats
    """Linear combinations of the columns of the design matrix that are 0 in every row; shape (columns, redundant
    columns).
    """
    levels: Mapping[str, tuple[object, ...]]
    """Levels of each factor of the fixed effects, with the reference level first."""
    covariates: Mapping[str, float]
    """Value of each covariate in marginal means: the mean of the covariate. For a covariate with only two values, it
    is the middle between the two values.
    """
    degrees: DegreesOfFreedom
    """Degrees of freedom for tests and intervals of any combination of coefficients."""

    @property
    def has_log_scale(self) -> bool:
        """True if the coefficients are on the log scale of the outcome, so that they are logarithms of ratios."""
        return self.log_outcome or self.family == "gamma"


def fit_mixed_model(
    data: pd.DataFrame,
    formula: str,
    *,
    family: str = "gaussian",
    reference: Mapping[str, object] = NO_REFERENCE,
    reml: bool = True,
    term_tests: TermTests = "joint",
    confidence: float = 0.95,
) -> MixedModel:
    r"""Fit a linear, logistic, gamma or ordinal model with or without random effects.

    Parameters
    ----------
    data : DataFrame, shape (rows, columns)
        One row per observation. Columns of numbers are covariates. Yes-no columns, text and categories are factors with
        treatment contrasts and levels in natural order. Rows with a missing value in the formula's columns are left
        out.
    formula : str
        A formula such as `rt_ms ~ model * prompt + (1 | participant)`; see `parse_formula`. A random effect has one
        intercept, or one intercept for each level of a factor, as in `(0 + prompt | participant)`. The formula
        must also have a fixed effect of this factor.
    family : {"gaussian", "binomial", "gamma", "ordinal"}
        `gaussian` for a linear model; `binomial` for a logistic model of an outcome of 0 and 1, or no and yes; `gamma`
        for a gamma model with a log link of an outcome above 0, such as response times; `ordinal` for a cumulative
        logit model of 3 to 20 ordered numbers, such as ratings (`ordinal_estimate`), with random intercepts only.
    reference : mapping of str to object
        The reference level of each factor. A level with the same text also matches: `1` matches `"1"`. A factor that is
        not in this mapping has its first level in natural order as the reference level.
    reml : bool
        True for restricted maximum likelihood, False for maximum likelihood. It affects only linear models with random
        effects. To compare models with different fixed effects, use maximum likelihood.
    term_tests : {"joint", "treatment"}
        `joint` for tests of marginal means, which do not depend on reference levels. They are F tests in a linear
        model, and chi-square tests in other mixed models. `treatment` for chi-square tests of the coefficients. These
        tests depend on reference levels if the model has interactions.
    confidence : float
        Confidence level of the intervals, such as 0.95.

    Returns
    -------
    MixedModel
        The fitted model.

    Raises
    ------
    InputError
        The formula or the data are invalid, or the data do not allow this model.

    Notes
    -----
    With fixed effects :math:`\beta`, random effects :math:`b \sim N(0, \Sigma)` and :math:`\eta = X\beta + Zb`,

    .. math:: y = \eta + \varepsilon, \quad \varepsilon \sim N(0, \sigma^2), \qquad
        \text{or} \quad \Pr(y = 1) = \frac{1}{1 + e^{-\eta}}, \qquad
        \text{or} \quad \mathrm{E}(y) = e^{\eta}, \quad \mathrm{Var}(y) = \phi\, \mathrm{E}(y)^2.

    The last model is the gamma model with the dispersion :math:`\phi`. The likelihood of logistic and gamma models is
    Laplace's approximation. If the outcome of a logistic model is separated, so that the likelihood has no finite
    maximum, the model is fitted with Firth's bias reduction (`bias_reduced_estimate`). The coefficients of linear
    models have t tests. The degrees of freedom are Satterthwaite's, or the residual degrees of freedom if there are no
    random effects. The coefficients of logistic models and of gamma mixed models have z tests.

    R's glmmTMB gives the same results for gamma mixed models. lme4's ``glmer`` gives other results, because its
    likelihood leaves out the dispersion.

    If a fit did not converge or is singular, its estimates are still returned, and `warnings` states the problem.

    References
    ----------
    Bates, D., Mächler, M., Bolker, B., & Walker, S. (2015). Fitting linear mixed-effects models using lme4. Journal of
    Statistical Software, 67(1).
    Kuznetsova, A., Brockhoff, P. B., & Christensen, R. H. B. (2017). lmerTest package: Tests in linear mixed effects
    models. Journal of Statistical Software, 82(13).

    Examples
    --------
    There are three batches of two values. The mean square is 14 between batches and 2 within batches. So the variance
    of the batches is (14 - 2) / 2.

    >>> import pandas as pd
    >>> batches = pd.DataFrame({"y": [1, 3, 5, 7, 6, 8], "batch": ["a", "a", "b", "b", "c", "c"]})
    >>> model = fit_mixed_model(batches, "y ~ 1 + (1 | batch)")
    >>> (model.random["sd"] ** 2).round(4).tolist()
    [6.0, 2.0]
    >>> model.coefficients.round(4).loc[0, ["estimate", "std_error", "df"]].tolist()
    [5.0, 1.5275, 2.0]
    """
    if term_tests not in get_args(TermTests):
        raise InputError(
            f"`term_tests` has the value `{term_tests}`, which does not exist. Fix: choose one of "
            f"{', '.join(get_args(TermTests))}."
        )
    asked = parse_formula(formula)
    frame = model_frame(data, asked, family, reference)
    columns = design_columns(asked.intercept, asked.terms, frame.n_levels)
    names = [column.name(frame.levels) for column in columns]
    design = [column_values(column, frame.factors, frame.covariates, frame.n) for column in columns]
    slopes = [_slope_columns(bracket, columns, frame, formula) for bracket in asked.random]
    effects = [GroupedEffect(codes, places) for codes, places in zip(frame.groups, slopes, strict=True)]
    # An outcome far from 0, such as a time stamp, would lose digits.
    constant = _constant_columns(columns, frame) if family == "gaussian" else []
    center = float(frame.outcome.mean()) if constant else 0.0
    outcome = frame.outcome - center
    thresholds = pd.DataFrame()
    if family == "ordinal":
        ordinal = ordinal_estimate(outcome, design, effects, confidence)
        found, thresholds = ordinal.estimates, ordinal.thresholds
    else:
        found = estimate(outcome, design, effects, family=family, reml=reml)
    separated = separation(asked, columns, names, found, frame) if family == "binomial" else ()
    if separated:
        found = bias_reduced_estimate(outcome, design, effects, found.retained)
    for bracket, places in zip(asked.random, slopes, strict=True):
        redundant = [names[place] for place in places if not found.retained[place]]
        if redundant:
            raise InputError(
                f"`{redundant[0]}` is a combination of other coefficients in these data, so `{redundant[0]}` can have "
                f"no random slope for `{bracket.group_name}`. Fix: take this slope out of the formula."
            )
    if not effects and found.residual_variance <= EXACT_SHARE * frame.outcome.var():
        raise InputError(
            f"`{formula}` predicts `{asked.outcome}` exactly. So the error variance is 0, and tests are impossible. "
            "Fix: check that no predictor is a copy of the outcome."
        )

    random, correlations = random_tables(asked, effects, found, columns, frame)
    predicted = np.zeros(frame.n)
    for place, coefficient in zip(np.flatnonzero(found.retained), found.coefficients, strict=True):
        predicted += coefficient * design[place]
    random_variances = [
        random_effect_variance(covariance, [design[place] for place in places])
        for covariance, places in zip(found.random_covariances, slopes, strict=True)
    ]
    shares = variance_shares(
        float(predicted.var(ddof=1)) if np.isfinite(found.coefficients).all() else np.nan,
        sum(random_variances) if effects else None,
        _residual_variance(found, family),
    )
    fit = {
        "n": frame.n,
        "loglik": found.loglik,
        "aic": found.aic,
        "bic": found.bic,
        "icc_adjusted": shares.icc_adjusted,
        "r2_marginal": shares.r2_marginal,
        "r2_conditional": shares.r2_conditional,
        "rmse": root_mean_squared_error(outcome, found.fitted),
        "converged": found.converged,
        "singular": found.singular,
    }
    if family == "gamma":
        fit["dispersion"] = found.dispersion
    coefficients = found.coefficients.copy()
    coefficients[constant] += center
    covariates = {name: _typical(values) for name, values in frame.covariates.items()}
    redundancies = _redundancies(design, found.retained)
    retained = [name for name, kept in zip(names, found.retained, strict=True) if kept]
    tests = wald_table(coefficients, found.covariance, found.degrees, np.eye(len(retained)), confidence)
    return MixedModel(
        formula=formula,
        family=family,
        log_outcome=asked.log_outcome,
        bias_reduced=bool(separated),
        reml=reml and bool(effects) and family == "gaussian",
        coefficients=tests.assign(term=retained)[
            ["term", "estimate", "std_error", "statistic", "df", "p_value", "ci_low", "ci_high"]
        ],
        thresholds=thresholds,
        anova=joint_tests(
            columns,
            frame.levels,
            covariates,
            coefficients,
            found.covariance,
            found.degrees,
            found.retained,
            redundancies,
        )
        if term_tests == "joint"
        else treatment_tests(columns, coefficients, found.covariance, found.retained),
        random=random,
        correlations=correlations,
        fit=pd.DataFrame([fit]),
        covariance=found.covariance,
        warnings=(
            *frame.warnings,
            *duplicate_warnings(data, asked, frame),
            *redundancy_warnings(columns, names, found, frame),
            *separation_warnings(separated),
            *fit_warnings(found, random),
        ),
        columns=columns,
        retained=found.retained,
        redundancies=redundancies,
        levels=frame.levels,
        covariates=covariates,
        degrees=found.degrees,
    )


def _slope_columns(
    bracket: RandomTerm, columns: Sequence[DesignColumn], frame: ModelFrame, formula: str
) -> tuple[int, ...]:
    """Return the indices of the columns of the fixed effects that have a random slope in one bracket of the formula."""
    levels_only = len(bracket.slopes) == 1 and len(bracket.slopes[0]) == 1 and bracket.slopes[0][0] in frame.factors
    if not (bracket.intercept or levels_only):
        raise InputError(
            f"the formula `{formula}` has random slopes without a random intercept for `{bracket.group_name}`. "
            "Equipoise can fit such slopes only for the levels of one factor, as in `(0 + prompt | participant)`. Fix: "
            "write `1 +` at the start of the bracket."
        )
    # Random effects for the levels of one factor are another form of a random intercept with random slopes.
    wanted = design_columns(True, bracket.slopes, frame.n_levels)[1:]
    places = {frozenset(column.parts): place for place, column in enumerate(columns)}
    for column in wanted:
        if frozenset(column.parts) not in places:
            raise InputError(
                f"the formula `{formula}` has random slopes of `{':'.join(column.term)}`, but this term is not a fixed "
                "effect of the formula. The mean of these slopes would then be fixed at 0. Fix: add "
                f"`{':'.join(column.term)}` before the brackets."
            )
    return tuple(places[frozenset(column.parts)] for column in wanted)


def _residual_variance(found: Estimates, family: str) -> float:
    """Return the residual variance on the scale of the linear predictor."""
    if family == "gaussian":
        return found.residual_variance
    return gamma_variance(found.dispersion) if family == "gamma" else LOGISTIC_VARIANCE


def _constant_columns(columns: Sequence[DesignColumn], frame: ModelFrame) -> list[int]:
    """Return the indices of columns whose sum is 1 in every row: the intercept, or all levels of the first factor."""
    if not columns[0].parts:
        return [0]
    first = [place for place, column in enumerate(columns) if column.term == columns[0].term]
    n_levels = frame.n_levels.get(columns[0].term[0])
    return first if len(columns[0].term) == 1 and len(first) == n_levels else []


def _redundancies(design: Sequence[Floats], retained: npt.NDArray[np.bool_]) -> Floats:
    """Return the linear combinations of the columns of the design matrix that are 0 in every row."""
    left_out = np.flatnonzero(~retained)
    combinations = np.zeros((len(design), len(left_out)))
    if len(left_out):
        kept = np.column_stack([design[place] for place in np.flatnonzero(retained)])
        of_kept = np.linalg.lstsq(kept, np.column_stack([design[place] for place in left_out]))[0]
        combinations[retained] = -of_kept
        combinations[left_out, np.arange(len(left_out))] = 1.0
    return combinations


def _typical(values: Floats) -> float:
    """Return the mean of a covariate. If it has only two values, return the middle between them, as in emmeans."""
    low, high = float(values.min()), float(values.max())
    two_valued = bool(((values == low) | (values == high)).all())
    return (low + high) / 2 if two_valued else float(values.mean())


def standardized_coefficients(
    data: pd.DataFrame,
    formula: str,
    *,
    family: str = "gaussian",
    reference: Mapping[str, object] = NO_REFERENCE,
    reml: bool = True,
    confidence: float = 0.95,
) -> pd.DataFrame:
    r"""Fit a model to standardized variables, and return its coefficients.

    Parameters
    ----------
    data, formula, family, reference, reml, confidence
        See `fit_mixed_model`.

    Returns
    -------
    DataFrame
        `term`, `estimate`, `ci_low`, `ci_high`.

    Raises
    ------
    InputError
        If the model cannot be fitted.

    Notes
    -----
    The outcome and the covariates of the fixed effects become :math:`(x - \bar x) / s_x`, computed from the fitted
    rows. In a formula with `log()`, the logarithm is standardized. Factors, and the outcome of a logistic or gamma
    model, are not standardized. So in a linear model, the coefficient of a factor is a difference in standard
    deviations of the outcome. R's ``effectsize::standardize_parameters(method = "refit")`` gives the same result.

    References
    ----------
    Gelman, A. (2008). Scaling regression inputs by dividing by two standard deviations. Statistics in Medicine, 27,
    2865-2873.

    Examples
    --------
    With one covariate, the standardized coefficient is the correlation.

    >>> import pandas as pd
    >>> line = pd.DataFrame({"y": [1, 3, 2, 4], "x": [1, 2, 3, 4]})
    >>> standardized_coefficients(line, "y ~ x")["estimate"].round(3).tolist()
    [0.0, 0.8]
    """
    asked = parse_formula(formula)
    frame = model_frame(data, asked, family, reference)
    in_fixed_effects = {variable for term in asked.terms for variable in term}
    scaled = [name for name in frame.covariates if name in in_fixed_effects]
    if family == "gaussian":
        scaled.append(asked.outcome)
    rows = data.loc[frame.kept, list(asked.columns)].assign(**{asked.outcome: frame.outcome})
    formula = f"`{asked.outcome}` ~{formula.partition('~')[2]}"  # The outcome of the rows is already the logarithm.
    rows = rows.assign(**{name: _standardized(rows[name].astype(float)) for name in scaled})
    model = fit_mixed_model(rows, formula, family=family, reference=reference, reml=reml, confidence=confidence)
    return model.coefficients[["term", "estimate", "ci_low", "ci_high"]]


def _standardized(values: pd.Series) -> pd.Series:
    deviation = values.std()
    return (values - values.mean()) / (deviation if deviation > 0 else 1.0)
