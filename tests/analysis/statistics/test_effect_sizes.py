import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.effect_sizes import (
    effect_sizes_of_f,
    noncentrality_interval,
    partial_omega_squared_within,
)

# R 4.2.2, effectsize 0.8.3, for each F and its degrees of freedom:
#   F_to_eta2(f, df, df_error, ci = .95, alternative = "two.sided"); F_to_omega2(...); F_to_f(...)
# partial eta squared and its bounds; partial omega squared; Cohen's f and its bounds.
FROM_R = {
    (7, 2, 6): (0.7, 0, 0.873441699954, 0.571428571429, 1.52752523165, 0, 2.62706999862),
    (0.5, 2, 6): (0.142857142857, 0, 0.546769053791, 0, 0.408248290464, 0, 1.09835361916),
    (5, 1, 30): (0.142857142857, 0, 0.376719128208, 0.111111111111, 0.408248290464, 0, 0.77744009861),
    (20.1, 3.2, 45.7): (0.584620978004, 0.376729476736, 0.704391838285, 0.550531435777, 1.18635569074, 0.777457230941,
                        1.54365039092),
    (300, 2, 1e5): (0.00596421471173, 0.00504174074905, 0.00694121005662, 0.0059442749078, 0.0774596669241,
                    0.0711848909882, 0.0836045885194),
}  # fmt: skip


@pytest.mark.parametrize("test", FROM_R)
def test_the_effect_sizes_equal_those_of_effectsize(test):
    sizes = effect_sizes_of_f(*test)
    found = (sizes.partial_eta_squared, sizes.eta_ci_low, sizes.eta_ci_high, sizes.partial_omega_squared,
             sizes.cohens_f, sizes.f_ci_low, sizes.f_ci_high)  # fmt: skip
    assert found == pytest.approx(FROM_R[test], rel=2e-6)  # R minimizes numerically; its bounds have six digits.


def test_the_lower_bound_of_a_90_percent_interval_is_that_of_the_default_of_effectsize():
    """R: F_to_eta2(5, 1, 30) gives the one-sided 95 % interval [0.00680455512803, 1]."""
    assert effect_sizes_of_f(5, 1, 30, confidence=0.9).eta_ci_low == pytest.approx(0.00680455512803, rel=1e-5)


def test_the_90_percent_interval_excludes_0_exactly_if_p_is_below_5_percent():
    critical = float(stats.f.ppf(0.95, 2, 40))
    assert effect_sizes_of_f(critical * 1.001, 2, 40, confidence=0.9).eta_ci_low > 0
    assert effect_sizes_of_f(critical * 0.999, 2, 40, confidence=0.9).eta_ci_low == 0


@given(st.floats(0.01, 500), st.integers(1, 12), st.floats(2, 500))
def test_the_observed_f_is_a_quantile_of_the_noncentral_f_distribution_at_each_bound(f, df, df_error):
    low, high = noncentrality_interval(f, df, df_error)
    if math.isnan(high):
        assert stats.f.cdf(f, df, df_error) <= 0.025
        return
    assert 0 <= low <= high
    for bound, probability in ((low, 0.975), (high, 0.025)):
        if bound > 1e-6:
            assert stats.ncf.cdf(f, df, df_error, bound) == pytest.approx(probability, abs=1e-6)
        else:
            assert stats.f.cdf(f, df, df_error) <= probability + 1e-6


def test_a_missing_f_has_no_effect_size():
    sizes = effect_sizes_of_f(math.nan, 2, math.nan)
    assert all(math.isnan(value) for value in vars(sizes).values())


def test_an_f_near_0_has_no_interval_because_its_width_would_be_0():
    """R: F_to_eta2(0.02, 2, 30, alternative = "two.sided") gives [0, 0]."""
    sizes = effect_sizes_of_f(0.02, 2, 30)
    assert sizes.partial_eta_squared == pytest.approx(0.04 / 30.04)
    bounds = (sizes.eta_ci_low, sizes.eta_ci_high, sizes.f_ci_low, sizes.f_ci_high)
    assert all(math.isnan(bound) for bound in bounds)


def test_a_bound_that_cannot_be_found_is_missing():
    sizes = effect_sizes_of_f(1e12, 1, 10)
    assert sizes.partial_eta_squared == pytest.approx(1)
    assert math.isnan(sizes.eta_ci_high)


def test_partial_omega_squared_within_units_equals_that_of_effectsize():
    """R: set.seed(14); d <- expand.grid(id = factor(1:12), a = factor(1:3))
    d$y <- rnorm(36) + as.numeric(d$a) * .6 + rep(rnorm(12), 3)
    omega_squared(aov(y ~ a + Error(id / a), d), partial = TRUE), with the sums of squares of summary(aov(...))."""
    sums = {"effect_ss": 1.9449667737409, "error_ss": 17.5803517139946, "units_ss": 48.479139242725}
    found = partial_omega_squared_within(**sums, df=2, df_error=22, df_units=11)
    assert found == pytest.approx(0.0047886351297161, rel=1e-9)
    assert partial_omega_squared_within(1.0, 60.0, 5.0, df=2, df_error=22, df_units=11) == 0
