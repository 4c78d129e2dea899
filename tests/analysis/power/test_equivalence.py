"""The power to show equivalence with the margin of a planned t test."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.planned.tests import planned_tests
from analysis.power.planned_analyses import planned_test_analysis
from analysis.power.simulated_responses import Population, planned_trials
from analysis.power.simulation import simulated_power
from batteries.errors import InputError
from tests.analysis.power.test_simulation import (
    NO_VARIANCE,
    TESTS,
    latin_square,
    one_group,
    plan_of,
    responses_without_exclusions,
)

MARGINS = {"paired": 0.1, "summed": 0.4, "welch": 0.1, "items": 0.15, "chance": 0.45, "half": 0.25}


def planned(name, **changes):
    return TESTS[name] | {"equivalence_margin": MARGINS[name]} | changes


@pytest.mark.parametrize("name", MARGINS)
def test_an_equivalence_test_is_the_one_that_the_analysis_runs(name):
    plan = plan_of(tests={name: planned(name)}, correction="none")
    trials = planned_trials(latin_square(), 13)
    correct, kept = responses_without_exclusions(trials)
    kept[trials.participants == 5] = False
    data = trials.table.assign(correct=correct, score=correct)[kept]
    table = planned_tests(lambda _: data, plan)
    (wanted,) = table[table["form"] == "equivalence"].to_dict("records")
    outcome = planned_test_analysis(trials, plan, name, is_equivalence=True).run(correct, kept)
    assert outcome.p_value == pytest.approx(wanted["p_value"], rel=1e-9)
    assert outcome.estimate == pytest.approx(wanted["estimate"])


def test_an_equivalence_test_is_corrected_for_the_equivalence_tests_of_its_family():
    tests = {
        "paired": planned("paired"),
        "other": planned("half"),
        "difference": TESTS["flagged"] | {"within": "level"},
    }
    plan = plan_of(tests=tests)
    trials = planned_trials(latin_square(), 30)
    correct, kept = responses_without_exclusions(trials)
    table = planned_tests(lambda _: trials.table.assign(correct=correct), plan_of(
        tests={name: tests[name] for name in ("paired", "other")}))  # fmt: skip
    wanted = table[table["form"] == "equivalence"].set_index("name")["p_holm"]
    for name in ("paired", "other"):
        analysis = planned_test_analysis(trials, plan, name, is_equivalence=True)
        assert analysis.run(correct, kept).p_value == pytest.approx(wanted[name])
        assert "for the 2 tests of its family" in analysis.notes[0]


def power_of_tost(n, sd, margin, difference, alpha=0.05):
    """Return the power of two one-sided paired t tests: an integral over the standard deviation of the sample.

    Phillips, K. F. (1990). Power of the two one-sided tests procedure in bioequivalence. Journal of Pharmacokinetics
    and Biopharmaceutics, 18, 137-144.
    """
    quantiles = stats.chi2.ppf((np.arange(20_000) + 0.5) / 20_000, n - 1)
    error = sd / math.sqrt(n)
    half = stats.t.isf(alpha, n - 1) * error * np.sqrt(quantiles / (n - 1))
    inside = stats.norm.cdf((margin - half - difference) / error) - stats.norm.cdf((half - margin - difference) / error)
    return float(np.maximum(inside, 0).mean())


def test_the_closed_form_is_that_of_powertost():
    """In R, `PowerTOST::sampleN.TOST(CV = 0.3, theta0 = 0.95)` finds n = 40 with a power of 0.815845.

    The crossover design has 38 degrees of freedom and a standard error of sqrt(2 mse / 40), with mse = log(1 + 0.3^2).
    """
    error = math.sqrt(2 * math.log(1.09) / 40)
    assert power_of_tost(39, error * math.sqrt(39), math.log(1.25), math.log(0.95)) == pytest.approx(0.815845, abs=2e-5)


@pytest.mark.parametrize(("n", "difference"), [(15, 0.0), (24, 0.02), (40, 0.05)])
def test_the_power_is_that_of_two_one_sided_t_tests(n, difference):
    items, accuracy, margin, simulations = 30, 0.7, 0.1, 600
    trials = planned_trials(one_group(items), n)
    analysis = planned_test_analysis(
        trials, plan_of(tests={"x": planned("paired", equivalence_margin=margin)}), "x", is_equivalence=True
    )
    is_b = (trials.table["condition"] == "B").to_numpy()
    given = np.where(is_b, accuracy + difference, accuracy)
    assert analysis.true_difference(given) == pytest.approx(difference)
    found = simulated_power(trials, given, analysis, NO_VARIANCE, ns=[n], simulations=simulations)
    second = accuracy + difference
    sd = math.sqrt((accuracy * (1 - accuracy) + second * (1 - second)) / items)
    wanted = power_of_tost(n, sd, margin, difference)
    assert 0.2 < wanted < 0.99
    assert found["power"][0] == pytest.approx(wanted, abs=3.5 * math.sqrt(wanted * (1 - wanted) / simulations))


def test_at_the_margin_equivalence_is_shown_in_five_percent_of_studies():
    trials = planned_trials(one_group(30), 40)
    analysis = planned_test_analysis(trials, plan_of(tests={"x": planned("paired")}), "x", is_equivalence=True)
    null = analysis.null_accuracy(np.full(len(trials.table), 0.7))
    assert analysis.true_difference(null) == pytest.approx(-0.1)
    found = simulated_power(trials, null, analysis, Population(1.0, 0.0), ns=[40], simulations=800)
    low, high = stats.binom.ppf([0.0005, 0.9995], 800, 0.05) / 800
    assert low <= found["power"][0] <= high


@pytest.mark.parametrize(
    ("name", "margin", "at_margin"),
    [
        ("paired", 0.1, {("A", 0): 0.95, ("A", 3): 0.95, ("B", 0): 0.85, ("B", 3): 0.85}),
        ("summed", 0.2, {("A", 0): 0.95, ("A", 3): 0.95, ("B", 0): 0.75, ("B", 3): 0.95}),  # Two trials in each sum.
        ("half", 0.25, {("A", 0): 0.5, ("A", 3): 0.5, ("B", 0): 0.25, ("B", 3): 0.25}),
    ],
)
def test_at_the_margin_the_first_part_of_the_difference_is_less_accurate(name, margin, at_margin):
    trials = planned_trials(latin_square(), 12)
    analysis = planned_test_analysis(trials, plan_of(tests={name: planned(name)}), name, is_equivalence=True)
    assert analysis.equivalence.margin == pytest.approx(margin)
    null = analysis.null_accuracy(np.full(len(trials.table), 0.95))
    cells = zip(trials.table["condition"], trials.table["level"], strict=True)
    found = dict(zip(cells, null.tolist(), strict=True))
    assert {cell: found[cell] for cell in at_margin} == pytest.approx(at_margin)
    assert analysis.true_difference(null) == pytest.approx(-margin)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ({"x": TESTS["paired"]}, "the test `x` has no margin. Fix: add `equivalence_margin`"),
        (
            {"x": planned("summed", where={}, within="condition", levels=["A", "B"], equivalence_margin=9)},
            "differ from",
        ),
        ({"x": planned("paired", within="level", levels=[])}, "has 3 levels of `level`. Fix: name two levels"),
    ],
)
def test_equivalence_that_cannot_be_simulated_is_refused(tests, message):
    trials = planned_trials(latin_square(), 12)
    with pytest.raises(InputError, match=message):
        planned_test_analysis(trials, plan_of(tests=tests), "x", is_equivalence=True).null_accuracy(np.full(144, 0.8))


def test_sums_of_different_numbers_of_trials_have_no_margin_in_accuracy():
    design = one_group(4).iloc[:7]
    summed = planned("paired", summary="sum", of="score")
    with pytest.raises(InputError, match=r"the units have 3 to 4 trials at a level\. Fix: set `summary: mean`"):
        planned_test_analysis(planned_trials(design, 4), plan_of(tests={"x": summed}), "x", is_equivalence=True)
