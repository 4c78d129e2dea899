"""Right categories of rays against the categories of responses, also from stored runs of the Black Box study."""

import json
from datetime import UTC, datetime

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.confusion import COLUMNS, INVALID, NO_RESPONSE, confusion, confusion_matrix
from analysis.measures.study_measures import study_measures
from analysis.study import analyze_trials
from batteries.tasks import task_named
from experiment.models.imports.stored_blackbox import read_stored_runs
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan()
MADE = datetime(2026, 1, 3, 12, 0, tzinfo=UTC)
ATOMS = [[2, 3], [3, 6], [6, 2], [7, 7]]
EDGE = [[1, 4]]  # Reflects at once a ray from north-3.


def ray(row, entry, key, response, index=0, atoms=ATOMS, **changes):
    who = {"kind": "model", "run": "M"} | changes
    content = {"size": 8, "atoms": atoms, "entry": entry}
    named = {"trial_index": index, "item_id": f"{entry}-{len(atoms)}", "task": "blackbox_predict"}
    return row(**who, **named, content=content, key=key, response=response)


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


@pytest.fixture
def five_rays(view, row):
    """One model: exits at the right port, at another port and at the entry port; an invalid and a missing response."""
    return view(
        ray(row, "north-1", "west-5", "west-5", 0),
        ray(row, "north-2", "west-1", "south-2", 1),
        ray(row, "north-3", "absorbed", "east-1", 2),
        ray(row, "north-3", "reflected", "north-3", 3, atoms=EDGE),
        ray(row, "north-5", "reflected", "unknown", 4, atoms=EDGE, valid=0),
        ray(row, "north-4", "absorbed", None, 5, atoms=EDGE),
    )


def test_each_response_is_counted_by_the_right_category_and_by_its_category(five_rays):
    table = confusion(marked(five_rays), PLAN)
    assert list(table) == COLUMNS
    found = {(row.right_category, row.given_category): (row.n_trials, row.n_wrong) for row in table.itertuples()}
    assert {cell: counts for cell, counts in found.items() if counts[0]} == {
        ("exit", "exit"): (2, 1),  # One of the two rays exits at another port.
        ("absorbed", "exit"): (1, 1),
        ("reflected", "reflected"): (1, 0),  # The response was the entry port.
        ("reflected", INVALID): (1, 1),
        ("absorbed", NO_RESPONSE): (1, 1),
    }
    assert ("exit", INVALID) not in found
    assert found["exit", "absorbed"] == (0, 0)
    shares = table.set_index(["right_category", "given_category"])
    assert shares.loc[("absorbed", "exit"), "share"] == 0.5
    assert shares.loc[("exit", "exit"), "share_of_errors"] == 1 / 4
    assert shares["share_of_errors"].sum() == pytest.approx(1)
    assert shares["share"].groupby("right_category").sum().tolist() == pytest.approx([1, 1, 1])
    assert (shares["share_ci_low"] <= shares["share"]).all()
    assert (shares["share"] <= shares["share_ci_high"]).all()


def test_the_matrix_has_a_row_for_each_right_category_and_sums_to_all_trials(five_rays):
    matrix = confusion_matrix(confusion(marked(five_rays), PLAN))
    assert list(matrix) == ["subject", "right_category", "n_trials", "absorbed", "exit", "reflected", INVALID,
                            NO_RESPONSE, "n_correct"]  # fmt: skip
    assert matrix.set_index("right_category")["n_correct"].to_dict() == {"absorbed": 0, "exit": 1, "reflected": 1}
    given = matrix[["absorbed", "exit", "reflected", INVALID, NO_RESPONSE]]
    assert given.sum(axis=1).tolist() == matrix["n_trials"].tolist() == [2, 2, 2]


def test_a_subject_without_errors_has_no_shares_of_errors(view, row):
    table = confusion(marked(view(ray(row, "north-1", "west-5", "west-5"))), PLAN)
    assert table["n_wrong"].sum() == 0
    assert table["share_of_errors"].isna().all()


