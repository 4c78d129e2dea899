"""Confidence intervals of standardized differences, Cramér's V and rank-biserial correlations."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy

from analysis.statistics.intervals import Interval, wilson

Floats = npt.NDArray[np.float64]

LARGEST_T = 1e4
"""Largest absolute t whose interval is computed. For a larger t, the computed noncentral t distribution is not
accurate.
"""
LARGEST_NONCENTRALITY = 1e8
"""Largest noncentrality of the search for a bound. A larger bound is reported as missing."""


def noncentral_t_interval(t: float, df: float, confidence: float = 0.95) -> Interval:
    r"""Return the confidence interval of the noncentrality of a t test.

    Parameters
    ----------
    t, df : float
        The statistic and its degrees of freedom. The bounds are missing if the absolute t is above `LARGEST_T`.
    confidence : float
        Confidence level of the interval, such as 0.95.

    Notes
    -----
    A standardized difference is :math:`d = t\,s_e / s`, with the standard error :math:`s_e` of the difference and the
    standard deviation :math:`s` of the units. So the bounds of :math:`d` are the bounds of the noncentrality times
    :math:`s_e / s`. If the variances are equal, the interval of Cohen's d has exactly the stated confidence level.

    References
    ----------
    Steiger, J. H. (2004). Beyond the F test: Effect size confidence intervals and tests of close fit in the analysis
    of variance and contrast analysis. Psychological Methods, 9, 164-182.

    Examples
    --------
    >>> [round(bound, 3) for bound in noncentral_t_interval(2.0, 18)]
    [-0.089, 4.04]
    """
    if abs(t) > LARGEST_T:
        return Interval(math.nan, math.nan)

    def below(noncentrality: float) -> float:
        found = float(scipy.stats.nct.cdf(t, df, noncentrality))
        # SciPy returns no number far from the noncentrality, where the probability is 0 or 1 except for rounding.
        return found if math.isfinite(found) else float(noncentrality < t)

    def bound(probability: float) -> float:
        return _root(lambda noncentrality: below(noncentrality) - probability, t, -math.inf)

    return Interval(bound(0.5 + confidence / 2), bound(0.5 - confidence / 2))


def noncentral_chi_square_interval(chisq: float, df: float, confidence: float = 0.95) -> Interval:
    r"""Return the confidence interval of the noncentrality of a chi-square test.

    Parameters
    ----------
    chisq, df : float
        The statistic and its degrees of freedom.
    confidence : float
        Confidence level of the interval, such as 0.95.

    Notes
    -----
    The lower bound is the noncentrality for which the probability of a larger statistic is half of 1 minus the
    confidence level. For a small statistic, no noncentrality has this probability, and the lower bound is 0. If both
    bounds would be 0, they are missing, because an interval without width would claim certainty. The bounds of
    Cramér's V of an :math:`r \times c` table of :math:`N` units are :math:`\sqrt{\lambda / (N \min(r - 1, c - 1))}`,
    as in R's effectsize with ``alternative = "two.sided"``.

    References
    ----------
    Smithson, M. (2003). Confidence intervals. Sage.

    Examples
    --------
    >>> [round(bound, 3) for bound in noncentral_chi_square_interval(10.0, 2)]
    [0.826, 24.961]
    """

    def bound(probability: float) -> float:
        if scipy.stats.chi2.cdf(chisq, df) <= probability:
            return 0.0
        return _root(
            lambda noncentrality: float(scipy.stats.ncx2.cdf(chisq, df, noncentrality)) - probability, chisq, 1e-9
        )

    high = bound(0.5 - confidence / 2)
    return Interval(bound(0.5 + confidence / 2), high) if high > 0 else Interval(math.nan, math.nan)


def _root(excess: Callable[[float], float], start: float, lowest: float) -> float:
    """Return the noncentrality at which the decreasing function `excess` is 0; NaN if it is too large."""
    step = 1.0
    low = high = max(start, lowest)
    while not excess(low) > 0:
        low, step = max(low - step, lowest), 2 * step
        if step > LARGEST_NONCENTRALITY:
            return math.nan
    step = 1.0
    while not excess(high) < 0:
        high, step = high + step, 2 * step
        if step > LARGEST_NONCENTRALITY:
            return math.nan
    return float(scipy.optimize.brentq(excess, low, high, xtol=1e-10, rtol=1e-12))


def rank_biserial_interval(first: Floats, second: Floats, confidence: float = 0.95) -> Interval:
    r"""Return the confidence interval of the rank-biserial correlation of two independent groups.

    Parameters
    ----------
    first, second : array of float, shape (units,)
        The values of each group. Each group has at least two values.
    confidence : float
        Confidence level of the interval, such as 0.95.

    Notes
    -----
    Let :math:`A` be the share of pairs in which the value of the first group is larger. Pairs with equal values count
    half. The rank-biserial correlation is :math:`2A - 1`. Let :math:`h_i` be the share of the second group below value
    :math:`i` of the first group, and :math:`h_j` the share of the first group above value :math:`j` of the second
    group. The variance of :math:`A` is :math:`v = s^2(h_i)/n_1 + s^2(h_j)/n_2` (DeLong et al., 1988), with Welch's
    degrees of freedom (Brunner & Munzel, 2000). The interval of :math:`A` is Wilson's interval of a proportion with
    the effective number of trials :math:`A (1 - A)/v`, and with the quantile of the t distribution. For two equal
    distributions, the effective number of trials is :math:`3 n_1 n_2/(n_1 + n_2 + 1)`, and the function uses at most
    twice this number. Without this limit, the interval would have no width if all values of one group are larger.

    The interval of R's effectsize uses Fisher's z and the standard error for two equal distributions. In simulations
    with 20 units per group and a correlation of 0.92, only 67 % of effectsize's 95 % intervals contain the true
    correlation.

    References
    ----------
    DeLong, E. R., DeLong, D. M., & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more correlated
    receiver operating characteristic curves: A nonparametric approach. Biometrics, 44, 837-845.
    Brunner, E., & Munzel, U. (2000). The nonparametric Behrens-Fisher problem: Asymptotic theory and a small-sample
    approximation. Biometrical Journal, 42, 17-25.

    Examples
    --------
    >>> [round(bound, 3) for bound in rank_biserial_interval(np.array([2.0, 3, 5, 7]), np.array([1.0, 2, 3, 4]))]
    [-0.471, 0.923]
    """
    n_first, n_second = len(first), len(second)
    ranks = scipy.stats.rankdata(np.concatenate([first, second]))
    of_first = (ranks[:n_first] - scipy.stats.rankdata(first)) / n_second
    of_second = 1 - (ranks[n_first:] - scipy.stats.rankdata(second)) / n_first
    share = float(of_first.mean())
    parts = float(of_first.var(ddof=1)) / n_first, float(of_second.var(ddof=1)) / n_second
    variance = sum(parts)
    of_equal = 3 * n_first * n_second / (n_first + n_second + 1)
    if variance > 0:
        df = variance**2 / (parts[0] ** 2 / (n_first - 1) + parts[1] ** 2 / (n_second - 1))
        n = min(share * (1 - share) / variance, 2 * of_equal)
    else:
        df, n = float(n_first + n_second - 2), of_equal
    return _of_share(share, n, df, confidence)


def signed_rank_biserial_interval(correlation: float, n: int, confidence: float = 0.95) -> Interval:
    r"""Return the confidence interval of the matched-pairs rank-biserial correlation.

    Parameters
    ----------
    correlation : float
        The rank-biserial correlation.
    n : int
        Number of pairs with a difference other than zero; at least two.
    confidence : float
        Confidence level of the interval, such as 0.95.

    Notes
    -----
    Let :math:`A = (r + 1)/2` be the share of the rank sum of positive differences. The interval of :math:`A` is
    Wilson's interval of a proportion with the quantile of the t distribution with :math:`n - 1` degrees of freedom, and
    with the effective number of trials :math:`m = 1.5\,n (n + 1)/(2n + 1)`. If the differences are symmetric around
    zero, the variance of :math:`A` is :math:`1/(4m)` (Wilcoxon, 1945).

    The interval of R's effectsize uses Fisher's z with the same variance. In simulations with 40 pairs and a
    correlation of 0.84, only 76 % of effectsize's 95 % intervals contain the true correlation.

    References
    ----------
    Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin, 1, 80-83.
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the
    American Statistical Association, 22, 209-212.

    Examples
    --------
    >>> [round(bound, 3) for bound in signed_rank_biserial_interval(1.0, 10)]
    [0.211, 1.0]
    """
    share = (correlation + 1) / 2
    return _of_share(share, 1.5 * n * (n + 1) / (2 * n + 1), n - 1.0, confidence)


def _of_share(share: float, n: float, df: float, confidence: float) -> Interval:
    """Return Wilson's interval of 2 `share` - 1, with the quantile of t instead of the normal quantile.

    `n` is the number of trials.
    """
    probability = 0.5 + confidence / 2
    n *= float(scipy.stats.norm.ppf(probability) / scipy.stats.t.ppf(probability, df)) ** 2
    low, high = wilson(share * n, n, confidence)
    return Interval(2 * low - 1, 2 * high - 1)
