"""The search for the smallest number of participants."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from analysis.power.contrasts import contrast_t
from analysis.power.search import PRECISION, smallest_n
from analysis.power.simulated_responses import Effect, Population, accuracies, conditional_logits, planned_trials
from analysis.power.simulation import simulated_power


def power_of_paired_t(n, d, alpha=0.05):
    """Return the power of the paired t test with the effect size d_z, from the noncentral t distribution."""
    edge, shift = stats.t.isf(alpha / 2, n - 1), d * math.sqrt(n)
    return stats.nct.sf(edge, n - 1, shift) + stats.nct.cdf(-edge, n - 1, shift)


def smallest_by_trying_all(power, target, step, largest):
    return next((n for n in range(max(step, 2), largest + 1) if n % step == 0 and power(n) >= target), None)


@pytest.mark.parametrize("step", [1, 6, 10])
@pytest.mark.parametrize("target", [0.8, 0.9, 0.2])
@pytest.mark.parametrize("d", [1.5, 0.8, 0.5, 0.3, 0.2, 0.1, 0.05])
def test_the_search_finds_the_smallest_number_for_the_paired_t_test(d, target, step):
    tried = []

    def power(n):
        tried.append(n)
        return power_of_paired_t(n, d)

    found = smallest_n(power, target, start=30, step=step, largest=1_000)
    wanted = smallest_by_trying_all(lambda n: power_of_paired_t(n, d), target, step, 1_000)
    if wanted is None:
        assert found is None
    else:
        assert wanted <= found <= max(wanted, wanted * (1 + PRECISION) + step)
        assert found == wanted or found > step / PRECISION
    assert all(n % step == 0 and 2 <= n <= 1_000 for n in tried)
    assert len(tried) <= 12


def test_a_known_number_of_pairs_is_found():
    """G*Power 3.1, R's pwr and Cohen's table: d_z = 0.5 needs 34 pairs for a power of 0.8, and 44 for 0.9."""
    assert [smallest_n(lambda n: power_of_paired_t(n, 0.5), target) for target in (0.8, 0.9)] == [34, 44]


@pytest.mark.parametrize("start", [2, 12, 30, 150, 500])
def test_the_result_does_not_depend_on_the_first_number(start):
    assert smallest_n(lambda n: power_of_paired_t(n, 0.4), 0.8, start=start) == 52


def test_a_power_that_stops_increasing_is_not_extrapolated():
    """With few items, more participants hardly increase the power. A guess from few participants is then too low."""

    def power(n):
        return stats.norm.sf(1.96 - 0.25 / math.sqrt(0.2 / n + 0.007))

    wanted = smallest_by_trying_all(power, 0.8, 1, 1_000)
    assert smallest_n(power, 0.8) == wanted
    assert smallest_n(lambda n: min(power(n), 0.75), 0.8) is None


@pytest.mark.parametrize(("step", "smallest"), [(1, 2), (2, 2), (6, 6)])
def test_the_smallest_study_has_two_participants(step, smallest):
    assert smallest_n(lambda _: 1.0, 0.8, step=step) == smallest


def test_a_jump_of_the_power_is_found():
    tried = []
    assert smallest_n(lambda n: tried.append(n) or float(n >= 437), 0.8) in range(437, 446)
    assert len(tried) < 20


def test_the_simulated_search_finds_the_number_of_the_noncentral_t_distribution():
    """Without variance of items and participants, and with many items, the differences are nearly normal."""
    items, difference, simulations = 30, -0.05, 600
    design = pd.DataFrame(
        {"group": 1, "item_id": range(2 * items), "task": "x", "chance": 0.25, "condition": ["A", "B"] * items}
    )
    effects = [Effect({"condition": "B"}, difference)]
    a, b = (expit(conditional_logits(np.array([p]), 0.0)[0]) for p in (0.7, 0.7 + difference))
    d = (b - a) / math.sqrt((a * (1 - a) + b * (1 - b)) / items)

    def power(n):
        trials = planned_trials(design, n)
        found = simulated_power(
            trials, accuracies(trials.table, 0.7, effects), contrast_t(trials, effects), Population(0.0, 0.0),
            ns=[n], simulations=simulations,
        )  # fmt: skip
        return float(found["power"].iloc[0])

    wanted = smallest_by_trying_all(lambda n: power_of_paired_t(n, d), 0.8, 1, 200)
    found = smallest_n(power, 0.8)
    # The power of `found` is known to sqrt(0.8 * 0.2 / 600). The slope of the power at `wanted` gives the same for N.
    slope = power_of_paired_t(wanted + 1, d) - power_of_paired_t(wanted, d)
    assert found == pytest.approx(wanted, abs=3 * math.sqrt(0.8 * 0.2 / simulations) / slope)
    assert 40 < wanted < 80
