import pandas as pd
import pytest

from analysis.data import tidy_trials
from analysis.differences import differences
from analysis.exclusions import apply_exclusions
from analysis.intervals import mover_difference, wilson
from experiment.preregistration import AnalysisPlan

PLAN = AnalysisPlan(bootstrap_resamples=1000)


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


def test_a_difference_is_over_the_items_both_answered(view, session, row):
    rows = view(
        session(participant="A", n_test=4, n_correct=3),
        session(kind="model", run="M", n_test=3, n_correct=1),
        row(kind="model", run="M", trial_index=3, item_id="i4", response=None),
        row(kind="model", run="M", trial_index=4, item_id="i5", response=1),
    )
    table = differences(marked(rows), [], PLAN)
    assert table.columns.tolist() == [
        "kind", "people", "model", "n_items", "accuracy_people", "accuracy_model", "difference", "ci_low", "ci_high"
    ]  # fmt: skip
    line = table.iloc[0]
    assert line["n_items"] == 3
    assert line["accuracy_people"] == 1
    assert line["accuracy_model"] == pytest.approx(1 / 3)
    assert tuple(line[["ci_low", "ci_high"]]) == pytest.approx(mover_difference(1, wilson(3, 3), 1 / 3, wilson(1, 3)))


def test_newcombes_example_comes_out_of_the_table(view, row):
    people = [row(trial_index=n, item_id=f"i{n}", response=1 if n < 56 else 2) for n in range(70)]
    model = [row(kind="model", trial_index=n, item_id=f"i{n % 70}", response=1 if n < 48 else 2) for n in range(80)]
    line = differences(marked(view(people, model)), [], PLAN).iloc[0]
    assert line["difference"] == pytest.approx(0.2)
    assert (line["ci_low"], line["ci_high"]) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_people_and_simulated_participants_are_compared_apart(view, session):
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


def test_cells_are_compared_with_their_like_even_where_a_level_is_missing(view, row):
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
