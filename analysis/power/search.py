"""Search for the smallest number of participants with a given power."""

import math
from collections.abc import Callable

from scipy.stats import norm

PRECISION = 0.02
"""The search stops when the largest number with too little power is at most this share below the result. For small
results, it stops at one step below.
"""
MOST_CHANGE = 4.0
"""Largest ratio of two successive numbers of participants. A larger change would rely too much on the estimated power,
which is imprecise.
"""
MOST_GUESSES = 4
"""Largest number of guesses between two limits. After these guesses, the search halves the distance between the
limits.
"""


def smallest_n(
    power_at: Callable[[int], float],
    target: float,
    *,
    alpha: float = 0.05,
    start: int = 30,
    step: int = 1,
    largest: int = 1_000,
) -> int | None:
    r"""Return the smallest number of participants whose power reaches a target, or None if there is none.

    Parameters
    ----------
    power_at : callable
        Function that takes a number of participants and returns the power, from 0 to 1. For the same number, it must
        always return the same power. So use the same seed in each call.
    target : float
        The power, such as 0.8.
    alpha : float
        Level of significance of the analysis. It is used only for the guesses (see Notes).
    start : int
        The first number to try.
    step : int
        Only multiples of this number are tried. For equal groups, give the number of counterbalance groups.
    largest : int
        Largest number to try.

    Returns
    -------
    int or None
        A number :math:`N` whose power reaches the target. The power of a number just below :math:`N` (by one step, or
        at most 2 %) does not. None if the power of `largest` is below the target.

    Notes
    -----
    The search keeps two limits: a number whose power is below the target, and a number whose power reaches the target.
    The search stops when the limits are near each other. The first numbers that the search tries are guesses, from the
    power :math:`\pi` of the last number :math:`n`:

    .. math:: n \left(\frac{z_{1 - \alpha/2} + z_\text{target}}{z_{1 - \alpha/2} + z_\pi}\right)^2,

    because the standard error of an estimate is proportional to :math:`1 / \sqrt{n}` (Cohen, 1988). The guess is wrong
    if the standard error decreases more slowly, for instance because of few items. Then the search needs more steps,
    but the result is valid, because it depends only on the simulated power. After some guesses, the search halves the
    distance between the limits.

    References
    ----------
    Cohen, J. (1988). Statistical power analysis for the behavioral sciences (2nd ed.). Erlbaum.
    Arnold, B. F., Hogan, D. R., Colford, J. M., & Hubbard, A. E. (2011). Simulation methods to estimate design power:
    An overview for applied research. BMC Medical Research Methodology, 11, 94.

    Examples
    --------
    A z test of a difference of half a standard deviation needs 32 pairs for a power of 0.8 (Cohen, 1988):

    >>> power = lambda n: norm.sf(norm.isf(0.025) - 0.5 * math.sqrt(n))
    >>> smallest_n(power, 0.8), smallest_n(power, 0.8, step=6), smallest_n(power, 0.8, largest=20)
    (32, 36, None)
    """
    largest = largest // step * step
    low, high, n_guesses = (1 if step == 1 else 0), 0, 0  # No study has fewer than two participants.
    n = min(_multiple(start, step), largest)
    while True:
        power = power_at(n)
        if power >= target:
            high = n
        elif n == largest:
            return None
        else:
            low = n
        if high and high - low <= max(step, PRECISION * high):
            return high
        n_guesses += bool(high and low)
        if n_guesses > MOST_GUESSES:
            n = (low + high) // 2 // step * step
        else:
            n = _multiple(n * _ratio(power, target, alpha), step)
            n = min(max(n, low + step), high - step if high else largest)


def _multiple(n: float, step: int) -> int:
    return math.ceil(n / step) * step


def _ratio(power: float, target: float, alpha: float) -> float:
    """Return the number of participants for the target power, divided by the number of participants for `power`."""
    z = norm.isf(alpha / 2)
    known = z + norm.ppf(power)
    if not known > 0:
        return MOST_CHANGE
    return float(min(max((z + norm.ppf(target)) / known, 1 / math.sqrt(MOST_CHANGE)), math.sqrt(MOST_CHANGE)) ** 2)
