"""Tests of counts: independence in a table, counts compared with probabilities, and paired yes-no responses."""

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from analysis.statistics.effect_size_intervals import noncentral_chi_square_interval
from analysis.statistics.hypothesis_test import HypothesisTest
from batteries.errors import InputError

Counts = npt.NDArray[np.int64]

FEW_DISCORDANT = 25
"""Smallest number of discordant pairs (pairs of two different responses) for McNemar's chi-square test. With fewer
discordant pairs, the exact test is computed.
"""


def chi_square(table: pd.DataFrame, *, confidence: float = 0.95) -> HypothesisTest:
    r"""Test whether rows and columns of a table of counts are independent, by Pearson's chi-square test.

    Parameters
    ----------
    table : DataFrame, shape (rows, columns)
        Counts. Count each unit only once, because several responses of one participant are not independent.
    confidence : float
        Confidence level of the interval of Cramér's V.

    Returns
    -------
    HypothesisTest
        `effect` is Cramér's V, without correction for bias. The interval of V is two-sided and uses the noncentral
        chi-square distribution (`noncentral_chi_square_interval`). If some expected counts are under 5, a warning
        states their number.

    Raises
    ------
    InputError
        The table has fewer than two rows or columns, a cell is not a count, or a row or column is empty.

    Notes
    -----
    Let :math:`O_{ij}` be the counts, and :math:`N` the sum of all counts. The expected count :math:`E_{ij}` is the row
    total times the column total, divided by :math:`N`. Then

    .. math:: \chi^2 = \sum \frac{(O_{ij} - E_{ij})^2}{E_{ij}}, \quad V = \sqrt{\frac{\chi^2}{N \min(r - 1, c - 1)}}

    with :math:`(r - 1)(c - 1)` degrees of freedom. There is no continuity correction, not even for a 2 by 2 table.

    References
    ----------
    Pearson, K. (1900). On the criterion that a given system of deviations from the probable ... can be reasonably
    supposed to have arisen from random sampling. Philosophical Magazine, 50, 157-175.
    Cramér, H. (1946). Mathematical methods of statistics. Princeton University Press.

    Examples
    --------
    Agresti (2007, p. 39): gender and party.

    >>> result = chi_square(pd.DataFrame([[762, 327, 468], [484, 239, 477]]))
    >>> round(result.statistic, 2), result.df, f"{result.p_value:.3e}", round(result.effect, 4)
    (30.07, 2, '2.954e-07', 0.1044)
    """
    counts = checked_counts(table)
    if min(counts.shape) < 2:
        raise InputError(
            f"the table has {counts.shape[0]} rows and {counts.shape[1]} columns, but this test needs at least 2 rows "
            "and 2 columns. Fix: give a larger table."
        )
    empty = [f"row {name}" for name in table.index[counts.sum(axis=1) == 0]]
    empty += [f"column {name}" for name in table.columns[counts.sum(axis=0) == 0]]
    if empty:
        raise InputError(f"all counts are 0 in {_listed(empty)}. Fix: leave these rows and columns out of the table.")
    chisq, p_value, df, expected = scipy.stats.chi2_contingency(counts, correction=False)
    n = int(counts.sum())
    units = n * (min(counts.shape) - 1)
    low, high = noncentral_chi_square_interval(float(chisq), int(df), confidence)
    return HypothesisTest(
        test="Pearson's chi-square test of independence",
        statistic_name="chisq",
        statistic=float(chisq),
        p_value=float(p_value),
        n=n,
        df=int(df),
        effect_name="Cramér's V",
        effect=math.sqrt(float(chisq) / units),
        effect_ci_low=math.sqrt(low / units),
        effect_ci_high=float(np.sqrt(np.minimum(high / units, 1.0))),
        warnings=_small_expected_counts(np.asarray(expected)),
    )


