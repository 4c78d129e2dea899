import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.statistics.equivalence import equivalence_of_interval, equivalence_t
from analysis.statistics.t_tests import independent_t, paired_t
from batteries.errors import InputError
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "t_tests.json").read_text(encoding="utf-8"))
SAMPLES = st.lists(st.integers(-50, 50), min_size=3, max_size=10).filter(lambda values: len(set(values)) > 1)
ONE, TWO = np.array([1.0, 2.0, 4.0, 4.0]), np.array([2.0, 3.0, 3.0, 7.0])


@pytest.mark.parametrize("case", R["equivalence"])
def test_the_p_value_and_interval_are_those_of_rs_one_sided_tests(case):
    result = equivalence_t(
        np.array(case["first"]), np.array(case["second"]), case["low"], case["high"],
        paired=case["paired"], equal_variances=case["var.equal"], confidence=case["confidence"],
    )  # fmt: skip
    assert result.p_value == pytest.approx(case["p"], rel=1e-9)
    assert (result.ci_low, result.ci_high) == pytest.approx(case["interval"], rel=1e-9)


def sample(mean, deviation, n):
    """Return a sample with exactly this mean and standard deviation."""
    z = np.linspace(-1, 1, n)
    return mean + deviation * z / z.std(ddof=1)


def test_lakens_example_of_a_replication_is_reproduced():
    """Moery and Calin-Jageman (2016), in Lakens (2017): t(182) = -2.69, p = .004 with bounds of 0.43 pooled SD."""
    control, organic = sample(5.25, 0.95, 95), sample(5.22, 0.83, 89)
    bound = 0.43 * np.sqrt((94 * 0.95**2 + 88 * 0.83**2) / 182)
    result = equivalence_t(control, organic, -bound, bound, equal_variances=True)
    assert (result.df, round(result.statistic, 2), round(result.p_value, 3)) == (182, -2.69, 0.004)


def test_the_name_of_the_test_has_its_bounds_its_form_and_the_coverage_of_its_interval():
    assert equivalence_t(ONE, TWO, -0.5, 1).test == (
        "Equivalence between -0.5 and 1 by two one-sided tests (Welch's t test, 90 % interval)"
    )


@given(SAMPLES, SAMPLES, st.integers(1, 40), st.sampled_from([0.9, 0.95, 0.99]), st.booleans())
def test_p_is_below_alpha_exactly_when_the_interval_is_within_the_bounds(first, second, bound, confidence, equal):
    one, two = np.array(first, dtype=float), np.array(second, dtype=float)
    result = equivalence_t(one, two, -bound, bound, equal_variances=equal, confidence=confidence)
    assume(abs(result.p_value - (1 - confidence)) > 1e-9)
    assert (result.p_value < 1 - confidence) == equivalence_of_interval(result.ci_low, result.ci_high, -bound, bound)


@given(SAMPLES, SAMPLES, st.integers(1, 40))
def test_exchanging_the_groups_changes_the_sign_of_the_equivalence_test(first, second, bound):
    one, two = np.array(first, dtype=float), np.array(second, dtype=float)
    result, back = equivalence_t(one, two, -bound, 2 * bound), equivalence_t(two, one, -2 * bound, bound)
    assert (back.p_value, back.estimate, back.ci_low) == pytest.approx(
        (result.p_value, -result.estimate, -result.ci_high)
    )


def test_estimate_effect_and_degrees_of_freedom_are_those_of_the_test_of_a_difference():
    for equal in (True, False):
        result = equivalence_t(ONE, TWO, -1, 1, equal_variances=equal)
        plain = independent_t(ONE, TWO, equal_variances=equal, confidence=0.9)
        assert plain.test in result.test
        names = ("estimate", "effect", "effect_name", "df", "n")
        assert [getattr(result, name) for name in names] == [getattr(plain, name) for name in names]
        assert (result.ci_low, result.ci_high) == pytest.approx((plain.ci_low, plain.ci_high))
    result, plain = equivalence_t(ONE, TWO, -1, 1, paired=True), paired_t(ONE, TWO)
    assert (result.effect, result.effect_name, result.n) == (plain.effect, "Cohen's d_z", 4)


def test_wider_bounds_give_a_smaller_p():
    p = [equivalence_t(ONE, TWO, -bound, bound).p_value for bound in (0.5, 1, 2, 4, 8)]
    assert p == sorted(p, reverse=True)


@pytest.mark.parametrize(("low", "high"), [(1, -1), (0, 0), (np.nan, 1), (-1, np.nan), (-np.inf, 1)])
def test_invalid_bounds_are_refused(low, high):
    with pytest.raises(InputError, match="the bounds of equivalence"):
        equivalence_t(ONE, TWO, low, high)
    with pytest.raises(InputError, match="the bounds of equivalence"):
        equivalence_of_interval(0, 0, low, high)


@pytest.mark.parametrize("confidence", [0.5, 0.05, 1, 95, np.nan])
def test_a_confidence_without_an_interval_is_refused(confidence):
    with pytest.raises(InputError, match=r"between 0\.5 and 1"):
        equivalence_t(ONE, TWO, -1, 1, confidence=confidence)


def test_constant_data_are_refused():
    with pytest.raises(InputError, match="all values within each group are the same"):
        equivalence_t(np.ones(4), np.ones(3), -1, 1)
    with pytest.raises(InputError, match="differences are the same"):
        equivalence_t(ONE, ONE, -1, 1, paired=True)


def test_an_interval_that_touches_a_bound_is_not_within_the_bounds():
    assert equivalence_of_interval(-0.05, 0.05, -0.1, 0.1)
    assert not equivalence_of_interval(-0.1, 0.05, -0.1, 0.1)
    assert not equivalence_of_interval(-0.05, 0.1, -0.1, 0.1)
    assert not equivalence_of_interval(0.2, 0.3, -0.1, 0.1)


@pytest.mark.parametrize(("ci_low", "ci_high"), [(0.05, -0.05), (np.nan, 0.05), (-0.05, np.nan)])
def test_an_invalid_interval_is_refused(ci_low, ci_high):
    with pytest.raises(InputError, match="the lower bound of the interval"):
        equivalence_of_interval(ci_low, ci_high, -0.1, 0.1)
