"""Confidence intervals of proportions, and of differences and ratios of proportions: Wilson and MOVER.

MOVER (method of variance estimates recovery) computes the interval of a difference or ratio from the intervals of two
estimates.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def wilson(n_correct: float, n_trials: float, confidence: float = 0.95) -> Interval:
    r"""Return Wilson's score interval of a proportion, without continuity correction.

    Parameters
    ----------
    n_correct, n_trials : float
        Numbers of successes and trials. They may be fractions (see `weighted_accuracy`).
    confidence : float
        Confidence level of the interval, such as 0.95.

    Notes
    -----
    With :math:`k` successes in :math:`n` trials, the bounds are

    .. math:: \frac{k + z^2/2 \pm z \sqrt{k (n - k)/n + z^2/4}}{n + z^2}

    For whole numbers, the interval equals ``scipy.stats.binomtest(k, n).proportion_ci(method="wilson")``.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the
    American Statistical Association, 22, 209-212.

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson(81, 263)]
    [0.2553, 0.3662]
    """
    z = float(ndtri(0.5 + confidence / 2))
    middle = n_correct + z**2 / 2
    half = z * math.sqrt(max(n_correct * (n_trials - n_correct) / n_trials, 0.0) + z**2 / 4)
    total = n_trials + z**2
    low = 0.0 if n_correct == 0 else max(0.0, (middle - half) / total)
    high = 1.0 if n_correct == n_trials else min(1.0, (middle + half) / total)
    return Interval(low, high)


def effective_trials(
    n_correct: Counts | Floats,
    n_trials: Counts,
    weights: Counts,
    clusters: Counts | None = None,
    confidence: float = 0.95,
) -> float:
    r"""Return the number of independent trials with which an accuracy would be as precise as one subject's accuracy.

    Parameters
    ----------
    n_correct : array, shape (items,)
        Number of the subject's successes at each item. A trial may count as a fraction of a success.
    n_trials : array of int, shape (items,)
        Number of the subject's trials at each item, at least one.
    weights : array of int, shape (items,)
        Weight of each item.
    clusters : array of int, shape (items,), optional
        Cluster of each item, such as the scenario. By default, each item is a cluster.
    confidence : float
        Confidence level of the interval in which the result is used.

    Notes
    -----
    With the subject's accuracy :math:`m_i` at item :math:`i`, the weight :math:`w_i` and the number of trials
    :math:`n_i`, the weighted accuracy is :math:`p = \sum w_i m_i / \sum w_i`. Let :math:`W_c` be the sum of the
    weights in cluster :math:`c`, and let :math:`C` be the number of clusters.

    If every item has one trial and is a cluster, the result is Kish's effective number of trials, :math:`n = (\sum
    w_i)^2 / \sum w_i^2`. Otherwise, trials of one cluster are not independent. The variance of :math:`p` is then
    estimated from the clusters,

    .. math:: v = \frac{C}{C - 1} \frac{\sum_c (\sum_{i \in c} w_i (m_i - p))^2}{(\sum w_i)^2},

    and the result is

    .. math:: n^* = \min\left(\frac{p (1 - p)}{v}, \frac{(\sum w_i)^2}{\sum w_i^2 / n_i}\right)
        \left(\frac{z}{t_{C - 1}}\right)^2.

    The second term of the minimum is the effective number if all trials were independent. The last factor reduces the
    result if there are few clusters, which widens the interval.

    If :math:`p` is 0 or 1, :math:`v` is unknown. The number of independent trials is between :math:`n_c = (\sum w_i)^2
    / \sum W_c^2` (a cluster is right or wrong as a whole) and :math:`n_i = (\sum w_i)^2 / \sum w_i^2` (items are
    independent). The result is :math:`\sqrt{n_c n_i} (z / t_{C - 1})^2`. This formula is our own and has no published
    source. It assumes an intraclass correlation of about :math:`1 / (\sqrt{m} + 1)` in clusters of :math:`m` items,
    such as .17 with 24 items. `benchmarks/coverage.py` measures how often the interval contains the true accuracy.

    With only one cluster, :math:`v` is unknown too. Then the trials of the cluster count as one trial.

    References
    ----------
    Kish, L. (1965). Survey sampling. Wiley.
    Korn, E. L., & Graubard, B. I. (1998). Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology, 24, 193-201.
    Franco, C., Little, R. J. A., Louis, T. A., & Slud, E. V. (2019). Comparative study of confidence intervals for
    proportions in complex sample surveys. Journal of Survey Statistics and Methodology, 7, 334-364.
    Miller, E. (2024). Adding error bars to evals: A statistical approach to language model evaluations.
    arXiv:2411.00640.

    Examples
    --------
    Four items with five trials each. If each item is always right or always wrong, there are fewer than four
    independent trials:

    >>> five, ones = np.full(4, 5), np.ones(4, dtype=int)
    >>> round(effective_trials(np.array([5, 5, 5, 0]), five, ones), 2)
    1.14
    """
    total = float(weights.sum())
    independent = total**2 / float((weights**2 / n_trials).sum())
    if clusters is None and np.all(n_trials == 1):
        return independent
    _, codes = np.unique(np.arange(len(weights)) if clusters is None else clusters, return_inverse=True)
    accuracy = n_correct / n_trials
    p = float((weights * accuracy).sum()) / total
    weight_of_cluster = np.bincount(codes, weights=weights)
    n_clusters = int((weight_of_cluster > 0).sum())
    if n_clusters == 1:
        return 1.0
    tail = 0.5 + confidence / 2
    few_clusters = float((ndtri(tail) / stdtrit(n_clusters - 1, tail)) ** 2)
    if p in (0.0, 1.0):
        return total**2 / math.sqrt(float((weight_of_cluster**2).sum()) * float((weights**2).sum())) * few_clusters
    residuals = np.bincount(codes, weights=weights * (accuracy - p))
    variance = n_clusters / (n_clusters - 1) * float((residuals**2).sum()) / total**2
    return (min(p * (1 - p) / variance, independent) if variance > 0 else independent) * few_clusters


def weighted_accuracy(
    n_correct: Counts | Floats,
    n_trials: Counts,
    weights: Counts,
    clusters: Counts | None = None,
    confidence: float = 0.95,
) -> tuple[float, Interval]:
    r"""Return one subject's accuracy over items with different weights, and its interval.

    For the parameters, see `effective_trials`.

    Notes
    -----
    With the subject's accuracy :math:`m_i` at item :math:`i` and the weight :math:`w_i` of item :math:`i`, the weighted
    accuracy is

    .. math:: p = \frac{\sum w_i m_i}{\sum w_i}.

    The interval is Wilson's score interval with the effective number of trials :math:`n` (`effective_trials`), and
    with :math:`p n` successes. With equal weights, one trial per item and no clusters, the result is Wilson's score
    interval over the trials.

    Examples
    --------
    >>> one = np.array([1, 1])
    >>> accuracy, (low, high) = weighted_accuracy(np.array([1, 0]), one, np.array([3, 1]))
    >>> accuracy, round(low, 4), round(high, 4)
    (0.75, 0.1691, 0.9779)
    """
    right = float((weights * n_correct / n_trials).sum())
    total = float(weights.sum())
    n = effective_trials(n_correct, n_trials, weights, clusters, confidence)
    return right / total, wilson(n * right / total, n, confidence)


def mover_difference(
    first: float, first_ci: Interval, second: float, second_ci: Interval, correlation: float = 0.0
) -> Interval:
    r"""Return the MOVER interval of the difference of two estimates, `first - second`.

    Notes
    -----
    With estimates :math:`p_i`, intervals :math:`(l_i, u_i)` and the correlation :math:`r` of the estimates,

    .. math::
        L = p_1 - p_2 - \sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2 - 2 r (p_1 - l_1)(u_2 - p_2)}, \quad
        U = p_1 - p_2 + \sqrt{(u_1 - p_1)^2 + (p_2 - l_2)^2 - 2 r (u_1 - p_1)(p_2 - l_2)}.

    With Wilson's score intervals and without correlation, this is Newcombe's (1998) method 10.

    References
    ----------
    Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect measures: A general approach.
    Statistics in Medicine, 27, 1693-1702.
    Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions: Comparison of
    eleven methods. Statistics in Medicine, 17, 873-890.

    Examples
    --------
    >>> low, high = mover_difference(56 / 70, wilson(56, 70), 48 / 80, wilson(48, 80))
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    difference = first - second
    below = _side(max(first - first_ci.low, 0.0), max(second_ci.high - second, 0.0), correlation)
    above = _side(max(first_ci.high - first, 0.0), max(second - second_ci.low, 0.0), correlation)
    return Interval(max(-1.0, difference - below), min(1.0, difference + above))


def _side(first: float, second: float, correlation: float) -> float:
    return math.sqrt(max(first**2 + second**2 - 2 * correlation * first * second, 0.0))


def mover_ratio(
    first: float, first_ci: Interval, second: float, second_ci: Interval, correlation: float = 0.0
) -> Interval:
    r"""Return the MOVER interval of the ratio of two estimates, `first / second`.

    Parameters
    ----------
    first, second : float
        Estimates; `second` is above 0.
    first_ci, second_ci : Interval
        The intervals of the estimates.
    correlation : float
        Correlation of the estimates.

    Returns
    -------
    Interval
        If the interval of `second` reaches 0, the bound that is further from 0 than the ratio is infinite.

    Notes
    -----
    With estimates :math:`p_i`, intervals :math:`(l_i, u_i)` and the correlation :math:`r` of the estimates,

    .. math::
        L = \frac{a - \sqrt{a^2 - l_1 u_2 (2 p_1 - l_1)(2 p_2 - u_2)}}{u_2 (2 p_2 - u_2)}, \quad
        U = \frac{b + \sqrt{b^2 - u_1 l_2 (2 p_1 - u_1)(2 p_2 - l_2)}}{l_2 (2 p_2 - l_2)}

    with :math:`a = p_1 p_2 - r (p_1 - l_1)(u_2 - p_2)` and :math:`b = p_1 p_2 - r (u_1 - p_1)(p_2 - l_2)`. :math:`L`
    is computed in the form :math:`l_1 (2 p_1 - l_1) / (a + \sqrt{\cdot})`. This form also works if :math:`u_2 = 2
    p_2`. These formulas are for bounds of `first` above 0. If a bound of `first` is negative, the corresponding bound
    of the ratio is computed for `-first`, and its sign is changed.

    References
    ----------
    Donner, A., & Zou, G. Y. (2012). Closed-form confidence intervals for functions of the normal mean and standard
    deviation. Statistical Methods in Medical Research, 21, 347-359.

    Examples
    --------
    >>> low, high = mover_ratio(0.6, Interval(0.5, 0.7), 0.8, Interval(0.7, 0.9))
    >>> round(low, 4), round(high, 4)
    (0.604, 0.9198)
    """
    opposite = -first, Interval(-first_ci.high, -first_ci.low), second, second_ci, -correlation
    as_given = first, first_ci, second, second_ci, correlation
    return Interval(
        -_outer_bound(*opposite) if first_ci.low < 0 else _inner_bound(*as_given),
        -_inner_bound(*opposite) if first_ci.high < 0 else _outer_bound(*as_given),
    )


def _inner_bound(first: float, first_ci: Interval, second: float, second_ci: Interval, correlation: float) -> float:
    """Return the lower bound of a ratio if the lower bound of `first` is 0 or more."""
    a = first * second - correlation * (first - first_ci.low) * (second_ci.high - second)
    under = a**2 - first_ci.low * second_ci.high * (2 * first - first_ci.low) * (2 * second - second_ci.high)
    total = a + math.sqrt(max(under, 0.0))
    return first_ci.low * (2 * first - first_ci.low) / total if total else 0.0


def _outer_bound(first: float, first_ci: Interval, second: float, second_ci: Interval, correlation: float) -> float:
    """Return the upper bound of a ratio if the upper bound of `first` is 0 or more."""
    if second_ci.low <= 0:
        return math.inf
    b = first * second - correlation * (first_ci.high - first) * (second - second_ci.low)
    under = b**2 - first_ci.high * second_ci.low * (2 * first - first_ci.high) * (2 * second - second_ci.low)
    return (b + math.sqrt(max(under, 0.0))) / (second_ci.low * (2 * second - second_ci.low))
