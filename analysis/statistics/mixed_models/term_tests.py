"""Tests of the terms (main effects and interactions) of a fitted model."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.statistics.effect_sizes import effect_sizes_of_f
from analysis.statistics.mixed_models.design_matrix import INTERCEPT, DesignColumn, Floats, averaged_row
from analysis.statistics.mixed_models.formulas import Term
from analysis.statistics.mixed_models.wald_tests import DegreesOfFreedom, is_estimable, joint_test, no_test

COLUMNS = ["term", "test", "statistic_name", "statistic", "df", "df_error", "p_value"]


def joint_tests(
    columns: Sequence[DesignColumn],
    levels: Mapping[str, Sequence[object]],
    covariates: Mapping[str, float],
    coefficients: Floats,
    covariance: Floats,
    degrees: DegreesOfFreedom,
    retained: npt.NDArray[np.bool_],
    redundancies: Floats,
) -> pd.DataFrame:
    r"""Return the joint test of each term: the test that the term's marginal means do not differ.

    Notes
    -----
    For a factor, the null hypothesis is that its estimated marginal means are equal. For an interaction, it is that
    the differences between marginal means of one factor are the same at all levels of the other factors. All levels of
    factors that are not in the term have equal weights, and covariates have the values of `covariates`. For a term
    with covariates, slopes replace means. So no test depends on reference levels.

    R's ``afex::mixed`` and ``emmeans::joint_tests`` give the same tests, which are tests of sum-to-zero contrasts with
    centred covariates. If the data lack a combination of levels that a test needs, the numbers of this test are
    missing.

    References
    ----------
    Searle, S. R., Speed, F. M., & Milliken, G. A. (1980). Population marginal means in the linear model: An alternative
    to least squares means. The American Statistician, 34, 216-221.
    """
    rows = []
    for term in dict.fromkeys(column.term for column in columns if column.term):
        hypothesis = _hypothesis(term, columns, levels, covariates)
        if is_estimable(hypothesis, redundancies).all():
            result = joint_test(coefficients, covariance, degrees, hypothesis[:, retained])
        else:
            result = no_test(degrees, hypothesis)
        rows.append((_name(term), "joint", *result))
    return pd.DataFrame(rows, columns=COLUMNS)


def _hypothesis(
    term: Term,
    columns: Sequence[DesignColumn],
    levels: Mapping[str, Sequence[object]],
    covariates: Mapping[str, float],
) -> Floats:
    """Return the linear combinations of the columns of the design matrix that are 0 if the term has no effect.

    They are the deviations of all levels from their mean, including the redundant deviation of the last level. So the
    degrees of freedom do not depend on the order of levels. If the model has `a:b` but not `b`, the hypothesis for
    `a:b` is about `b` at each level of `a`, as in R.
    """
    model_terms = {frozenset(column.term) for column in columns}
    factors = [variable for variable in term if variable in levels]
    slopes = [variable for variable in term if variable not in levels]
    compared = [f for f in factors if len(term) == 1 or frozenset(term) - {f} in model_terms]
    each = [factor for factor in factors if factor not in compared]
    rows = []
    for chosen in itertools.product(*(range(len(levels[factor])) for factor in factors)):
        places = dict(zip(factors, chosen, strict=True))
        row = np.zeros(len(columns))
        for n_held in range(len(compared) + 1):
            for held in itertools.combinations(compared, n_held):
                cell = {factor: places[factor] for factor in (*each, *held)}
                row += (-1) ** (len(compared) - n_held) * averaged_row(columns, levels, covariates, cell, slopes)
        rows.append(row)
    return np.array(rows)


def treatment_tests(
    columns: Sequence[DesignColumn], coefficients: Floats, covariance: Floats, retained: npt.NDArray[np.bool_]
) -> pd.DataFrame:
    r"""Return the Wald chi-square test of the coefficients of each term, with treatment contrasts (type III).

    Notes
    -----
    The statistic of a term with coefficients :math:`\beta_T` and covariance :math:`V_T` is :math:`\beta_T^\top
    V_T^{-1} \beta_T`. A term that is part of an interaction is tested at the reference levels of the other factors,
    and where covariates are 0. R's ``car::Anova(type = 3)`` gives the same table for mixed models with R's default
    contrasts.

    References
    ----------
    Fox, J., & Weisberg, S. (2019). An R companion to applied regression (3rd ed.). Sage.
    """
    terms = [column.term for column, kept in zip(columns, retained, strict=True) if kept]
    rows = []
    for term in dict.fromkeys(terms):
        own = np.eye(len(terms))[[place for place, other in enumerate(terms) if other == term]]
        rows.append((_name(term), "treatment", *joint_test(coefficients, covariance, np.nan, own)))
    return pd.DataFrame(rows, columns=COLUMNS)


def effect_sizes_of_terms(tests: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame | None:
    """Return the effect sizes of the terms of a linear model, from the F test of each term.

    Parameters
    ----------
    tests : DataFrame
        The table of `joint_tests`.
    confidence : float
        Confidence level of the two-sided intervals.

    Returns
    -------
    DataFrame or None
        `term`, `partial_eta_squared`, `partial_omega_squared`, `cohens_f`, and the bounds of the intervals of partial
        eta squared and Cohen's f. None if the tests are chi-square tests, which have no such effect sizes.

    Notes
    -----
    A mixed model has several error variances, so its terms have no sums of squares. The effect sizes are defined by F
    and its degrees of freedom (`effect_sizes_of_f`), as in R's ``effectsize::eta_squared`` for mixed models. The error
    variance of a term can be that of participants (for a factor between participants) or that of trials. So effect
    sizes of two terms may not be comparable.

    Examples
    --------
    >>> tests = pd.DataFrame({"term": ["a"], "statistic_name": ["F"], "statistic": [7.0], "df": [2], "df_error": [6.0]})
    >>> effect_sizes_of_terms(tests).round(3)[["partial_eta_squared", "partial_omega_squared", "cohens_f"]]
       partial_eta_squared  partial_omega_squared  cohens_f
    0                  0.7                  0.571     1.528
    """
    if tests.empty or not (tests["statistic_name"] == "F").all():
        return None
    sizes = [
        effect_sizes_of_f(f, df, df_error, confidence=confidence)
        for f, df, df_error in zip(tests["statistic"], tests["df"], tests["df_error"], strict=True)
    ]
    bounds = {"eta_ci": "partial_eta_squared_ci", "f_ci": "cohens_f_ci"}
    columns = {f"{ours}_{bound}": f"{name}_{bound}" for ours, name in bounds.items() for bound in ("low", "high")}
    table = pd.DataFrame([asdict(of_term) for of_term in sizes]).rename(columns=columns)
    table.insert(0, "term", tests["term"].to_numpy())
    return table


def _name(term: Term) -> str:
    return ":".join(term) or INTERCEPT
