"""Tests and intervals of linear combinations of a model's coefficients."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from batteries.errors import InputError

Floats = npt.NDArray[np.float64]

UNESTIMABLE_TOLERANCE = 1e-8
DEPENDENT_SHARE = 1e-10
"""If the variance of a combination is below this share of the largest variance, the combination counts as redundant.
"""
SAME_DEGREES = 1e-8
"""Degrees of freedom that differ by less than this number are treated as equal."""


@dataclass(frozen=True, eq=False)
class Satterthwaite:
    r"""The numbers from which Satterthwaite's degrees of freedom of a linear mixed model are computed.

    Notes
    -----
    For the combination :math:`l^\top b` of coefficients with covariance :math:`V(\theta)`,

    .. math:: \nu = \frac{2\,(l^\top V l)^2}{g^\top A g}, \quad g_k = l^\top \frac{\partial V}{\partial \theta_k} l,

    where :math:`A` is the covariance of the estimated variance parameters :math:`\theta`. R's lmerTest uses the same
    degrees of freedom.

    References
    ----------
    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin,
    2, 110-114.
    Kuznetsova, A., Brockhoff, P. B., & Christensen, R. H. B. (2017). lmerTest package: Tests in linear mixed effects
    models. Journal of Statistical Software, 82(13).
    """

    gradients: Floats
    """Derivatives of the coefficients' covariance with respect to each variance parameter, shape (parameters, p, p)."""
    parameter_covariance: Floats
    """Covariance of the variance parameters, shape (parameters, parameters)."""

    def df(self, rows: Floats, covariance: Floats) -> Floats:
        """Return the degrees of freedom of each combination of coefficients.

        Each row of `rows` has the weights of the coefficients in one combination.
        """
        variances = _quadratic(rows, covariance)
        slopes = np.column_stack([_quadratic(rows, gradient) for gradient in self.gradients])
        spread = _quadratic(slopes, self.parameter_covariance)
        df: Floats = np.divide(2 * variances**2, spread, out=np.full(len(rows), np.nan), where=spread > 0)
        return df


DegreesOfFreedom = Satterthwaite | float
"""Satterthwaite's degrees of freedom, or one number for all combinations, or NaN for a z test."""


def wald_table(
    coefficients: Floats, covariance: Floats, degrees: DegreesOfFreedom, rows: Floats, confidence: float
) -> pd.DataFrame:
    r"""Return the estimate, the test against zero and the interval of each linear combination of coefficients.

    Parameters
    ----------
    coefficients : array of float, shape (p,)
        The estimated coefficients.
    covariance : array of float, shape (p, p)
        Covariance of the coefficients.
    degrees : Satterthwaite or float
        The degrees of freedom, or the numbers to compute them from; NaN for a z test.
    rows : array of float, shape (m, p)
        The weights of the coefficients, with one row for each combination.
    confidence : float
        Confidence level of the interval, such as 0.95.

    Returns
    -------
    DataFrame, shape (m, 7)
        `estimate`, `std_error`, `df` (missing for a z test), `statistic`, `p_value`, `ci_low`, `ci_high`.

    Raises
    ------
    InputError
        If `confidence` is not between 0 and 1.

    Notes
    -----
    .. math:: t = \frac{l^\top b}{\sqrt{l^\top V l}}, \quad l^\top b \pm t_{\nu, (1 + c)/2} \sqrt{l^\top V l}.

    Examples
    --------
    >>> import numpy as np
    >>> table = wald_table(np.array([2.0]), np.array([[1.0]]), 10.0, np.array([[1.0]]), 0.95)
    >>> table.round(3).loc[0].tolist()
    [2.0, 1.0, 10.0, 2.0, 0.073, -0.228, 4.228]
    """
    if not 0 < confidence < 1:
        raise InputError(
            f"the confidence is {confidence}, but it must be between 0 and 1. Fix: give a share such as 0.95."
        )
    estimates = rows @ coefficients
    errors = np.sqrt(np.maximum(_quadratic(rows, covariance), 0.0))
    df = degrees.df(rows, covariance) if isinstance(degrees, Satterthwaite) else np.full(len(rows), degrees)
    statistics = np.divide(estimates, errors, out=np.full(len(rows), np.nan), where=errors > 0)
    # Student's t with infinite degrees of freedom is the normal distribution.
    t_df = np.where(np.isnan(df), np.inf, df)
    half = scipy.stats.t.ppf(0.5 + confidence / 2, t_df) * errors
    return pd.DataFrame(
        {
            "estimate": estimates,
            "std_error": errors,
            "df": df,
            "statistic": statistics,
            "p_value": 2 * scipy.stats.t.sf(np.abs(statistics), t_df),
            "ci_low": estimates - half,
            "ci_high": estimates + half,
        }
    )


