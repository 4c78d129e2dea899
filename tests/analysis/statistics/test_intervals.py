import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.intervals import (
    Interval,
    effective_trials,
    mover_difference,
    mover_ratio,
    weighted_accuracy,
    wilson,
)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval_is_that_of_newcombe_1998(k, n, low, high):
    """Newcombe (1998), Two-sided confidence intervals for the single proportion, Table I, method 3."""
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilsons_interval_is_that_of_scipy(confidence):
    for n in (1, 2, 7, 235):
        for k in range(n + 1):
            theirs = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
            assert wilson(k, n, confidence) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 20), 0.6791, 1.0),
        ((5, 56), (0, 29), -0.0381, 0.1926),
    ],
)
def test_movers_difference_is_newcombes_method_10(first, second, low, high):
    """Newcombe (1998), Interval estimation for the difference between independent proportions, Table II."""
    interval = mover_difference(first[0] / first[1], wilson(*first), second[0] / second[1], wilson(*second))
    assert interval == pytest.approx((low, high), abs=5e-5)


def test_movers_difference_changes_sign_with_the_order_of_its_arguments():
    a, b = (0.8, Interval(0.7, 0.85)), (0.6, Interval(0.5, 0.72))
    low, high = mover_difference(*a, *b)
    assert mover_difference(*b, *a) == pytest.approx((-high, -low))


@pytest.mark.parametrize("weight", [1, 3, 7])
def test_equal_weights_change_nothing(weight):
    for n in (1, 3, 49, 235):
        for k in range(n + 1):
            correct = np.array([1] * k + [0] * (n - k))
            weighted = weighted_accuracy(correct, np.ones(n, dtype=int), np.full(n, weight))
            assert weighted == (k / n, wilson(k, n))


def test_unequal_weights_widen_the_interval_as_kishs_effective_number_says():
    correct, weights = np.array([1, 0, 1, 1, 0]), np.array([9, 1, 1, 1, 1])
    p, interval = weighted_accuracy(correct, np.ones(5, dtype=int), weights)
    n_eff = 13**2 / (81 + 4)
    assert p == 11 / 13
    assert interval == pytest.approx(wilson(p * n_eff, n_eff))
    assert interval.high - interval.low > wilson(5 * p, 5).high - wilson(5 * p, 5).low


def test_a_model_that_always_repeats_its_response_gains_no_precision_from_epochs():
    once = np.array([1] * 30 + [0] * 20)
    ones = np.ones(50, dtype=int)
    accuracy, (low, high) = weighted_accuracy(10 * once, 10 * ones, ones)
    assert accuracy == 0.6
    assert low <= wilson(30, 50).low
    assert high >= wilson(30, 50).high
    assert effective_trials(10 * once, 10 * ones, ones) == pytest.approx(50, rel=0.07)


def test_a_model_that_guesses_afresh_gains_the_precision_of_all_trials():
    rng = np.random.default_rng(3)
    ones = np.ones(400, dtype=int)
    n = effective_trials(rng.binomial(5, 0.5, 400), 5 * ones, ones)
    assert n == pytest.approx(2000, rel=0.15)


def test_items_of_one_scenario_are_one_trial_if_they_always_have_the_same_response():
    scenarios = np.repeat(np.arange(20), 8)
    correct = (scenarios < 12).astype(int)
    ones = np.ones(160, dtype=int)
    assert effective_trials(correct, ones, ones) == 160
    few_clusters = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 19)) ** 2
    assert effective_trials(correct, ones, ones, scenarios) == pytest.approx(19 * few_clusters)
    assert effective_trials(correct, ones, ones, np.zeros(160, dtype=int)) == 1


