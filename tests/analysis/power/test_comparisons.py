"""The power of the comparison of people with a language model."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.measures.accuracy import item_counts
from analysis.measures.comparisons import comparison
from analysis.measures.differences import differences
from analysis.power.comparisons import StoredModel, comparison_analysis
from analysis.power.simulated_responses import Population, planned_trials, simulated_responses
from analysis.power.simulation import simulated_power
from analysis.statistics.intervals import wilson
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedComparison
from tests.analysis.power.test_simulation import latin_square, one_group

COMPARISONS = {"all": {"equivalence_margin": 0.1}, "cells": {"by": ["condition"]}}
PLANS = [
    {},
    {"items": "random"},
    {"item_cluster": "story"},
    {"items": "random", "item_cluster": "story", "confidence": 0.9},
]


def plan_of(**parts):
    return AnalysisPlan.model_validate({"comparisons": COMPARISONS} | parts)


def tidy_of(trials, correct, kept, model, *, epochs=1, asked=slice(None)):
    """Return the tidy table of people's trials and of the trials of a model, which is right where `model` is."""
    common = {"phase": "test", "excluded_by": pd.NA, "response": "a", "key": "a"}
    people = trials.table.assign(correct=correct == 1, counted_as=correct, kind="human", subject="people", **common)
    items = trials.table.drop_duplicates("item_id").drop(columns="participant").iloc[asked]
    right = items["item_id"].map(model)
    runs = [
        items.assign(
            participant=f"run {epoch}", correct=right > epoch, counted_as=(right > epoch).astype(float), kind="model",
            subject="gpt", **common,
        )
        for epoch in range(epochs)
    ]  # fmt: skip
    return pd.concat([people[kept], *runs], ignore_index=True)


def level_that_just_decides(decides):
    """Return the smallest alpha at which an interval decides. A larger alpha has a narrower interval."""
    low, high = 1e-12, 0.98
    assert decides(high)
    assert not decides(low)
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


@pytest.mark.parametrize("parts", PLANS)
@pytest.mark.parametrize(
    "n", [4, 15]
)  # With 4 participants, some groups are empty, and so some items have no response.
@pytest.mark.parametrize("is_stored", [True, False])
def test_the_interval_is_the_one_of_the_report(parts, n, is_stored):
    """At the level at which the power analysis just decides, the interval of the report just reaches 0."""
    plan, trials = plan_of(**parts), planned_trials(latin_square(), n)
    rng = np.random.default_rng(n)
    correct, kept = (rng.random(len(trials.table)) < 0.85).astype(float), trials.participants != 2
    item_ids = sorted(latin_square()["item_id"].unique())
    epochs = 3 if is_stored else 1
    model = dict(zip(item_ids, rng.binomial(epochs, 0.5, len(item_ids)), strict=True))
    tidy = tidy_of(trials, correct, kept, model, epochs=epochs, asked=slice(3, None) if is_stored else slice(None))
    given, of_model = 0.6, [trials.table["item_id"].map(model).to_numpy(dtype=float)]
    if is_stored:
        given, of_model = StoredModel("gpt", item_counts(tidy[tidy["kind"] == "model"], plan)), []

    def outcome(alpha):
        return comparison_analysis(trials, plan, given, alpha=alpha).run(correct, kept, *of_model)

    alpha = level_that_just_decides(lambda level: outcome(level).interval_decides)
    (row,) = differences(tidy, [], plan.model_copy(update={"confidence": 1 - alpha})).to_dict("records")
    assert outcome(alpha).estimate == pytest.approx(row["difference"], abs=1e-12)
    assert min(abs(row["ci_low"]), abs(row["ci_high"])) < 1e-8


