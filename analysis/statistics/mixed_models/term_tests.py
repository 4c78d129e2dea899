"""A test of each term of a fitted model."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

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
    r"""Return the joint test of each term: a test of the term's marginal means.

    Notes
    -----
    The hypothesis for a factor: its estimated marginal means are equal. The hypothesis for an interaction of factors:
    the differences between marginal means of one factor are the same at all levels of the other factors. All levels of
    factors that are not in the term have equal weights, and covariates have the values of `covariates`. The hypothesis
    for a term with covariates is the same hypothesis for slopes instead of means. So no test depends on reference
    levels.

    The tests equal the tests of sum-to-zero contrasts with centred covariates, such as ``afex::mixed`` and
    ``emmeans::joint_tests``. If data lack a cell that a test needs, the numbers of this test are missing.

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
    """Return the combinations of the design's columns that are 0 if the term has no effect.

    They are the deviations of all levels from their mean, also the redundant deviation of the last level. So no level
    has a special role, and the degrees of freedom do not depend on the order of levels either. If the model has no term
    for the rest of a term without one factor, the hypothesis is about each level of this factor, as in R.
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
    The statistic of a term with coefficients :math:`\beta_T` and covariance :math:`V_T` is
    :math:`\beta_T^\top V_T^{-1} \beta_T`. A term that is part of an interaction is tested at the reference levels of
    the other factors, and where covariates are 0. The table equals ``car::Anova(type = 3)`` for mixed models with R's
    default contrasts.

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


def _name(term: Term) -> str:
    return ":".join(term) or INTERCEPT
