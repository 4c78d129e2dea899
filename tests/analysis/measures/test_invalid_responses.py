import json

import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.invalid_responses import invalid_responses, regraded, stored_scoring
from experiment.study.analysis_plan import AnalysisPlan


def marked(rows):
    return apply_exclusions(tidy_trials(rows), AnalysisPlan()).trials


def test_invalid_and_unanswered_trials_are_counted_for_each_model(view, session, row):
    rows = view(
        session(participant="A"),
        session(kind="model", run="M", n_test=2),
        row(kind="model", run="M", trial_index=8, item_id="i8", response=None),
        row(kind="model", run="M", trial_index=9, item_id="i9", response="?", valid=0),
    )
    line = invalid_responses(marked(rows)).iloc[0]
    assert line["subject"] == "M"
    assert line[["n_trials", "n_unanswered", "n_invalid"]].tolist() == [4, 1, 1]
    assert line["accuracy"] == 0.5
    assert line["accuracy_of_valid_responses"] == 1


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
