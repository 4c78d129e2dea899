"""Confidence intervals of proportions that are pooled over participants, and of contrasts of such proportions.

The trials of one participant are not independent. So the variance of a proportion is estimated from the differences
between participants.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from analysis.statistics.intervals import Counts, Floats, Interval, wilson
from analysis.statistics.trends import mover_contrast


@dataclass(frozen=True)
class PooledProportions:
    """Proportions in one or more cells, pooled over the same participants."""

    proportions: Floats
    """Proportion of each cell."""
    n_trials: Floats
    """Number of trials of each cell."""
    n_effective: Floats
    """Number of independent trials with which the proportion would be as precise, for each cell."""
    df: Floats
    """Degrees of freedom of the variance of each cell; infinite if there is only one participant."""
    correlations: Floats
    """Correlations between the proportions, shape (cells, cells)."""

    def intervals(self, confidence: float) -> list[Interval]:
        """Return the interval of each proportion."""
        z = ndtri(0.5 + confidence / 2)
        found = []
        for p, n, df in zip(self.proportions, self.n_effective, self.df, strict=True):
            n_wilson = n if np.isinf(df) else n * (z / stdtrit(df, 0.5 + confidence / 2)) ** 2
            found.append(wilson(float(p * n_wilson), float(n_wilson), confidence))
        return found

    def contrast(self, weights: npt.ArrayLike, confidence: float) -> Interval:
        """Return the interval of the sum of the proportions, each multiplied by its weight."""
        return mover_contrast(weights, self.proportions, self.intervals(confidence), self.correlations)

    def z_contrast(self, weights: npt.ArrayLike, confidence: float) -> Interval:
        """Return the interval of the sum of the z-transformed proportions, each multiplied by its weight.

        The log-linear correction (`signal_detection_measures`) is applied to the proportions first.
        """
        corrected = (self.proportions * self.n_trials + 0.5) / (self.n_trials + 1)
        inside = PooledProportions(corrected, self.n_trials, self.n_effective, self.df, self.correlations)
        z_intervals = [Interval(float(ndtri(low)), float(ndtri(high))) for low, high in inside.intervals(confidence)]
        return mover_contrast(weights, ndtri(corrected), z_intervals, self.correlations)


def pooled_proportions(n_correct: Counts | Floats, n_trials: Counts | Floats) -> PooledProportions:
    r"""Return the pooled proportion of each cell, with its precision over participants.

    Parameters
    ----------
    n_correct, n_trials : array, shape (participants, cells)
        Numbers of successes and trials of each participant in each cell. Every cell has at least one trial.

    Notes
    -----
    Let participant :math:`i` have :math:`k_i` successes in :math:`n_i` trials of a cell. Let :math:`C` participants
    have trials in this cell, and let :math:`N = \sum n_i`. The pooled proportion is :math:`p = \sum k_i / N`. The
    jackknife, which leaves out one participant at a time, gives the variance

    .. math:: v = \frac{C - 1}{C} \sum_i \left(\frac{k_i - p n_i}{N - n_i}\right)^2.

    If all participants have the same number of trials, :math:`v` is the variance of the mean of their proportions. The
    variance of :math:`N` independent trials is :math:`b = p (1 - p) / N`. A :math:`v` below :math:`b` would mean that
    participants are more alike than independent trials, which is due to chance. So the effective number of trials is

    .. math:: n^* = \frac{p (1 - p)}{\max(v, b)}.

    The interval is Wilson's score interval with :math:`n^*` trials. The normal quantile is replaced by the quantile of
    the t distribution with :math:`N^2 / \sum n_i^2 - 1` degrees of freedom (at least 1). If all participants have the
    same number of trials, this is the number of participants minus 1. If all responses are correct, or all are
    incorrect, :math:`v` is unknown, and :math:`n^* = N`.

    For one participant, the interval is Wilson's score interval over the trials.

    For a contrast of cells, MOVER combines the intervals of the cells (`trends.mover_contrast`). The correlation of two
    cells is their jackknife covariance, divided by the square root of the product of their :math:`\max(v, b)`. As in
    Newcombe's method 10 for paired proportions, a continuity correction first subtracts :math:`1 / (2 N_1 N_2)` from a
    positive covariance.

    References
    ----------
    Korn, E. L., & Graubard, B. I. (1998). Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology, 24, 193-201.
    Franco, C., Little, R. J. A., Louis, T. A., & Slud, E. V. (2019). Comparative study of confidence intervals for
    proportions in complex sample surveys. Journal of Survey Statistics and Methodology, 7, 334-364.
    Newcombe, R. G. (1998). Improved confidence intervals for the difference between binomial proportions based on
    paired data. Statistics in Medicine, 17, 2635-2650.
    Zou, G. Y. (2007). Toward using confidence intervals to compare correlations. Psychological Methods, 12, 399-413.

    Examples
    --------
    Three participants with ten trials each. The variance between them is 3 times as large as for independent trials:

    >>> pooled = pooled_proportions(np.array([[2], [5], [8]]), np.full((3, 1), 10))
    >>> round(float(pooled.n_effective[0]), 2), pooled.df.tolist()
    (8.33, [2.0])
    """
    k, n = np.asarray(n_correct, dtype="float64"), np.asarray(n_trials, dtype="float64")
    order = np.lexsort(np.hstack([k, n]).T)  # The rounding of sums must not depend on the order of the participants.
    k, n = k[order], n[order]
    total = n.sum(axis=0)
    p = k.sum(axis=0) / total
    n_participants = (n > 0).sum(axis=0)
    several = n_participants > 1
    others = np.where(several, total - n, 1)
    # The difference between the proportion with and without each participant.
    influence = np.where(several, (k - p * n) / others, 0) * np.sqrt((n_participants - 1) / n_participants)
    covariances = influence.T @ influence
    binomial = p * (1 - p) / total
    variances = np.maximum(np.diag(covariances), binomial)
    known = variances > 0
    n_effective = np.where(known, p * (1 - p) / np.where(known, variances, 1), total)
    scale = np.sqrt(np.where(known, variances, 1))
    corrected = np.where(covariances > 0, np.maximum(covariances - 0.5 / np.outer(total, total), 0), covariances)
    correlations = corrected / np.outer(scale, scale)
    np.fill_diagonal(correlations, 1)
    df = np.where(several, np.maximum(total**2 / (n**2).sum(axis=0) - 1, 1), np.inf)
    return PooledProportions(p, total, n_effective, df, correlations)


def proportion_interval(n_correct: Counts, n_trials: Counts, confidence: float) -> Interval:
    """Return the interval of a proportion that is pooled over participants (`pooled_proportions`).

    Parameters
    ----------
    n_correct, n_trials : array of int, shape (participants,)
        Numbers of successes and trials of each participant. Every participant has at least one trial.
    confidence : float
        Confidence level of the interval, such as 0.95.

    Examples
    --------
    >>> low, high = proportion_interval(np.array([8, 9, 10, 6, 9]), np.full(5, 10), 0.95)
    >>> round(low, 3), round(high, 3)
    (0.587, 0.951)
    """
    return pooled_proportions(n_correct[:, None], n_trials[:, None]).intervals(confidence)[0]
