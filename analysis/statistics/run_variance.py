"""Variance between repeated runs, and the variance that is expected from chance alone."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc


class RunVariance(NamedTuple):
    """Standard deviation of the accuracies of runs, observed and expected."""

    sd: float
    """Standard deviation of the accuracies of the runs."""
    sd_by_chance: float
    """Square root of the variance that is expected if the runs differ only by chance in their replies.

    The expected standard deviation of few runs is smaller: with two runs, by about 20 %.
    """
    p_value: float
    """p value of Cochran's Q test; missing if every item has the same value in all runs."""


NOT_REPEATED = RunVariance(math.nan, math.nan, math.nan)


def run_variance(values: npt.NDArray[np.float64]) -> RunVariance:
    r"""Return the standard deviation of the accuracies of runs, and the root of the variance expected by chance.

    Parameters
    ----------
    values : array of float, shape (k runs, m items)
        1 for a correct reply, and 0 for any other reply. There are no missing values.

    Returns
    -------
    RunVariance
        All values are missing if there are fewer than two runs, or no items.

    Notes
    -----
    Let :math:`a_j` be the accuracy of run :math:`j`, and :math:`s_i^2` the variance of the values of item :math:`i`
    over the runs, with the divisor :math:`k - 1`. The observed variance is the variance of the accuracies :math:`a_j`,
    also with the divisor :math:`k - 1`. Suppose that each reply is independent of the other replies, and that an item
    has the same probability of a correct reply in all runs. Then the expected variance of the accuracies is

    .. math:: \frac{1}{m^2} \sum_i s_i^2.

    Cochran's :math:`Q` is :math:`k - 1` times the observed variance divided by the expected variance. If the runs
    differ only by chance, :math:`Q` has approximately a chi-square distribution with :math:`k - 1` degrees of freedom.

    References
    ----------
    Cochran, W. G. (1950). The comparison of percentages in matched samples. Biometrika, 37, 256-266.

    Examples
    --------
    Two runs differ at two of four items, and both differences favour the first run.

    >>> import numpy as np
    >>> found = run_variance(np.array([[1.0, 1, 1, 0], [1.0, 0, 0, 0]]))
    >>> round(found.sd, 4), found.sd_by_chance, round(found.p_value, 4)
    (0.3536, 0.25, 0.1573)
    """
    n_runs, n_items = values.shape
    if n_runs < 2 or n_items == 0:
        return NOT_REPEATED
    observed = float(values.mean(axis=1).var(ddof=1))
    expected = float(values.var(axis=0, ddof=1).sum()) / n_items**2
    p_value = float(chdtrc(n_runs - 1, (n_runs - 1) * observed / expected)) if expected > 0 else math.nan
    return RunVariance(math.sqrt(observed), math.sqrt(expected), p_value)
