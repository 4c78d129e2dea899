"""Permutation tests of a difference of means: between two groups, and within pairs."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from analysis.statistics.hypothesis_test import HypothesisTest
from analysis.statistics.t_tests import Floats, checked_pairs, checked_sample
from batteries.errors import InputError

EXACT_UP_TO = 100_000
"""If there are at most this many permutations, all of them are used. Otherwise permutations are drawn at random."""
MEAN_DIFFERENCE = "mean difference"
"""Name of the statistic of a permutation test. Its value is the same as the estimate."""

_ROUNDING = 1e-12
"""Sums that differ by less than this share of the sum of the largest values count as equal."""
_NUMBERS_AT_ONCE = 2_000_000


def permutation_of_groups(first: Floats, second: Floats, *, resamples: int, seed: int) -> HypothesisTest:
    r"""Test the difference of the means of two independent groups, by permuting the units between the groups.

    Parameters
    ----------
    first, second : array of float, shape (units,)
        One value per unit, such as a participant's mean; no unit is in both groups.
    resamples, seed : int
        Number of random permutations, and the seed. They have no effect if all permutations are used.

    Returns
    -------
    HypothesisTest
        `statistic` and `estimate` are mean(first) - mean(second). `test` says whether the p value is exact.

    Raises
    ------
    InputError
        A group has fewer than two values, a value is not finite, or all values are the same.

    Notes
    -----
    The null hypothesis is that both groups have the same distribution. Let :math:`m` be the number of permutations, and
    let :math:`b` of them have at least the observed absolute difference of means. If there are at most 100,000
    permutations, all of them are used, and the exact p value is :math:`b / m`. Otherwise permutations are drawn at
    random, and :math:`p = (b + 1) / (m + 1)`.

    References
    ----------
    Ernst, M. D. (2004). Permutation methods: A basis for exact inference. Statistical Science, 19, 676-685.
    Phipson, B., & Smyth, G. K. (2010). Permutation p-values should never be zero: Calculating exact p-values when
    permutations are randomly drawn. Statistical Applications in Genetics and Molecular Biology, 9, 39.

    Examples
    --------
    Of the six ways to divide the four values into two groups, two have a difference as large as 2:

    >>> result = permutation_of_groups(np.array([3.0, 4.0]), np.array([1.0, 2.0]), resamples=1_000, seed=1)
    >>> result.estimate, round(result.p_value, 6), result.test
    (2.0, 0.333333, 'Permutation test (exact, 6 permutations)')
    """
    one, two = checked_sample(first, "the first group"), checked_sample(second, "the second group")
    values = np.concatenate([one, two])
    tolerance = _ROUNDING * len(values) * float(np.abs(values).max())
    if np.ptp(values) <= tolerance:
        raise InputError(
            "all values are the same, so a permutation test cannot be computed. Fix: leave the test out, and report "
            "this value."
        )
    # The sum of the smaller group determines the difference. The sorted values make the result independent of the order
    # of units and groups.
    smaller = one if len(one) <= len(two) else two
    size, centred = len(smaller), np.sort(values - values.mean())
    observed, n_permutations = float((smaller - values.mean()).sum()), math.comb(len(values), size)
    if is_exact := n_permutations <= EXACT_UP_TO:
        sums = _sums_of_subsets(centred, size)
    else:
        sums = _drawn(
            lambda generator, n: generator.permuted(np.tile(centred, (n, 1)), axis=1)[:, :size].sum(axis=1),
            len(centred), resamples, seed,
        )  # fmt: skip
    return _result(
        float(one.mean() - two.mean()), len(values), observed, sums, tolerance,
        f"Permutation test (exact, {n_permutations:,} permutations)" if is_exact
        else f"Permutation test ({resamples:,} random permutations)", is_exact=is_exact,
    )  # fmt: skip


def permutation_of_signs(first: Floats, second: Floats, *, resamples: int, seed: int) -> HypothesisTest:
    r"""Test the mean difference within pairs, by flipping the signs of the differences.

    Parameters
    ----------
    first, second : array of float, shape (pairs,)
        The two values of each pair, such as a participant's means in two conditions, or a mean and the chance level.
    resamples, seed : int
        Number of random sign flips, and the seed. They have no effect if all sign flips are used.

    Returns
    -------
    HypothesisTest
        `statistic` and `estimate` are the mean of first - second. `test` says whether the p value is exact.

    Raises
    ------
    InputError
        The arrays differ in length, there are fewer than two pairs, a value is not finite, or all differences are zero.

    Notes
    -----
    The null hypothesis is that the differences are symmetric around zero. With :math:`n` differences other than zero,
    there are :math:`2^n` combinations of signs. From these combinations, the p value is computed as in
    `permutation_of_groups`.

    References
    ----------
    Ernst, M. D. (2004). Permutation methods: A basis for exact inference. Statistical Science, 19, 676-685.
    Phipson, B., & Smyth, G. K. (2010). Permutation p-values should never be zero: Calculating exact p-values when
    permutations are randomly drawn. Statistical Applications in Genetics and Molecular Biology, 9, 39.

    Examples
    --------
    Of the eight combinations of signs of 1, 2 and 3, two have a mean as large as 2:

    >>> result = permutation_of_signs(np.array([1.0, 2.0, 3.0]), np.zeros(3), resamples=1_000, seed=1)
    >>> result.estimate, result.p_value, result.test
    (2.0, 0.25, 'Sign-flip permutation test (exact, 8 sign flips)')
    """
    one, two = checked_pairs(first, second)
    tolerance = _ROUNDING * len(one) * max(float(np.abs(one).max()), float(np.abs(two).max()))
    differences = one - two
    sizes = np.sort(np.abs(differences))
    sizes = sizes[sizes > tolerance]
    if len(sizes) == 0:
        raise InputError(
            f"all {len(one)} differences are 0, so a permutation test cannot be computed. Fix: leave the test out, and "
            "report that there is no difference in any pair."
        )
    if is_exact := 2 ** len(sizes) <= EXACT_UP_TO:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate([sums - size, sums + size])
    else:
        sums = _drawn(
            lambda generator, n: generator.choice([-1.0, 1.0], size=(n, len(sizes))) @ sizes,
            len(sizes), resamples, seed,
        )  # fmt: skip
    return _result(
        float(differences.mean()), len(one), float(differences.sum()), sums, tolerance,
        f"Sign-flip permutation test (exact, {len(sums):,} sign flips)" if is_exact
        else f"Sign-flip permutation test ({resamples:,} random sign flips)", is_exact=is_exact,
    )  # fmt: skip


def _result(
    estimate: float, n: int, observed: float, sums: Floats, tolerance: float, test: str, *, is_exact: bool
) -> HypothesisTest:
    n_extreme = int((np.abs(sums) >= abs(observed) - tolerance).sum())
    return HypothesisTest(
        test=test,
        statistic_name=MEAN_DIFFERENCE,
        statistic=estimate,
        p_value=n_extreme / len(sums) if is_exact else (n_extreme + 1) / (len(sums) + 1),
        n=n,
        estimate=estimate,
    )


def _sums_of_subsets(values: Floats, size: int) -> Floats:
    """Return the sum of each subset of this size."""
    sums = [np.zeros(1), *(np.empty(0) for _ in range(size))]
    for value in values:
        for length in range(size, 0, -1):
            sums[length] = np.concatenate([sums[length], sums[length - 1] + value])
    return sums[size]


def _drawn(
    draw: Callable[[np.random.Generator, int], npt.NDArray[np.float64]], n_units: int, resamples: int, seed: int
) -> Floats:
    """Return the sums of random permutations, which are drawn in parts to limit the memory."""
    generator = np.random.default_rng(seed)
    at_once = max(1, _NUMBERS_AT_ONCE // n_units)
    return np.concatenate([draw(generator, min(at_once, resamples - done)) for done in range(0, resamples, at_once)])
