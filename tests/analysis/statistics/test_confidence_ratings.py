import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.confidence_ratings import bins_of, calibration, ece_if_calibrated

RATINGS = st.lists(
    st.tuples(st.integers(0, 100).map(lambda percent: percent / 100), st.booleans()), min_size=1, max_size=40
)


def arrays(rated):
    confidence, correct = zip(*rated, strict=True)
    return np.array(confidence), np.array(correct, dtype=float)


@given(RATINGS, st.integers(2, 20))
def test_the_parts_of_the_brier_score_add_up_to_the_score(rated, n_bins):
    found = calibration(*arrays(rated), n_bins)
    total = found.reliability - found.resolution + found.uncertainty + found.within_bins
    assert total == pytest.approx(found.brier, abs=1e-12)


@given(RATINGS)
def test_the_calibration_error_is_at_least_the_absolute_overconfidence(rated):
    confidence, correct = arrays(rated)
    assert calibration(confidence, correct, 10).ece >= abs(confidence.mean() - correct.mean()) - 1e-12


def test_bins_include_their_upper_end_whatever_the_rounding():
    hundredths = np.arange(1, 101) / 100
    for n_bins in (10, 20, 25):  # 0.55 * 20 is 11.000000000000002.
        assert bins_of(hundredths, n_bins).tolist() == [place * n_bins // 100 for place in range(100)]


def test_a_hand_computed_example():
    """Bins up to 0.5 and up to 1. Confidence .25 and .45, accuracy 1/2; confidence .8 and .6 and 1, accuracy 2/3."""
    confidence, correct = np.array([0.25, 0.45, 0.8, 0.6, 1.0]), np.array([0.0, 1, 1, 0, 1])
    found = calibration(confidence, correct, 2)
    assert found.brier == pytest.approx((0.0625 + 0.3025 + 0.04 + 0.36 + 0) / 5)
    assert found.ece == pytest.approx((2 * 0.15 + 3 * (0.8 - 2 / 3)) / 5)
    assert found.reliability == pytest.approx((2 * 0.15**2 + 3 * (0.8 - 2 / 3) ** 2) / 5)
    assert found.resolution == pytest.approx((2 * 0.1**2 + 3 * (2 / 3 - 0.6) ** 2) / 5)
    assert found.uncertainty == pytest.approx(0.24)


def test_equal_confidences_in_each_bin_leave_nothing_within_bins():
    confidence = np.repeat([0.3, 0.8], 5)
    assert calibration(confidence, np.tile([0.0, 1], 5), 10).within_bins == 0


def test_the_error_of_a_calibrated_respondent_is_the_mean_deviation_of_a_binomial_and_falls_with_more_responses():
    few, many = (ece_if_calibrated(np.full(n, 0.8), 10, seed=1) for n in (10, 1000))
    assert few == pytest.approx(0.0966, abs=0.006)  # sum(dbinom(0:10, 10, .8) * abs(0:10 / 10 - .8)) in R
    assert many < 0.015
    assert ece_if_calibrated(np.full(10, 0.8), 10, seed=1) == few, "the seed decides"
