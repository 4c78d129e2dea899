"""People as one group, and models as one group."""

import json

import numpy as np
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy
from analysis.measures.people_and_models import people_and_models
from analysis.planned.results import run_planned
from analysis.planned.study_rows import study_rows
from analysis.statistics.intervals import Interval, mover_difference
from analysis.statistics.participant_intervals import proportion_interval
from analysis.study import analyze_trials
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(by=("condition",))
N_CORRECT = {"M1": 20, "M2": 24, "M3": 34}


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


def items(n_correct, n=40):
    """Return the responses to items, of which the first are in condition A and the others in condition B."""
    return [
        {"trial_index": place, "item_id": f"i{place}", "response": 1 if (place * 7) % n < n_correct else 2,
         "factors": {"condition": "AB"[place % 2]}}
        for place in range(n)
    ]  # fmt: skip


@pytest.fixture
def people(row):
    return [row(participant=f"P{person}", **own) for person in range(6) for own in items(30 + person)]


@pytest.fixture
def models(row):
    def runs(model, n_correct, temperature=0.0, n=40, **changes):
        return [
            row(kind="model", run=f"{model}, temperature {temperature}", model=model, model_version=model,
                temperature=temperature, **{**own, **changes})
            for own in items(n_correct, n)
        ]  # fmt: skip

    return runs


def test_the_units_of_the_models_are_models(view, people, models):
    trials = marked(view(people, *(models(name, n) for name, n in N_CORRECT.items())))
    (row,) = people_and_models(trials, [], PLAN).to_dict("records")
    of_people = accuracy(trials, [], PLAN).iloc[0]
    own = Interval(row["accuracy_people_ci_low"], row["accuracy_people_ci_high"])
    assert (row["accuracy_people"], *own) == tuple(of_people[["accuracy", "ci_low", "ci_high"]])
    theirs = proportion_interval(np.array(list(N_CORRECT.values())), np.full(3, 40), 0.95)
    assert (row["accuracy_models_ci_low"], row["accuracy_models_ci_high"]) == pytest.approx(theirs)
    assert (row["n_items"], row["n_participants"], row["n_models"], row["n_items_left_out"]) == (40, 6, 3, 0)
    assert row["accuracy_models"] == pytest.approx(np.mean([0.5, 0.6, 0.85]))
    assert row["difference"] == row["accuracy_people"] - row["accuracy_models"]
    expected = mover_difference(row["accuracy_people"], own, row["accuracy_models"], Interval(*theirs))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected)


def test_the_interval_of_models_holds_for_other_models():
    """The accuracies of 5 models are drawn from a population of models with a mean of .7."""
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(600):
        of_models = rng.beta(14, 6, 5)
        low, high = proportion_interval(rng.binomial(200, of_models), np.full(5, 200), 0.95)
        covered += low <= 0.7 <= high
    assert covered / 600 == pytest.approx(0.95, abs=0.03)


def test_conditions_of_a_model_are_not_further_models(view, people, models):
    one = marked(view(people, models("M1", 20), models("M2", 30)))
    two = marked(view(people, models("M1", 16, 0.1), models("M1", 24, 0.9), models("M2", 30)))
    measures = ["n_models", "accuracy_models", "accuracy_models_ci_low", "accuracy_models_ci_high"]
    assert people_and_models(one, [], PLAN)[measures].equals(people_and_models(two, [], PLAN)[measures])


def test_only_items_that_everyone_was_asked_count(view, people, models):
    trials = marked(view(people, models("M1", 20), models("M2", 20, n=30)))
    (row,) = people_and_models(trials, [], PLAN).to_dict("records")
    assert (row["n_items"], row["n_items_left_out"]) == (30, 10)
    shared = trials[trials["item_id"].isin([f"i{n}" for n in range(30)])]
    assert row["accuracy_people"] == accuracy(shared, [], PLAN)["accuracy"].iloc[0]


def test_a_condition_is_a_row(view, people, models):
    trials = marked(view(people, *(models(name, n) for name, n in N_CORRECT.items())))
    table = people_and_models(trials, ["condition", "temperature"], PLAN)
    assert table["condition"].tolist() == ["A", "B"]
    for condition, row in zip("AB", table.to_dict("records"), strict=True):
        alone = people_and_models(trials[trials["condition"] == condition], [], PLAN).iloc[0]
        assert row["accuracy_models_ci_low"] == alone["accuracy_models_ci_low"]
        assert row["n_items"] == 20