def goodness_of_fit(counts: npt.ArrayLike, probabilities: npt.ArrayLike) -> HypothesisTest:
    r"""Test whether counts come from a given distribution, by Pearson's chi-square test.

    Parameters
    ----------
    counts : array-like of int, shape (categories,)
        Frequency of each category.
    probabilities : array-like of float, shape (categories,)
        The probability of each category under the null hypothesis. Each probability is above zero, and the sum of the
        probabilities is 1.

    Returns
    -------
    HypothesisTest
        `effect` is Cohen's w. If some expected counts are under 5, a warning states their number.

    Raises
    ------
    InputError
        There are fewer than two categories, a count or probability is invalid, or all counts are 0.

    Notes
    -----
    Let :math:`O_i` be the counts of the :math:`k` categories, :math:`N` the sum of the counts, and :math:`p_i` the
    probabilities. Then

    .. math:: \chi^2 = \sum \frac{(O_i - N p_i)^2}{N p_i}, \quad w = \sqrt{\chi^2 / N}

    with :math:`k - 1` degrees of freedom.

    References
    ----------
    Pearson, K. (1900). On the criterion that a given system of deviations from the probable ... can be reasonably
    supposed to have arisen from random sampling. Philosophical Magazine, 50, 157-175.
    Cohen, J. (1988). Statistical power analysis for the behavioral sciences (2nd ed.). Erlbaum.

    Examples
    --------
    Mendel's peas, 9 : 3 : 3 : 1:

    >>> result = goodness_of_fit([315, 108, 101, 32], [9 / 16, 3 / 16, 3 / 16, 1 / 16])
    >>> round(result.statistic, 2), result.df, round(result.p_value, 4)
    (0.47, 3, 0.9254)
    """
    observed = checked_counts(pd.DataFrame({"count": np.asarray(counts)})).ravel()
    shares = np.asarray(probabilities, dtype=float)
    if shares.shape != observed.shape or len(observed) < 2:
        raise InputError(
            f"there are {len(observed)} counts and {shares.size} probabilities. The test needs at least two "
            "categories, each with one count and one probability. Fix: give two lists of the same length, with two "
            "or more values."
        )
    if not (shares > 0).all() or not math.isclose(float(shares.sum()), 1, abs_tol=1e-6):
        raise InputError(
            "each probability must be above zero, and the sum of the probabilities must be 1. Fix: correct the "
            "probabilities."
        )
    n = int(observed.sum())
    if n == 0:
        raise InputError("all counts are 0, so there is nothing to test. Fix: leave this test out.")
    expected = n * shares
    chisq = float(((observed - expected) ** 2 / expected).sum())
    return HypothesisTest(
        test="Pearson's chi-square test of goodness of fit",
        statistic_name="chisq",
        statistic=chisq,
        p_value=float(scipy.stats.chi2.sf(chisq, len(observed) - 1)),
        n=n,
        df=len(observed) - 1,
        effect_name="Cohen's w",
        effect=math.sqrt(chisq / n),
        warnings=_small_expected_counts(expected),
    )


