import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from analysis.data.row_filters import add_flags
from analysis.planned.tests import planned_tests
from analysis.power.contrasts import contrast_t
from analysis.power.planned_analyses import planned_model_analysis, planned_test_analysis
from analysis.power.simulated_responses import (
    Effect,
    Population,
    accuracies,
    conditional_logits,
    planned_trials,
    simulated_responses,
)
from analysis.power.simulation import (
    NOT_COMPUTABLE,
    NOT_CONVERGED,
    SINGULAR,
    Outcome,
    PowerAnalysis,
    simulated_power,
)
from analysis.statistics.mixed_models.fit import fit_mixed_model
from analysis.statistics.t_tests import paired_t
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "power.json").read_text(encoding="utf-8"))
EFFECT = Effect({"condition": "B"}, -0.1)
NO_VARIANCE = Population(participant_sd=0.0, item_sd=0.0)


def one_group(items=12):
    """Return a design in which each participant responds to this many items of A and of B."""
    conditions = ["A"] * items + ["B"] * items
    return pd.DataFrame(
        {"group": 1, "item_id": [f"i{n:02d}" for n in range(2 * items)], "task": "multiple_choice", "chance": 0.25,
         "condition": pd.Series(conditions, dtype="str")}
    )  # fmt: skip


def latin_square(stories=12):
    """Return a design of stories, each in A and B at levels 0, 2 and 3; each of six groups has every story once."""
    rows = [
        (group, f"s{story:02d}-{condition}{level}", f"s{story:02d}", condition, level)
        for story in range(stories)
        for index, (condition, level) in enumerate((c, x) for c in "AB" for x in (0, 2, 3))
        for group in [(index + story) % 6 + 1]
    ]
    design = pd.DataFrame(rows, columns=["group", "item_id", "story", "condition", "level"])
    return design.astype({"level": "Int64", "group": "Int64"}).assign(task="multiple_choice", chance=0.25)


def simulated(
    design, n, effects, population, *, baseline=0.8, simulations=400, ns=None, seed=1, analysis=None, **options
):
    trials = planned_trials(design, n)
    accuracy = accuracies(trials.table, baseline, effects)
    analysis = analysis or contrast_t(trials, effects)
    return simulated_power(
        trials, accuracy, analysis, population, ns=ns or [n], simulations=simulations, seed=seed, **options
    )


def significant_of(table):
    return table["power"].tolist()


def plan_of(**parts):
    return AnalysisPlan.model_validate(parts)


def responses_without_exclusions(trials, seed=3):
    correct = (np.random.default_rng(seed).random(len(trials.table)) < 0.7).astype(float)
    return correct, np.full(len(correct), True)


@pytest.mark.parametrize("case", R["logits"])
def test_logits_of_marginal_accuracies_are_those_that_r_finds(case):
    found = conditional_logits(np.array(case["accuracy"]), case["sd"])
    assert found == pytest.approx(case["logits"], abs=1e-9)


@given(accuracy=st.floats(0.001, 0.999), sd=st.floats(0, 10))
def test_averaging_over_the_population_returns_the_accuracy(accuracy, sd):
    (logit,) = conditional_logits(np.array([accuracy]), sd)
    nodes, weights = np.polynomial.hermite_e.hermegauss(201)
    assert (expit(logit + sd * nodes) * weights).sum() / weights.sum() == pytest.approx(accuracy, abs=2e-3)


@pytest.mark.parametrize("sd", [-1.0, 11.0, np.nan])
def test_an_impossible_standard_deviation_is_refused(sd):
    with pytest.raises(InputError, match="give a number from 0 to 10"):
        conditional_logits(np.array([0.5]), sd)


def test_simulated_accuracies_are_the_requested_accuracies():
    effects = [EFFECT, Effect({"condition": "B", "level": 3}, -0.15), Effect({"level": "2"}, 0.05)]
    trials = planned_trials(latin_square(), 120)
    accuracy = accuracies(trials.table, 0.8, effects)
    asked = dict(
        zip(zip(trials.table["condition"], trials.table["level"], strict=True), accuracy.tolist(), strict=True)
    )
    assert asked == {
        ("A", 0): 0.8, ("A", 2): 0.85, ("A", 3): 0.8, ("B", 0): 0.7, ("B", 2): 0.75, ("B", 3): 0.55
    }  # fmt: skip
    studies = 300
    found = simulated_responses(trials, accuracy, Population(1.2, 0.8), simulations=studies, seed=2)
    means = pd.DataFrame(
        [trials.table.assign(y=correct).groupby(["condition", "level"])["y"].mean() for correct, _ in found]
    )
    assert len(means) == studies
    for cell, wanted in asked.items():
        assert means[cell].mean() == pytest.approx(wanted, abs=4 * means[cell].std() / np.sqrt(studies))


