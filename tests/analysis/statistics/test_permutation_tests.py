"""Permutation tests, compared with R's enumeration of permutations, with scipy, and with limits of large samples."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.permutation_tests import permutation_of_groups, permutation_of_signs
from batteries.errors import InputError

DRAWN = {"resamples": 1_000, "seed": 1}
SLEEP_1 = np.array([7.0, -16, -2, -12, -1, 34, 37, 8, 0, 20])
SLEEP_2 = np.array([19.0, 8, 11, 1, -1, 44, 55, 16, 46, 34])


def test_exact_p_values_are_those_of_an_enumeration_in_r():
    """R 4: rows of `expand.grid(rep(list(c(-1, 1)), 10))`, and columns of `combn(15, 8)`."""
    pairs = permutation_of_signs(SLEEP_1, SLEEP_2, **DRAWN)
    assert (pairs.p_value, pairs.estimate, pairs.n) == (4 / 1024, pytest.approx(-15.8), 10)
    horsebean, linseed = (
        np.array([179.0, 160, 136, 227, 217, 168, 108, 124]),
        np.array([309.0, 229, 181, 141, 260, 203, 148]),
    )
    groups = permutation_of_groups(horsebean, linseed, **DRAWN)
    assert (groups.p_value, groups.n) == (739 / 6435, 15)
    assert groups.test == "Permutation test (exact, 6,435 permutations)"


SHARES = st.lists(st.integers(0, 10), min_size=2, max_size=6)


@given(SHARES, SHARES)
def test_shares_of_correct_responses_have_the_p_value_of_whole_numbers(first, second):
    """Whole numbers have no rounding errors, so a permutation with the same difference counts as extreme."""
    one, two = np.array(first), np.array(second)
    values = np.concatenate([one, two])
    if np.ptp(values) == 0:
        return
    n_one, n_two = len(one), len(two)
    sums = [values[list(places)].sum() for places in combinations(range(len(values)), n_one)]
    differences = [abs(of_one * n_two - (values.sum() - of_one) * n_one) for of_one in sums]
    observed = abs(one.sum() * n_two - two.sum() * n_one)
    expected = sum(difference >= observed for difference in differences) / len(differences)
    result, back = (permutation_of_groups(*pair, **DRAWN) for pair in ((one / 10, two / 10), (two / 10, one / 10)))
    assert result.p_value == back.p_value == expected
    assert back.estimate == -result.estimate


@given(st.lists(st.integers(-10, 10), min_size=2, max_size=8).filter(any))
def test_differences_of_shares_have_the_p_value_of_whole_numbers(differences):
    whole = np.array(differences)
    flips = np.array(list(product([-1, 1], repeat=len(whole)))) @ whole
    expected = np.mean(np.abs(flips) >= abs(whole.sum()))
    result = permutation_of_signs(0.3 + whole / 10, np.full(len(whole), 0.3), **DRAWN)
    assert result.p_value == expected
    assert result.n == len(whole)


def test_random_permutations_have_the_p_value_of_all_permutations_except_for_their_random_error():
    """A random error of four standard errors is allowed. A t test of many units has nearly the same p value."""
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.25, 1, 60), rng.normal(0, 1, 90)
    for seed in (1, 2):
        groups = permutation_of_groups(first, second, resamples=20_000, seed=seed)
        expected = stats.ttest_ind(first, second).pvalue
        assert groups.p_value == pytest.approx(expected, abs=0.003 + 4 * math.sqrt(expected * (1 - expected) / 20_000))
        pairs = permutation_of_signs(first, second[:60], resamples=20_000, seed=seed)
        expected = stats.ttest_rel(first, second[:60]).pvalue
        assert pairs.p_value == pytest.approx(expected, abs=0.003 + 4 * math.sqrt(expected * (1 - expected) / 20_000))
        assert 0.02 < pairs.p_value < 0.98


def test_a_random_p_value_is_never_zero_and_counts_the_observed_permutation():
    first, second = np.arange(30.0) + 100, np.arange(30.0)
    for result in (permutation_of_groups(first, second, **DRAWN), permutation_of_signs(first, second, **DRAWN)):
        assert result.p_value == 1 / 1_001
        assert "(1,000 random" in result.test


def test_the_order_of_units_and_of_groups_does_not_change_random_permutations():
    rng = np.random.default_rng(4)
    first, second = rng.normal(0.4, 1, 14), rng.normal(0, 1, 25)
    p_value = permutation_of_groups(first, second, **DRAWN).p_value
    assert permutation_of_groups(second[::-1], first, **DRAWN).p_value == p_value
    pairs = permutation_of_signs(first, second[:14] * 0 + 0.1, **DRAWN)
    assert permutation_of_signs(second[:14] * 0 + 0.1, first, **DRAWN).p_value == pairs.p_value


@pytest.mark.parametrize(("n", "is_exact"), [(9, True), (10, False)])
def test_groups_of_nine_units_have_an_exact_p_value(n, is_exact):
    values = np.sin(np.arange(2.0 * n))
    assert ("exact" in permutation_of_groups(values[:n], values[n:], **DRAWN).test) == is_exact


@pytest.mark.parametrize(("n", "is_exact"), [(16, True), (17, False)])
def test_sixteen_differences_other_than_zero_have_an_exact_p_value(n, is_exact):
    differences = np.append(np.sin(np.arange(n) + 1.0), [0.0, 0.0])
    assert ("exact" in permutation_of_signs(differences, np.zeros(n + 2), **DRAWN).test) == is_exact


def test_samples_that_cannot_be_tested_are_refused_in_a_sentence():
    same = np.full(3, 0.1 + 0.2)
    with pytest.raises(InputError, match=r"all values are the same, .* Fix: "):
        permutation_of_groups(same, np.full(4, 0.3), **DRAWN)
    with pytest.raises(InputError, match=r"all 3 differences are 0, .* Fix: "):
        permutation_of_signs(same, np.full(3, 0.3), **DRAWN)
    with pytest.raises(InputError, match=r"the values are not pairs\. Fix: "):
        permutation_of_signs(same, np.arange(4.0), **DRAWN)


def test_random_permutations_of_a_very_small_group_have_its_size():
    """The 125,751 pairs of 502 values are too many for the exact p value of the function, but not for this test."""
    values = np.random.default_rng(5).normal(size=502)
    values[:2] = [1.5, 0.9]
    sums = (values[:, None] + values - 2 * values.mean())[np.triu_indices(502, 1)]
    expected = np.mean(np.abs(sums) >= abs(sums[0]))
    result = permutation_of_groups(values[:2], values[2:], resamples=20_000, seed=1)
    assert "random" in result.test
    assert result.p_value == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 20_000))
