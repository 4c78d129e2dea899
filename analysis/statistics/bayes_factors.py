"""Bayes factors of a mean difference and of two proportions, and words for their strength."""

import math

import numpy as np
import pandas as pd
from scipy.special import betaln, logsumexp

from analysis.statistics.count_tests import checked_counts
from analysis.statistics.t_tests import LARGEST
from batteries.errors import InputError

LARGEST_LOG = 709.0
"""Largest number whose exponential a double-precision number can hold."""


def bayes_factor_t(t: float, n_first: int, n_second: int | None = None, *, scale: float = math.sqrt(2) / 2) -> float:
    r"""Return the JZS Bayes factor of a t test: how strongly the data favour a difference over no difference.

    Parameters
    ----------
    t : float
        The statistic of a paired, one-sample or Student's t test. The Bayesian model does not fit Welch's test.
    n_first : int
        Number of values or pairs. In a test of two groups, the size of the first group.
    n_second : int, optional
        Size of the second group in a test of two independent groups. None for a paired or one-sample test.
    scale : float
        Scale of the Cauchy prior of the standardised difference: the prior probability of a smaller absolute
        difference is one half.

    Returns
    -------
    float
        BF10. Values above 1 favour a difference; values below 1 favour no difference. BF10 is infinite if it is too
        large for a double-precision number.

    Raises
    ------
    InputError
        `t` is not finite, a sample has fewer than two values, or `scale` is not above zero.

    Notes
    -----
    For one sample or for pairs, :math:`N = n` and :math:`\nu = n - 1`. For two groups, :math:`N = n_1 n_2 / (n_1 +
    n_2)` and :math:`\nu = n_1 + n_2 - 2`. With the scale :math:`r`,

    .. math::
        BF_{10} = \int_0^\infty (1 + N g r^2)^{-1/2}
        \left(\frac{1 + t^2 / \nu}{1 + t^2 / ((1 + N g r^2) \nu)}\right)^{(\nu + 1)/2}
        (2 \pi)^{-1/2} g^{-3/2} e^{-1/(2g)} \, dg.

    The integral over :math:`x = \log g` is computed by the trapezoidal rule, with logarithms, so that no number
    overflows. For this smooth integrand, the trapezoidal rule is exact except for rounding errors (Trefethen &
    Weideman, 2014).

    References
    ----------
    Rouder, J. N., Speckman, P. L., Sun, D., Morey, R. D., & Iverson, G. (2009). Bayesian t tests for accepting and
    rejecting the null hypothesis. Psychonomic Bulletin & Review, 16, 225-237.
    Trefethen, L. N., & Weideman, J. A. C. (2014). The exponentially convergent trapezoidal rule. SIAM Review, 56,
    385-458.

    Examples
    --------
    With 80 participants and a scale of 1, Rouder et al. report these Bayes factors in favour of the null hypothesis:
    1.02 for t = 2.24, and 1.56 for t = 2.03. For the ten pairs of Student's data on sleep, R's BayesFactor returns
    17.25888:

    >>> [round(1 / bayes_factor_t(t, 80, scale=1.0), 2) for t in (2.24, 2.03)]
    [1.02, 1.56]
    >>> round(bayes_factor_t(-4.062127683382037, 10), 5)
    17.25888
    """
    sizes = (n_first,) if n_second is None else (n_first, n_second)
    if min(sizes) < 2:
        raise InputError(
            f"a sample has {min(sizes)} values; a Bayes factor of a t test needs at least 2. Fix: collect more data."
        )
    if not abs(t) <= LARGEST:
        raise InputError(f"the t statistic is {t}, which is not a finite number. Fix: correct the t statistic.")
    if not 1 / LARGEST <= scale <= LARGEST:
        raise InputError(
            f"the scale of the prior is {scale}, but it must be a finite number above zero. Fix: give a number such as "
            "0.707."
        )
    df = sum(sizes) - len(sizes)
    effective_n = math.prod(sizes) / (sum(sizes) if len(sizes) == 2 else 1)
    log_n_scale = math.log(effective_n) + 2 * math.log(scale)
    # Below x = -6 the prior is under exp(-200). At 50 above both modes, prior and likelihood have fallen by exp(-50).
    step = 0.05
    x = np.arange(-6.0, max(0.0, 2 * math.log(max(abs(t), 1.0)) - log_n_scale) + 50.0, step)
    log_widening = np.logaddexp(0.0, log_n_scale + x)
    t_squared = t * t / df
    log_likelihood_ratio = -log_widening / 2 + (df + 1) / 2 * (
        math.log1p(t_squared) - np.log1p(t_squared * np.exp(-log_widening))
    )
    log_prior = -(math.log(2 * math.pi) + x + np.exp(-x)) / 2
    return _exponential(float(logsumexp(log_likelihood_ratio + log_prior)) + math.log(step))


