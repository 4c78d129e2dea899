"""Intervals of effect sizes, compared with R and effectsize (fixtures/effect_size_intervals.R)."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.anova import one_way_anova
from analysis.statistics.count_tests import chi_square, cochran_q, mcnemar
from analysis.statistics.effect_size_intervals import (
    noncentral_chi_square_interval,
    noncentral_t_interval,
    rank_biserial_interval,
    signed_rank_biserial_interval,
)
from analysis.statistics.equivalence import equivalence_t
from analysis.statistics.rank_tests import mann_whitney, wilcoxon_signed_rank
from analysis.statistics.t_tests import independent_t, one_sample_t, paired_t
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "effect_size_intervals.json").read_text(encoding="utf-8"))


def interval(result):
    return (result.effect_ci_low, result.effect_ci_high)


def of_r(case):
    return pytest.approx((case["low"], case["high"]), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("case", R["d"], ids=[f"{case['kind']} {case['confidence']}" for case in R["d"]])
def test_cohens_d_has_the_noncentral_t_interval_of_effectsize(case):
    first, second, confidence = np.array(case["first"]), np.array(case["second"]), case["confidence"]
    result = {
        "student": lambda: independent_t(first, second, equal_variances=True, confidence=confidence),
        "welch": lambda: independent_t(first, second, confidence=confidence),
        "paired": lambda: paired_t(first, second, confidence=confidence),
        "one": lambda: one_sample_t(first, case["second"], confidence=confidence),
    }[case["kind"]]()
    assert result.effect == pytest.approx(case["d"])
    assert interval(result) == of_r(case)
    assert result.effect_ci_low < result.effect < result.effect_ci_high


def test_an_equivalence_test_has_the_interval_of_d_of_its_t_test():
    case = R["d"][0]
    first, second = np.array(case["first"]), np.array(case["second"])
    assert interval(equivalence_t(first, second, -1, 1, paired=False, equal_variances=True)) == of_r(case)


@given(st.floats(-40, 40), st.integers(2, 200), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_noncentral_t_interval_excludes_0_exactly_if_p_is_below_1_minus_the_confidence(t, df, confidence):
    low, high = noncentral_t_interval(t, df, confidence)
    p = 2 * stats.t.sf(abs(t), df)
    if abs(p - (1 - confidence)) > 1e-6:
        assert (low > 0 or high < 0) == (p < 1 - confidence)
    assert noncentral_t_interval(-t, df, confidence) == pytest.approx((-high, -low), rel=1e-6, abs=1e-6)


def test_a_t_that_is_too_large_for_the_search_has_no_interval():
    assert np.isnan(noncentral_t_interval(1e12, 3)).any()


@pytest.mark.parametrize("case", R["v"], ids=str)
def test_cramers_v_has_the_two_sided_noncentral_chi_square_interval_of_effectsize(case):
    result = chi_square(pd.DataFrame(case["counts"]), confidence=case["confidence"])
    assert result.effect == pytest.approx(case["v"])
    assert interval(result) == of_r(case)


def test_cramers_v_stays_between_0_and_1():
    result = chi_square(pd.DataFrame([[5, 0], [0, 4]]))
    assert result.effect == pytest.approx(1)
    assert (0 < result.effect_ci_low < 1, result.effect_ci_high) == (True, 1)


def test_a_statistic_that_is_too_small_for_any_effect_has_no_interval():
    """Both bounds would be 0, which would claim that there is no effect at all."""
    assert np.isnan(noncentral_chi_square_interval(0.0, 1)).all()
    assert np.isnan(interval(chi_square(pd.DataFrame([[10, 10], [10, 10]])))).all()
    assert noncentral_chi_square_interval(0.01, 1).high > 0
    same_means = {"one": np.array([1.0, 2, 3]), "two": np.array([1.0, 2, 3]), "three": np.array([0.0, 2, 4])}
    assert np.isnan(interval(one_way_anova(same_means))).all()


@pytest.mark.parametrize("case", R["g"], ids=str)
def test_cohens_g_has_the_interval_that_fits_its_test(case):
    """R: binom.test for the exact test, and prop.test without correction (Wilson) for the chi-square test."""
    result = mcnemar(pd.DataFrame([[7, case["b"]], [case["c"], 5]]), confidence=case["confidence"])
    assert interval(result) == of_r(case)
    excludes_0 = result.effect_ci_low > 0 or result.effect_ci_high < 0
    assert excludes_0 == (result.p_value < 1 - case["confidence"])


def test_eta_squared_of_cochrans_q_has_no_interval():
    result = cochran_q(pd.DataFrame([[1, 0, 0]] * 8 + [[0, 1, 0]] * 4))
    assert interval(result) == (None, None)


@pytest.mark.parametrize("case", R["groups"], ids=str)
def test_the_rank_biserial_correlation_of_groups_has_delongs_variance_and_wilsons_interval(case):
    result = mann_whitney(np.array(case["first"]), np.array(case["second"]), confidence=case["confidence"])
    assert interval(result) == of_r(case)


@pytest.mark.parametrize("case", R["pairs"], ids=str)
def test_the_rank_biserial_correlation_of_pairs_has_wilsons_interval(case):
    differences = np.array(case["differences"])
    result = wilcoxon_signed_rank(differences, np.zeros(len(differences)), confidence=case["confidence"])
    assert interval(result) == of_r(case)


GROUP = st.lists(st.integers(-9, 9), min_size=2, max_size=9).map(lambda values: np.array(values, dtype=float))


@given(GROUP, GROUP)
def test_a_rank_biserial_interval_contains_its_estimate_and_turns_with_the_groups(first, second):
    if len(set(np.concatenate([first, second]))) == 1:
        return
    low, high = rank_biserial_interval(first, second)
    effect = mann_whitney(first, second).effect
    assert -1 <= low <= effect + 1e-12
    assert effect - 1e-12 <= high <= 1
    assert rank_biserial_interval(second, first) == pytest.approx((-high, -low))


def test_groups_and_pairs_that_do_not_overlap_have_an_interval_with_a_width():
    low, high = rank_biserial_interval(np.array([5.0, 6, 7]), np.array([1.0, 2, 3, 4]))
    assert (-1 < low < 0.9, high) == (True, 1)
    low, high = signed_rank_biserial_interval(-1.0, 6)
    assert (low, -0.9 < high < 0.2) == (-1, True)


def test_a_single_pair_has_no_interval():
    assert interval(wilcoxon_signed_rank(np.array([3.0, 2.0]), np.array([3.0, 1.0]))) == (None, None)
