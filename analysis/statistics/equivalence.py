"""Equivalence tests, which can show that a difference is smaller than the smallest relevant difference."""

import math

import scipy

from analysis.statistics.hypothesis_test import HypothesisTest
from analysis.statistics.t_tests import Floats, MeanDifference, difference_of_groups, difference_of_pairs, t_interval
from batteries.errors import InputError


def equivalence_t(
    first: Floats,
    second: Floats,
    low: float,
    high: float,
    *,
    paired: bool = False,
    equal_variances: bool = False,
    confidence: float = 0.95,
) -> HypothesisTest:
    r"""Test whether the difference of two means is between `low` and `high`, by two one-sided t tests (TOST).

    Parameters
    ----------
    first, second : array of float, shape (units,)
        One value per unit. If `paired` is true, the two values of a pair have the same position in both arrays.
    low, high : float
        The bounds of equivalence, on the scale of the values. A difference between these bounds counts as no
        difference.
    paired : bool
        True if the values are pairs.
    equal_variances : bool
        True for Student's tests, False for Welch's tests. It has no effect if `paired` is true.
    confidence : float
        1 minus the significance level alpha; above 0.5. A p value below alpha shows equivalence.

    Returns
    -------
    HypothesisTest
        `p_value` is not two-sided: it is the larger p value of the two one-sided tests. `statistic` is the t of the
        one-sided test with the larger p value. `ci_low` and `ci_high` are the bounds of the interval with the
        confidence level 1 - 2 alpha (90 % for a `confidence` of 0.95). The interval is within the bounds of
        equivalence if and only if p is below alpha. `estimate` and `effect` are the same as in `independent_t` or
        `paired_t`.

    Raises
    ------
    InputError
        `low` is not below `high`, `confidence` is not between 0.5 and 1, or a t test cannot be computed.

    Notes
    -----
    With the estimate :math:`d`, the standard error :math:`e` of the estimate, and the bounds :math:`L < U`,

    .. math::
        p = \max\left(P\left(T_\nu \ge \frac{d - L}{e}\right), P\left(T_\nu \le \frac{d - U}{e}\right)\right).

    A large p value does not show a difference. It means only that the data do not rule out a difference as large as one
    of the bounds.

    References
    ----------
    Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing
    the equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics, 15, 657-680.
    Lakens, D. (2017). Equivalence tests: A practical primer for t tests, correlations, and meta-analyses. Social
    Psychological and Personality Science, 8, 355-362.

    Examples
    --------
    The differences -1, 0 and 1 have the mean 0 with the standard error 1/sqrt(3). So the bounds -2/sqrt(3) and
    2/sqrt(3) lead to t = 2 with two degrees of freedom. The upper tail of this t is 1/2 - 1/sqrt(6):

    >>> import numpy as np
    >>> bound = 2 / math.sqrt(3)
    >>> result = equivalence_t(np.array([4.0, 5.0, 6.0]), np.array([5.0, 5.0, 5.0]), -bound, bound, paired=True)
    >>> round(abs(result.statistic), 6), round(result.p_value, 6), round(0.5 - 1 / math.sqrt(6), 6)
    (2.0, 0.091752, 0.091752)
    """
    if paired:
        difference = difference_of_pairs(first, second)
    else:
        difference = difference_of_groups(first, second, equal_variances=equal_variances)
    return equivalence_of_difference(difference, low, high, confidence=confidence)


def equivalence_of_difference(
    difference: MeanDifference, low: float, high: float, *, confidence: float = 0.95
) -> HypothesisTest:
    """Test whether a difference is between `low` and `high`, by two one-sided t tests. See `equivalence_t`."""
    _check_bounds(low, high)
    if not 0.5 < confidence < 1:
        raise InputError(
            f"the confidence of the equivalence test is {confidence}, but it must be between 0.5 and 1. Fix: give a "
            "number such as 0.95."
        )
    above = (difference.estimate - low) / difference.standard_error
    below = (difference.estimate - high) / difference.standard_error
    p_above = float(scipy.stats.t.sf(above, difference.df))
    p_below = float(scipy.stats.t.cdf(below, difference.df))
    coverage = 2 * confidence - 1
    ci_low, ci_high = t_interval(difference, coverage)
    effect_low, effect_high = difference.effect_interval(confidence)
    return HypothesisTest(
        test=f"Equivalence between {low:g} and {high:g} by two one-sided tests "
        f"({difference.test}, {100 * coverage:g} % interval)",
        statistic_name="t",
        statistic=above if p_above >= p_below else below,
        p_value=max(p_above, p_below),
        n=difference.n,
        df=difference.df,
        estimate=difference.estimate,
        ci_low=ci_low,
        ci_high=ci_high,
        effect_name=difference.effect_name,
        effect=difference.effect,
        effect_ci_low=effect_low,
        effect_ci_high=effect_high,
        warnings=difference.warnings,
    )


def equivalence_of_interval(ci_low: float, ci_high: float, low: float, high: float) -> bool:
    """Return True if an interval is completely between the bounds of equivalence.

    For a test at the level alpha = 0.05, use a 90 % interval; in general, the confidence level 1 - 2 alpha. With a
    wider interval, the test shows equivalence less often.

    Parameters
    ----------
    ci_low, ci_high : float
        The bounds of the interval of the difference. Any method may have computed the interval.
    low, high : float
        The bounds of equivalence, on the same scale as the interval.

    Raises
    ------
    InputError
        A number is missing, or `low` is not below `high`, or `ci_low` is above `ci_high`.

    References
    ----------
    Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach for assessing
    the equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics, 15, 657-680.

    Examples
    --------
    >>> equivalence_of_interval(-0.04, 0.08, -0.1, 0.1), equivalence_of_interval(-0.04, 0.12, -0.1, 0.1)
    (True, False)
    """
    _check_bounds(low, high)
    if not ci_low <= ci_high:
        raise InputError(
            f"the lower bound of the interval ({ci_low}) must not be greater than the upper bound ({ci_high}). Fix: "
            "give the lower bound first."
        )
    return low < ci_low and ci_high < high


def _check_bounds(low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(
            f"the bounds of equivalence ({low} and {high}) must be two finite numbers, the lower number first. Fix: "
            "correct the bounds."
        )
