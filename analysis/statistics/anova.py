"""Analyses of variance with one factor, between units or within units."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import scipy

from analysis.statistics.effect_sizes import effect_sizes_of_f, partial_omega_squared_within
from analysis.statistics.hypothesis_test import HypothesisTest
from analysis.statistics.t_tests import LARGEST, Floats, checked_sample, is_constant
from batteries.errors import InputError


def one_way_anova(groups: Mapping[str, Floats], *, confidence: float = 0.95) -> HypothesisTest:
    r"""Test whether independent groups have the same mean, assuming equal variances.

    Parameters
    ----------
    groups : mapping of str to array of float, shape (units,)
        The values of each group, with one value per unit. The keys are the names of the groups. No unit is in two
        groups.
    confidence : float
        Confidence level of the two-sided interval of eta squared.

    Returns
    -------
    HypothesisTest
        `effect` is eta squared. With one factor, eta squared equals partial and generalized eta squared. The interval
        is computed by `effect_sizes_of_f`. `estimate` is missing.

    Raises
    ------
    InputError
        There are fewer than two groups, a group has fewer than two values, or a value is not finite. Or all values
        within each group are the same.

    Notes
    -----
    There are :math:`k` groups. Group :math:`i` has :math:`n_i` values with the mean :math:`m_i`. All :math:`N` values
    together have the mean :math:`m`. Then

    .. math::
        F = \frac{\sum n_i (m_i - m)^2 / (k - 1)}{\sum \sum (x_{ij} - m_i)^2 / (N - k)}, \quad
        \eta^2 = \frac{\sum n_i (m_i - m)^2}{\sum \sum (x_{ij} - m)^2}.

    References
    ----------
    Fisher, R. A. (1925). Statistical methods for research workers. Oliver & Boyd.

    Examples
    --------
    The sum of squares between the groups is 14 with 2 degrees of freedom. The sum of squares within the groups is 6
    with 6 degrees of freedom. So F is 7, and p is (1 + F/3)^-3:

    >>> groups = {"a": np.array([1.0, 2, 3]), "b": np.array([2.0, 3, 4]), "c": np.array([4.0, 5, 6])}
    >>> result = one_way_anova(groups)
    >>> round(result.statistic, 6), result.df, result.df_error, round(result.p_value, 6), round(result.effect, 6)
    (7.0, 2, 6, 0.027, 0.7)
    """
    if len(groups) < 2:
        raise InputError(
            f"an analysis of variance needs at least 2 groups, but the number of groups is {len(groups)}. Fix: give "
            "at least two groups."
        )
    samples = [checked_sample(values, f"the group {name}") for name, values in groups.items()]
    everything = np.concatenate(samples)
    df, df_error = len(samples) - 1, len(everything) - len(samples)
    mean = everything.mean()
    # scipy.stats.f_oneway subtracts sums of squares, and returns no p value if all groups have the same mean.
    between = float(sum(len(sample) * (sample.mean() - mean) ** 2 for sample in samples))
    within = float(sum(((sample - sample.mean()) ** 2).sum() for sample in samples))
    if is_constant(math.sqrt(within / df_error), float(np.abs(everything).max())):
        raise InputError(
            "all values within each group are the same, so an analysis of variance cannot be computed. Fix: leave "
            "the test out, and report the value of each group."
        )
    f = between / df / (within / df_error)
    sizes = effect_sizes_of_f(f, df, df_error, confidence=confidence)
    return HypothesisTest(
        test="One-way analysis of variance",
        statistic_name="F",
        statistic=f,
        p_value=float(scipy.stats.f.sf(f, df, df_error)),
        n=len(everything),
        df=df,
        df_error=df_error,
        effect_name="eta squared",
        effect=between / (between + within),
        effect_ci_low=sizes.eta_ci_low,
        effect_ci_high=sizes.eta_ci_high,
        generalized_eta_squared=between / (between + within),
        partial_omega_squared=sizes.partial_omega_squared,
        cohens_f=sizes.cohens_f,
    )


def repeated_measures_anova(table: pd.DataFrame, *, confidence: float = 0.95) -> HypothesisTest:
    r"""Test whether the levels of a within-units factor have the same mean, with the Greenhouse-Geisser correction.

    Parameters
    ----------
    table : DataFrame, shape (units, levels)
        One row per unit, such as a participant, and one column per level; every cell has a number.
    confidence : float
        Confidence level of the two-sided interval of partial eta squared.

    Returns
    -------
    HypothesisTest
        `df` and `df_error` are multiplied by the Greenhouse-Geisser epsilon, and `p_value` is computed with these
        degrees of freedom. If epsilon is below 1, a warning states epsilon. The warning also states the uncorrected p
        value, unless it equals `p_value` after rounding to three decimals. `effect` is partial eta squared. The
        interval is computed by `effect_sizes_of_f` with the corrected degrees of freedom. `estimate` is missing.

    Raises
    ------
    InputError
        A cell is missing, there are fewer than two units or levels, or all units have the same differences between
        levels.

    Notes
    -----
    The :math:`n \times k` table is converted to :math:`k - 1` orthonormal contrasts of the levels. The contrasts have
    the means :math:`z_j` and the covariance matrix :math:`S`. Then

    .. math::
        F = \frac{n \sum z_j^2}{\operatorname{tr} S}, \quad
        \hat\varepsilon = \frac{(\operatorname{tr} S)^2}{(k - 1) \operatorname{tr} S^2},

    with :math:`\hat\varepsilon (k - 1)` and :math:`\hat\varepsilon (k - 1)(n - 1)` degrees of freedom. Epsilon is at
    least :math:`1/(k - 1)`. Epsilon is 1 if all contrasts have the same variance and do not correlate (sphericity).
    With two levels, epsilon is 1 and F is the square of the paired t.

    References
    ----------
    Greenhouse, S. W., & Geisser, S. (1959). On methods in the analysis of profile data. Psychometrika, 24, 95-112.

    Examples
    --------
    All contrasts have the same variance and do not correlate, so epsilon is 1. The sum of squares of the levels is 14
    with 2 degrees of freedom. The sum of squares of the error is 6 with 4 degrees of freedom. So p is (1 + F/2)^-2:

    >>> table = pd.DataFrame({"a": [0.0, 1, 2], "b": [2.0, 0, 1], "c": [1.0, 2, 0]}) + [0, 1, 3]
    >>> result = repeated_measures_anova(table)
    >>> round(result.statistic, 6), round(result.df, 6), round(result.df_error, 6), round(result.p_value, 6)
    (4.666667, 2.0, 4.0, 0.09)
    """
    cells = _complete_cells(table)
    n, k = cells.shape
    contrasts = cells @ scipy.linalg.helmert(k).T
    covariance = np.atleast_2d(np.cov(contrasts, rowvar=False))
    error_variance = float(np.trace(covariance))
    if is_constant(math.sqrt(error_variance), float(np.abs(cells).max())):
        raise InputError(
            "the differences between the levels are the same in every unit, so an analysis of variance cannot be "
            "computed. Fix: leave the test out, and report these differences."
        )
    effect_variance = n * float((contrasts.mean(axis=0) ** 2).sum())
    f = effect_variance / error_variance
    epsilon = epsilon_of(covariance)
    df, df_error = epsilon * (k - 1), epsilon * (k - 1) * (n - 1)
    p_value = float(scipy.stats.f.sf(f, df, df_error))
    uncorrected = float(scipy.stats.f.sf(f, k - 1, (k - 1) * (n - 1)))
    sizes = effect_sizes_of_f(f, df, df_error, confidence=confidence)
    error = (n - 1) * error_variance
    of_units = k * float(cells.mean(axis=1).var() * n)
    return HypothesisTest(
        test="Repeated-measures analysis of variance",
        statistic_name="F",
        statistic=f,
        p_value=p_value,
        n=n,
        df=df,
        df_error=df_error,
        effect_name="partial eta squared",
        effect=effect_variance / (effect_variance + error),
        effect_ci_low=sizes.eta_ci_low,
        effect_ci_high=sizes.eta_ci_high,
        generalized_eta_squared=effect_variance / (effect_variance + error + of_units),
        partial_omega_squared=partial_omega_squared_within(
            effect_variance, error, of_units, df=k - 1, df_error=(k - 1) * (n - 1), df_units=n - 1
        ),
        cohens_f=math.sqrt(effect_variance / error),
        warnings=sphericity_warning(epsilon, p_value, uncorrected),
    )


def epsilon_of(covariance: Floats) -> float:
    """Return the Greenhouse-Geisser epsilon.

    `covariance` is the covariance matrix of orthonormal contrasts, or a multiple of it.
    """
    return min(1.0, float(np.trace(covariance)) ** 2 / (len(covariance) * float((covariance**2).sum())))


def _complete_cells(table: pd.DataFrame) -> Floats:
    cells = np.asarray(table.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float, na_value=np.nan))
    if cells.shape[0] < 2 or cells.shape[1] < 2:
        raise InputError(
            "a repeated-measures analysis of variance needs at least 2 units and 2 levels, but the numbers of units "
            f"and levels are {cells.shape[0]} and {cells.shape[1]}. Fix: collect more data or choose another test."
        )
    incomplete = int((~(np.abs(cells) <= LARGEST)).any(axis=1).sum())
    if incomplete:
        raise InputError(
            f"{incomplete} of {len(cells)} units have no value at one or more levels. Fix: exclude these units "
            "first, or fit a mixed model, which uses incomplete units."
        )
    return cells


def sphericity_warning(epsilon: float, p_value: float, uncorrected: float) -> tuple[str, ...]:
    """Return a sentence on the Greenhouse-Geisser correction, or nothing if epsilon is 1."""
    if epsilon > 1 - 1e-9:
        return ()
    sentence = (
        "Sphericity is not assumed. The degrees of freedom are multiplied by the Greenhouse-Geisser epsilon of "
        f"{epsilon:.4f}"
    )
    if f"{uncorrected:.3f}" == f"{p_value:.3f}":
        return (f"{sentence}.",)
    return (f"{sentence}. If sphericity were assumed, p would be {uncorrected:.3g}.",)
