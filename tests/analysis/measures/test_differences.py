import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy
from analysis.measures.differences import differences
from analysis.statistics.intervals import Interval, mover_difference, mover_ratio, wilson
from analysis.statistics.participant_intervals import proportion_interval
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(resamples=1000)


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


def test_a_difference_is_over_the_items_with_responses_of_people_and_the_model(view, session, row):
    rows = view(
        session(participant="A", n_test=4, n_correct=3),
        session(kind="model", run="M", n_test=3, n_correct=1),
        row(kind="model", run="M", trial_index=3, item_id="i4", response=None),
        row(kind="model", run="M", trial_index=4, item_id="i5", response=1),
    )
    table = differences(marked(rows), [], PLAN)
    assert table.columns.tolist() == [
        "kind", "people", "model", "n_items", "accuracy_people", "accuracy_model", "difference", "ci_low", "ci_high",
        "accuracy_ratio", "accuracy_ratio_ci_low", "accuracy_ratio_ci_high", "normalized_accuracy",
        "normalized_accuracy_ci_low", "normalized_accuracy_ci_high", "n_items_only_model", "n_items_only_people",
    ]  # fmt: skip
    line = table.iloc[0]
    assert line["n_items"] == 4
    assert line["accuracy_people"] == 3 / 4
    assert line["accuracy_model"] == 1 / 4, "an item that the model left unanswered counts as not correct"
    expected = mover_difference(3 / 4, wilson(3, 4), 1 / 4, wilson(1, 4))
    assert tuple(line[["ci_low", "ci_high"]]) == pytest.approx(expected)
    assert line["accuracy_ratio"] == pytest.approx(1 / 3)
    expected = mover_ratio(1 / 4, wilson(1, 4), 3 / 4, wilson(3, 4))
    assert tuple(line[["accuracy_ratio_ci_low", "accuracy_ratio_ci_high"]]) == pytest.approx(expected)
    assert (line["n_items_only_model"], line["n_items_only_people"]) == (1, 0)


def test_a_model_that_refuses_hard_items_does_not_gain(view, session):
    people = session(participant="A", n_test=4, n_correct=2)
    answers = session(kind="model", run="answers", n_test=4, n_correct=2)
    refuses = [
        {**line, "response": None if n >= 2 else line["response"]}
        for n, line in enumerate(session(kind="model", run="refuses", n_test=4, n_correct=2))
    ]
    table = differences(marked(view(people, answers, refuses)), [], PLAN)
    assert table["n_items"].tolist() == [4, 4]
    assert table["difference"].tolist() == [0, 0]
    same = table[["accuracy_people", "accuracy_model", "difference", "ci_low", "ci_high"]].to_numpy()
    assert same[0].tolist() == same[1].tolist()


def test_groups_filled_unequally_do_not_turn_difficulty_into_a_difference(view, row):
    """Nine people have only hard items, and one has only easy items; the model agrees with all on every item."""
    hard = [row(participant=f"H{n}", item_id="hard", response=2) for n in range(9)]
    easy = row(participant="E", item_id="easy")
    model = [row(kind="model", item_id="hard", response=2), row(kind="model", trial_index=1, item_id="easy")]
    line = differences(marked(view(hard, easy, model)), [], PLAN).iloc[0]
    assert line["accuracy_people"] == line["accuracy_model"] == 0.1
    assert line["difference"] == 0
    n_eff = 10**2 / (9**2 + 1**2)
    _, high = wilson(0.1 * n_eff, n_eff)
    people_low = 0.1 - proportion_interval(np.array([0] * 9 + [1]), np.ones(10, dtype=int), 0.95).low
    assert line["ci_low"] == pytest.approx(-np.hypot(people_low, high - 0.1))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(items=st.lists(st.tuples(st.booleans(), st.integers(1, 7), st.sampled_from("ab")), min_size=1, max_size=6))
def test_equal_accuracy_on_every_item_gives_no_difference_for_any_number_of_people(view, row, items):
    rows = view(
        [
            row(participant=f"P{n}-{who}", item_id=f"i{n}", response=1 if right else 2, factors={"condition": level})
            for n, (right, people, level) in enumerate(items)
            for who in range(people)
        ],
        [
            row(kind="model", trial_index=n, item_id=f"i{n}", response=1 if right else 2, factors={"condition": level})
            for n, (right, _, level) in enumerate(items)
        ],
    )
    trials = marked(rows)
    assert differences(trials, [], PLAN)["difference"].tolist() == [0]
    table = differences(trials, ["condition"], PLAN)
    assert set(table["difference"]) == {0}
    assert table["n_items"].sum() == len(items)


def test_the_difference_of_a_person_and_a_model_has_newcombes_interval(view, session):
    rows = view(session(n_test=70, n_correct=56), session(kind="model", n_test=70, n_correct=42))
    line = differences(marked(rows), [], PLAN).iloc[0]
    assert line["difference"] == pytest.approx(0.2)
    expected = mover_difference(56 / 70, wilson(56, 70), 42 / 70, wilson(42, 70))
    assert (line["ci_low"], line["ci_high"]) == pytest.approx(expected)


def test_people_and_simulated_participants_are_compared_separately(view, session):
    rows = view(
        session(participant="A", n_correct=4),
        session(participant="S", kind="simulated", n_correct=0),
        session(kind="model", run="M1", n_correct=2),
        session(kind="model", run="M2", n_correct=4),
    )
    table = differences(marked(rows), [], PLAN).set_index(["kind", "people", "model"])["difference"]
    assert table.to_dict() == {
        ("human", "people", "M1"): 0.5, ("human", "people", "M2"): 0,
        ("simulated", "simulated participants", "M1"): -0.5, ("simulated", "simulated participants", "M2"): -1,
    }  # fmt: skip


