import numpy as np
import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy
from analysis.measures.differences import differences
from analysis.measures.difficulty import TREND_COLUMNS, accuracy_by_level, trends
from analysis.statistics.intervals import wilson
from analysis.statistics.trends import mover_contrast, trend_weights
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(resamples=2_000)


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


def answers(row, n_right, n_each=10, **who):
    """Return a subject's trials: at each level `n_each` items, of which the first `n_right[level]` are right."""
    cells = [(level, index, index < right) for level, right in n_right.items() for index in range(n_each)]
    return [
        row(trial_index=n, item_id=f"{level}-{index}", response=1 if right else 2, factors={"level": level}, **who)
        for n, (level, index, right) in enumerate(cells)
    ]


@pytest.fixture
def study(view, row):
    people = [answers(row, {0: 9, 2: 7 + n % 3, 3: 5 + n % 4}, participant=f"P{n}") for n in range(12)]
    model = answers(row, {0: 10, 1: 9, 2: 9, 3: 3}, kind="model", run="M")
    return view(people, model)


def test_the_table_has_the_accuracies_and_intervals_of_the_accuracy_table_and_of_the_differences(study):
    trials = marked(study)
    table = accuracy_by_level(trials, "level", PLAN)
    assert table.columns.tolist() == [
        "people", "kind", "subject", "level", "n_items", "n_items_only_model", "n_items_only_people", "n_trials",
        "accuracy", "ci_low", "ci_high",
    ]  # fmt: skip
    measures = ["level", "accuracy", "ci_low", "ci_high"]
    expected = accuracy(trials, ["level"], PLAN).query("kind == 'human'")[measures].reset_index(drop=True)
    pd.testing.assert_frame_equal(table[table["kind"] == "human"][measures].reset_index(drop=True), expected)
    model = table[(table["kind"] == "model") & (table["n_items"] > 0)]
    assert (
        model["accuracy"].tolist() == differences(trials, ["level"], PLAN)["accuracy_model"].tolist() == [1, 0.9, 0.3]
    )


def test_levels_that_people_did_not_see_are_left_out_and_counted(study):
    model = accuracy_by_level(marked(study), "level", PLAN).query("kind == 'model'").set_index("level")
    assert model.loc[1, ["n_items", "n_items_only_model", "n_trials"]].tolist() == [0, 10, 0]
    assert pd.isna(model.loc[1, "accuracy"])
    assert model["n_items_only_model"].sum() == 10
    line = trends(marked(study), "level", PLAN).query("kind == 'model'").iloc[0]
    assert (line["n_items"], line["n_items_only_model"], line["n_items_only_people"]) == (30, 10, 0)


def test_a_slope_is_that_of_a_line_through_all_trials_with_the_levels_as_numbers(study):
    trials = marked(study)
    table = trends(trials, "level", PLAN).set_index("subject")
    kept = trials[trials["kind"] == "human"]
    slope = np.polyfit(kept["level"].astype(float), kept["correct"].astype(float), 1)[0]
    line = table.loc["people"]
    assert line["slope"] == pytest.approx(slope)
    assert line["slope_ci_low"] < slope < line["slope_ci_high"]
    assert (line["first_level"], line["last_level"]) == (0, 3)
    assert line["change"] == pytest.approx((5 + 6 + 7 + 8) / 40 - 0.9)
    assert pd.isna(line["slope_difference"])


def test_a_runs_intervals_are_those_of_contrasts_of_wilsons_intervals(study):
    line = trends(marked(study), "level", PLAN).set_index("subject").loc["M"]
    weights, intervals = trend_weights([0, 2, 3], [1, 1, 1]), [wilson(k, 10) for k in (10, 9, 3)]
    assert line["slope"] == pytest.approx(weights @ [1, 0.9, 0.3])
    assert tuple(line[["slope_ci_low", "slope_ci_high"]]) == pytest.approx(
        mover_contrast(weights, [1, 0.9, 0.3], intervals)
    )
    change = mover_contrast([-1, 0, 1], [1, 0.9, 0.3], intervals)
    assert tuple(line[["change_ci_low", "change_ci_high"]]) == pytest.approx(change)


def test_a_difference_of_slopes_is_peoples_less_the_runs(study):
    table = trends(marked(study), "level", PLAN).set_index("subject")
    line = table.loc["M"]
    assert line["slope_difference"] == pytest.approx(table.loc["people", "slope"] - line["slope"])
    assert line["slope_difference_ci_low"] < line["slope_difference"] < line["slope_difference_ci_high"]


def test_a_runs_items_have_the_weights_of_peoples_responses(view, row):
    """At the hard level the model is wrong on an item of nine people and right on an item of one person."""
    easy = [row(participant=f"P{n}", item_id="easy", factors={"level": "a easy"}) for n in range(10)]
    hard = [
        row(participant=f"P{n}", trial_index=1, item_id="missed" if n else "right", factors={"level": "b hard"})
        for n in range(10)
    ]
    model = [
        row(kind="model", item_id="easy", factors={"level": "a easy"}),
        row(kind="model", trial_index=1, item_id="missed", response=2, factors={"level": "b hard"}),
        row(kind="model", trial_index=2, item_id="right", factors={"level": "b hard"}),
    ]
    trials = marked(view(easy, hard, model))
    table = accuracy_by_level(trials, "level", PLAN).query("kind == 'model'")
    assert table["accuracy"].tolist() == pytest.approx([1, 0.1])
    line = trends(trials, "level", PLAN).query("kind == 'model'").iloc[0]
    assert line["slope"] == pytest.approx(-0.9), "levels that are texts are a step apart"


def test_equal_people_have_an_interval_with_a_width(view, row):
    people = [answers(row, {0: 10, 1: 5}, participant=f"P{n}") for n in range(4)]
    line = trends(marked(view(people)), "level", PLAN).iloc[0]
    assert line["slope_ci_high"] - line["slope_ci_low"] > 0.3
    assert line["slope_ci_low"] < -0.5 < line["slope_ci_high"]


def test_without_people_runs_have_all_their_items_and_simulated_participants_are_a_separate_block(view, row):
    models = [answers(row, {0: 9, 1: 7}, kind="model", run=name) for name in ("B", "A")]
    table = accuracy_by_level(marked(view(models)), "level", PLAN)
    assert table["people"].isna().all()
    assert table["subject"].tolist() == ["A", "A", "B", "B"]
    both = view(models, answers(row, {0: 9, 1: 9}), answers(row, {0: 5, 1: 5}, participant="S", kind="simulated"))
    table = trends(marked(both), "level", PLAN)
    assert table["people"].tolist() == ["people"] * 3 + ["simulated participants"] * 3
    assert table["subject"].tolist() == ["people", "A", "B", "simulated participants", "A", "B"]


def test_one_level_has_no_trend_and_an_unknown_factor_is_named(view, row):
    trials = marked(view(answers(row, {0: 9}), answers(row, {0: 9}, kind="model")))
    assert trends(trials, "level", PLAN).empty
    assert trends(trials, "level", PLAN).columns.tolist() == TREND_COLUMNS
    with pytest.raises(InputError, match="the factor `colour`, but no item has"):
        accuracy_by_level(trials, "colour", PLAN)


def test_items_without_the_factor_are_left_out(view, row):
    extra = row(trial_index=99, item_id="without", response=2)
    trials = marked(view(answers(row, {0: 9, 1: 7}), extra))
    assert accuracy_by_level(trials, "level", PLAN)["n_items"].tolist() == [10, 10]