def mcnemar(table: pd.DataFrame, *, confidence: float = 0.95) -> HypothesisTest:
    r"""Test whether the same units respond yes equally often the first and the second time, by McNemar's test.

    Parameters
    ----------
    table : DataFrame, shape (2, 2)
        Counts of pairs. The rows are the first responses, and the columns are the second responses. Rows and columns
        have the same labels in the same order.
    confidence : float
        Confidence level of the interval of Cohen's g.

    Returns
    -------
    HypothesisTest
        A pair is discordant if its two responses differ. With fewer than 25 discordant pairs, the test is the exact
        binomial test. Then `statistic` is `b`, the number of pairs in the first row and second column. With 25
        discordant pairs or more, `statistic` is `chisq`, without continuity correction. `n` is the number of all
        pairs. `estimate` is the share of the first label among the first responses, minus the share of the first label
        among the second responses. `effect` is Cohen's g: the number `b` divided by the number of discordant pairs,
        minus one half. The interval of g comes from the interval of the share of `b` among the discordant pairs:
        Clopper and Pearson's exact interval for the exact test, Wilson's interval for the chi-square test. So the
        interval of g includes 0 if the test is not significant.

    Raises
    ------
    InputError
        The table is not 2 by 2, its labels differ between rows and columns, a cell is not a count, or no pair is
        discordant.

    Notes
    -----
    There are :math:`n` pairs. Let :math:`b` and :math:`c` be the two counts of discordant pairs. Then

    .. math:: \chi^2 = \frac{(b - c)^2}{b + c}

    with one degree of freedom. The exact p value is the two-sided binomial p value of :math:`b` successes in :math:`b +
    c` trials with probability one half. The estimate is :math:`(b - c)/n`.

    References
    ----------
    McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or percentages.
    Psychometrika, 12, 153-157.
    Cohen, J. (1988). Statistical power analysis for the behavioral sciences (2nd ed.). Erlbaum.

    Examples
    --------
    Agresti (1990, p. 350): approval of a prime minister, asked twice.

    >>> label = ["approve", "disapprove"]
    >>> result = mcnemar(pd.DataFrame([[794, 150], [86, 570]], index=label, columns=label))
    >>> round(result.statistic, 2), result.df, f"{result.p_value:.3e}", round(result.estimate, 2)
    (17.36, 1, '3.099e-05', 0.04)
    """
    counts = checked_counts(table)
    if counts.shape != (2, 2):
        raise InputError(
            f"the table has {counts.shape[0]} rows and {counts.shape[1]} columns, but McNemar's test needs 2 rows and "
            "2 columns. Fix: give a table of this size."
        )
    if list(table.index) != list(table.columns):
        raise InputError(
            f"the rows have the labels {_listed(table.index)}, but the columns have the labels "
            f"{_listed(table.columns)}. Fix: give rows and columns the same labels in the same order."
        )
    b, c = int(counts[0, 1]), int(counts[1, 0])
    discordant, n = b + c, int(counts.sum())
    if discordant == 0:
        raise InputError(
            "no pair has two different responses, so there is nothing to test. Fix: leave the test out, and report the "
            "share of each response."
        )
    exact = discordant < FEW_DISCORDANT
    chisq = (b - c) ** 2 / discordant
    binomial = scipy.stats.binomtest(b, discordant)
    share = binomial.proportion_ci(confidence, method="exact" if exact else "wilson")
    return HypothesisTest(
        test=f"McNemar's exact test (binomial, {discordant} discordant pairs)"
        if exact
        else "McNemar's chi-square test, without continuity correction",
        statistic_name="b" if exact else "chisq",
        statistic=float(b if exact else chisq),
        p_value=float(binomial.pvalue if exact else scipy.stats.chi2.sf(chisq, 1)),
        n=n,
        df=None if exact else 1,
        estimate=(b - c) / n,
        effect_name="Cohen's g",
        effect=b / discordant - 0.5,
        effect_ci_low=float(share.low) - 0.5,
        effect_ci_high=float(share.high) - 0.5,
    )