def is_estimable(rows: Floats, redundancies: Floats) -> npt.NDArray[np.bool_]:
    """Return True for each linear combination of coefficients that the data determine.

    Parameters
    ----------
    rows : array of float, shape (m, columns)
        The weights of the coefficients, with one row for each combination.
    redundancies : array of float, shape (columns, redundant columns)
        Linear combinations of the columns of the design matrix that are 0 in every row of the data.
    """
    return np.asarray(np.abs(rows @ redundancies).max(axis=1, initial=0.0) <= UNESTIMABLE_TOLERANCE)


class JointTest(NamedTuple):
    """The test that several combinations of coefficients are 0."""

    statistic_name: str
    """`F` or `chisq`."""
    statistic: float
    df: int
    df_error: float
    """Degrees of freedom of the error in an F test; NaN for a chi-square test."""
    p_value: float


def joint_test(coefficients: Floats, covariance: Floats, degrees: DegreesOfFreedom, rows: Floats) -> JointTest:
    r"""Return the test that all combinations of coefficients are 0.

    Parameters
    ----------
    coefficients : array of float, shape (p,)
        The estimated coefficients.
    covariance : array of float, shape (p, p)
        Covariance of the coefficients.
    degrees : Satterthwaite or float
        The degrees of freedom of the error, or the numbers to compute them from; NaN for a chi-square test.
    rows : array of float, shape (m, p)
        The weights of the coefficients, with one row for each combination. Redundant combinations do not change the
        test.

    Notes
    -----
    The eigenvectors of :math:`L V L^\top` turn the rows :math:`L` into :math:`q` independent combinations with the
    statistics :math:`t_k` and the degrees of freedom :math:`\nu_k`. Then

    .. math:: F = \frac{1}{q} \sum_k t_k^2, \quad \nu = \frac{2E}{E - q}, \quad
        E = \sum_k \frac{\nu_k}{\nu_k - 2},

    or :math:`\nu = 2` if a :math:`\nu_k` is 2 or less, as in R's lmerTest. A chi-square test has the statistic
    :math:`\sum_k t_k^2` and no `df_error`.

    References
    ----------
    Fai, A. H. T., & Cornelius, P. L. (1996). Approximate F-tests of multiple degree of freedom hypotheses in
    generalized least squares analyses of unbalanced split-plot experiments. Journal of Statistical Computation and
    Simulation, 54, 363-378.

    Examples
    --------
    Two independent coefficients with the t values 2 and 1 and the same degrees of freedom.

    >>> import numpy as np
    >>> test = joint_test(np.array([2.0, 1.0]), np.eye(2), 10.0, np.eye(2))
    >>> test.statistic_name, test.statistic, test.df, test.df_error, round(test.p_value, 3)
    ('F', 2.5, 2, 10.0, 0.132)
    """
    spread = rows @ covariance @ rows.T
    if not np.isfinite(spread).all():
        return no_test(degrees, rows)
    variances, directions = np.linalg.eigh(spread)
    independent = variances > DEPENDENT_SHARE * variances.max(initial=0.0)
    combinations = directions[:, independent].T @ rows
    q = len(combinations)
    if q == 0:
        return no_test(degrees, rows)
    total = float(((combinations @ coefficients) ** 2 / variances[independent]).sum())
    if isinstance(degrees, Satterthwaite):
        df_error = _combined_degrees(degrees.df(combinations, covariance))
    else:
        df_error = degrees
    if np.isnan(df_error):
        return JointTest("chisq", total, q, np.nan, float(scipy.stats.chi2.sf(total, q)))
    return JointTest("F", total / q, q, df_error, float(scipy.stats.f.sf(total / q, q, df_error)))


def no_test(degrees: DegreesOfFreedom, rows: Floats) -> JointTest:
    """Return a test with missing numbers, for combinations that cannot be estimated."""
    is_chisq = isinstance(degrees, float) and np.isnan(degrees)
    return JointTest("chisq" if is_chisq else "F", np.nan, int(np.linalg.matrix_rank(rows)), np.nan, np.nan)


def _combined_degrees(df: Floats) -> float:
    """Return the error's degrees of freedom of an F test from the degrees of freedom of independent t tests.

    If the degrees of freedom of a t test are missing, the result is missing.
    """
    if np.isnan(df).any():
        return np.nan
    if np.ptp(df) < SAME_DEGREES:
        return float(df.mean())
    if not (df > 2).all():
        return 2.0
    expected = float((df / (df - 2)).sum())
    return 2 * expected / (expected - len(df))


def _quadratic(rows: Floats, matrix: Floats) -> Floats:
    """Return `row @ matrix @ row` for each row."""
    return np.asarray(((rows @ matrix) * rows).sum(axis=1))
