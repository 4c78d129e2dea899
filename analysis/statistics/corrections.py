"""Corrections of p values for the number of tests in a family."""

import numpy as np
import numpy.typing as npt
import scipy

from batteries.errors import InputError

Floats = npt.NDArray[np.float64]


def holm(p_values: npt.ArrayLike) -> Floats:
    r"""Return p values adjusted by Holm's method.

    The method limits the probability of at least one false rejection in the family to alpha.

    Parameters
    ----------
    p_values : array-like of float, shape (tests,)
        The p values of one family of tests, in any order.

    Returns
    -------
    array of float, shape (tests,)
        The adjusted p values in the order of `p_values`. A null hypothesis is rejected if its adjusted p value is at
        most alpha.

    Raises
    ------
    InputError
        There is no p value, or a p value is missing or not between 0 and 1.

    Notes
    -----
    With the :math:`m` p values in ascending order,

    .. math:: \tilde p_{(i)} = \min\left(1, \max_{j \le i} (m - j + 1)\, p_{(j)}\right).

    The method makes no assumption about the dependence of the tests. R's ``p.adjust(p, "holm")`` gives the same
    values.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics, 6,
    65-70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, 0.005]).round(6).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = _checked(p_values)
    ascending = np.argsort(p, kind="stable")
    factors = np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[ascending] = np.minimum(1.0, np.maximum.accumulate(factors * p[ascending]))
    return adjusted


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    r"""Return p values adjusted by Benjamini and Hochberg's method.

    The method limits the false discovery rate: the expected share of false rejections among all rejections.

    Parameters
    ----------
    p_values : array-like of float, shape (tests,)
        The p values of one family of tests, in any order.

    Returns
    -------
    array of float, shape (tests,)
        The adjusted p values in the order of `p_values`. A null hypothesis is rejected if its adjusted p value is at
        most the chosen false discovery rate.

    Raises
    ------
    InputError
        There is no p value, or a p value is missing or not between 0 and 1.

    Notes
    -----
    With the :math:`m` p values in ascending order,

    .. math:: \tilde p_{(i)} = \min_{j \ge i} \frac{m}{j}\, p_{(j)}.

    The method is valid for independent and positively dependent tests. R's ``p.adjust(p, "BH")`` gives the same
    values.

    References
    ----------
    Benjamini, Y., & Hochberg, Y. (1995). Controlling the false discovery rate: A practical and powerful approach to
    multiple testing. Journal of the Royal Statistical Society B, 57, 289-300.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.005]).round(6).tolist()
    [0.02, 0.04, 0.04, 0.02]
    """
    return np.asarray(scipy.stats.false_discovery_control(_checked(p_values), method="bh"), dtype=float)


def _checked(p_values: npt.ArrayLike) -> Floats:
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or len(p) == 0:
        raise InputError(
            "the p values are not a list, or the list is empty. Fix: give a list with at least one p value."
        )
    unusable = int((~((p >= 0) & (p <= 1))).sum())
    if unusable:
        raise InputError(
            f"{unusable} of {len(p)} p values are missing or not between 0 and 1. Fix: remove the tests without a "
            "valid p value from the family."
        )
    return p