def test_the_group_of_models_needs_two_models_that_are_not_baselines(view, people, models):
    assert people_and_models(marked(view(people, models("M1", 20))), [], PLAN).empty
    with_baseline = marked(view(people, models("M1", 20), models("baseline/tracer", 40)))
    assert people_and_models(with_baseline, ["condition"], PLAN).empty
    assert people_and_models(marked(view(models("M1", 20), models("M2", 20))), [], PLAN).empty


def test_people_and_simulated_participants_have_own_rows(view, people, models):
    simulated = [{**line, "kind": "simulated", "participant": f"S{line['participant']}",
                  "session": f"S{line['session']}"} for line in people]  # fmt: skip
    trials = marked(view(people, simulated, models("M1", 20), models("M2", 30)))
    table = people_and_models(trials, [], PLAN)
    assert table["people"].tolist() == ["people", "simulated participants"]


def test_the_report_says_to_what_the_interval_generalizes(view, people, models, tmp_path):
    trials = tidy_trials(view(people, *(models(name, n) for name, n in N_CORRECT.items())))
    analysis = analyze_trials(trials, PLAN, tmp_path / "out", title="t", software_version="1")
    row = analysis.tables["people_and_models_overall"].iloc[0]
    report = (tmp_path / "out" / "report.html").read_text().replace("\u00a0", " ")
    assert (
        f"Models (3 models as one group): 65.0 % correct, 95 % CI [{100 * row['accuracy_models_ci_low']:.1f}" in report
    )
    assert "its direction is uncertain" in report, "three models say little about models"
    assert "only if these models are a random sample of them" in report
    assert "Models were also analysed as one group" in report
    assert "Baselines, which" not in report, "there is no baseline"
    assert report.count("the weight of an item is the number of participants' responses to this item.") == 1
    assert 'Participants and models as groups <span class="mark">not in the plan</span>' in report


def test_an_equivalence_margin_has_the_unit_of_the_difference(view, people, models, tmp_path):
    plan = AnalysisPlan.model_validate({"comparisons": {"all": {"equivalence_margin": 0.1}}})
    analyze_trials(tidy_trials(view(people, models("M", 20))), plan, tmp_path / "out", title="t", software_version="1")
    report = (tmp_path / "out" / "report.html").read_text()
    assert 'data-label="equivalence margin, points">10.0<' in report


def test_a_planted_interaction_of_kind_and_condition_is_found(view, row):
    """People lose 30 points from A to B, and models lose nothing."""
    rng = np.random.default_rng(5)

    def responses(shift, drop, **changes):
        return [
            row(trial_index=n, item_id=f"i{n}", factors={"condition": "AB"[n % 2]},
                response=1 if rng.random() < 0.8 + shift - drop * (n % 2) else 2, **changes)
            for n in range(40)
        ]  # fmt: skip

    people = [responses(rng.normal(0, 0.03), 0.3, participant=f"P{n}") for n in range(30)]
    models = [
        responses(shift, 0, kind="model", run=f"M{model}, epoch {epoch}", model=f"M{model}", model_version="1",
                  run_parameters=json.dumps({"epoch": epoch}))
        for model in range(8)
        for shift in [rng.normal(0, 0.03)]
        for epoch in range(1, 4)
    ]  # fmt: skip
    trials = marked(view(people, models))
    formula = "correct ~ kind * condition + (1 | model) + (1 | run) + (1 | item_id)"
    plan = AnalysisPlan.model_validate({"models": {"m": {"formula": formula, "reference": {"kind": "human"}}}})
    found = run_planned(study_rows(trials), plan)
    effects = found.models["m"].model.coefficients.set_index("term")
    assert effects.loc["conditionB", "estimate"] == pytest.approx(-0.3, abs=0.06)
    assert effects.loc["kindmodel:conditionB", "estimate"] == pytest.approx(0.3, abs=0.08)
    assert effects.loc["kindmodel:conditionB", "p_value"] < 0.001
    assert effects.loc["kindmodel", "ci_low"] < 0 < effects.loc["kindmodel", "ci_high"]
    table = people_and_models(trials, ["condition"], PLAN).set_index("condition")
    assert table.loc["A", "ci_low"] < 0 < table.loc["A", "ci_high"]
    assert table.loc["B", "ci_high"] < -0.2