def test_participants_and_items_vary_as_requested():
    trials = planned_trials(one_group(60), 60)
    population = Population(participant_sd=1.5, item_sd=0.0)
    everyone = [
        correct.reshape(60, 120)
        for correct, _ in simulated_responses(trials, np.full(7200, 0.6), population, simulations=40, seed=1)
    ]
    by_person = np.concatenate([one.mean(axis=1) for one in everyone])
    z = np.random.default_rng(0).standard_normal(200_000)
    p = expit(conditional_logits(np.array([0.6]), 1.5)[0] + 1.5 * z)
    assert by_person.std() == pytest.approx(np.sqrt(p.var() + (p * (1 - p)).mean() / 120), rel=0.03)
    by_item = np.concatenate([one.mean(axis=0) for one in everyone])
    assert by_item.std() < 0.09  # The variance of responses and participants only.


def test_participants_items_and_exclusions_are_independent():
    trials = planned_trials(one_group(20), 40)
    population = Population(participant_sd=1.5, item_sd=1.5, excluded=0.5)
    people, items, kept = [], [], []
    for correct, stays in simulated_responses(trials, np.full(1600, 0.6), population, simulations=60, seed=1):
        right = correct.reshape(40, 40) - correct.mean()
        people.append(right.mean(axis=1))
        items.append(right.mean(axis=0))
        kept.append(stays.reshape(40, 40)[:, 0])
    together = np.corrcoef([np.concatenate(values).astype(float) for values in (people, items, kept)])
    assert np.abs(together - np.eye(3)).max() < 0.08


@pytest.mark.parametrize("case", R["power"][:3])
def test_power_is_that_of_a_simulation_in_r(case):
    population = Population(case["participant_sd"], case["item_sd"])
    effects = [Effect({"condition": "B"}, case["difference"])]
    found = simulated(one_group(), case["n"], effects, population, baseline=case["accuracy"], simulations=2_000)
    wanted = case["significant"] / case["studies"]
    assert significant_of(found) == [pytest.approx(wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / 2_000))]


@pytest.mark.parametrize(("n", "participant_sd", "difference"), [(20, 0.0, -0.07), (40, 1.0, -0.04), (60, 1.5, 0.03)])
def test_power_of_the_paired_t_test_is_that_of_the_noncentral_t_distribution(n, participant_sd, difference):
    items = 40  # With 40 items, the participants' differences are nearly normal.
    z = np.linspace(-8, 8, 4001)
    weights = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    a, b = (
        expit(conditional_logits(np.array([p]), participant_sd)[0] + participant_sd * z)
        for p in (0.7, 0.7 + difference)
    )
    mean = weights @ (b - a)
    variance = weights @ ((a * (1 - a) + b * (1 - b)) / items + (b - a - mean) ** 2)
    shift = mean / np.sqrt(variance / n)
    edge = stats.t.ppf(0.975, n - 1)
    wanted = stats.nct.sf(edge, n - 1, shift) + stats.nct.cdf(-edge, n - 1, shift)
    assert 0.2 < wanted < 0.95
    found = simulated(
        one_group(items), n, [Effect({"condition": "B"}, difference)], Population(participant_sd, 0.0),
        baseline=0.7, simulations=2_000,
    )  # fmt: skip
    assert found["mean_estimate"][0] == pytest.approx(difference, abs=0.003)
    assert significant_of(found) == [pytest.approx(wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / 2_000))]


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_without_an_effect_the_share_is_alpha(alpha):
    trials = planned_trials(one_group(), 40)
    analysis = contrast_t(trials, [Effect({"condition": "B"}, 0.0)])
    found = simulated(one_group(), 40, [], Population(1.0, 0.0), simulations=2_000, alpha=alpha, analysis=analysis)
    low, high = stats.binom.ppf([0.0005, 0.9995], 2_000, alpha) / 2_000
    assert low <= found["power"][0] <= high


