"""Ungraded items: no accuracy changes by them, from the participants to the report and the exports."""

import csv
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
import yaml

import equipoise as eq
from analysis.data.tidy_table import tidy_trials
from analysis.data.trials_reader import read_raw_rows
from analysis.result import Analysis
from analysis.study import analyze_trials
from batteries.errors import InputError
from equipoise.commands.demo import _mock_runs
from equipoise.commands.power.simulator import design_of
from equipoise.commands.server_process import researcher_token, running_server
from equipoise.studies import copy_sample_study
from experiment.lab.session_files.psychopy_csv import Heading, psychopy_csv
from experiment.load_study import load_study
from experiment.records import Kind
from experiment.simulated_participants import _start_session
from experiment.study.analysis_plan import AnalysisPlan

ITEMS = [
    {
        "item_id": f"graded-{n:02}", "task": "multiple_choice", "key": 2,
        "factors": {"condition": "AB"[n % 2], "level": n % 3},
        "content": {"prompt": f"What is {n} + {n}?", "options": [str(2 * n + 2), str(2 * n), "I do not know"]},
    }
    for n in range(12)
] + [
    {
        "item_id": f"opinion-{n}", "task": "multiple_choice", "key": None,
        # The condition C has no graded item.
        "factors": {"condition": "ABC"[n % 3], "level": n % 3},
        "content": {"prompt": f"Do you like {n}?", "options": ["Yes", "No", "I do not know"]},
    }
    for n in range(6)
] + [
    {
        "item_id": f"practice-{n}", "task": "multiple_choice", "key": key,
        "content": {"prompt": f"Practice {n}", "options": ["Yes", "No"]},
    }
    for n, key in ((1, None), (2, 2))
]  # fmt: skip
STUDY: dict[str, Any] = {
    "study": "opinions", "version": "1.0", "title": "Sums and opinions", "language": "en", "battery": "battery.yaml",
    "practice": ["practice-1", "practice-2"],
    "design": {"method": "deal", "groups": 1, "balance": ["condition"]}, "timing": {"fixation_ms": 200},
    "timeline": {"consent": "consent.md", "debrief": "debrief.md", "contact": "contact.md"},
    "analysis": {
        "by": ["condition"], "resamples": 1000, "difficulty": "level", "invalid": "wrong",
        "flags": {"is_wrong": {"correct": 0}},
        "comparisons": {"all": {"equivalence_margin": 0.1}, "of_conditions": {"by": ["condition"]}},
        "signals": {"doubt": {"signal": {"condition": "A"}, "response": "I do not know"}},
        "tables": {"wrong": {"by": ["subject", "condition"], "of": ["is_wrong", "correct"]}},
        "models": {
            "accuracy": {"formula": "correct ~ subject + (1 | participant)", "family": "binomial"},
            "wrong": {"formula": "is_wrong ~ condition", "family": "binomial", "who": "people"},
        },
        "tests": {
            "condition": {"test": "t", "of": "correct", "per": "participant", "within": "condition"},
            "chance": {"test": "t", "of": "correct", "per": "participant", "against": "chance", "who": "people"},
            "wrong": {"test": "wilcoxon", "of": "is_wrong", "per": "participant", "within": "condition"},
            "shuffled": {"test": "permutation", "of": "score", "per": "participant", "within": "condition"},
        },
    },
}  # fmt: skip
SEED = 10
"""With this seed, a mock model has invalid replies to graded and to ungraded items."""
ABOUT_TRIALS = {"exclusions", "exclusions_by_group", "participants", "timing", "invalid"}
"""Tables with numbers of planned trials, which include ungraded trials."""


