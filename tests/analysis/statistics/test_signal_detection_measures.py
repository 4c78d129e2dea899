import json

import numpy as np
import pytest

from analysis.statistics.signal_detection_measures import signal_detection
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "comparing_measures.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", R["detection"])
def test_sensitivity_and_criterion_are_what_r_gives(case):
    found = signal_detection(case["h"], case["ns"], case["f"], case["nn"])
    assert found.d_prime == pytest.approx(case["d_prime"], abs=1e-12)
    assert found.criterion == pytest.approx(case["criterion"], abs=1e-12)
    assert found.difference == pytest.approx(case["h"] / case["ns"] - case["f"] / case["nn"])


def test_many_subjects_are_measured_at_once():
    cases = {name: np.array([case[name] for case in R["detection"]]) for name in ("h", "ns", "f", "nn", "d_prime")}
    together = signal_detection(cases["h"], cases["ns"], cases["f"], cases["nn"])
    assert together.d_prime == pytest.approx(cases["d_prime"])
    assert np.isfinite(together.d_prime_se).all()


def test_exchanging_signal_and_noise_changes_the_sign_of_sensitivity_and_keeps_the_bias():
    one, other = signal_detection(20, 25, 10, 30), signal_detection(10, 30, 20, 25)
    assert other.d_prime == pytest.approx(-one.d_prime)
    assert other.criterion == pytest.approx(one.criterion)
    assert one.criterion_se == pytest.approx(one.d_prime_se / 2)


def test_the_standard_error_is_the_spread_over_many_experiments():
    rng = np.random.default_rng(1)
    hits, false_alarms = rng.binomial(80, 0.8, 50_000), rng.binomial(120, 0.3, 50_000)
    spread = signal_detection(hits, 80, false_alarms, 120)
    expected = signal_detection(80 * 0.8, 80, 120 * 0.3, 120)
    assert expected.d_prime_se == pytest.approx(spread.d_prime.std(), rel=0.05)
    assert expected.criterion_se == pytest.approx(spread.criterion.std(), rel=0.05)