def test_new_items_in_each_study_inflate_a_test_that_treats_items_as_fixed():
    case = R["power"][3]  # Clark (1973)
    found = simulated(
        one_group(), case["n"], [Effect({"condition": "B"}, 0.0)], Population(1.0, 0.5), simulations=2_000
    )
    wanted = case["significant"] / case["studies"]
    assert wanted > 0.15
    assert significant_of(found) == [pytest.approx(wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / 2_000))]


def test_stories_that_are_seen_in_every_condition_do_not_inflate_the_test():
    population = Population(1.0, 1.0, item=("story",))
    found = simulated(latin_square(), 60, [Effect({"condition": "B"}, 0.0)], population, simulations=1_000)
    assert found["ci_low"][0] < 0.05


def test_power_increases_with_participants_and_effect_and_decreases_with_exclusion():
    population = Population(1.0, 0.3)
    by_n = simulated(one_group(), 60, [EFFECT], population, ns=[10, 20, 40, 60])
    assert significant_of(by_n) == sorted(significant_of(by_n))
    sizes = [0.0, -0.05, -0.1, -0.2]
    by_effect = [
        significant_of(simulated(one_group(), 20, [Effect({"condition": "B"}, d)], population))[0] for d in sizes
    ]
    assert by_effect == sorted(by_effect)
    fewer = simulated(one_group(), 20, [EFFECT], Population(1.0, 0.3, excluded=0.5), simulations=2_000)
    assert fewer["n_analysed_mean"][0] == pytest.approx(10, abs=0.2)
    ten = simulated(one_group(), 10, [EFFECT], population, simulations=2_000)
    assert significant_of(fewer)[0] == pytest.approx(significant_of(ten)[0], abs=0.06)


def test_the_same_seed_gives_the_same_numbers_for_any_other_arguments():
    alone = simulated(latin_square(), 12, [EFFECT], Population(1.0, 0.5, excluded=0.2), simulations=60)
    both = simulated(latin_square(), 30, [EFFECT], Population(1.0, 0.5, excluded=0.2), simulations=60, ns=[12, 30])
    pd.testing.assert_frame_equal(alone, both.iloc[:1])
    other = simulated(latin_square(), 12, [EFFECT], Population(1.0, 0.5, excluded=0.2), simulations=60, seed=2)
    assert not alone.equals(other)


def test_participants_are_spread_equally_over_the_groups():
    table = planned_trials(latin_square(), 15).table
    per_group = table.groupby("group")["participant"].nunique()
    assert per_group.tolist() == [3, 3, 3, 2, 2, 2]
    assert (table.groupby("participant").size() == 12).all()


def test_the_table_has_a_row_without_effect_too():
    trials = planned_trials(one_group(), 20)
    steps = []
    found = simulated_power(
        trials, accuracies(trials.table, 0.8, [EFFECT]), contrast_t(trials, [EFFECT]), Population(1.0, 0.0),
        ns=[10, 20], simulations=300, null_accuracy=accuracies(trials.table, 0.8, []), on_done=lambda: steps.append(1),
    )  # fmt: skip
    assert found[["effect", "n_participants"]].to_numpy().tolist() == [["as given", 10], ["as given", 20], ["none", 20]]
    assert found["power"][2] < 0.1 < found["power"][1]
    assert abs(found["mean_estimate"][2]) < 0.01
    assert len(steps) == 600


def test_the_contrast_of_one_factor_is_the_paired_t_test():
    trials = planned_trials(one_group(5), 9)
    correct, kept = responses_without_exclusions(trials)
    kept[trials.participants == 4] = False
    outcome = contrast_t(trials, [EFFECT]).run(correct, kept)
    means = trials.table.assign(y=correct)[kept].groupby(["participant", "condition"])["y"].mean().unstack()
    wanted = paired_t(means["B"].to_numpy(), means["A"].to_numpy())
    assert outcome.p_value == pytest.approx(wanted.p_value)
    assert outcome.estimate == pytest.approx(wanted.estimate)
    assert wanted.n == 8


def test_the_contrast_of_two_factors_is_the_difference_between_differences():
    effects = [Effect({"condition": "B", "level": 3}, -0.15), EFFECT]
    trials = planned_trials(latin_square(), 18)
    analysis = contrast_t(trials, effects)
    assert analysis.title == (
        "t test of the participants' interaction contrast at condition = B and level = 3 against condition = A and "
        "level = 0"
    )
    correct, kept = responses_without_exclusions(trials)
    m = trials.table.assign(y=correct).groupby(["participant", "condition", "level"])["y"].mean().unstack([1, 2])
    difference = (m["B", 3] - m["A", 3]) - (m["B", 0] - m["A", 0])
    outcome = analysis.run(correct, kept)
    assert outcome.estimate == pytest.approx(difference.mean())
    assert outcome.p_value == pytest.approx(stats.ttest_1samp(difference, 0).pvalue)