def test_equal_cells_are_compared_even_if_a_level_is_missing(view, row):
    def answers(right, **who):
        return [
            row(trial_index=n, item_id=f"i{n}", response=1 if n in right else 2,
                factors={} if n == 2 else {"condition": f"{n % 2:02d}", "level": n // 2}, **who)
            for n in range(5)
        ]  # fmt: skip

    trials = marked(view(answers({0, 2, 4}), answers({0, 1}, kind="model")))
    table = differences(trials, ["condition", "level"], PLAN)
    assert table["n_items"].sum() == 5
    cells = {(c, None if pd.isna(n) else n): d for c, n, d in table[["condition", "level", "difference"]].to_numpy()}
    assert cells[("00", 0)] == 0
    assert cells[("01", 0)] == -1
    assert cells[("00", 2)] == 1
    assert table["difference"].sum() == 1


def test_without_shared_items_or_models_or_people_there_is_no_row(view, session):
    apart = view(session(), [{**line, "item_id": f"x{n}"} for n, line in enumerate(session(kind="model"))])
    for rows in (apart, view(session()), view(session(kind="model"))):
        table = differences(marked(rows), [], PLAN)
        assert table.empty
        assert "n_items" in table.columns


RANDOM = PLAN.model_copy(update={"items": "random"})


@pytest.fixture
def easy_and_hard(view, row):
    """Six people and a model, who are right at easy items and mostly wrong at hard items; each scenario has two."""
    right = {
        who: [n < 6 or n == 6 + index for n in range(12)] for index, who in enumerate(["A", "B", "C", "D", "E", "M"])
    }
    rows = [
        row(
            **({"kind": "model", "run": "M"} if who == "M" else {"participant": who}),
            trial_index=n,
            item_id=f"i{n:02}",
            response=1 if correct else 2,
            factors={"scenario": f"s{n // 2}", "half": "first" if n % 2 else "second"},
        )
        for who, answers in right.items()
        for n, correct in enumerate(answers)
    ]
    return marked(view(rows))


def width(table, name=""):
    return (table[f"{name}ci_high"] - table[f"{name}ci_low"]).to_numpy()


def test_random_items_change_the_intervals_only(easy_and_hard):
    for of in (differences, accuracy):
        fixed, random = (of(easy_and_hard, ["half"], plan) for plan in (PLAN, RANDOM))
        bounds = [name for name in fixed if "ci_" in name]
        pd.testing.assert_frame_equal(fixed.drop(columns=bounds), random.drop(columns=bounds))
        assert not fixed[bounds].equals(random[bounds])


def test_with_random_items_peoples_accuracy_is_less_certain_and_the_models_is_unchanged(easy_and_hard):
    fixed, random = (accuracy(easy_and_hard, [], plan) for plan in (PLAN, RANDOM))
    people, model = width(random) / width(fixed)
    assert people > 1.4
    assert model == pytest.approx(1)


def test_with_random_items_the_difference_uses_the_shared_items(easy_and_hard):
    line = differences(easy_and_hard, [], RANDOM).iloc[0]
    people, model = accuracy(easy_and_hard, [], RANDOM)[["ci_low", "ci_high"]].to_numpy()
    independent = mover_difference(line["accuracy_people"], Interval(*people), line["accuracy_model"], Interval(*model))
    assert line["ci_high"] - line["ci_low"] < 0.6 * (independent.high - independent.low)


def test_with_random_items_clusters_count_as_units(easy_and_hard):
    plan = RANDOM.model_copy(update={"item_cluster": "scenario"})
    for of in (differences, accuracy):
        assert width(of(easy_and_hard, [], plan))[0] > width(of(easy_and_hard, [], RANDOM))[0]


def test_the_normalized_accuracy_is_0_at_chance_and_1_at_the_accuracy_of_people(view, session):
    people = [session(participant=name, n_test=20, n_correct=15) for name in "ABC"]
    models = [session(kind="model", run=f"M{n:02d}", n_test=20, n_correct=n) for n in (2, 5, 10, 15, 20)]
    table = differences(marked(view(people, models)), [], PLAN)
    assert table["normalized_accuracy"].tolist() == pytest.approx([-0.3, 0, 0.5, 1, 1.5])
    low, high = table["normalized_accuracy_ci_low"], table["normalized_accuracy_ci_high"]
    assert (low < table["normalized_accuracy"]).all()
    assert (high > table["normalized_accuracy"]).all()
    line = table.iloc[2]
    chance = 0.25
    model, own = wilson(10, 20), proportion_interval(np.full(3, 15), np.full(3, 20), 0.95)
    above = [Interval(one.low - chance, one.high - chance) for one in (model, own)]
    expected = mover_ratio(0.25, above[0], 0.5, above[1])
    assert (low.iloc[2], high.iloc[2]) == pytest.approx(tuple(expected))
    assert line["accuracy_ratio"] == pytest.approx(2 / 3), "the ratio does not know chance"


def test_there_is_no_normalized_accuracy_if_people_are_not_above_chance(view, session):
    rows = view(session(n_test=4, n_correct=1), session(kind="model", n_test=4, n_correct=4))
    line = differences(marked(rows), [], PLAN).iloc[0]
    assert line[["normalized_accuracy", "normalized_accuracy_ci_low", "normalized_accuracy_ci_high"]].isna().all()


def test_the_normalized_accuracy_has_no_finite_interval_if_the_interval_of_people_reaches_chance(view, session):
    rows = view(session(n_test=4, n_correct=2), session(kind="model", n_test=4, n_correct=1))
    line = differences(marked(rows), [], PLAN).iloc[0]
    assert line["normalized_accuracy"] == 0
    assert line["normalized_accuracy_ci_low"] == -np.inf
    assert line["normalized_accuracy_ci_high"] == np.inf
