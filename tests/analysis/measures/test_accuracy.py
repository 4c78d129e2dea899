import numpy as np
import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy, accuracy_by_factor
from analysis.statistics.intervals import wilson
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(resamples=2000)


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


@pytest.fixture
def three_kinds(view, session):
    people = [session(participant=f"P{n}", n_correct=n % 5, factors={"condition": f"{n % 2:02d}"}) for n in range(8)]
    fakes = [session(participant=f"S{n}", kind="simulated", n_correct=1, factors={"condition": "00"}) for n in range(3)]
    model = session(kind="model", run="Model B", n_correct=3, factors={"condition": "00"})
    other = session(kind="model", run="Model A", n_correct=4, factors={"condition": "01"})
    return view(people, fakes, model, other)


def test_the_table_has_the_promised_columns_and_counts(three_kinds):
    table = accuracy(marked(three_kinds), ["condition"], PLAN)
    assert table.columns.tolist() == [
        "kind", "subject", "condition", "n_participants", "n_trials", "n_correct", "accuracy", "ci_low", "ci_high",
        "chance", "chance_corrected", "chance_corrected_ci_low", "chance_corrected_ci_high",
    ]  # fmt: skip
    cells = table.set_index(["subject", "condition"])[["n_participants", "n_trials", "n_correct"]]
    assert cells.loc[("people", "00")].tolist() == [4, 16, 0 + 2 + 4 + 1]
    assert cells.loc[("people", "01")].tolist() == [4, 16, 1 + 3 + 0 + 2]
    assert cells.loc[("simulated participants", "00")].tolist() == [3, 12, 3]
    assert ("simulated participants", "01") not in cells.index
    assert table["subject"].drop_duplicates().tolist() == ["people", "simulated participants", "Model A", "Model B"]


def test_without_factors_each_subject_has_one_row_and_there_is_no_total(three_kinds):
    table = accuracy(marked(three_kinds), [], PLAN)
    assert table["n_trials"].tolist() == [32, 12, 4, 4]
    assert table["kind"].tolist() == ["human", "simulated", "model", "model"]


def test_one_run_and_one_participant_get_wilsons_interval(view, session):
    table = accuracy(marked(view(session(n_correct=3), session(kind="model", n_correct=1))), [], PLAN)
    assert table.loc[0, ["ci_low", "ci_high"]].tolist() == pytest.approx(list(wilson(3, 4)))
    assert table.loc[1, ["ci_low", "ci_high"]].tolist() == pytest.approx(list(wilson(1, 4)))


def test_a_cell_does_not_depend_on_the_other_cells_nor_on_row_order(three_kinds):
    trials = marked(three_kinds)
    whole = accuracy(trials, ["condition"], PLAN)
    shuffled = trials.sample(frac=1, random_state=4)
    pd.testing.assert_frame_equal(accuracy(shuffled, ["condition"], PLAN), whole)
    part = accuracy(trials[trials["condition"] == "01"], ["condition"], PLAN)
    pd.testing.assert_frame_equal(part, whole[whole["condition"] == "01"].reset_index(drop=True))


def test_an_item_without_the_factor_is_in_a_separate_cell(view, session, row):
    rows = view(session(factors={"condition": "a"}), row(trial_index=9, item_id="i9", response=2))
    table = accuracy(marked(rows), ["condition"], PLAN)
    assert table["condition"].isna().tolist() == [False, True]
    assert table["n_trials"].tolist() == [4, 1]


def test_a_models_unanswered_and_invalid_trials_count_as_not_correct(view, session, row):
    rows = view(
        session(kind="model", n_test=2),
        row(kind="model", trial_index=8, item_id="i8", response=None),
        row(kind="model", trial_index=9, item_id="i9", response="?", valid=0),
    )
    table = accuracy(marked(rows), [], PLAN)
    assert table.loc[0, ["n_trials", "n_correct"]].tolist() == [4, 2]


def test_levels_are_in_natural_order_and_keep_their_type(view, row):
    numbers = [row(trial_index=n, item_id=f"n{n}", factors={"level": n}) for n in (10, 9, 1)]
    texts = [row(trial_index=n, item_id=f"t{n}", factors={"level": f"level {n}"}) for n in (10, 9, 1)]
    assert accuracy(marked(view(numbers)), ["level"], PLAN)["level"].tolist() == [1, 9, 10]
    assert accuracy(marked(view(texts)), ["level"], PLAN)["level"].tolist() == ["level 1", "level 9", "level 10"]


