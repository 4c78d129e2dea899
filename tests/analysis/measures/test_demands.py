import re

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy
from analysis.measures.demands import accuracy_by_demand, demand_tables
from analysis.planned.plan_mistakes import plan_mistakes, rows_of_items
from analysis.planned.study_rows import study_rows
from analysis.study import analyze_trials
from batteries.errors import InputError
from batteries.items import Item
from experiment.study.analysis_plan import AnalysisPlan

SIX = ("constitutional", "functional", "spatiotemporal", "beliefs", "intentions", "feelings")
PLAN = AnalysisPlan(by=("condition",), demands=SIX)


def factors(n):
    """Return the demands of item `n`: each item has two of the six demands, and item 0 has the first one twice."""
    counts = {demand: int(place in (n % 6, (n + 1) % 6)) for place, demand in enumerate(SIX)}
    return counts | {SIX[n % 6]: 2 if n == 0 else 1, "condition": "AB"[n // 6 % 2], "text": "x"}


@pytest.fixture
def trials(view, row):
    """Return people, who are wrong if an item needs beliefs, and a model, which is wrong if it needs feelings."""
    rows = [
        row(participant=f"P{person}", trial_index=n, item_id=f"i{n}", factors=factors(n),
            response=2 if factors(n)["beliefs"] else 1)
        for person in range(4)
        for n in range(24)
    ] + [
        row(kind="model", run="M", trial_index=n, item_id=f"i{n}", factors=factors(n),
            response=2 if factors(n)["feelings"] else 1)
        for n in range(24)
    ]  # fmt: skip
    return apply_exclusions(tidy_trials(view(rows)), PLAN).trials


def test_a_demand_has_the_items_that_have_it_at_least_once(trials):
    table = accuracy_by_demand(trials, SIX, [], PLAN)
    assert table[["subject", "demand"]].to_numpy().tolist() == [
        [who, demand] for who in ("people", "M") for demand in SIX
    ]
    assert table["n_trials"].tolist() == [4 * 8] * 6 + [8] * 6, "24 items with two demands each, so the rows overlap"
    of_people, of_model = (table[table["subject"] == who].set_index("demand")["accuracy"] for who in ("people", "M"))
    assert of_people.to_dict() == dict.fromkeys(SIX, 1) | {"beliefs": 0, "spatiotemporal": 0.5, "intentions": 0.5}
    assert of_model.to_dict() == dict.fromkeys(SIX, 1) | {"feelings": 0, "constitutional": 0.5, "intentions": 0.5}


def test_the_numbers_of_a_demand_are_those_of_the_accuracy_at_its_items(trials):
    by_condition = accuracy_by_demand(trials, SIX, ["condition"], PLAN)
    alone = accuracy(trials[trials["constitutional"] >= 1], ["condition"], PLAN)
    part = by_condition[by_condition["demand"] == "constitutional"].drop(columns="demand").reset_index(drop=True)
    pd.testing.assert_frame_equal(part, alone)


def test_yes_no_demands_and_items_without_the_factor_are_allowed(trials):
    yes_no = trials.assign(beliefs=(trials["beliefs"] >= 1).astype("boolean").mask(trials["item_id"] == "i3"))
    numbers, flags = (accuracy_by_demand(rows, ["beliefs"], [], PLAN) for rows in (trials, yes_no))
    assert (numbers["n_trials"] - flags["n_trials"]).tolist() == [4, 1], "i3 has no level"


def test_a_demand_without_trials_does_not_stop_the_others(trials):
    said = []
    tables = demand_tables(trials.assign(feelings=0), PLAN, said)
    assert set(tables) == {"demands", "demands_by_condition"}
    assert "feelings" not in set(tables["demands"]["demand"])
    assert said == [
        "the demand `feelings`: the factor `feelings` is 0 or missing in all trials of the analysis. "
        "Fix: remove `feelings` from `demands`."
    ]


def test_a_demand_must_count(trials):
    with pytest.raises(InputError, match="the demand `text` has levels that are text"):
        accuracy_by_demand(trials, ["text"], [], PLAN)


def test_a_demand_that_no_item_has_as_a_factor_is_a_mistake_of_the_plan():
    item = Item(
        item_id="i", task="multiple_choice", factors=factors(0), content={"prompt": "?", "options": ["a", "b"]}, key=1
    )
    (mistake,) = plan_mistakes(AnalysisPlan(demands=(*SIX, "belief")), rows_of_items([item]))
    assert mistake.place == ("demands", 6)
    assert mistake.sentence.startswith("no test item has the factor `belief`; did you mean `beliefs`?")


def test_the_rows_of_the_plan_have_a_yes_no_column_for_each_demand(trials):
    rows = study_rows(trials, ["beliefs"])("everyone")
    assert rows["has_beliefs"].tolist() == (rows["beliefs"] >= 1).tolist()
    assert "has_feelings" not in rows
    with pytest.raises(InputError, match="the items have a factor `has_beliefs`"):
        study_rows(trials.assign(has_beliefs=1), ["beliefs"])("people")


def test_a_formula_with_the_column_of_a_demand_needs_the_demand_in_the_plan():
    item = Item(
        item_id="i", task="multiple_choice", factors=factors(0), content={"prompt": "?", "options": ["a", "b"]}, key=1
    )
    models = {"m": {"formula": "correct ~ has_beliefs + (1 | item_id)"}}
    with_demand, without = (
        plan_mistakes(AnalysisPlan.model_validate({"models": models, "demands": demands}), rows_of_items([item]))
        for demands in (["beliefs"], ["feelings"])
    )
    assert with_demand == []
    (mistake,) = without
    assert mistake.sentence.startswith("the trials have no column `has_beliefs`")


def test_the_report_has_the_figures_and_says_that_the_demands_overlap(trials, tmp_path):
    analysis = analyze_trials(trials.drop(columns=["excluded_by", "counted_as"]), PLAN, tmp_path / "out", title="t",
                              software_version="1")  # fmt: skip
    assert {"demands", "demands_by_condition"} <= analysis.figures.keys() & analysis.tables.keys()
    report = (tmp_path / "out" / "report.html").read_text()
    counts = ", ".join(f"{demand} 8" for demand in SIX)
    assert f"Items with each demand: {counts}. An item can have several demands, so the accuracies overlap." in report
    assert "Item factors that the plan does not use: text." in analysis.notes
    assert '<th class="n">participants or runs</th>' in report, "a model has runs"
    by_setting = PLAN.model_copy(update={"by": ("temperature",)})
    analyze_trials(trials.drop(columns=["excluded_by", "counted_as"]), by_setting, tmp_path / "by", title="t",
                   software_version="1")  # fmt: skip
    by_temperature = (tmp_path / "by" / "report.html").read_text().split('id="demands"')[1].split("<h3")[0]
    cells = re.findall(r'<td class="[^"]*" data-label="temperature">([^<]*)</td>', by_temperature)
    assert set(cells) == {"(not set)"}, "people have no temperature, and it was not recorded for the models"
