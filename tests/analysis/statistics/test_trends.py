import json

import numpy as np
import pytest

from analysis.statistics.intervals import mover_difference, wilson
from analysis.statistics.trends import mover_contrast, trend_weights
from batteries.errors import InputError
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "comparing_measures.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", R["trend"])
def test_the_slope_is_that_of_rs_line_through_all_trials(case):
    accuracies = np.array(case["k"]) / np.array(case["n"])
    assert trend_weights(case["x"], case["n"]) @ accuracies == pytest.approx(case["slope"], abs=1e-12)


def test_a_trend_over_one_level_is_refused():
    with pytest.raises(InputError, match="two different levels"):
        trend_weights([2, 2], [10, 10])


def test_two_estimates_have_the_interval_of_their_difference():
    for k, n, other_k, other_n in ((56, 70, 48, 80), (9, 10, 3, 10), (10, 10, 0, 20)):
        ends = wilson(k, n), wilson(other_k, other_n)
        difference = mover_difference(k / n, ends[0], other_k / other_n, ends[1])
        contrast = mover_contrast([1, -1], [k / n, other_k / other_n], ends)
        assert contrast == pytest.approx(difference)
        assert mover_contrast([-1, 1], [k / n, other_k / other_n], ends) == pytest.approx(
            (-contrast.high, -contrast.low)
        )


def test_the_interval_of_a_slope_has_about_the_stated_coverage():
    rng = np.random.default_rng(2)
    x, n, p = np.array([0.0, 2, 3]), np.array([24, 24, 24]), np.array([0.9, 0.8, 0.75])
    weights = trend_weights(x, n)
    hits = 0
    for counts in rng.binomial(n, p, size=(2_000, 3)):
        intervals = [wilson(k, 24, 0.9) for k in counts]
        low, high = mover_contrast(weights, counts / n, intervals)
        hits += low <= weights @ p <= high
    assert hits / 2_000 == pytest.approx(0.9, abs=0.025)