def test_items_without_categories_have_no_table(view, session):
    assert confusion(marked(view(session(participant="A"))), PLAN).empty
    assert "confusion" not in study_measures(marked(view(session(participant="A"))), PLAN, [])


def test_every_category_of_a_task_is_the_category_of_a_response():
    task = task_named("blackbox_predict")
    content = {"size": 8, "atoms": ATOMS, "entry": "north-1"}
    assert {task.category(content, response) for response in task.responses(content)} == set(task.categories)


def test_people_and_models_are_separate_rows_and_the_report_has_the_matrix(view, row, five_rays, tmp_path):
    person = {"kind": "human", "run": None, "participant": "A"}
    rows = view(five_rays.to_dict("records"), ray(row, "north-1", "west-5", "absorbed", **person))
    table = confusion(marked(rows), PLAN)
    assert table[["kind", "subject"]].drop_duplicates().to_numpy().tolist() == [["human", "people"], ["model", "M"]]
    of_people = table[(table["kind"] == "human") & (table["n_trials"] > 0)]
    assert of_people[["right_category", "given_category", "n_wrong"]].to_numpy().tolist() == [["exit", "absorbed", 1]]
    analyze_trials(tidy_trials(rows), PLAN, tmp_path / "out", title="Demo", software_version="1", made_at=MADE)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Confusion of categories (4\xa0rows)" in report
    assert "a row for each category of the right answer" in report
    assert len(pd.read_csv(tmp_path / "out" / "tables" / "confusion.csv")) == len(table)


def test_the_stored_runs_have_the_confusions_of_the_file(sample_study, stored_runs, view, row):
    """The paper counts errors by its stored scoring, as detours if the entry port was named, and counts them twice."""
    items = {item.item_id: item for item in sample_study.test_items}
    runs = read_stored_runs(sample_study, [stored_runs])
    rows = [
        row(kind="model", run=run.run, trial_index=response.trial_index, item_id=item_id, task="blackbox_predict",
            content=items[item_id].content, key=items[item_id].key, response=response.response)
        for run in runs for item_id, response in zip(run.item_ids, run.responses, strict=True)
    ]  # fmt: skip
    matrix = confusion_matrix(confusion(marked(view(rows)), PLAN))
    assert matrix.drop(columns="subject").to_numpy().tolist() == [
        ["absorbed", 116, 105, 9, 2, 105], ["exit", 85, 1, 84, 0, 40], ["reflected", 34, 0, 0, 34, 34],
        ["absorbed", 116, 104, 10, 2, 104], ["exit", 85, 0, 85, 0, 57], ["reflected", 34, 0, 1, 33, 33],
        ["absorbed", 116, 104, 9, 3, 104], ["exit", 85, 0, 85, 0, 50], ["reflected", 34, 1, 1, 32, 32],
    ]  # fmt: skip
    published = {}
    for result in json.loads(stored_runs.read_text(encoding="utf-8"))["results"]:
        for prediction in result["predictions"] * 2:
            counts = published.setdefault(result["modelName"], {"n": 0, "correct": 0, "own port": 0})
            port = f"{prediction['rayEntry']['side']}-{prediction['rayEntry']['pos']}"
            counts["n"] += 1
            counts["correct"] += prediction["correct"]
            counts["own port"] += prediction["actual"] == "reflected" and prediction["predicted"] == port
    # Table 11 of the paper: N and Correct, without thinking and without pictures.
    assert {name: (counts["n"], counts["correct"]) for name, counts in published.items()} == {
        "Haiku 4.5": (470, 352), "Sonnet 4.5": (470, 366), "Opus 4.5": (470, 384),
    }  # fmt: skip
    ours = matrix.groupby("subject")["n_correct"].sum()
    for name, counts in published.items():
        assert 2 * ours[f"{name}, augmented+viz"] == counts["correct"] + counts["own port"]
