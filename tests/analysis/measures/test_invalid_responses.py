import json

import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy
from analysis.measures.differences import differences
from analysis.measures.invalid_responses import invalid_responses, regraded, stored_scoring
from analysis.measures.item_agreement import item_table
from analysis.measures.models import models_table
from experiment.study.analysis_plan import AnalysisPlan


def marked(rows):
    return apply_exclusions(tidy_trials(rows), AnalysisPlan()).trials


def test_invalid_and_unanswered_trials_are_counted_for_each_model(view, session, row):
    rows = view(
        session(participant="A"),
        session(kind="model", run="M", n_test=2),
        row(kind="model", run="M", trial_index=8, item_id="i8", response=None),
        row(kind="model", run="M", trial_index=9, item_id="i9", response="?", valid=0),
        row(kind="model", run="M", trial_index=10, item_id="c1", response="?", valid=0, phase="attention_check"),
    )
    line = invalid_responses(marked(rows)).iloc[0]
    assert line["subject"] == "M"
    assert line[["n_trials", "n_unanswered", "n_invalid"]].tolist() == [4, 1, 1]
    assert line["accuracy_if_wrong"] == 0.5
    assert line["accuracy_if_left_out"] == 1
    n_options = len(json.loads(rows["content"].iloc[0])["options"])
    assert line["accuracy_if_chance"] == pytest.approx((2 + 2 / n_options) / 4)


@pytest.mark.parametrize(
    ("invalid", "n_trials", "right"), [("wrong", 4, 2), ("left_out", 2, 2), ("chance", 4, 2 + 2 / 4)]
)
def test_invalid_responses_enter_every_accuracy_as_the_plan_states(view, session, row, invalid, n_trials, right):
    plan = AnalysisPlan(invalid=invalid, resamples=1000)
    rows = view(
        *(
            [
                session(**who, n_test=2),
                row(**who, trial_index=8, item_id="i8", response=3 if who["kind"] == "human" else None),
                row(**who, trial_index=9, item_id="i9", response=3 if who["kind"] == "human" else "?",
                    valid=int(who["kind"] == "human")),
            ]
            for who in ({"kind": "human"}, {"kind": "model", "run": "M"})
        )
    )  # fmt: skip
    exclusions = apply_exclusions(tidy_trials(rows), plan)
    trials = exclusions.trials
    table = accuracy(trials, [], plan).set_index("subject")
    assert table.loc["M", ["n_trials", "n_correct"]].tolist() == [n_trials, 2]
    assert table.loc["M", "accuracy"] == pytest.approx(right / n_trials)
    assert table.loc["people", "accuracy"] == 0.5
    gap = differences(trials, [], plan).iloc[0]
    assert gap["accuracy_model"] == pytest.approx(right / n_trials)
    assert models_table(trials, plan)["accuracy"].iloc[0] == pytest.approx(right / n_trials)
    assert item_table(trials)["accuracy_model"].mean() == pytest.approx(right / n_trials)
    assert invalid_responses(trials)["n_invalid"].tolist() == [1]
    flow = exclusions.flow[exclusions.flow["kind"] == "model"].set_index("step")
    assert flow.loc["unanswered", "n_trials"] == 4 - n_trials


def test_stored_scoring_is_compared_with_our_scoring_and_every_difference_is_named(view, session, row):
    rows = view(
        session(kind="model", run="M", n_test=3, imported_correct=1),
        row(kind="model", run="M", trial_index=8, item_id="i8", response=1, imported_correct=0),
        row(kind="model", run="M", trial_index=9, item_id="i9", response=2, imported_correct=1),
        session(kind="model", run="without"),
    )
    table = stored_scoring(marked(rows))
    assert table[["run", "n", "accuracy_stored", "accuracy", "n_different"]].to_numpy().tolist() == [
        ["M", 5, 0.8, 0.8, 2]
    ]
    named = regraded(marked(rows))
    assert named["item_id"].tolist() == ["i8", "i9"]
    assert named["correct"].tolist() == [True, False]


def test_published_runs_have_their_published_accuracy_and_eight_responses_are_rescored(view, row, test_data):
    stored = json.loads((test_data / "blackbox/predict/augmented_no_thinking.json").read_text(encoding="utf-8"))
    rows = [
        row(
            kind="model", run=result["modelName"], model_version=result["model"], task="blackbox_predict",
            trial_index=100 * result["configIndex"] + index,
            item_id=f"{result['configIndex']}-{prediction['rayEntry']['side']}-{prediction['rayEntry']['pos']}",
            content={"size": 8, "atoms": result["atomConfig"],
                     "entry": f"{prediction['rayEntry']['side']}-{prediction['rayEntry']['pos']}"},
            key=prediction["actual"], response=prediction["predicted"], imported_correct=int(prediction["correct"]),
            valid=int(prediction["predicted"] != "unknown"),
        )
        for result in stored["results"]
        for index, prediction in enumerate(result["predictions"])
    ]  # fmt: skip
    trials = marked(view(rows))
    table = stored_scoring(trials).set_index("run")
    assert set(table["n"]) == {235}
    published = {"Haiku 4.5": 0.749, "Sonnet 4.5": 0.779, "Opus 4.5": 0.817}
    assert table["accuracy_stored"].to_dict() == pytest.approx(published, abs=5e-4)
    assert table["n_different"].to_dict() == {"Haiku 4.5": 3, "Sonnet 4.5": 3, "Opus 4.5": 2}
    otherwise = regraded(trials)
    assert set(otherwise["key"]) == {"reflected"}
    own_port = otherwise["item_id"].str.split("-", n=1).str[1]
    assert otherwise["response"].tolist() == own_port.tolist()