def test_the_reference_is_the_first_level_that_no_effect_names():
    trials = planned_trials(latin_square(), 6)
    three = [Effect({"level": level}, 0.01) for level in (3, 0)]
    assert contrast_t(trials, three).title == "paired t test of accuracy at level = 3 against level = 2"
    with pytest.raises(InputError, match="every level of `condition` has an effect"):
        contrast_t(trials, [EFFECT, Effect({"condition": "A"}, 0.1)])


def test_participants_without_one_side_of_the_comparison_are_left_out_with_a_note():
    design = pd.concat([one_group(4), one_group(4).iloc[:4].assign(group=2)], ignore_index=True)
    trials = planned_trials(design, 6)
    analysis = contrast_t(trials, [EFFECT])
    assert analysis.notes == (
        "50 % of the participants have no trials in at least one cell of the comparison. These participants are left "
        "out.",
    )
    correct, kept = responses_without_exclusions(trials)
    means = trials.table.assign(y=correct).groupby(["participant", "condition"])["y"].mean().unstack().dropna()
    assert len(means) == 3
    assert analysis.run(correct, kept).estimate == pytest.approx((means["B"] - means["A"]).mean())


def test_a_factor_between_participants_has_no_paired_test():
    design = pd.concat([one_group().iloc[:12], one_group().iloc[12:].assign(group=2)], ignore_index=True)
    with pytest.raises(InputError, match=r"no participant has items at all these levels\. Fix: compute"):
        contrast_t(planned_trials(design, 4), [EFFECT])


@pytest.mark.parametrize(
    ("baseline", "levels", "difference", "message"),
    [
        (0.8, {"colour": "red"}, 0.1, "the test items have no factor `colour`. Fix: choose one of story, condition"),
        (0.8, {"item_id": "s01-A0"}, 0.1, "no factor `item_id`"),
        (0.8, {"condition": "C"}, 0.1, "`condition` has no level C. Fix: choose one of A, B"),
        (0.8, {"condition": "B"}, 0.2, "would be 1 where condition = B"),
        (
            0.8,
            {"condition": "B"},
            -0.55,
            "would be 0.25 where condition = B, but an accuracy must be above chance .0.25.",
        ),
        (0.2, {"condition": "B"}, 0.3, "would be 0.2 where there is no effect"),
    ],
)
def test_an_impossible_effect_is_refused_with_one_sentence(baseline, levels, difference, message):
    with pytest.raises(InputError, match=message):
        accuracies(latin_square(), baseline, [Effect(levels, difference)])


def test_levels_that_no_item_has_together_are_refused():
    design = latin_square().query("condition == 'A' or level != 3")
    with pytest.raises(InputError, match="no test item has these levels together"):
        accuracies(design, 0.8, [Effect({"condition": "B", "level": 3}, -0.1)])


def test_an_item_without_the_factor_has_no_effect():
    design = latin_square().assign(condition=lambda d: d["condition"].where(d["level"] != 0))
    assert accuracies(design, 0.8, [EFFECT])[design["level"] == 0].tolist() == [0.8] * 24
    trials = planned_trials(design, 6)
    outcome = contrast_t(trials, [EFFECT]).run(*responses_without_exclusions(trials))
    assert outcome.estimate is not None


def test_an_unknown_column_of_items_is_refused():
    trials = planned_trials(one_group(), 2)
    with pytest.raises(InputError, match="there is no column `tale` to identify the items"):
        next(simulated_responses(trials, np.full(48, 0.8), Population(1, 1, ("tale",)), simulations=1, seed=1))


def test_flawed_fits_count_as_not_significant_and_are_reported():
    outcomes = iter(
        [Outcome(0.001, 1.0), Outcome(0.001, 2.0, SINGULAR), Outcome(0.001, 90.0, NOT_CONVERGED), Outcome(float("nan"))]
        * 25
    )

    def run(correct, kept):
        outcome = next(outcomes)
        if np.isnan(outcome.p_value):
            raise InputError("all are the same.")
        return outcome

    (row,) = simulated(one_group(), 4, [EFFECT], NO_VARIANCE, simulations=100, analysis=PowerAnalysis("", run)).to_dict(
        "records"
    )
    assert row["power"] == row[SINGULAR] == row[NOT_CONVERGED] == row[NOT_COMPUTABLE] == 0.25
    assert row["power_with_singular"] == 0.5
    assert row["mean_estimate"] == 1.5