def bayes_factor_proportions(table: pd.DataFrame) -> float:
    r"""Return the Bayes factor of two independent proportions: how strongly the data favour a difference.

    Parameters
    ----------
    table : DataFrame, shape (2, 2)
        Numbers of trials, with one row per group and one column per outcome, such as wrong and right. Trials must be
        independent.

    Returns
    -------
    float
        BF10. Values above 1 favour different proportions; values below 1 favour equal proportions. BF10 is infinite if
        it is too large for a double-precision number.

    Raises
    ------
    InputError
        The table is not 2 by 2, a cell is not a count, or a group is empty.

    Notes
    -----
    The sizes of the groups are fixed. Under the alternative hypothesis the groups have different proportions; under
    the null hypothesis, both groups have the same proportion. The prior of each proportion is uniform between 0 and 1.
    For the counts :math:`a, b` of the first group and the counts :math:`c, d` of the second group,

    .. math:: BF_{10} = \frac{B(a + 1, b + 1)\, B(c + 1, d + 1)}{B(a + c + 1, b + d + 1)}

    with Euler's beta function :math:`B`. It equals the Bayes factor of Gunel and Dickey for independent multinomial
    rows with prior concentration 1.

    References
    ----------
    Jeffreys, H. (1935). Some tests of significance, treated by the theory of probability. Proceedings of the Cambridge
    Philosophical Society, 31, 203-222.
    Gunel, E., & Dickey, J. (1974). Bayes factors for independence in contingency tables. Biometrika, 61, 545-557.

    Examples
    --------
    Each group has one trial. The trial is right in one group and wrong in the other group, so BF10 is (1/2)(1/2) /
    (1/6) = 3/2.

    >>> round(bayes_factor_proportions(pd.DataFrame([[1, 0], [0, 1]])), 6)
    1.5
    """
    counts = checked_counts(table)
    if counts.shape != (2, 2):
        raise InputError(
            f"the table has {counts.shape[0]} rows and {counts.shape[1]} columns, but it needs 2 rows (groups) and 2 "
            "columns (outcomes). Fix: give a table of this size."
        )
    for name, total in zip(table.index, counts.sum(axis=1), strict=True):
        if total == 0:
            raise InputError(
                f"all counts in the row {name} of the table are 0. Fix: leave out the comparison with {name}."
            )
    (a, b), (c, d) = counts.tolist()
    return _exponential(float(betaln(a + 1, b + 1) + betaln(c + 1, d + 1) - betaln(a + c + 1, b + d + 1)))


def bayes_factor_words(bf10: float) -> str:
    """Return the strength of the evidence in words (Jeffreys' grades), and the favoured hypothesis.

    Parameters
    ----------
    bf10 : float
        A Bayes factor in favour of the alternative hypothesis.

    Returns
    -------
    str
        The grade and the hypothesis. The grades begin at Bayes factors of 1, sqrt(10), 10, 10 sqrt(10) and 100. For a
        Bayes factor below 1, the grade is that of its inverse, for the null hypothesis. Jeffreys has these grades only
        for evidence against the null hypothesis.

    Raises
    ------
    InputError
        The Bayes factor is missing or negative.

    References
    ----------
    Jeffreys, H. (1961). Theory of probability (3rd ed.). Oxford University Press. Appendix B.

    Examples
    --------
    >>> bayes_factor_words(17.3), bayes_factor_words(0.2)
    ('strong evidence for the alternative hypothesis', 'substantial evidence for the null hypothesis')
    >>> bayes_factor_words(0.9)
    'evidence not worth more than a bare mention for the null hypothesis'
    """
    if not bf10 >= 0:
        raise InputError(
            f"the Bayes factor is {bf10}, but it must be zero or a positive number. Fix: correct the Bayes factor."
        )
    if bf10 == 1:
        return "evidence for neither hypothesis"
    strength = math.inf if bf10 == 0 else max(bf10, 1 / bf10)
    side = "alternative" if bf10 > 1 else "null"
    grades = ((100, "decisive evidence"), (10**1.5, "very strong evidence"), (10, "strong evidence"),
              (10**0.5, "substantial evidence"), (1, "evidence not worth more than a bare mention"))  # fmt: skip
    grade = next(words for bound, words in grades if strength >= bound)
    return f"{grade} for the {side} hypothesis"


def _exponential(log_bayes_factor: float) -> float:
    return math.exp(log_bayes_factor) if log_bayes_factor < LARGEST_LOG else math.inf
