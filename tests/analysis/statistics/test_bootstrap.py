import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.statistics.bootstrap import resampled_sums

ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(4, 6)), min_size=1, max_size=8)


@settings(max_examples=50, deadline=None)
@given(ROWS)
def test_sums_are_between_those_of_the_smallest_and_of_the_largest_unit_alone(rows):
    values = np.array(rows)
    sums = resampled_sums(values, 50, seed=3)
    assert sums.shape == (50, 2)
    assert (sums >= len(rows) * values.min(axis=0)).all()
    assert (sums <= len(rows) * values.max(axis=0)).all()


def test_the_order_of_units_does_not_matter_and_the_seed_does():
    values = np.array([[3, 10], [9, 10], [5, 9], [3, 10]])
    assert np.array_equal(resampled_sums(values, 100, seed=1), resampled_sums(values[::-1], 100, seed=1))
    assert not np.array_equal(resampled_sums(values, 100, seed=1), resampled_sums(values, 100, seed=2))


def test_the_sums_are_distributed_as_with_resampling_of_single_units():
    """The sums over n single resampled units have n times the means and covariances of the units."""
    rng = np.random.default_rng(8)
    values = np.column_stack([rng.binomial(12, 0.7, 40), rng.integers(10, 14, 40), rng.integers(0, 2, 40)]).astype(
        float
    )
    sums = resampled_sums(values, 200_000, seed=1)
    one_by_one = values[rng.integers(0, 40, size=(200_000, 40))].sum(axis=1)
    assert sums.mean(axis=0) == pytest.approx(values.sum(axis=0), rel=2e-3)
    assert np.cov(sums.T) == pytest.approx(40 * np.cov(values.T, ddof=0), rel=0.03, abs=0.3)
    quantiles = [0.01, 0.025, 0.25, 0.5, 0.75, 0.975, 0.99]
    ratios = [np.quantile(each[:, 0] / each[:, 1], quantiles) for each in (sums, one_by_one)]
    assert ratios[0] == pytest.approx(ratios[1], abs=1e-3)


def test_many_different_units_are_resampled_in_portions():
    values = np.arange(3_000.0).reshape(-1, 1)
    sums = resampled_sums(values, 2_000, seed=1)
    assert sums.mean() == pytest.approx(values.sum(), rel=1e-3)
    assert sums.std() == pytest.approx(values.std() * np.sqrt(3_000), rel=0.05)