def test_a_missing_p_value_is_not_significant():
    found = simulated(
        one_group(), 4, [EFFECT], NO_VARIANCE, analysis=PowerAnalysis("", lambda *_: Outcome(float("nan")))
    )
    assert found["power"][0] == 0
    assert np.isnan(found["mean_estimate"][0])


def test_an_analysis_that_never_works_is_refused_with_its_reason():
    def run(correct, kept):
        raise InputError("the test needs two groups.")

    with pytest.raises(InputError, match=r"no simulated study could be analysed: the test needs two groups\."):
        simulated(one_group(), 4, [EFFECT], NO_VARIANCE, analysis=PowerAnalysis("", run))


def test_equal_responses_count_as_not_significant():
    found = simulated(one_group(2), 3, [Effect({"condition": "B"}, 0.009)], NO_VARIANCE, baseline=0.99)
    assert found[NOT_COMPUTABLE][0] > 0.5
    assert found["power"][0] + found[NOT_COMPUTABLE][0] <= 1


def test_more_participants_than_planned_trials_are_refused():
    with pytest.raises(InputError, match="trials of 4 participants, but the largest number in `ns` is 9"):
        simulated(one_group(), 4, [EFFECT], NO_VARIANCE, ns=[9])


TESTS = {
    "paired": {"test": "t", "of": "correct", "per": "participant", "within": "condition", "levels": ["B", "A"]},
    "summed": {"test": "t", "of": "score", "per": "participant", "within": "level", "levels": [0, 3], "summary": "sum",
               "where": {"condition": "B"}},
    "flagged": {"test": "t", "of": "correct", "per": "participant", "within": "hard", "levels": [True, False]},
    "welch": {"test": "welch_t", "of": "correct", "per": "participant", "between": "condition"},
    "items": {"test": "t", "of": "correct", "per": "item_id", "between": "condition"},
    "anova": {"test": "anova", "of": "correct", "per": "participant", "within": "level"},
    "chance": {"test": "t", "of": "correct", "per": "participant", "against": "chance"},
    "half": {"test": "t", "of": "correct", "per": "participant", "against": 0.5, "where": {"condition": "B"}},
    "ranks": {"test": "wilcoxon", "of": "correct", "per": "participant", "within": "condition"},
    "permuted": {"test": "permutation", "of": "correct", "per": "participant", "within": "condition"},
    "groups": {"test": "mann_whitney", "of": "correct", "per": "item_id", "between": "condition"},
    "counts": {"test": "chi_square", "of": "correct", "between": "condition"},
}  # fmt: skip


@pytest.mark.parametrize("name", TESTS)
def test_a_planned_test_is_the_one_that_the_analysis_runs(name):
    plan = plan_of(tests={name: TESTS[name]}, flags={"hard": {"level": 3}}, correction="none")
    trials = planned_trials(latin_square(), 13)
    correct, kept = responses_without_exclusions(trials)
    kept[trials.participants == 5] = False
    data = trials.table.assign(correct=correct, score=correct)[kept]
    (wanted,) = [
        row
        for row in planned_tests(lambda _: add_flags(data, plan.flags), plan).to_dict("records")
        if row["form"] == "main test"
    ]
    outcome = planned_test_analysis(trials, plan, name).run(correct, kept)
    assert outcome.p_value == pytest.approx(wanted["p_value"], rel=1e-9)
    assert outcome.estimate == (None if pd.isna(wanted["estimate"]) else pytest.approx(wanted["estimate"]))


@pytest.mark.parametrize(
    ("against", "null", "rate"), [("chance", "With an accuracy at chance", 0.25), (0.5, "With an accuracy of 0.5", 0.5)]
)
def test_the_null_hypothesis_of_a_test_against_a_value_is_an_accuracy_of_this_value(against, null, rate):
    plan = plan_of(tests={"it": {"test": "t", "of": "correct", "per": "participant", "against": against}})
    analysis = planned_test_analysis(planned_trials(one_group(), 4), plan, "it")
    assert analysis.equal == null
    assert set(analysis.null_accuracy(np.full(96, 0.8))) == {rate}


