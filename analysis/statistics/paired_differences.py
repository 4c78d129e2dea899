"""The mean difference between two shares that were measured on the same items."""

import math

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

from analysis.statistics.intervals import Interval


def paired_difference(
    differences: npt.NDArray[np.float64], clusters: npt.ArrayLike, confidence: float = 0.95
) -> tuple[float, Interval]:
    r"""Return the mean of paired differences between -1 and 1, and its confidence interval.

    Parameters
    ----------
    differences : array of float, shape (items,)
        Difference of two shares at each item, such as the accuracies of two models.
    clusters : array of labels, shape (items,)
        Cluster of each item. Items of the same cluster are not independent.
    confidence : float
        Confidence level of the interval, such as 0.95.

    Returns
    -------
    tuple of float and Interval
        The interval always contains the mean, and is within [-1, 1]. Its width is never 0.

    Notes
    -----
    The interval is that of Bonett and Price for paired proportions. Two items with the differences 1 and -1 are added,
    each as a new cluster. Let :math:`\tilde d` be the mean of all :math:`n + 2` differences, :math:`r_g` the sum of
    the deviations from :math:`\tilde d` in cluster :math:`g`, and :math:`G` the number of clusters. Then

    .. math:: \tilde d \pm t_{G - 1, (1 + c)/2} \sqrt{\frac{G}{G - 1} \frac{\sum_g r_g^2}{(n + 2)^2}}.

    References
    ----------
    Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data. Journal of Educational and Behavioral Statistics, 37, 479-488.

    Examples
    --------
    Two models differ at 3 of 20 items; one model is right at all three.

    >>> difference, interval = paired_difference(np.array([1.0] * 3 + [0.0] * 17), np.arange(20))
    >>> round(difference, 3), round(interval.low, 3), round(interval.high, 3)
    (0.15, -0.071, 0.344)
    """
    codes = pd.factorize(np.asarray(clusters))[0]
    n_clusters = int(codes.max()) + 3
    values = np.append(differences, [1.0, -1.0])
    codes = np.append(codes, [n_clusters - 2, n_clusters - 1])
    center = float(values.mean())
    sums = np.bincount(codes, values - center, minlength=n_clusters)
    error = math.sqrt(n_clusters / (n_clusters - 1) * float((sums**2).sum())) / len(values)
    half = float(stdtrit(n_clusters - 1, (1 + confidence) / 2)) * error
    mean = float(differences.mean())
    return mean, Interval(max(-1.0, min(center - half, mean)), min(1.0, max(center + half, mean)))