def test_a_model_without_an_error_has_more_precision_than_one_trial_per_scenario_and_less_than_with_one_error():
    scenarios, ones = np.repeat(np.arange(10), 24), np.ones(240, dtype=int)
    one_error = np.where(np.arange(240) == 0, 0, 1)
    few_clusters = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 9)) ** 2
    for correct in (ones, 1 - ones):
        n = effective_trials(correct, ones, ones, scenarios)
        assert n == pytest.approx(np.sqrt(10 * 240) * few_clusters)
        assert 10 < n < effective_trials(one_error, ones, ones, scenarios)
    assert weighted_accuracy(ones, ones, ones, scenarios)[1].low == pytest.approx(0.905, abs=0.001)
    # Ten epochs of the same response are no more than one epoch.
    assert effective_trials(10 * ones, 10 * ones, ones, scenarios) == pytest.approx(n)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_the_effective_number_of_trials_is_positive_and_never_above_the_number_of_trials(seed):
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(1, 12))
    n_trials = rng.integers(1, 6, n_items)
    weights = rng.integers(0, 4, n_items)
    weights[0] = 1
    n_correct = rng.binomial(n_trials, rng.random())
    clusters = rng.integers(0, 4, n_items)
    n = effective_trials(n_correct, n_trials, weights, clusters)
    assert 0 < n <= n_trials[weights > 0].sum() * (1 + 1e-9)
    order = rng.permutation(n_items)
    again = effective_trials(n_correct[order], n_trials[order], weights[order], 7 - clusters[order])
    assert again == pytest.approx(n)


@pytest.mark.parametrize(("n_items", "mean"), [(24, 0.5), (49, 0.8), (160, 0.9)])
def test_intervals_over_epochs_contain_the_true_accuracy_as_often_as_they_claim(n_items, mean):
    rng = np.random.default_rng(7)
    ones = np.ones(n_items, dtype=int)
    draws = rng.beta(mean / 2, (1 - mean) / 2, size=(800, n_items))  # Most items are nearly always right or wrong.
    covered, covered_by_wilson = [], []
    for n_correct in rng.binomial(5, draws):
        low, high = weighted_accuracy(n_correct, 5 * ones, ones)[1]
        covered.append(low <= mean <= high)
        low, high = wilson(int(n_correct.sum()), 5 * n_items)
        covered_by_wilson.append(low <= mean <= high)
    assert 0.93 <= np.mean(covered) <= 0.98
    assert np.mean(covered_by_wilson) < 0.85


@given(*[st.floats(0.01, 0.99)] * 2, *[st.floats(0.001, 0.5)] * 4)
def test_the_interval_of_a_ratio_includes_it_and_is_the_inverse_of_the_inverse_ratios(a, b, down, up, below, above):
    first, second = Interval(max(a - down, 0.0), a + up), Interval(max(b - below, 1e-6), b + above)
    low, high = mover_ratio(a, first, b, second)
    assert low <= a / b * (1 + 1e-9)
    assert a / b <= high * (1 + 1e-9)
    if first.low > 0:
        turned = mover_ratio(b, second, a, first)
        assert (1 / turned.high, 1 / turned.low) == pytest.approx((low, high), rel=1e-6)


def test_the_interval_of_a_ratio_to_an_estimate_that_may_be_zero_is_infinite_above():
    assert mover_ratio(0.5, Interval(0.4, 0.6), 0.1, Interval(0.0, 0.2)).high == float("inf")
    assert mover_ratio(0.0, Interval(0.0, 0.2), 0.5, Interval(0.4, 0.6)).low == 0


@pytest.mark.parametrize("correlation", [0.0, 0.4])
@pytest.mark.parametrize("first", [(0.1, -0.05, 0.2), (-0.2, -0.35, -0.1), (-0.05, -0.2, 0.15)])
def test_the_bounds_of_a_ratio_that_may_be_negative_are_where_the_interval_of_first_minus_r_second_reaches_0(
    first, correlation
):
    """The definition of MOVER for ratios: R is a bound if 0 is a bound of the interval of `first - R * second`."""
    value, low, high = first
    second, second_ci = 0.5, Interval(0.4, 0.7)
    bounds = mover_ratio(value, Interval(low, high), second, second_ci, correlation)
    for bound, side in zip(bounds, (0, 1), strict=True):
        scaled = sorted((bound * second_ci.low, bound * second_ci.high))
        r = correlation if bound > 0 else -correlation
        interval = mover_difference(value, Interval(low, high), bound * second, Interval(*scaled), r)
        assert interval[side] == pytest.approx(0, abs=1e-12)


def test_a_negative_ratio_is_the_opposite_of_the_positive_ratio():
    low, high = mover_ratio(0.6, Interval(0.5, 0.7), 0.8, Interval(0.7, 0.9), 0.3)
    opposite = mover_ratio(-0.6, Interval(-0.7, -0.5), 0.8, Interval(0.7, 0.9), -0.3)
    assert tuple(opposite) == pytest.approx((-high, -low))