@pytest.mark.parametrize("changes", [{"against": 12, "summary": "sum"}, {"against": 1.0}, {"against": -2}])
def test_a_value_that_no_accuracy_can_have_is_not_simulated(changes):
    plan = plan_of(tests={"it": {"test": "t", "of": "correct", "per": "participant"} | changes})
    with pytest.raises(InputError, match="only a comparison of a mean with a number between 0 and 1 can be simulated"):
        planned_test_analysis(planned_trials(one_group(), 4), plan, "it")


def test_a_planned_test_may_use_a_flag():
    plan = plan_of(tests={"flagged": TESTS["flagged"]}, flags={"hard": {"level": 3}, "other": {"browser": "x"}})
    trials = planned_trials(latin_square(), 12)
    correct, kept = responses_without_exclusions(trials)
    outcome = planned_test_analysis(trials, plan, "flagged").run(correct, kept)
    means = trials.table.assign(y=correct, hard=trials.table["level"] == 3)
    means = means.groupby(["participant", "hard"])["y"].mean().unstack().to_numpy()
    assert outcome.p_value == pytest.approx(stats.ttest_rel(means[:, 1], means[:, 0]).pvalue)
    assert outcome.estimate == pytest.approx((means[:, 1] - means[:, 0]).mean())


@pytest.mark.parametrize(("correction", "factor"), [("holm", 3), ("none", 1)])
def test_a_planned_test_is_corrected_for_its_family(correction, factor):
    slow = {"test": "t", "of": "rt_ms", "per": "participant", "within": "condition"}
    other = {**TESTS["paired"], "where": {"level": 0}}
    apart = {**TESTS["paired"], "family": "another"}
    plan = plan_of(
        tests={"paired": TESTS["paired"], "slow": slow, "other": other, "apart": apart}, correction=correction
    )
    trials = planned_trials(latin_square(), 30)
    accuracy = accuracies(trials.table, 0.8, [Effect({"condition": "B", "level": 3}, -0.5)])
    correct, kept = next(simulated_responses(trials, accuracy, NO_VARIANCE, simulations=1, seed=1))
    analysis = planned_test_analysis(trials, plan, "paired")
    alone = planned_test_analysis(trials, plan, "apart").run(correct, kept)
    assert analysis.run(correct, kept).p_value == pytest.approx(factor * alone.p_value)
    assert bool(analysis.notes) == (correction == "holm")
    if analysis.notes:
        assert analysis.notes == (
            "The p value is corrected for the 3 tests of its family, as in the plan (holm). `slow` cannot be "
            "simulated and counts as not significant.",
        )


FACTORIAL = {"test": "anova", "of": "correct", "per": "participant", "within": ["condition", "level"]}


def test_an_analysis_of_variance_with_several_factors_is_refused_in_one_sentence():
    with pytest.raises(InputError) as error:
        planned_test_analysis(planned_trials(one_group(), 4), plan_of(tests={"it": FACTORIAL}), "it")
    assert str(error.value) == (
        "the test `it` is an analysis of variance with several factors, which has one p value for each effect. Fix: "
        "choose a test with one factor, or a model and its term."
    )


def test_every_effect_of_an_analysis_of_variance_counts_in_the_correction_of_another_test():
    plan = plan_of(tests={"paired": TESTS["paired"], "factorial": FACTORIAL})
    trials = planned_trials(latin_square(), 30)
    accuracy = accuracies(trials.table, 0.8, [Effect({"condition": "B", "level": 3}, -0.5)])
    correct, kept = next(simulated_responses(trials, accuracy, NO_VARIANCE, simulations=1, seed=1))
    analysis = planned_test_analysis(trials, plan, "paired")
    alone = planned_test_analysis(trials, plan_of(tests={"paired": TESTS["paired"]}), "paired").run(correct, kept)
    assert analysis.run(correct, kept).p_value == pytest.approx(4 * alone.p_value)
    assert "corrected for the 4 tests of its family" in analysis.notes[0]


def test_a_test_that_does_not_fit_the_design_has_a_note():
    trials = planned_trials(latin_square(), 6)
    plan = plan_of(tests={"welch": {**TESTS["welch"], "equivalence_margin": 0.1}})
    difference, between = planned_test_analysis(trials, plan, "welch").notes
    assert "the test of a difference. For the power of the equivalence test, use --equivalence" in difference
    assert "write `within` instead of `between`" in between
    assert not planned_test_analysis(trials, plan_of(tests={"items": TESTS["items"]}), "items").notes


