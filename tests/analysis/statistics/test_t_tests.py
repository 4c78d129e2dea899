import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.t_tests import independent_t, one_sample_t, paired_t
from batteries.errors import InputError
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "t_tests.json").read_text(encoding="utf-8"))
SAMPLES = st.lists(st.integers(-1000, 1000), min_size=2, max_size=12).filter(lambda values: len(set(values)) > 1)


def is_what_r_printed(result, printed):
    found = (result.statistic, result.df, result.p_value, result.ci_low, result.ci_high)
    return found == pytest.approx([printed[name] for name in ("t", "df", "p", "low", "high")], rel=1e-9)


@pytest.mark.parametrize("case", R["groups"])
@pytest.mark.parametrize(("form", "equal"), [("student", True), ("welch", False)])
def test_tests_of_two_groups_give_what_r_gives(case, form, equal):
    first, second = np.array(case["first"]), np.array(case["second"])
    result = independent_t(first, second, equal_variances=equal, confidence=case["confidence"])
    assert is_what_r_printed(result, case[form])
    assert result.n == len(first) + len(second)
    assert result.estimate == pytest.approx(first.mean() - second.mean())
    assert result.test == ("Student's t test" if equal else "Welch's t test")


@pytest.mark.parametrize("case", R["pairs"])
def test_the_paired_test_gives_what_r_gives(case):
    first, second = np.array(case["first"]), np.array(case["second"])
    result = paired_t(first, second, confidence=case["confidence"])
    assert is_what_r_printed(result, case["paired"])
    assert result.n == len(first)
    assert result.effect == pytest.approx(result.statistic / np.sqrt(len(first)))


@pytest.mark.parametrize("case", R["one_sample"])
def test_the_test_against_a_number_gives_what_r_gives(case):
    result = one_sample_t(np.array(case["values"]), case["against"], confidence=case["confidence"])
    assert is_what_r_printed(result, case["one_sample"])
    assert result.effect == pytest.approx(result.statistic / np.sqrt(len(case["values"])))


def test_cohens_d_is_the_difference_in_standard_deviations_of_the_test():
    """Variances 1 and 4 with 3 and 5 values pool to (2 x 1 + 4 x 4)/6 = 3. The mean of the variances is 2.5."""
    first, second = np.array([4.0, 5.0, 6.0]), np.array([0.0, 2.0, 2.0, 2.0, 4.0]) * np.sqrt(2)
    difference = 5 - 2 * np.sqrt(2)
    student, welch = (independent_t(first, second, equal_variances=equal) for equal in (True, False))
    assert (student.effect, student.effect_name) == (pytest.approx(difference / np.sqrt(3)), "Cohen's d")
    assert welch.effect == pytest.approx(difference / np.sqrt(2.5))
    assert welch.effect_name == "Cohen's d (average variance)"


@given(SAMPLES, SAMPLES, st.booleans())
def test_tests_of_two_groups_agree_with_scipy_and_change_sign_with_the_order_of_groups(first, second, equal):
    one, two = np.array(first, dtype=float), np.array(second, dtype=float)
    result = independent_t(one, two, equal_variances=equal)
    theirs = stats.ttest_ind(one, two, equal_var=equal)
    assert (result.statistic, result.p_value, result.df) == pytest.approx(
        (theirs.statistic, theirs.pvalue, theirs.df), rel=1e-9, abs=1e-12
    )
    back = independent_t(two, one, equal_variances=equal)
    assert (back.statistic, back.p_value, back.effect) == pytest.approx(
        (-result.statistic, result.p_value, -result.effect)
    )
    assert (back.ci_low, back.ci_high) == pytest.approx((-result.ci_high, -result.ci_low))
    assert (result.p_value < 0.05) == (result.ci_low > 0 or result.ci_high < 0)


