"""Intervals: Wilson's for one subject's trials, weighted or not, a bootstrap over participants, MOVER's difference."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

Counts = npt.NDArray[np.int64]


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def wilson(n_correct: float, n_trials: float, confidence: float = 0.95) -> Interval:
    r"""Return Wilson's score interval of a proportion, without continuity correction.

    Parameters
    ----------
    n_correct, n_trials : float
        Successes and trials; they need not be whole (see `proportion_interval`).
    confidence : float
        Coverage.

    Notes
    -----
    .. math:: \frac{k + z^2/2 \pm z \sqrt{k (n - k)/n + z^2/4}}{n + z^2}

    The same as ``scipy.stats.binomtest(k, n).proportion_ci(method="wilson")`` for whole numbers.

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of the
    American Statistical Association, 22, 209-212.

    Examples
    --------
    >>> [round(bound, 4) for bound in wilson(81, 263)]
    [0.2553, 0.3662]
    """
    z = float(norm.ppf(0.5 + confidence / 2))
    middle = n_correct + z**2 / 2
    half = z * math.sqrt(max(n_correct * (n_trials - n_correct) / n_trials, 0.0) + z**2 / 4)
    total = n_trials + z**2
    low = 0.0 if n_correct == 0 else max(0.0, (middle - half) / total)
    high = 1.0 if n_correct == n_trials else min(1.0, (middle + half) / total)
    return Interval(low, high)


def weighted_accuracy(
    n_correct: Counts, n_trials: Counts, weights: Counts, confidence: float = 0.95
) -> tuple[float, Interval]:
    r"""Return one subject's accuracy over items that do not weigh the same, and its interval.

    Parameters
    ----------
    n_correct, n_trials : array of int, shape (items,)
        Successes and trials of the subject at each item; every item has trials.
    weights : array of int, shape (items,)
        Weight of each item.
    confidence : float
        Coverage.

    Notes
    -----
    With :math:`m_i` the subject's accuracy at item :math:`i` and :math:`w_i` the item's weight, the accuracy is

    .. math:: p = \frac{\sum w_i m_i}{\sum w_i},

    and the interval is Wilson's with Kish's effective number of trials
    :math:`n = (\sum w_i)^2 / \sum w_i^2` and :math:`k = p n`. Where an item has several trials, they share its weight
    equally, and the sums of :math:`n` run over trials. With equal weights this is Wilson's interval over the trials.

    References
    ----------
    Kish, L. (1965). Survey sampling. Wiley.

    Examples
    --------
    >>> one = np.array([1, 1])
    >>> accuracy, (low, high) = weighted_accuracy(np.array([1, 0]), one, np.array([3, 1]))
    >>> accuracy, round(low, 4), round(high, 4)
    (0.75, 0.1691, 0.9779)
    """
    right = float((weights * n_correct / n_trials).sum())
    total = float(weights.sum())
    squares = float((weights**2 / n_trials).sum())
    return right / total, wilson(right * total / squares, total * total / squares, confidence)


def participant_bootstrap(
    n_correct: Counts, n_trials: Counts, *, confidence: float, resamples: int, seed: int
) -> Interval:
    r"""Return the percentile bootstrap interval of the pooled proportion correct, resampling participants.

    Trials of one participant are not independent, so whole participants are drawn with replacement, and each draw's
    proportion is :math:`\sum k_i / \sum n_i`.

    Parameters
    ----------
    n_correct, n_trials : array of int, shape (participants,)
        Successes and trials of each participant; every participant has trials.
    confidence : float
        Coverage.
    resamples, seed : int
        Number of draws, and the seed they come from.

    References
    ----------
    Efron, B., & Tibshirani, R. J. (1993). An introduction to the bootstrap. Chapman & Hall. Chapter 13.
    """
    order = np.lexsort((n_correct, n_trials))
    counts = tuple(n_correct[order].tolist()), tuple(n_trials[order].tolist())
    return _bootstrapped(*counts, confidence, resamples, seed)


@lru_cache(maxsize=4096)
def _bootstrapped(
    n_correct: tuple[int, ...], n_trials: tuple[int, ...], confidence: float, resamples: int, seed: int
) -> Interval:
    """Return the interval; the same people are compared with every model, so it is kept."""
    k, n = np.array(n_correct), np.array(n_trials)
    generator = np.random.default_rng(seed)
    at_once = max(1, 2_000_000 // len(k))
    proportions = []
    for start in range(0, resamples, at_once):
        drawn = generator.integers(0, len(k), size=(min(at_once, resamples - start), len(k)))
        proportions.append(k[drawn].sum(axis=1) / n[drawn].sum(axis=1))
    tail = (1 - confidence) / 2
    low, high = np.quantile(np.concatenate(proportions), [tail, 1 - tail])
    return Interval(float(low), float(high))


def proportion_interval(
    n_correct: Counts, n_trials: Counts, *, confidence: float, resamples: int, seed: int
) -> Interval:
    """Return the interval of a pooled proportion correct over participants.

    One participant or run: Wilson's interval over the trials. More: `participant_bootstrap`. Where all participants
    have the same proportion (all at 0 or at 1, most often) the bootstrap would claim a width of zero; then it is
    Wilson's interval with the number of participants as the number of trials, which is wide rather than wrong.

    Parameters are those of `participant_bootstrap`; the result does not depend on the participants' order.
    """
    if len(n_correct) == 1:
        return wilson(int(n_correct[0]), int(n_trials[0]), confidence)
    if np.all(n_correct * n_trials[0] == n_correct[0] * n_trials):
        participants = len(n_correct)
        return wilson(participants * int(n_correct[0]) / int(n_trials[0]), participants, confidence)
    return participant_bootstrap(n_correct, n_trials, confidence=confidence, resamples=resamples, seed=seed)


def mover_difference(first: float, first_ci: Interval, second: float, second_ci: Interval) -> Interval:
    r"""Return the interval of `first - second`, two independent estimates, from their separate intervals (MOVER).

    Notes
    -----
    With estimates :math:`p_i` and intervals :math:`(l_i, u_i)`,

    .. math::
        L = p_1 - p_2 - \sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2}, \quad
        U = p_1 - p_2 + \sqrt{(u_1 - p_1)^2 + (p_2 - l_2)^2}.

    With Wilson's intervals this is Newcombe's (1998) method 10.

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
    below = math.hypot(max(first - first_ci.low, 0.0), max(second_ci.high - second, 0.0))
    above = math.hypot(max(first_ci.high - first, 0.0), max(second - second_ci.low, 0.0))
    return Interval(max(-1.0, difference - below), min(1.0, difference + above))