MODELS = {
    "logistic": {"formula": "correct ~ condition * level + (1 | participant)", "family": "binomial"},
    "linear": {"formula": "correct ~ condition + (1 | participant)", "who": "people", "where": {"level": [0, 3]}},
    "against": {"formula": "correct ~ subject * condition + (1 | item_id)", "family": "binomial"},
}
MODELS["treatment"] = MODELS["logistic"] | {"term_tests": "treatment"}


@pytest.mark.parametrize(
    ("name", "term", "row"),
    [
        ("logistic", "level:condition", "condition:level"),
        ("treatment", "condition", "condition"),
        ("logistic", "conditionB", None),
        ("linear", None, "condition"),
    ],
)
def test_a_term_is_tested_as_the_planned_model_tests_it(name, term, row):
    trials = planned_trials(latin_square(), 20)
    correct, kept = next(
        simulated_responses(trials, np.full(240, 0.7), Population(1.5, 0.0, excluded=0.1), simulations=1, seed=1)
    )
    outcome = planned_model_analysis(trials, plan_of(models=MODELS), name, term).run(correct, kept)
    planned = plan_of(models=MODELS).models[name]
    data = trials.table.assign(correct=correct)[kept]
    data = data[data["level"].isin([0, 3])] if name == "linear" else data
    model = fit_mixed_model(data, planned.formula, family=planned.family, term_tests=planned.term_tests)
    coefficient = {"condition": "conditionB", "condition:level": "conditionB:level", None: "conditionB"}[row]
    coefficients = model.coefficients.set_index("term")
    assert outcome.flaw is None
    assert outcome.estimate == pytest.approx(coefficients.at[coefficient, "estimate"])
    table = model.anova.set_index("term") if row else coefficients
    assert outcome.p_value == pytest.approx(table.at[row or coefficient, "p_value"])


def test_a_joint_test_of_a_term_in_an_interaction_has_no_estimate():
    """The coefficient is the effect at the reference levels, and the test is over all levels."""
    trials = planned_trials(latin_square(), 20)
    data = responses_without_exclusions(trials)
    joint, treatment = (
        planned_model_analysis(trials, plan_of(models=MODELS), name, "condition").run(*data)
        for name in ("logistic", "treatment")
    )
    assert joint.estimate is None
    assert treatment.estimate is not None
    assert joint.p_value != pytest.approx(treatment.p_value, rel=0.01)


def test_a_term_of_several_coefficients_has_no_single_estimate():
    design = latin_square().assign(level=lambda d: "level " + d["level"].astype("str"))
    trials = planned_trials(design, 20)
    plan = plan_of(models={"m": {"formula": "correct ~ level"}})
    outcome = planned_model_analysis(trials, plan, "m").run(*responses_without_exclusions(trials))
    assert outcome.estimate is None
    assert 0 < outcome.p_value < 1


def test_a_singular_model_is_flawed():
    trials = planned_trials(one_group(4), 12)
    plan = plan_of(models={"m": {"formula": "correct ~ condition + (1 | participant)"}})
    analysis = planned_model_analysis(trials, plan, "m")
    alike = np.tile([1.0, 0, 1, 1, 0, 1, 0, 0], 12)  # All participants have the same mean.
    assert analysis.run(alike, np.full(96, True)).flaw == SINGULAR


def test_a_logistic_mixed_model_with_items_keeps_alpha_where_the_t_test_does_not():
    trials = planned_trials(one_group(), 40)
    plan = plan_of(
        models={"m": {"formula": "correct ~ condition + (1 | participant) + (1 | item_id)", "family": "binomial"}}
    )
    found = simulated(
        one_group(), 40, [], Population(1.0, 0.5), simulations=100,
        analysis=planned_model_analysis(trials, plan, "m"),
    )  # fmt: skip
    assert found["power"][0] < 0.12  # the t test: 0.19
    assert found[NOT_CONVERGED][0] == found[NOT_COMPUTABLE][0] == 0


