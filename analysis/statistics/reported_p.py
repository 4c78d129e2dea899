"""The p values and degrees of freedom that are possible for a printed test statistic, which was rounded."""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from math import inf

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, f, norm, t

from analysis.statistics.intervals import Interval

Floats = npt.NDArray[np.float64]

Bounds = tuple[Fraction, Fraction]
"""The lowest and the highest value that round to a printed number."""

DF_POINTS = 9
"""Number of values between the bounds of rounded degrees of freedom for which p is computed."""

MOST_DF = 10**6
"""Largest number of degrees of freedom in the search. With so many, the t distribution is practically normal."""


def possible_p(kind: str, statistic: Bounds, dfs: Sequence[Bounds]) -> Interval:
    r"""Return the lowest and the highest p value of a rounded statistic.

    Parameters
    ----------
    kind : str
        `t`, `F`, `chi2`, `z` or `r`.
    statistic : tuple of Fraction
        Lowest and highest value of the statistic.
    dfs : sequence of tuple of Fraction
        Lowest and highest degrees of freedom: two pairs for `F`, one pair for `t`, `chi2` and `r`, none for `z`.

    Returns
    -------
    Interval
        The lowest and the highest p value. For `t`, `z` and `r`, p is two-sided.

    Notes
    -----
    A larger statistic has a smaller p. With larger degrees of freedom, p may rise or fall. So for rounded degrees of
    freedom, p is computed at nine points between the bounds. A correlation is tested by :math:`t = r \sqrt{\nu / (1 -
    r^2)}`.

    References
    ----------
    Nuijten, M. B., Hartgerink, C. H. J., van Assen, M. A. L. M., Epskamp, S., & Wicherts, J. M. (2016). The prevalence
    of statistical reporting errors in psychology (1985-2013). Behavior Research Methods, 48, 1205-1226.

    Examples
    --------
    The 97.5 % point of t with 10 degrees of freedom is 2.228.

    >>> from analysis.statistics.grim import rounding_bounds
    >>> [round(p, 4) for p in possible_p("t", rounding_bounds("2.228"), [(Fraction(10), Fraction(10))])]
    [0.05, 0.0501]
    """
    low, high = (float(bound) for bound in statistic)
    if kind in {"t", "z", "r"}:
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        low, high = nearest, max(abs(low), abs(high))
    grids = [np.linspace(float(first), float(last), DF_POINTS if first < last else 1) for first, last in dfs]
    possible = _p(kind, *np.meshgrid([low, high], *grids))
    return Interval(float(possible.min()), float(possible.max()))


def possible_df(kind: str, statistic: Bounds, p: Interval) -> Interval | None:
    """Return the lowest and the highest whole number of degrees of freedom with which the p value is possible.

    Parameters
    ----------
    kind : str
        `t`, `chi2` or `r`. The p values of these statistics change in only one direction if the degrees of freedom
        grow.
    statistic : tuple of Fraction
        Lowest and highest value of the statistic.
    p : Interval
        Bounds of the p value.

    Returns
    -------
    Interval or None
        None if the p value is impossible with any degrees of freedom. The upper bound is infinite if the p value is
        possible with `MOST_DF` degrees of freedom.

    Examples
    --------
    A chi-square of 6.3549 has p = .0956 only with 3 degrees of freedom. A chi-square of 0.7795 never has p = .7795.

    >>> from analysis.statistics.grim import rounding_bounds
    >>> possible_df("chi2", rounding_bounds("6.3549"), Interval(0.09555, 0.09565))
    Interval(low=3, high=3)
    >>> possible_df("chi2", rounding_bounds("0.7795"), Interval(0.77945, 0.77955)) is None
    True
    """
    dfs = range(1, MOST_DF + 1)

    def bounds(df: int) -> Interval:
        return possible_p(kind, statistic, [(Fraction(df), Fraction(df))])

    if kind == "chi2":  # p grows with the degrees of freedom.
        first = bisect_left(dfs, True, key=lambda df: bounds(df).high >= p.low)
        after = bisect_left(dfs, True, key=lambda df: bounds(df).low > p.high)
    else:
        first = bisect_left(dfs, True, key=lambda df: bounds(df).low <= p.high)
        after = bisect_left(dfs, True, key=lambda df: bounds(df).high < p.low)
    return Interval(first + 1, inf if after == MOST_DF else after) if first < after else None


def _p(kind: str, statistic: Floats, *dfs: Floats) -> Floats:
    match kind:
        case "t":
            p = 2 * t.sf(statistic, *dfs)
        case "z":
            p = 2 * norm.sf(statistic)
        case "r":
            r_squared = np.minimum(statistic**2, 1)
            with np.errstate(divide="ignore"):
                p = 2 * t.sf(statistic * np.sqrt(dfs[0] / (1 - r_squared)), *dfs)
        case "chi2":
            p = chi2.sf(statistic, *dfs)
        case _:
            p = f.sf(statistic, *dfs)
    return np.asarray(p)
