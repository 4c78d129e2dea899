"""Rank tests: Wilcoxon's signed-rank test of pairs, and the Mann-Whitney U test of two groups."""

import numpy as np
import scipy

from analysis.statistics.effect_size_intervals import rank_biserial_interval, signed_rank_biserial_interval
from analysis.statistics.hypothesis_test import HypothesisTest
from analysis.statistics.t_tests import Floats, checked_pairs, checked_sample
from batteries.errors import InputError

EXACT_BELOW = 50
"""The exact distribution is used if each sample has fewer values than this number, as in R's `wilcox.test`."""
DIGITS = 12
"""Values are divided by the largest value and rounded to this number of decimals. So values that differ only by
rounding errors become equal.
"""

APPROXIMATION = "normal approximation, corrected for ties and continuity"


def wilcoxon_signed_rank(first: Floats, second: Floats, *, confidence: float = 0.95) -> HypothesisTest:
    r"""Test whether the differences within pairs are symmetric around zero, by Wilcoxon's signed-rank test.

    Parameters
    ----------
    first, second : array of float, shape (pairs,)
        The two values of each pair, such as a participant's means in two conditions, or a mean and the chance level.
    confidence : float
        Confidence level of the interval of the rank-biserial correlation.

    Returns
    -------
    HypothesisTest
        `statistic` is V, the sum of the ranks of the positive differences, as in R. `effect` is the matched-pairs
        rank-biserial correlation, which is positive if the first values tend to be larger. `n` is the number of pairs
        whose difference is not zero. `signed_rank_biserial_interval` computes the interval of `effect`, which is
        missing if `n` is 1. `test` says whether the p value is exact.

    Raises
    ------
    InputError
        The arrays differ in length, there are fewer than two pairs, a value is not finite, or all differences are zero.

    Notes
    -----
    Differences of zero are excluded. The absolute values of the other :math:`n` differences are ranked; equal values
    have the mean of their ranks. Let :math:`V` be the sum of the ranks of the positive differences. Then the
    rank-biserial correlation is

    .. math:: r = \frac{V - (n (n + 1) / 2 - V)}{n (n + 1) / 2}.

    The p value is exact if there are fewer than 50 pairs, no ties and no differences of zero. Otherwise the normal
    approximation is used, with the variance for ties and a continuity correction. R uses the same rules.

    References
    ----------
    Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin, 1, 80-83. Kerby, D. S. (2014).
    The simple difference formula: An approach to teaching nonparametric correlation. Comprehensive Psychology, 3,
    11.IT.3.1.

    Examples
    --------
    The differences 1, 2 and -3 have the ranks 1, 2 and 3. The positive ranks sum to 3, as do the negative ranks:

    >>> result = wilcoxon_signed_rank(np.array([5.0, 5.0, 5.0]), np.array([4.0, 3.0, 8.0]))
    >>> result.statistic, result.effect, result.p_value
    (3.0, 0.0, 1.0)
    """
    one, two = checked_pairs(first, second)
    largest = max(float(np.abs(one).max()), float(np.abs(two).max()))
    differences = _rounded(one - two, largest)
    ranked = differences[differences != 0]
    n, n_zero = len(ranked), len(differences) - len(ranked)
    if n == 0:
        raise InputError(
            f"all {n_zero} differences are 0, so Wilcoxon's test cannot be computed. Fix: leave the test out, and "
            "report that there is no difference in any pair."
        )
    ranks = scipy.stats.rankdata(np.abs(ranked))
    v, total = float(ranks[ranked > 0].sum()), n * (n + 1) / 2
    is_exact = n < EXACT_BELOW and not n_zero and not _has_ties(np.abs(ranked))
    effect = (2 * v - total) / total
    low, high = signed_rank_biserial_interval(effect, n, confidence) if n > 1 else (None, None)
    tested = scipy.stats.wilcoxon(ranked, method="exact" if is_exact else "approx", correction=not is_exact)
    return HypothesisTest(
        test=f"Wilcoxon's signed-rank test ({'exact' if is_exact else APPROXIMATION})",
        statistic_name="V",
        statistic=v,
        p_value=float(tested.pvalue),
        n=n,
        effect_name="matched-pairs rank-biserial correlation",
        effect=effect,
        effect_ci_low=low,
        effect_ci_high=high,
        warnings=(f"Differences of 0: {n_zero:,} of {n + n_zero:,}. Wilcoxon's test excludes them.",) if n_zero else (),
    )


