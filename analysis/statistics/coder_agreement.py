"""Agreement of coders who gave answers one of several codes: kappa and alpha, with jackknife intervals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from analysis.statistics.agreement_measures import cohens_kappa, repeated_agreement
from analysis.statistics.intervals import Interval, wilson
from batteries.errors import InputError

Codes = npt.NDArray[np.int64]
"""The codes as whole numbers from 0, shape (answers, coders). `MISSING` marks an answer that a coder did not code."""
MISSING = -1
FEWEST_ANSWERS = 5
"""Smallest number of answers for an interval."""
_ROUNDING = 1e-12


@dataclass(frozen=True)
class CoderAgreement:
    """Agreement of coders beyond chance, with its interval."""

    value: float
    interval: Interval | None
    """The confidence interval; None if it cannot be computed."""
    why_no_interval: str = ""
    """The reason why there is no interval."""


def kappa_of_two(codes: Codes) -> float:
    """Return Cohen's kappa of two coders (`agreement_measures.cohens_kappa`).

    Parameters
    ----------
    codes : array of int, shape (answers, 2)
        The codes, without missing values.
    """
    return cohens_kappa(codes[:, 0], codes[:, 1])


def fleiss_kappa(codes: Codes) -> float:
    r"""Return Fleiss's kappa of several coders who all coded every answer.

    Parameters
    ----------
    codes : array of int, shape (answers, coders)
        The codes, without missing values, of at least two coders.

    Raises
    ------
    InputError
        If there are fewer than two coders or no answers, if a code is missing, or if all codes are the same.

    Notes
    -----
    Let :math:`P_i` be the share of pairs of coders who agree on answer :math:`i`, and :math:`p_j` the share of code
    :math:`j` among all codes. Then

    .. math:: \kappa = \frac{\bar{P} - P_e}{1 - P_e}, \quad P_e = \sum_j p_j^2.

    References
    ----------
    Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin, 76, 378-382.

    Examples
    --------
    >>> round(fleiss_kappa(np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])), 4)
    0.6571
    """
    if (codes == MISSING).any():
        raise InputError("Fleiss's kappa needs a code of each coder for each answer. Fix: use Krippendorff's alpha.")
    n_answers, n_coders = _checked(codes)
    shares = np.unique(codes, return_counts=True)[1] / (n_answers * n_coders)
    agreed = repeated_agreement(np.repeat(np.arange(n_answers), n_coders), codes.ravel())
    return _beyond_chance(float(agreed.mean()), float((shares**2).sum()))


def krippendorff_alpha(codes: Codes) -> float:
    r"""Return Krippendorff's alpha for nominal codes. Coders may leave answers uncoded.

    Parameters
    ----------
    codes : array of int, shape (answers, coders)
        The codes of at least two coders. Answers with fewer than two codes do not count.

    Raises
    ------
    InputError
        If there are fewer than two coders, if no answer has two codes, or if all codes are the same.

    Notes
    -----
    Let answer :math:`i` have :math:`m_i \ge 2` codes, let :math:`n = \sum_i m_i`, and let :math:`n_j` be the number of
    codes :math:`j` among them. Let :math:`P_i` be the share of pairs of codes of answer :math:`i` that are equal. Then

    .. math::
        \alpha = 1 - \frac{D_o}{D_e}, \quad D_o = 1 - \frac{1}{n} \sum_i m_i P_i, \quad
        D_e = 1 - \sum_j \frac{n_j (n_j - 1)}{n (n - 1)}.

    References
    ----------
    Krippendorff, K. (2019). Content analysis: An introduction to its methodology (4th ed.). Sage. Chapter 12.
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.

    Examples
    --------
    Two coders gave ten answers a code of two codes. They agree on six answers:

    >>> first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    >>> round(krippendorff_alpha(np.array([first, second]).T), 3)
    0.095
    """
    _checked(codes)
    given = codes != MISSING
    paired = codes[given.sum(axis=1) >= 2]
    if not len(paired):
        raise InputError("no answer has the codes of two coders. Fix: let a second coder code the answers.")
    rows, columns = np.nonzero(paired != MISSING)
    values = paired[rows, columns]
    n = len(values)
    of_code = np.unique(values, return_counts=True)[1]
    n_codes = np.bincount(rows)
    agreed = repeated_agreement(rows, values).to_numpy()
    expected = float((of_code * (of_code - 1)).sum()) / (n * (n - 1))
    return _beyond_chance(float((n_codes * agreed).sum()) / n, expected)


def with_interval(measure: Callable[[Codes], float], codes: Codes, confidence: float) -> CoderAgreement:
    r"""Return an agreement of coders with its jackknife interval over answers.

    Parameters
    ----------
    measure
        `kappa_of_two`, `fleiss_kappa` or `krippendorff_alpha`.
    codes : array of int, shape (answers, coders)
        The codes.
    confidence
        Confidence level of the interval, such as 0.95.

    Raises
    ------
    InputError
        If the measure cannot be computed.

    Notes
    -----
    The interval generalizes to other answers, with the same coders. The jackknife leaves out one of the :math:`n`
    answers at a time, which gives the standard error (Kraemer, 1980). The interval is the value ± t standard errors
    with :math:`n - 1` degrees of freedom, and ends at 1. If the coders agree on all answers, the standard error is 0,
    although the true agreement may be below 1. Then the lower bound is that of Wilson's interval of the share of
    agreement, corrected for chance with :math:`P_e = \sum_j p_j^2`.

    References
    ----------
    Kraemer, H. C. (1980). Extension of the kappa coefficient. Biometrics, 36, 207-216.

    Examples
    --------
    >>> codes = np.array([[0, 0]] * 20 + [[0, 1]] * 5 + [[1, 0]] * 10 + [[1, 1]] * 15)
    >>> found = with_interval(kappa_of_two, codes, 0.95)
    >>> round(found.value, 3), [round(bound, 3) for bound in found.interval]
    (0.4, [0.139, 0.661])
    """
    value = measure(codes)
    counted = codes[(codes != MISSING).sum(axis=1) >= 2]
    n = len(counted)
    if n < FEWEST_ANSWERS:
        return CoderAgreement(value, None, f"fewer than {FEWEST_ANSWERS} answers have the codes of two coders")
    if value > 1 - _ROUNDING:
        shares = np.unique(counted[counted != MISSING], return_counts=True)[1] / (counted != MISSING).sum()
        return CoderAgreement(value, Interval(_beyond_chance(wilson(n, n, confidence).low, (shares**2).sum()), 1.0))
    # Answers with the same codes are exchangeable, so only one of them is left out.
    _, places, n_alike = np.unique(counted, axis=0, return_index=True, return_counts=True)
    try:
        without = np.array([measure(np.delete(counted, place, axis=0)) for place in places])
    except InputError:
        return CoderAgreement(value, None, "without one of the answers, all codes are the same")
    variance = (n - 1) / n * float((n_alike * (without - np.average(without, weights=n_alike)) ** 2).sum())
    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * variance**0.5
    return CoderAgreement(value, Interval(max(value - half, -1.0), min(value + half, 1.0)))


def _checked(codes: Codes) -> tuple[int, int]:
    """Return the numbers of answers and of coders. Raise InputError if there are too few."""
    if codes.ndim != 2 or codes.shape[1] < 2 or not len(codes):
        raise InputError("the agreement of coders needs the codes of two coders. Fix: let a second coder code answers.")
    return codes.shape


def _beyond_chance(observed: float, expected: float) -> float:
    if expected > 1 - _ROUNDING:
        raise InputError("all codes are the same, so the agreement beyond chance is undefined. Fix: leave it out.")
    return (observed - expected) / (1 - expected)
