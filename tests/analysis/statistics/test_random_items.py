"""Intervals over participants and items, against a slow computation with loops, and in simulated studies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from analysis.statistics.intervals import Interval, mover_difference, mover_ratio, wilson
from analysis.statistics.participant_intervals import proportion_interval
from analysis.statistics.random_items import correlation_over_items, crossed_proportion
from analysis.statistics.trends import mover_contrast

GRIDS = st.tuples(st.integers(2, 5), st.integers(2, 5), st.randoms(use_true_random=False))


def of_grid(grid):
    """Return a proportion of every cell of a grid of participants and items."""
    n, m = grid.shape
    return crossed_proportion(grid.ravel().astype(float), np.repeat(np.arange(n), m), np.tile(np.arange(m), n))


def variance_of(groups):
    """Return the variance between the sums of groups of errors."""
    total = sum(len(errors) for errors in groups)
    return len(groups) / (len(groups) - 1) * sum((sum(errors) / total) ** 2 for errors in groups)


@given(GRIDS)
def test_the_variance_is_that_of_participants_and_items_without_the_shared_part(drawn):
    n, m, random = drawn
    grid = np.array([[random.random() < 0.6 for _ in range(m)] for _ in range(n)], dtype=float)
    p = grid.mean()
    if p in (0.0, 1.0):
        return
    errors = grid - p
    of_people = variance_of([list(row) for row in errors])
    of_items = variance_of([list(column) for column in errors.T])
    of_both = variance_of([[error] for error in errors.ravel()])
    expected = max(of_people + of_items - of_both, of_people, of_items, p * (1 - p) / (n * m))
    found = of_grid(grid)
    assert found.variance == pytest.approx(expected)
    if of_people + of_items > 1e-20:  # Otherwise both are 0, and the degrees of freedom are those of the items.
        satterthwaite = (of_people + of_items) ** 2 / (of_people**2 / (n - 1) + of_items**2 / (m - 1))
        assert found.df == pytest.approx(max(satterthwaite, 1))


@given(GRIDS)
def test_the_order_of_trials_and_the_names_of_groups_do_not_matter(drawn):
    n, m, random = drawn
    trials = [(person, item, float(random.random() < 0.7)) for person in range(n) for item in range(m)]
    shuffled = random.sample(trials, len(trials))
    (people, items, correct), (people_2, items_2, correct_2) = (
        map(np.array, zip(*some, strict=True)) for some in (trials, shuffled)
    )
    first = crossed_proportion(correct, people.astype(int), items.astype(int))
    second = crossed_proportion(correct_2, n - 1 - people_2.astype(int), m - 1 - items_2.astype(int))
    assert second.interval(0.95) == pytest.approx(first.interval(0.95))


def test_the_interval_is_wider_than_with_fixed_items_if_items_differ():
    easy = np.tile(np.array([1, 1, 1, 1, 0, 0]), (30, 1))
    easy[:3] = 1
    low, high = of_grid(easy).interval(0.95)
    fixed = proportion_interval(easy.sum(axis=1), np.full(30, 6), 0.95)
    assert high - low > 2 * (fixed.high - fixed.low)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_if_all_responses_are_the_same_an_item_counts_as_one_trial(value):
    found = of_grid(np.full((50, 8), value))
    assert found.n_effective == pytest.approx(8)
    assert found.interval(0.95).high - found.interval(0.95).low > 0.3


def test_one_item_says_little_about_other_items():
    found = of_grid(np.array([[1.0], [1.0], [0.0], [1.0]] * 20))
    low, high = found.interval(0.95)
    assert high - low > 0.9


def test_one_participant_has_the_interval_over_items():
    found = of_grid(np.array([[1.0, 1.0, 1.0, 0.0, 1.0]]))
    assert found.n_effective == pytest.approx(4)  # The variance over items has the denominator 5 - 1.
    assert found.df == pytest.approx(4)


def test_the_difference_from_a_model_that_is_right_at_the_same_items_is_more_precise():
    model = np.array([1, 1, 1, 1, 1, 0, 0, 0])
    grid = np.tile(model, (10, 1)).astype(float)
    grid[np.arange(10), np.arange(10) % 8] = 1 - grid[np.arange(10), np.arange(10) % 8]
    people = of_grid(grid)
    r = correlation_over_items(people, (model - model.mean()) / 8)
    against = correlation_over_items(people, (1 - model - (1 - model).mean()) / 8)
    assert r > 0.8
    assert against == pytest.approx(-r)
    of_people, of_model = people.interval(0.95), wilson(5, 8)
    narrow = mover_difference(people.proportion, of_people, 5 / 8, of_model, r)
    wide = mover_difference(people.proportion, of_people, 5 / 8, of_model)
    assert narrow.high - narrow.low < wide.high - wide.low


def test_a_model_that_is_always_right_is_not_correlated():
    people = of_grid(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    assert correlation_over_items(people, np.zeros(3)) == 0


@given(st.floats(-1, 1), st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_a_difference_with_a_correlation_is_a_contrast_with_this_correlation(r, first, second):
    cis = [wilson(20 * first, 20), wilson(30 * second, 30)]
    expected = mover_contrast([1, -1], [first, second], cis, np.array([[1, r], [r, 1]]))
    found = mover_difference(first, cis[0], second, cis[1], r)
    assert found == pytest.approx((max(expected.low, -1), min(expected.high, 1)))


def test_a_ratio_with_a_correlation_solves_its_definition():
    """At a bound of the ratio, the difference of the first estimate and the multiple of the second has the bound 0."""
    first, second, r = 0.6, 0.8, 0.4
    first_ci, second_ci = Interval(0.5, 0.72), Interval(0.7, 0.88)
    low, high = mover_ratio(first, first_ci, second, second_ci, r)
    correlations = np.array([[1, r], [r, 1]])
    assert mover_contrast([1, -low], [first, second], [first_ci, second_ci], correlations).low == pytest.approx(0)
    assert mover_contrast([1, -high], [first, second], [first_ci, second_ci], correlations).high == pytest.approx(0)


def test_intervals_include_the_accuracy_of_all_people_and_items_in_most_studies():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        logits = rng.normal(0, 0.7, (12, 1)) + rng.normal(0, 1, 24)
        low, high = of_grid((rng.random((12, 24)) < expit(logits)).astype(float)).interval(0.95)
        covered += low <= 0.5 <= high
    assert 0.91 <= covered / 400 <= 0.985