def test_data_that_a_model_leaves_out_are_in_the_notes():
    trials = planned_trials(latin_square(), 20)
    items, slopes, together, reference = planned_model_analysis(
        trials, plan_of(models=MODELS), "treatment", "condition"
    ).notes
    assert items.startswith("The formula has no random effect for `item_id`")
    assert slopes.startswith("Effects without a random slope: `condition` in `participant`, `level` in `participant`.")
    assert together.startswith("The plan fits this statistical model to people and language models together")
    assert reference.startswith("`condition` is part of an interaction, so it is tested at the reference levels")
    assert not any("interaction" in note for note in
                   planned_model_analysis(trials, plan_of(models=MODELS), "logistic", "condition").notes)  # fmt: skip
    whole = {"formula": "correct ~ condition + (1 + condition | participant) + (1 | item_id)"}
    plan = plan_of(models={"whole": whole | {"who": "people"}})
    assert not planned_model_analysis(trials, plan, "whole").notes


@pytest.mark.parametrize(
    ("name", "term", "message"),
    [
        ("against", None, "uses runs of models, but only people's responses are simulated"),
        ("logistic", None, r"Fix: choose one of its terms \(condition, level, condition:level\)"),
        (
            "logistic",
            "age",
            "has no term `age`. Fix: choose one of its terms .condition, level, condition:level. or coefficients",
        ),
        (
            "none",
            None,
            "the plan has no model `none`. Fix: choose one of its models .logistic, linear, against.",
        ),
        ("times", None, "uses `rt_ms`, but only `correct` is simulated"),
        (
            "logarithms",
            None,
            "is a model of response times or of ratings, but only `correct` is simulated, which is 0 or 1. ",
        ),
        ("ratings", None, "is a model of response times or of ratings, but only `correct` is simulated"),
        (
            "gamma",
            None,
            "is a model of response times or of ratings, but only `correct` is simulated, which is 0 or 1. ",
        ),
        ("order", None, "needs `trial_index`, but only participants, items"),
        ("constant", None, "`task` has only one level"),
    ],
)
def test_a_model_that_cannot_be_simulated_is_refused_with_one_sentence(name, term, message):
    models = MODELS | {
        "times": {"formula": "rt_ms ~ condition"},
        "logarithms": {"formula": "log(rt_ms) ~ condition"},
        "gamma": {"formula": "rt_ms ~ condition", "family": "gamma"},
        "ratings": {"formula": "correct ~ condition", "family": "ordinal"},
        "order": {"formula": "correct ~ condition + trial_index"},
        "constant": {"formula": "correct ~ task"},
    }
    message = message.replace("logistic, linear, against", ", ".join(models))
    with pytest.raises(InputError, match=message):
        planned_model_analysis(planned_trials(latin_square(), 12), plan_of(models=models), name, term)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ({"of": "rt_ms"}, "the test `x` uses `rt_ms`, but only `correct` is simulated"),
        ({"who": "models"}, "the test `x` uses runs of models"),
        ({"within": "kind"}, "uses runs of models"),
        ({"where": {"age": 20}}, "the test `x` needs `age`, but only participants, items, factors of items"),
        ({"within": "young"}, "the test `x` needs `age`"),
        (
            {"within": "level"},
            r"the test `x`: the levels of `level` in these rows are .*. Fix: name two levels in `levels`",
        ),
        ({"levels": ["B", "C"]}, "the test `x`: `condition` has no level C"),
    ],
)
def test_a_test_that_cannot_be_simulated_is_refused_with_one_sentence(test, message):
    planned = {key: value for key, value in TESTS["paired"].items() if key != "levels"} | test
    plan = plan_of(tests={"x": planned}, flags={"young": {"age": 20}})
    trials = planned_trials(latin_square(), 12)
    with pytest.raises(InputError, match=message):
        simulated(latin_square(), 12, [EFFECT], NO_VARIANCE, analysis=planned_test_analysis(trials, plan, "x"))


def test_a_plan_without_tests_is_refused():
    with pytest.raises(InputError, match=r"the plan has no test `x`\. Fix: add a test to the plan"):
        planned_test_analysis(planned_trials(latin_square(), 12), plan_of(), "x")


@pytest.mark.parametrize("lacking", [("A", 0), ("A", 3), ("B", 0)])
def test_an_interaction_without_one_of_its_cells_is_refused(lacking):
    design = latin_square()
    design = design[(design["condition"] != lacking[0]) | (design["level"] != lacking[1])]
    with pytest.raises(InputError, match="no participant has items at all these levels"):
        contrast_t(planned_trials(design, 6), [Effect({"condition": "B", "level": 3}, -0.1)])