def mann_whitney(first: Floats, second: Floats, *, confidence: float = 0.95) -> HypothesisTest:
    r"""Test whether the values of one independent group tend to be larger, by the Mann-Whitney U test.

    Parameters
    ----------
    first, second : array of float, shape (units,)
        One value per unit, such as a participant's mean; no unit is in both groups.
    confidence : float
        Confidence level of the interval of the rank-biserial correlation.

    Returns
    -------
    HypothesisTest
        `statistic` is U of the first group. A pair is one value of each group. U is the number of pairs in which the
        value of the first group is larger, plus half the number of pairs with equal values. R calls this number W.
        `effect` is the rank-biserial correlation, which is positive if the first group tends to have larger values.
        `rank_biserial_interval` computes the interval of `effect`. `test` says whether the p value is exact.

    Raises
    ------
    InputError
        A group has fewer than two values, a value is not finite, or all values are the same.

    Notes
    -----
    The null hypothesis is that both groups have the same distribution. With groups of :math:`n_1` and :math:`n_2`
    values, the rank-biserial correlation is

    .. math:: r = \frac{2 U}{n_1 n_2} - 1,

    the share of pairs in which the first group's value is larger, minus the share in which it is smaller. The p value
    is exact if each group has fewer than 50 values and there are no ties. Otherwise the normal approximation is used,
    with the variance for ties and a continuity correction. R uses the same rules.

    References
    ----------
    Mann, H. B., & Whitney, D. R. (1947). On a test of whether one of two random variables is stochastically larger than
    the other. Annals of Mathematical Statistics, 18, 50-60.
    Kerby, D. S. (2014). The simple difference formula: An approach to teaching nonparametric correlation. Comprehensive
    Psychology, 3, 11.IT.3.1.

    Examples
    --------
    In all four pairs, the value of the first group is larger. Of the six ways to divide four ranks into two groups, two
    are as extreme:

    >>> result = mann_whitney(np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    >>> result.statistic, result.effect, round(result.p_value, 6)
    (4.0, 1.0, 0.333333)
    """
    one, two = checked_sample(first, "the first group"), checked_sample(second, "the second group")
    values = np.concatenate([one, two])
    values = _rounded(values, float(np.abs(values).max()))
    if (values == values[0]).all():
        raise InputError(
            "all values are the same, so the Mann-Whitney test cannot be computed. Fix: leave the test out, and report "
            "this value."
        )
    is_exact = max(len(one), len(two)) < EXACT_BELOW and not _has_ties(values)
    tested = scipy.stats.mannwhitneyu(
        values[: len(one)], values[len(one) :], method="exact" if is_exact else "asymptotic", use_continuity=True
    )
    u = float(tested.statistic)
    low, high = rank_biserial_interval(values[: len(one)], values[len(one) :], confidence)
    return HypothesisTest(
        test=f"Mann-Whitney U test ({'exact' if is_exact else APPROXIMATION})",
        statistic_name="U",
        statistic=u,
        p_value=float(tested.pvalue),
        n=len(values),
        effect_name="rank-biserial correlation",
        effect=2 * u / (len(one) * len(two)) - 1,
        effect_ci_low=low,
        effect_ci_high=high,
    )


def _rounded(values: Floats, largest: float) -> Floats:
    """Return the values divided by `largest` and rounded. So rounding errors do not make equal values different."""
    return np.round(values / (largest or 1.0), DIGITS)


def _has_ties(values: Floats) -> bool:
    return len(np.unique(values)) < len(values)