@given(st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=2, max_size=12))
def test_the_paired_test_is_the_one_sample_test_of_the_differences(pairs):
    first, second = np.array(pairs, dtype=float).T
    if len(set((first - second).tolist())) == 1:
        with pytest.raises(InputError, match=r"all \d+ differences are the same"):
            paired_t(first, second)
        return
    result = paired_t(first, second)
    one_sample = one_sample_t(first - second, 0)
    assert (result.statistic, result.p_value, result.ci_low) == (
        one_sample.statistic, one_sample.p_value, one_sample.ci_low
    )  # fmt: skip
    theirs = stats.ttest_rel(first, second)
    assert (result.statistic, result.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), abs=1e-12)


def test_a_group_that_does_not_vary_is_tested_with_a_warning():
    constant, other = np.array([0.5, 0.5, 0.5]), np.array([0.1, 0.4, 0.3, 0.9])
    result = independent_t(constant, other)
    assert result.df == pytest.approx(3)
    assert result.warnings == ("All values of the first group are the same, so the variance of this group is unknown.",)
    assert independent_t(other, constant).warnings[0].startswith("All values of the second group")
    assert independent_t(other, other + 1).warnings == ()


@pytest.mark.parametrize("equal", [True, False])
def test_two_groups_that_do_not_vary_are_refused(equal):
    with pytest.raises(InputError, match="all values within each group are the same"):
        independent_t(np.array([0.2, 0.2]), np.array([0.3, 0.3, 0.3]), equal_variances=equal)


def test_rounding_errors_of_constant_differences_do_not_count_as_variance():
    first = np.array([0.1, 0.7, 0.9, 1 / 3])
    second = first + 0.3
    assert np.ptp(first - second) > 0
    with pytest.raises(InputError, match="all 4 differences are the same"):
        paired_t(first, second)
    with pytest.raises(InputError, match="all values within each group are the same"):
        independent_t(np.array([0.1 + 0.2, 0.3]), np.array([0.3, 0.1 + 0.2]))


def test_a_small_variance_of_large_numbers_counts_as_variance():
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert one_sample_t(values + 2.0**36, 2.0**36).statistic == one_sample_t(values, 0).statistic


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_missing_and_infinite_values_are_refused(bad):
    good, spoilt = np.array([1.0, 2.0, 3.0]), np.array([1.0, bad, 3.0])
    with pytest.raises(InputError, match="the second group has 1 missing or infinite"):
        independent_t(good, spoilt)
    with pytest.raises(InputError, match="the first condition has 1 missing or infinite"):
        paired_t(spoilt, good)
    with pytest.raises(InputError, match="the sample has 1 missing or infinite"):
        one_sample_t(spoilt, 0)
    with pytest.raises(InputError, match="the mean under the null hypothesis"):
        one_sample_t(good, bad)


def test_samples_that_are_too_small_are_refused():
    two = np.array([1.0, 2.0])
    for n in (0, 1):
        with pytest.raises(InputError, match=f"the first group has {n} values"):
            independent_t(two[:n], two)
        with pytest.raises(InputError, match=f"the sample has {n} values"):
            one_sample_t(two[:n], 0)
        with pytest.raises(InputError, match=f"the first condition has {n} values"):
            paired_t(two[:n], two[:n])


def test_pairs_of_unequal_length_and_tables_are_refused():
    with pytest.raises(InputError, match="3 values and the second condition has 2 values"):
        paired_t(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0]))
    with pytest.raises(InputError, match="2 dimensions"):
        one_sample_t(np.eye(2), 0)


@pytest.mark.parametrize("confidence", [0, 1, 95, np.nan])
def test_a_confidence_outside_of_0_to_1_is_refused(confidence):
    with pytest.raises(InputError, match="the confidence is"):
        one_sample_t(np.array([1.0, 2.0]), 0, confidence=confidence)


def test_values_too_small_to_square_are_refused_and_not_divided_by_zero():
    with pytest.raises(InputError, match="all values within each group are the same"):
        independent_t(6e-162 * np.array([0.0, 0, 0, 0, 1]), 6e-162 * np.array([1.0, 0, 0, 0, 1]))


def test_a_number_too_far_from_the_values_to_compute_with_is_refused():
    with pytest.raises(InputError, match=r"all \d+ differences are the same"):
        one_sample_t(np.array([1.0, 2.0, 17.0]), 2.0**56)