def test_factors_that_cannot_be_used_are_named(three_kinds, view, session):
    trials = marked(three_kinds)
    with pytest.raises(
        InputError,
        match=r"factor `colour`, but no item has a factor with this name. Fix: choose one of the factors condition",
    ):
        accuracy(trials, ["colour"], PLAN)
    with pytest.raises(InputError, match="the items have no factors"):
        accuracy(marked(view(session())), ["colour"], PLAN)
    with pytest.raises(InputError, match="same name as a column of the result tables"):
        accuracy(marked(view(session(factors={"people": "physics"}))), ["people"], PLAN)
    with pytest.raises(InputError, match="apply the exclusions first"):
        accuracy(trials.drop(columns="excluded_by"), [], PLAN)


def test_the_interval_has_about_the_stated_coverage(view, row):
    rng = np.random.default_rng(11)
    plan = AnalysisPlan(confidence=0.9)
    hits = 0
    for _ in range(30):
        rates = rng.beta(6, 3, size=25)
        rows = [
            row(participant=f"P{who:02d}", trial_index=n, item_id=f"i{n}", response=1 if rng.random() < rate else 2)
            for who, rate in enumerate(rates)
            for n in range(10)
        ]
        cell = accuracy(marked(view(rows)), [], plan).iloc[0]
        hits += cell["ci_low"] <= 6 / 9 <= cell["ci_high"]
    assert 22 <= hits <= 30


def test_two_factors_never_share_a_file(view, session):
    factors = ["x", "X", "x 2", "Größe!"]
    trials = marked(view(session(factors=dict.fromkeys(factors, "level"))))
    names = [table.name for table in accuracy_by_factor(trials, PLAN.model_copy(update={"by": factors}))]
    assert len(set(names)) == len(factors)
    assert all(name.isascii() and " " not in name for name in names)


def test_the_accuracy_is_corrected_for_the_mean_chance_level_of_the_same_trials(view, session, row):
    """Six items with four options and two items with two options: chance is (6 / 4 + 2 / 2) / 8."""
    two = {"text": "", "prompt": "Which?", "options": ["a", "b"]}
    rows = view(
        session(participant="A", n_test=6, n_correct=5),
        row(participant="A", item_id="j1", content=two, trial_index=6),
        row(participant="A", item_id="j2", content=two, trial_index=7, response=2),
    )
    line = accuracy(marked(rows), [], PLAN).iloc[0]
    chance = 2.5 / 8
    assert line["chance"] == chance
    assert line["chance_corrected"] == pytest.approx((6 / 8 - chance) / (1 - chance))
    expected = [(bound - chance) / (1 - chance) for bound in wilson(6, 8)]
    assert line[["chance_corrected_ci_low", "chance_corrected_ci_high"]].tolist() == pytest.approx(expected)


def test_an_accuracy_below_chance_is_negative_after_the_correction_and_all_correct_is_1(view, session):
    rows = view(session(n_correct=0), session(kind="model", n_correct=4))
    assert accuracy(marked(rows), [], PLAN)["chance_corrected"].tolist() == pytest.approx([-1 / 3, 1])


def test_without_a_chance_level_of_every_trial_there_is_no_corrected_accuracy(view, session):
    trials = marked(view(session(n_correct=3)))
    trials.loc[0, "chance"] = np.nan
    line = accuracy(trials, [], PLAN).iloc[0]
    assert line[["chance", "chance_corrected", "chance_corrected_ci_low"]].isna().all()
    assert line["accuracy"] == 3 / 4


def test_items_without_a_level_of_the_factor_have_their_own_chance_level(view, session, row):
    two = {"text": "", "prompt": "Which?", "options": ["a", "b"]}
    rows = view(session(n_correct=3, factors={"condition": "x"}), row(item_id="j1", content=two, trial_index=4))
    table = accuracy(marked(rows), ["condition"], PLAN)
    assert table["chance"].tolist() == [0.25, 0.5]
    assert table["condition"].isna().tolist() == [False, True]