def cochran_q(table: pd.DataFrame) -> HypothesisTest:
    r"""Test whether the same units respond yes equally often in several conditions, by Cochran's Q test.

    Parameters
    ----------
    table : DataFrame, shape (units, conditions)
        One row per unit, one column per condition; every cell is 0 or 1.

    Returns
    -------
    HypothesisTest
        `effect` is eta squared of Q, between 0 and 1. It has no interval, because there is no established method. `n`
        is the number of all units. If too few units change their response between conditions, a warning says that the
        p value is only a rough approximation.

    Raises
    ------
    InputError
        There are fewer than two units or conditions, a cell is missing or neither 0 nor 1, or every unit gives the same
        response in all conditions.

    Notes
    -----
    With :math:`n` units, :math:`k` conditions, column totals :math:`G_j` and row totals :math:`L_i`,

    .. math::
        Q = \frac{(k - 1)\left(k \sum G_j^2 - (\sum G_j)^2\right)}{k \sum L_i - \sum L_i^2}, \quad
        \eta_Q^2 = \frac{Q}{n (k - 1)}

    with :math:`k - 1` degrees of freedom. Units with the same response in all conditions do not change Q. The
    chi-square approximation is considered good if at least 4 units change their response, and if these units have at
    least 24 cells together.

    References
    ----------
    Cochran, W. G. (1950). The comparison of percentages in matched samples. Biometrika, 37, 256-266.
    Tate, M. W., & Brown, S. M. (1970). Note on the Cochran Q test. Journal of the American Statistical Association,
    65, 155-160.
    Serlin, R. C., Carr, J., & Marascuilo, L. A. (1982). A measure of association for selected nonparametric
    procedures. Psychological Bulletin, 92, 786-790.

    Examples
    --------
    There are three conditions. Eight units respond yes only in the first condition, and four units only in the second
    condition: Q = 2 (3 x 80 - 144)/24.

    >>> table = pd.DataFrame([[1, 0, 0]] * 8 + [[0, 1, 0]] * 4, columns=["a", "b", "c"])
    >>> result = cochran_q(table)
    >>> round(result.statistic, 6), result.df, round(result.p_value, 6), round(result.effect, 6)
    (8.0, 2, 0.018316, 0.333333)
    """
    responses = _numbers(table)
    n, k = responses.shape
    if n < 2 or k < 2:
        raise InputError(
            f"Cochran's Q needs at least 2 units and 2 conditions, but the numbers of units and conditions are {n} "
            f"and {k}. Fix: collect more data or choose another test."
        )
    unusable = int((~np.isin(responses, (0, 1))).any(axis=1).sum())
    if unusable:
        raise InputError(
            f"{unusable} of {n} units have a cell that is missing or neither 0 nor 1. Fix: exclude these units first."
        )
    by_condition, by_unit = responses.sum(axis=0), responses.sum(axis=1)
    changing = int(((by_unit > 0) & (by_unit < k)).sum())
    if changing == 0:
        raise InputError(
            "every unit gives the same response in all conditions, so there is nothing to test. Fix: leave the test "
            "out, and report the share of each response."
        )
    total = float(by_unit.sum())
    q = (k - 1) * (k * float((by_condition**2).sum()) - total**2) / (k * total - float((by_unit**2).sum()))
    few = changing < 4 or changing * k < 24
    return HypothesisTest(
        test="Cochran's Q test",
        statistic_name="chisq",
        statistic=q,
        p_value=float(scipy.stats.chi2.sf(q, k - 1)),
        n=n,
        df=k - 1,
        effect_name="eta squared of Q",
        effect=q / (n * (k - 1)),
        warnings=(
            f"Only {changing} of {n} units respond differently in different conditions, so the p value is a rough "
            "approximation.",
        )
        if few
        else (),
    )


def checked_counts(table: pd.DataFrame) -> Counts:
    """Return the counts of a table. Raise InputError if a cell is not a count."""
    numbers = _numbers(table)
    wrong = int((~((numbers >= 0) & (numbers <= 2**53) & (numbers == np.floor(numbers)))).sum())
    if wrong:
        raise InputError(f"{wrong} cells of the table are not counts. Fix: give 0 or positive whole numbers.")
    return numbers.astype(np.int64)


def _numbers(table: pd.DataFrame) -> npt.NDArray[np.float64]:
    return np.asarray(table.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float, na_value=np.nan))


def _small_expected_counts(expected: npt.NDArray[np.float64]) -> tuple[str, ...]:
    small = int((expected < 5).sum())
    if small == 0:
        return ()
    return (
        f"{small} of {expected.size} expected counts are under 5 (the smallest is {expected.min():.2f}), so the p "
        "value is a rough approximation.",
    )


def _listed(names: Iterable[object]) -> str:
    return " and ".join(str(name) for name in names)
