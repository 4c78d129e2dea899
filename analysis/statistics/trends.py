"""Trends of a proportion over ordered levels, and intervals of contrasts."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from analysis.statistics.intervals import Interval
from batteries.errors import InputError

Floats = npt.NDArray[np.float64]


def trend_weights(levels: npt.ArrayLike, n_trials: npt.ArrayLike) -> Floats:
    r"""Return the weight of each level's proportion in the slope of the linear trend.

    Parameters
    ----------
    levels : array of float, shape (levels,)
        Each level as a number.
    n_trials : array of float, shape (levels,)
        Number of trials at each level.

    Returns
    -------
    array of float, shape (levels,)
        The weights. The slope of the least-squares line through all trials is the sum of the proportions, each
        multiplied by its weight. The slope is the change of the proportion if the level grows by 1.

    Raises
    ------
    InputError
        If there are fewer than two different levels.

    Notes
    -----
    .. math:: b = \sum_l w_l p_l, \quad w_l = \frac{n_l (x_l - \bar x)}{\sum_l n_l (x_l - \bar x)^2}, \quad
        \bar x = \frac{\sum_l n_l x_l}{\sum_l n_l}

    Examples
    --------
    >>> weights = trend_weights([0, 1, 2], [10, 10, 10])
    >>> weights.tolist(), round(float(weights @ [0.9, 0.8, 0.6]), 10)
    ([-0.5, 0.0, 0.5], -0.15)
    """
    x, n = np.asarray(levels, dtype="float64"), np.asarray(n_trials, dtype="float64")
    if np.ptp(x) == 0:
        raise InputError("a trend needs at least two different levels. Fix: leave the trend out.")
    from_mean = n * (x - (n * x).sum() / n.sum())
    weights: Floats = from_mean / (from_mean * x).sum()
    return weights


def mover_contrast(
    weights: npt.ArrayLike,
    estimates: npt.ArrayLike,
    intervals: Sequence[Interval],
    correlations: Floats | None = None,
) -> Interval:
    r"""Return the MOVER interval of a weighted sum of estimates.

    Parameters
    ----------
    weights, estimates : array of float, shape (estimates,)
        The weights and the estimates.
    intervals : sequence of Interval, shape (estimates,)
        The intervals of the estimates.
    correlations : array of float, shape (estimates, estimates), optional
        Correlations between the estimates. By default, the estimates are independent.

    Notes
    -----
    With weights :math:`c_i`, estimates :math:`p_i`, intervals :math:`(l_i, u_i)` and correlations :math:`r_{ij}`,

    .. math::
        L = \sum c_i p_i - \sqrt{\sum_{ij} r_{ij} d_i d_j}, \quad
        U = \sum c_i p_i + \sqrt{\sum_{ij} r_{ij} e_i e_j}.

    For a positive weight, :math:`d_i = c_i (p_i - l_i)` and :math:`e_i = c_i (u_i - p_i)`. For a negative weight,
    :math:`d_i = c_i (u_i - p_i)` and :math:`e_i = c_i (p_i - l_i)`.

    With the weights 1 and -1, `intervals.mover_difference` gives the same interval.

    References
    ----------
    Zou, G. Y., Huang, W., & Zhang, X. (2009). A note on confidence interval estimation for a linear function of
    binomial proportions. Computational Statistics & Data Analysis, 53, 1080-1085.
    Zou, G. Y. (2007). Toward using confidence intervals to compare correlations. Psychological Methods, 12, 399-413.

    Examples
    --------
    Newcombe's (1998) interval of the difference between 56/70 and 48/80:

    >>> from analysis.statistics.intervals import wilson
    >>> low, high = mover_contrast([1, -1], [56 / 70, 48 / 80], [wilson(56, 70), wilson(48, 80)])
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    c, p = np.asarray(weights, dtype="float64"), np.asarray(estimates, dtype="float64")
    lows, highs = np.array(intervals, dtype="float64").T
    below, above = c * np.where(c > 0, p - lows, highs - p), c * np.where(c > 0, highs - p, p - lows)
    r = np.eye(len(c)) if correlations is None else correlations
    total = float(c @ p)
    return Interval(total - math.sqrt(max(below @ r @ below, 0)), total + math.sqrt(max(above @ r @ above, 0)))