def made_study(folder: Path, items: list[dict[str, Any]], **changes: Any) -> Path:
    copy_sample_study("blackbox-predict", folder)
    battery = {"battery": "opinions", "version": "1.0", "items": items}
    (folder / "battery.yaml").write_text(yaml.safe_dump(battery), encoding="utf-8")
    (folder / "study.yaml").write_text(yaml.safe_dump(STUDY | changes), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with the responses of simulated participants and of mock models."""
    folder = made_study(tmp_path_factory.mktemp("ungraded") / "study", ITEMS)
    eq.simulate(folder, 10, seed=3)
    _mock_runs(load_study(folder), SEED)
    return folder


@pytest.fixture(scope="module")
def rows(study: Path) -> pd.DataFrame:
    return read_raw_rows(study / "data" / "equipoise.db")


def is_ungraded_test(rows: pd.DataFrame) -> pd.Series:
    return (rows["key"].astype("str") == "null") & (rows["phase"].astype("str") == "test")


def analysed(rows: pd.DataFrame, out: Path, **changes: Any) -> Analysis:
    plan = AnalysisPlan(**STUDY["analysis"] | changes)
    return analyze_trials(tidy_trials(rows), plan, out, title="Sums and opinions", software_version="1")


@pytest.fixture(scope="module")
def both(rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple[Analysis, Analysis]:
    """The analysis of all trials, and the analysis of the same trials without the ungraded items."""
    folder = tmp_path_factory.mktemp("both")
    graded = rows[~is_ungraded_test(rows)]
    assert 0 < len(graded) < len(rows)
    return analysed(rows, folder / "all"), analysed(graded, folder / "graded")


def test_every_accuracy_is_that_of_the_same_data_without_the_ungraded_items(both: tuple[Analysis, Analysis]) -> None:
    every, graded = both
    own = {name for name in every.tables if name.startswith(("responses_", "values_"))}
    assert own == {"responses_overall", "responses_by_condition"}
    assert every.tables.keys() - own == graded.tables.keys()
    assert {"items", "item_agreement", "error_agreement", "difficulty", "signal_doubt"} <= graded.tables.keys()
    assert every.planned.not_computed == graded.planned.not_computed == []
    for name in graded.tables.keys() - ABOUT_TRIALS:
        mine, other = every.tables[name], graded.tables[name]
        if name == "models":  # The consistency of replies does not depend on right answers.
            others = [column for column in mine if "consistency" in column or "repeated" in column]
            mine, other = mine.drop(columns=others), other.drop(columns=others)
        pd.testing.assert_frame_equal(mine, other, check_categorical=False, check_dtype=name != "regraded", obj=name)
    of_invalid = [column for column in graded.tables["invalid"] if column.startswith("accuracy")]
    pd.testing.assert_frame_equal(every.tables["invalid"][of_invalid], graded.tables["invalid"][of_invalid])
    assert len(of_invalid) == 3


def test_every_planned_result_is_that_of_the_same_data_without_the_ungraded_items(
    both: tuple[Analysis, Analysis],
) -> None:
    every, graded = (analysis.planned.files() for analysis in both)
    assert {"tests", "models/accuracy.coefficients", "tables/wrong"} <= graded.keys() == every.keys()
    assert len(graded["tests"]) == 4
    for name, table in graded.items():
        pd.testing.assert_frame_equal(every[name], table, obj=name)


def test_the_report_has_the_same_accuracies_and_says_that_items_are_ungraded(both: tuple[Analysis, Analysis]) -> None:
    def part(analysis: Analysis, heading: str) -> str:
        page = (analysis.out / "report.html").read_text(encoding="utf-8")
        found = re.search(rf'<h2 id="{heading}">.*?</section>', page, re.DOTALL)
        assert found is not None
        return found[0]

    every, graded = both
    for heading in ("accuracy", "agreement", "tests"):
        assert part(every, heading) == part(graded, heading), heading
    words = "6 of 18\u00a0test items are ungraded: no response to them is right or wrong."
    assert words in part(every, "summary")
    assert words in part(every, "responses")
    assert "ungraded" not in (graded.out / "report.html").read_text(encoding="utf-8")
    for name in ("accuracy", "accuracy_by_condition", "differences", "items"):
        assert every.figures[name].svg == graded.figures[name].svg


def test_shares_of_responses_are_the_counted_responses(rows: pd.DataFrame, both: tuple[Analysis, Analysis]) -> None:
    table, drawing = both[0].tables["responses_by_condition"], both[0].figures["responses_by_condition_1"]
    assert table["option_set"].unique().tolist() == ["Yes / No / I do not know"]
    assert table["choice"].tolist()[:3] == ["Yes", "No", "I do not know"]
    assert table["condition"].drop_duplicates().tolist() == ["A", "B", "C"]
    own = rows[is_ungraded_test(rows) & (rows["kind"].astype("str") == "simulated")]
    counted = own["response"].astype("str").value_counts()
    people = table[table["kind"] == "simulated"].groupby("choice")["n_chosen"].sum()
    assert people.to_dict() == {"Yes": counted["1"], "No": counted["2"], "I do not know": counted["3"]}
    assert set(table["subject"]) > {"simulated participants"}  # Models are beside people.
    assert np.allclose(table.groupby(["subject", "condition"])["share"].sum(), 1)
    assert "Responses by subject" in drawing.title
    invalid = both[0].tables["responses_overall"].groupby("subject")["n_invalid"].first()
    assert invalid.filter(like="weak").sum() > 0 == invalid["simulated participants"]


def test_exports_leave_the_scores_of_ungraded_trials_empty(study: Path, tmp_path: Path) -> None:
    eq.export(study, tmp_path / "csv")
    with (tmp_path / "csv" / "trials.csv").open(encoding="utf-8", newline="") as file:
        trials = list(csv.DictReader(file))
    trials = [row for row in trials if row["phase"] == "test"]
    ungraded = [row for row in trials if row["item_id"].startswith("opinion")]
    assert {(row["correct"], row["score"], row["chance"], row["value"]) for row in ungraded} == {("", "", "", "")}
    assert all(row["response"] for row in ungraded)
    graded = [row["correct"] for row in trials if row["item_id"].startswith("graded")]
    assert set(graded) == {"true", "false"} and len(graded) + len(ungraded) == len(trials)
    codebook = (tmp_path / "csv" / "codebook.csv").read_text(encoding="utf-8")
    assert "The response as a number" in codebook


def test_a_study_without_right_answers_has_a_report_without_accuracy(rows: pd.DataFrame, tmp_path: Path) -> None:
    opinions = rows[is_ungraded_test(rows)]
    result = analysed(opinions, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    summary = page[page.index('id="summary"') :]
    first = re.sub(r"<[^>]+>", "", re.findall(r"<li>(.*?)</li>", summary, re.DOTALL)[1])
    assert first == "No test item has a right answer (key: null), so this report has no accuracy."
    for absent in ('id="accuracy"', 'id="differences"', "percent correct", "Chance-corrected", ">nan<"):
        assert absent not in page, absent
    assert 'id="responses"' in page
    assert page.index("No test item has a right answer.") < page.index('id="summary"')
    assert "Invalid and missing responses of models to ungraded items are left out of all results." in page
    assert not {"accuracy", "differences", "items"} & result.figures.keys()
    reasons = result.planned.not_computed
    assert [reason.partition(":")[0] for reason in reasons] == [
        "the table `wrong`", "the model `accuracy`", "the model `wrong`", "the test `condition`", "the test `chance`",
        "the test `wrong`", "the test `shuffled`", "the comparison `all`", "the comparison `of_conditions`",
        "the difficulty `level`", "the signal `doubt`",
    ]  # fmt: skip
    assert all("right answer" in reason and "Fix: " in reason for reason in reasons)


def test_ungraded_practice_has_no_feedback_and_graded_practice_has(study: Path, tmp_path: Path) -> None:
    folder = made_study(tmp_path / "study", ITEMS)
    loaded, feedback = load_study(folder), []
    with running_server(folder) as url, httpx.Client(base_url=url) as client:
        digest = client.get("/api/study").json()["consent_digest"]
        session, cookie = _start_session(client, researcher_token(loaded), digest)
        for trial in session["trials"][:2]:
            response = {"response_id": str(uuid.uuid4()), "trial_index": trial["trial_index"], "response": 1,
                        "rt_ms": 900.0, "shown_at": datetime.now(UTC).isoformat(timespec="milliseconds")}  # fmt: skip
            body = {"session": session["session"], "responses": [response]}
            stored = client.post("/api/responses", json=body, headers={"Cookie": cookie}).json()
            feedback.append(stored["responses"][0]["feedback"])
    assert feedback[0] is None
    assert (feedback[1]["correct"], feedback[1]["solution"]) == (False, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention_checks": ["opinion-1"]}, "the item `opinion-1` is an attention check, but the item is ungraded"),
        (
            {"practice_criterion": {"correct": 1, "rounds": 2, "otherwise": "continue"}},
            "the item `practice-1` is practice with a `practice_criterion`, but the item is ungraded",
        ),
    ],
)
def test_items_that_must_be_right_or_wrong_need_a_key(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_study(made_study(tmp_path / "study", ITEMS, **changes))


def test_a_session_in_psychopys_table_has_an_empty_score_for_an_ungraded_item(study: Path) -> None:
    loaded = load_study(study)
    heading = Heading("P01", Kind.HUMAN, 1, 1, 7, datetime.now(UTC), {})
    empty = dict.fromkeys(["rt_ms", "frame_ms", "shown_at", "missing", "input", "attempt", "fixation_ms",
                           "fixation_frames", "frames_dropped", "presentation"])  # fmt: skip
    trials = [
        {"item_id": item_id, "response": response, "visit": 1, "trial_index": 0, "phase": "test", "received_at": "now",
         **empty}
        for item_id in ("graded-00", "opinion-0") for response in ("2", "1", "null")
    ]  # fmt: skip
    table = psychopy_csv(loaded, heading, trials).decode("utf-8-sig")
    scores = [row["key_resp.corr"] for row in csv.DictReader(table.splitlines())]
    assert scores == ["1", "0", "0", "", "", ""]


def test_a_log_of_inspect_has_ungraded_trials_without_a_score(study: Path, tmp_path: Path) -> None:
    inspect_log = pytest.importorskip("inspect_ai.log")
    eq.export(study, tmp_path / "log", form="inspect")
    log = inspect_log.read_eval_log(str(tmp_path / "log" / "trials-simulated.eval"))
    scored = {sample.id.partition("-")[0]: set() for sample in log.samples}
    for sample in log.samples:
        scored[sample.id.partition("-")[0]].add(sample.scores is not None)
    assert scored == {"graded": {True}, "opinion": {False}}
    every = analysed(read_raw_rows(study / "data" / "equipoise.db"), tmp_path / "out").tables["accuracy_overall"]
    people = every.set_index("subject").loc["simulated participants"]
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(people["accuracy"])
    assert log.results.scores[0].scored_samples == people["n_trials"]


def test_a_reply_to_an_ungraded_item_has_no_score_in_a_run_by_inspect(study: Path) -> None:
    pytest.importorskip("inspect_ai")
    from experiment.models.runs.inspect_task import score_of

    loaded = load_study(study)
    items = loaded.battery.by_id
    assert score_of(loaded, items["opinion-0"], "1") is None
    assert [score_of(loaded, items["graded-05"], reply).value for reply in ("2", "1", "?")] == ["C", "I", "N"]


def test_the_design_of_a_power_analysis_has_only_graded_items(study: Path) -> None:
    assert design_of(load_study(study))["item_id"].str.startswith("graded").all()


def test_the_summary_of_an_imported_run_counts_correct_responses_of_graded_items(tmp_path: Path) -> None:
    sentences = _mock_runs(load_study(made_study(tmp_path / "study", ITEMS)), SEED)
    assert sentences
    for sentence in sentences:
        assert re.search(r"18 responses, \d+ of 12 graded responses correct", sentence), sentence