@pytest.mark.parametrize("parts", PLANS)
def test_equivalence_is_the_one_of_the_report(parts):
    plan, trials = plan_of(**parts), planned_trials(latin_square(), 24)
    planned = plan.comparisons["all"]
    verdicts = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        correct, kept = (rng.random(len(trials.table)) < 0.9).astype(float), np.full(len(trials.table), True)
        model = {item: int(rng.random() < 0.93) for item in latin_square()["item_id"]}
        of_model = trials.table["item_id"].map(model).to_numpy(dtype=float)
        (row,) = comparison(tidy_of(trials, correct, kept, model), planned, plan).to_dict("records")
        analysis = comparison_analysis(
            trials, plan, 0.9, "all", alpha=round(1 - plan.confidence, 12), is_equivalence=True
        )
        assert analysis.run(correct, kept, of_model).interval_decides == row["is_equivalent"]
        verdicts.add(row["is_equivalent"])
    assert verdicts == {True, False}


def test_a_cell_of_a_comparison_has_only_its_trials():
    plan, trials = plan_of(), planned_trials(latin_square(), 12)
    correct = np.where(trials.table["condition"] == "B", 1.0, 0.0)
    kept, of_model = np.full(len(correct), True), np.full(len(correct), 0.0)
    estimates = [
        comparison_analysis(trials, plan, 0.5, "cells", {"condition": level}).run(correct, kept, of_model).estimate
        for level in "AB"
    ]
    assert estimates == [0.0, 1.0]
    assert "against a model with an accuracy of 0.5 at condition = B, by the plan's comparison `cells`" in (
        comparison_analysis(trials, plan, 0.5, "cells", {"condition": "B"}).title
    )


def power_against_independent_model(people, model, n_items, n_responses):
    """Return the power if all responses are independent: a sum over the model's number of right responses.

    People have so many responses that their accuracy is nearly normal.
    """
    total = 0.0
    p = stats.norm.ppf((np.arange(100) + 0.5) / 100, people, math.sqrt(people * (1 - people) / n_responses))
    of_people = np.array([wilson(one * n_responses, n_responses) for one in p])
    for right, weight in enumerate(stats.binom.pmf(np.arange(n_items + 1), n_items, model)):
        low, high = wilson(right, n_items)
        m = right / n_items
        below = np.hypot(p - of_people[:, 0], high - m)
        above = np.hypot(of_people[:, 1] - p, m - low)
        total += weight * np.mean((p - m - below > 0) | (p - m + above < 0))
    return total


@pytest.mark.parametrize(("people", "model"), [(0.8, 0.6), (0.8, 0.67), (0.6, 0.6)])
def test_the_power_is_that_of_independent_responses(people, model):
    n, items, simulations = 30, 30, 400
    trials = planned_trials(one_group(items), n)
    analysis = comparison_analysis(trials, plan_of(), model)
    found = simulated_power(
        trials, np.full(len(trials.table), people), analysis, Population(0.0, 0.0), ns=[n], simulations=simulations
    )
    wanted = power_against_independent_model(people, model, 2 * items, n * 2 * items)
    assert found["power"][0] == pytest.approx(wanted, abs=0.01 + 3 * math.sqrt(wanted * (1 - wanted) / simulations))
    assert found["mean_estimate"][0] == pytest.approx(people - model, abs=0.012)


def test_the_accuracy_of_a_simulated_model_is_the_requested_accuracy():
    """Its responses go along with people's, because both have the same items."""
    trials = planned_trials(one_group(60), 40)
    accuracy = np.full(len(trials.table), 0.7)
    of_model, together = [], []
    for correct, _, model in simulated_responses(
        trials, accuracy, Population(1.0, 1.5), simulations=60, seed=1, model_accuracy=np.full(len(accuracy), 0.85)
    ):
        by_item = model.reshape(40, 120)
        assert (by_item == by_item[0]).all()
        of_model.append(by_item[0].mean())
        together.append(np.corrcoef(by_item[0], correct.reshape(40, 120).mean(axis=0))[0, 1])
    assert np.mean(of_model) == pytest.approx(0.85, abs=4 * np.std(of_model) / math.sqrt(60))
    assert np.mean(together) > 0.2


