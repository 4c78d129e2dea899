"""The settings of models' runs as factors of the tables."""

import json

import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy
from analysis.measures.comparisons import comparison
from analysis.measures.differences import differences
from analysis.planned.results import run_planned
from analysis.planned.study_rows import study_rows
from analysis.study import analyze_trials
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedComparison

PLAN = AnalysisPlan()


@pytest.fixture
def trials(view, session):
    """Return two people, and a model with two prompts; one prompt has a second epoch with half of the items."""

    def run(prompt, epoch, n_correct, n_test=4):
        parameters = json.dumps({"prompt": prompt, "epoch": epoch, "thinking": prompt == "cot"})
        return session(
            kind="model", run=f"M, {prompt}, epoch {epoch}", model="M", model_version="M", run_parameters=parameters,
            n_test=n_test, n_correct=n_correct,
        )  # fmt: skip

    rows = view(
        session(participant="A", n_correct=3), session(participant="B", n_correct=2),
        run("plain", 1, 1), run("cot", 1, 4), run("cot", 2, 1, n_test=2),
    )  # fmt: skip
    return apply_exclusions(tidy_trials(rows), PLAN).trials


def test_people_have_one_row_without_a_level_of_a_setting(trials):
    table = accuracy(trials, ["prompt", "thinking"], PLAN).astype(object).fillna("")
    assert table[["subject", "prompt", "thinking", "n_trials", "n_correct"]].to_numpy().tolist() == [
        ["people", "", "", 8, 5],
        ["M, cot", "cot", True, 6, 5],
        ["M, plain", "plain", False, 4, 1],
    ]


def test_people_are_compared_with_the_runs_at_each_level_of_a_setting(trials):
    table = differences(trials, ["prompt"], PLAN)
    alone = differences(trials, [], PLAN)
    assert table["prompt"].tolist() == ["cot", "plain"]
    assert table.drop(columns="prompt").equals(alone)
    assert comparison(trials, PlannedComparison(by=("prompt",)), PLAN).equals(table)


def test_an_epoch_is_compared_with_people_over_its_own_items(trials):
    table = differences(trials, ["epoch"], PLAN).set_index(["model", "epoch"])
    second = table.loc[("M, cot", 2)]
    assert (second["n_items"], second["n_items_only_people"], second["n_items_only_model"]) == (2, 2, 0)
    assert (second["accuracy_people"], second["accuracy_model"]) == (1, 0.5)
    assert table.loc[("M, cot", 1), "accuracy_people"] == 5 / 8


def test_the_name_of_the_model_is_for_planned_tables(trials):
    with pytest.raises(InputError, match=r"the factor `model` has the same name as .* write a table under `tables`"):
        accuracy(trials, ["model"], PLAN)


def test_tables_filters_and_formulas_use_the_settings(trials):
    plan = AnalysisPlan.model_validate(
        {
            "flags": {"asked_to_think": {"thinking": True}},
            "tables": {"t": {"by": ["model", "prompt"], "of": ["correct"], "where": {"epoch": 1}}},
            "models": {
                "m": {"formula": "correct ~ thinking + (1 | item_id)"},
                "f": {"formula": "correct ~ asked_to_think"},
            },
        }
    )
    found = run_planned(study_rows(trials), plan)
    assert not found.not_computed
    assert found.tables["t"][["prompt", "correct_mean"]].to_numpy().tolist() == [["cot", 1], ["plain", 0.25]]
    for name, term in (("m", "thinkingTrue"), ("f", "asked_to_thinkTrue")):
        fitted = found.models[name]
        assert fitted.model.coefficients["term"].tolist() == ["(Intercept)", term]
        assert any(sentence.startswith("8 of 18 rows were left out") for sentence in fitted.warnings)


def test_a_former_name_of_a_setting_is_accepted():
    plan = AnalysisPlan.model_validate({"tables": {"t": {"by": ["run_epoch"], "of": ["correct"]}}})
    assert plan.tables["t"].by == ("epoch",)


def test_the_report_says_what_people_and_runs_lack(trials, tmp_path):
    plan = AnalysisPlan(by=("prompt", "thinking_budget"))
    analysis = analyze_trials(trials, plan, tmp_path / "out", title="t", software_version="1")
    (note,) = [note for note in analysis.notes if note.startswith("People have no prompt.")]
    assert "compared with the runs at each level" in note
    (unrecorded,) = [note for note in analysis.notes if "without a recorded thinking_budget" in note]
    assert unrecorded.endswith(": M, cot; M, plain.")
    report = (tmp_path / "out" / "report.html").read_text().replace("\u00a0", " ")
    assert "these settings of models&#39; runs: prompt (2 levels), thinking_budget (0 levels)." in report
    assert "factors of the items:" not in report
    run_sentence = "M, cot: the accuracies of 2 runs have an SD of 35.4 points; the variance expected by chance"
    assert f"{run_sentence} is that of an SD of 35.4 points." in report
    assert "Cochran, W. G. (1950)" in report
