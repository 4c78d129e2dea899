"""Rank tests, compared with R's `wilcox.test` and with the enumeration of all ranks."""

import json
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.rank_tests import mann_whitney, wilcoxon_signed_rank
from batteries.errors import InputError
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "rank_tests.json").read_text(encoding="utf-8"))


def is_what_r_printed(result, case):
    assert (result.statistic, result.p_value) == pytest.approx((case["statistic"], case["p"]), rel=1e-9)
    assert result.effect == pytest.approx(case["effect"], abs=1e-12)
    assert ("exact" in result.test, "approximation" in result.test) == (case["exact"], not case["exact"])


def samples(case):
    return np.array(case["first"], dtype=float), np.array(case["second"], dtype=float)


@pytest.mark.parametrize("case", R["groups"])
def test_the_test_of_two_groups_gives_what_r_gives(case):
    first, second = samples(case)
    result = mann_whitney(first, second)
    is_what_r_printed(result, case)
    assert (result.n, result.effect_name) == (len(first) + len(second), "rank-biserial correlation")


@pytest.mark.parametrize("case", R["pairs"])
def test_the_test_of_pairs_gives_what_r_gives(case):
    result = wilcoxon_signed_rank(*samples(case))
    is_what_r_printed(result, case)
    assert result.n == case["n"]
    n_zero = len(case["first"]) - case["n"]
    assert result.warnings == (
        (f"Differences of 0: {n_zero} of {len(case['first'])}. Wilcoxon's test excludes them.",) if n_zero else ()
    )


def test_both_conditions_of_an_exact_and_of_an_approximate_p_value_occur_in_the_examples():
    for cases in R.values():
        assert {case["exact"] for case in cases} == {True, False}


def test_the_exact_p_value_of_pairs_is_the_share_of_signs_with_as_extreme_a_sum():
    differences = np.array([3.0, -1.0, 4.0, 6.0, -2.0, 5.0, 9.0])
    ranks = stats.rankdata(np.abs(differences))
    sums = np.array([ranks[np.array(signs)].sum() for signs in product([False, True], repeat=7)])
    observed = ranks[differences > 0].sum()
    extreme = np.abs(sums - 14) >= abs(observed - 14)
    assert wilcoxon_signed_rank(differences, np.zeros(7)).p_value == pytest.approx(extreme.mean())


def test_the_exact_p_value_of_groups_is_the_share_of_divisions_with_as_extreme_a_sum():
    first, second = np.array([1.0, 5.0, 6.0, 9.0]), np.array([2.0, 3.0, 4.0])
    ranks = stats.rankdata(np.concatenate([first, second]))
    sums = np.array([ranks[list(places)].sum() for places in combinations(range(7), 4)])
    extreme = np.abs(sums - 16) >= abs(ranks[:4].sum() - 16)
    assert mann_whitney(first, second).p_value == pytest.approx(extreme.mean())


def test_values_that_are_equal_except_for_rounding_errors_are_ties():
    """0.3 - 0.2 and 0.2 - 0.1 differ by 3e-17, and 0.1 + 0.2 is not 0.3."""
    pairs = wilcoxon_signed_rank(np.array([0.3, 0.2, 0.7, 0.1 + 0.2]), np.array([0.2, 0.1, 0.2, 0.3]))
    assert (pairs.n, pairs.statistic) == (3, 6.0)
    assert "corrected for ties" in pairs.test
    groups = mann_whitney(np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.2]))
    assert groups.statistic == 3.5


VALUES = st.lists(st.integers(-5, 5), min_size=2, max_size=15)


@given(VALUES, VALUES)
def test_exchanging_the_groups_changes_only_the_sign(first, second):
    one, two = np.array(first, dtype=float), np.array(second, dtype=float)
    if len({*first, *second}) == 1:
        with pytest.raises(InputError, match="all values are the same"):
            mann_whitney(one, two)
        return
    result, back = mann_whitney(one, two), mann_whitney(two, one)
    assert back.effect == pytest.approx(-result.effect, abs=1e-12)
    assert back.p_value == pytest.approx(result.p_value)
    assert 0 < result.p_value <= 1
    assert -1 <= result.effect <= 1


@given(VALUES)
def test_exchanging_the_two_values_of_each_pair_changes_only_the_sign(differences):
    one, zero = np.array(differences, dtype=float), np.zeros(len(differences))
    if not one.any():
        with pytest.raises(InputError, match=f"all {len(one)} differences are 0"):
            wilcoxon_signed_rank(one, zero)
        return
    result, back = wilcoxon_signed_rank(one, zero), wilcoxon_signed_rank(zero, one)
    assert back.effect == pytest.approx(-result.effect, abs=1e-12)
    assert back.p_value == pytest.approx(result.p_value)
    assert 0 < result.p_value <= 1


def test_samples_that_cannot_be_tested_are_refused_in_a_sentence():
    with pytest.raises(InputError, match=r"the values are not pairs\. Fix: "):
        wilcoxon_signed_rank(np.arange(3.0), np.arange(4.0))
    with pytest.raises(InputError, match=r"the second group has 1 values; .* Fix: "):
        mann_whitney(np.arange(3.0), np.array([1.0]))
    with pytest.raises(InputError, match=r"missing or infinite values\. Fix: "):
        mann_whitney(np.array([1.0, np.nan]), np.arange(3.0))