def test_a_simulated_model_responds_the_same_with_more_participants():
    few, many = (planned_trials(latin_square(), n) for n in (6, 14))
    responses = [
        next(
            simulated_responses(
                trials, np.full(len(trials.table), 0.7), Population(1.0, 1.0), simulations=1, seed=4,
                model_accuracy=np.full(len(trials.table), 0.6),
            )
        )
        for trials in (few, many)
    ]  # fmt: skip
    for one, other in zip(*responses, strict=True):
        assert (one == other[: len(one)]).all()


def test_a_model_that_is_always_right_is_always_right():
    trials = planned_trials(one_group(4), 10)
    (row,) = simulated_power(
        trials, np.full(80, 1.0), comparison_analysis(trials, plan_of(), 1.0), Population(1.0, 1.0), ns=[10],
        simulations=20,
    ).to_dict("records")  # fmt: skip
    assert (row["power"], row["mean_estimate"]) == (0, 0)


def test_false_positives_are_at_equal_accuracies_and_for_equivalence_at_the_margin():
    trials = planned_trials(one_group(4), 4)
    plan = plan_of(comparisons={"all": {"equivalence_margin": 0.1}, "wide": {"equivalence_margin": 0.7}})
    difference, equivalence = (
        comparison_analysis(trials, plan, 0.6, "all", is_equivalence=is_equivalence) for is_equivalence in (False, True)
    )
    given = np.full(32, 0.8)
    assert set(difference.null_accuracy(given)) == {0.6}
    assert set(equivalence.null_accuracy(given)) == {0.5}
    assert equivalence.true_difference(given) == pytest.approx(0.2)
    low = comparison_analysis(trials, plan, 0.05, "all", is_equivalence=True)
    assert set(low.null_accuracy(given)) == {0.15}  # An accuracy of -0.05 is impossible.
    with pytest.raises(InputError, match=r"cannot differ from 0\.6 by the margin 0\.7\. Fix: plan a smaller margin"):
        comparison_analysis(trials, plan, 0.6, "wide", is_equivalence=True).null_accuracy(given)


def test_a_stored_model_is_compared_at_its_own_items_with_its_own_accuracy():
    trials, plan = planned_trials(one_group(4), 4), plan_of()
    items = pd.DataFrame({"n_correct": [1.0, 0.0, 2.0], "n_trials": [2, 2, 2]}, index=["i00", "i01", "i02"])
    analysis = comparison_analysis(trials, plan, StoredModel("gpt", items))
    assert set(analysis.null_accuracy(np.full(32, 0.8))) == {0.5}
    assert "against `gpt` (accuracy 0.5)" in analysis.title
    correct = trials.table["item_id"].isin(["i03", "i04"]).to_numpy(dtype=float)
    assert analysis.run(correct, np.full(32, True)).estimate == -0.5
    assert "stored responses in every simulated study" in analysis.notes[0]
    with pytest.raises(InputError, match="`gpt` has no responses to these items"):
        comparison_analysis(trials, plan, StoredModel("gpt", items.set_axis(["x", "y", "z"])))


@pytest.mark.parametrize(
    ("name", "levels", "options", "message"),
    [
        ("none", {}, {}, r"the plan has no comparison `none`\. Fix: choose one of all, cells\."),
        ("cells", {}, {}, r"the comparison `cells` has the factors condition\. Fix: .* condition=LEVEL"),
        ("all", {"condition": "B"}, {}, r"the comparison `all` has no factor\. Fix: omit the term"),
        ("cells", {"condition": "C"}, {}, "`condition` has no level C"),
        ("cells", {"condition": "A"}, {"is_equivalence": True}, "the comparison `cells` has no margin. Fix: add"),
        (None, {}, {"is_equivalence": True}, "the comparison of people with the model has no margin"),
    ],
)
def test_a_comparison_that_does_not_fit_the_plan_is_refused(name, levels, options, message):
    with pytest.raises(InputError, match=message):
        comparison_analysis(planned_trials(one_group(), 4), plan_of(), 0.6, name, levels, **options)


def test_the_comparison_over_all_items_needs_no_plan():
    assert comparison_analysis(planned_trials(one_group(), 4), AnalysisPlan(), 0.6).equivalence is None
    assert PlannedComparison().by == ()
