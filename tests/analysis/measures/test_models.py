import json

import numpy as np
import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy
from analysis.measures.differences import differences
from analysis.measures.difficulty import accuracy_by_level
from analysis.measures.models import accuracy_by_temperature, models_table
from analysis.measures.perturbations import perturbation_effects
from analysis.measures.signal_detection import signal_measures
from analysis.statistics.intervals import wilson
from analysis.study import analyze_trials
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(resamples=1000)
BY_SCENARIO = AnalysisPlan(resamples=1000, item_cluster="scenario")


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


@pytest.fixture
def epochs(row):
    """Return a function that makes the runs of a model: 20 items in 5 scenarios, and one run for each response list."""

    def runs(*responses, model="M", temperature=0.5, **changes):
        return [
            row(kind="model", run=f"{model}, temperature {temperature}, epoch {epoch}", model=model,
                model_version=model, temperature=temperature, run_parameters=json.dumps({"epoch": epoch}),
                trial_index=n, item_id=f"i{n}", response=response,
                factors={"scenario": n // 4, "level": n % 2}, **changes)
            for epoch, of_epoch in enumerate(responses, start=1)
            for n, response in enumerate(of_epoch)
        ]  # fmt: skip

    return runs


RIGHT, WRONG = [1] * 4, [2] * 4
SAME = RIGHT * 3 + WRONG * 2
"""A model that is always right in three scenarios, and always wrong in the other two scenarios."""


def test_ten_equal_epochs_are_one_subject_with_the_interval_of_one_epoch(view, epochs):
    once = accuracy(marked(view(epochs(SAME))), [], PLAN).iloc[0]
    ten = accuracy(marked(view(epochs(*[SAME] * 10))), [], PLAN)
    assert ten[["subject", "n_participants", "n_trials"]].to_numpy().tolist() == [["M, temperature 0.5", 10, 200]]
    assert (once["ci_low"], once["ci_high"]) == pytest.approx(wilson(12, 20))
    assert ten["ci_low"].iloc[0] < once["ci_low"]
    assert ten["ci_high"].iloc[0] > once["ci_high"]


@pytest.mark.parametrize(
    "measure",
    [
        lambda trials, plan: accuracy(trials, [], plan)[["ci_low", "ci_high"]],
        lambda trials, plan: accuracy(trials, ["level"], plan)[["ci_low", "ci_high"]].iloc[:1],
        lambda trials, plan: models_table(trials, plan)[["ci_low", "ci_high"]],
        lambda trials, plan: accuracy_by_level(trials, "level", plan)[["ci_low", "ci_high"]].iloc[:1],
        lambda trials, plan: signal_measures(
            trials, plan, signal={"level": 0}, noise={"level": 1}, response="A"
        )[["hit_rate_ci_low", "hit_rate_ci_high"]],
    ],
    ids=["accuracy", "accuracy by a factor", "models", "accuracy by level", "signals"],
)  # fmt: skip
def test_scenarios_widen_the_interval_of_every_measure(view, epochs, measure):
    content = {"text": "?", "options": ["A", "B"]}
    trials = marked(view(epochs(SAME, content=content)))
    narrow, wide = (np.ravel(measure(trials, plan).to_numpy(dtype=float)) for plan in (PLAN, BY_SCENARIO))
    assert wide[0] < narrow[0]
    assert wide[1] > narrow[1]


def test_scenarios_widen_the_interval_of_a_difference(view, epochs, session):
    trials = marked(view(epochs(SAME), [
        {**line, "item_id": f"i{n}", "factors": json.dumps({"scenario": n // 4, "level": n % 2})}
        for n, line in enumerate(session(n_test=20, n_correct=15))
    ]))  # fmt: skip
    narrow, wide = (differences(trials, [], plan).iloc[0] for plan in (PLAN, BY_SCENARIO))
    assert wide["difference"] == narrow["difference"]
    assert wide["ci_low"] < narrow["ci_low"] < narrow["ci_high"] < wide["ci_high"]


def test_the_effects_of_perturbations_resample_scenarios(view, row):
    clean = dict.fromkeys(
        ["spacing_noise_proportion", "character_noise_number", "character_noise_proportion", "capitalisation_number",
         "capitalisation_proportion"], 0
    )  # fmt: skip
    perturbed = clean | {"spacing_noise_proportion": 0.2}
    rows = [
        row(kind="model", run="M", trial_index=20 * place + n, item_id=f"i{n}-{place}", response=response,
            factors={"scenario": n // 4, "number": n, **degrees})
        for place, (degrees, responses) in enumerate(((clean, [1] * 20), (perturbed, SAME)))
        for n, response in enumerate(responses)
    ]  # fmt: skip
    trials = marked(view(rows))
    narrow, wide = (perturbation_effects(trials, plan).iloc[0] for plan in (PLAN, BY_SCENARIO))
    assert wide["difference"] == narrow["difference"] == pytest.approx(-0.4)
    assert wide["ci_high"] - wide["ci_low"] > 1.3 * (narrow["ci_high"] - narrow["ci_low"])


def test_consistency_is_the_share_of_equal_pairs_of_replies(view, epochs):
    trials = marked(view(epochs(SAME, SAME, [2, *SAME[1:]])))
    line = models_table(trials, PLAN).iloc[0]
    assert line["n_runs"] == 3
    assert line["n_items_repeated"] == 20
    assert line["consistency"] == pytest.approx((19 + 1 / 3) / 20)
    assert line["consistency_ci_low"] < line["consistency"] <= line["consistency_ci_high"]
    assert (line["lowest_accuracy_of_a_run"], line["highest_accuracy_of_a_run"]) == (11 / 20, 12 / 20)


def test_equal_invalid_replies_are_not_consistent(view, epochs):
    rows = epochs(SAME, SAME)
    for line in rows:
        if line["item_id"] == "i0":
            line |= {"valid": 0, "response": json.dumps("I cannot say.")}
    assert models_table(marked(view(rows)), PLAN)["consistency"].iloc[0] == pytest.approx(19 / 20)


def test_scenarios_widen_the_interval_of_the_consistency(view, epochs):
    trials = marked(view(epochs(SAME, [2] * 4 + SAME[4:])))
    narrow, wide = (models_table(trials, plan).iloc[0] for plan in (PLAN, BY_SCENARIO))
    assert narrow["consistency"] == wide["consistency"] == 0.8
    assert wide["consistency_ci_low"] < narrow["consistency_ci_low"]


def test_equal_replies_to_all_20_items_say_little_about_other_items(view, epochs):
    trials = marked(view(epochs(SAME, SAME)))
    line, of_scenarios = (models_table(trials, plan).iloc[0] for plan in (PLAN, BY_SCENARIO))
    assert line["consistency"] == 1
    assert (line["consistency_ci_low"], line["consistency_ci_high"]) == wilson(20, 20)
    assert of_scenarios["consistency_ci_low"] == wilson(5, 5).low


def test_a_model_with_one_run_has_no_consistency(view, epochs):
    line = models_table(marked(view(epochs(SAME))), PLAN).iloc[0]
    assert line["n_items_repeated"] == 0
    assert np.isnan(line["consistency"])


def test_the_variation_between_runs_is_beside_the_variation_by_chance(view, epochs):
    """The runs have 12, 12 and 11 of 20 items right. Only one item varies, with a variance of 1/3."""
    line = models_table(marked(view(epochs(SAME, SAME, [2, *SAME[1:]]))), PLAN).iloc[0]
    assert line["sd_between_runs"] == pytest.approx(np.std([12, 12, 11], ddof=1) / 20)
    assert line["sd_between_runs_by_chance"] == pytest.approx(np.sqrt(1 / 3) / 20)
    assert line["p_between_runs"] == pytest.approx(np.exp(-1)), "chi-square 2 with 2 degrees of freedom"
    once = models_table(marked(view(epochs(SAME))), PLAN).iloc[0]
    assert once[["sd_between_runs", "sd_between_runs_by_chance", "p_between_runs"]].isna().all()


def test_the_variation_between_runs_has_one_unit_in_the_sentence_and_in_the_table(view, epochs, tmp_path):
    """The accuracies 60 % and 100 % have a standard deviation of 28.3 percentage points."""
    trials = tidy_trials(view(epochs(SAME, [1] * 20)))
    analyze_trials(trials, PLAN, tmp_path / "out", title="t", software_version="1")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert "have an SD of 28.3 points" in page
    assert 'data-label="SD between runs, points">28.3<' in page


def test_the_variation_between_runs_is_over_the_items_of_all_runs(view, epochs):
    line = models_table(marked(view(epochs(SAME, SAME[:10]))), PLAN).iloc[0]
    assert (line["lowest_accuracy_of_a_run"], line["highest_accuracy_of_a_run"]) == (0.6, 1)
    assert (line["sd_between_runs"], line["sd_between_runs_by_chance"]) == (0, 0)
    assert np.isnan(line["p_between_runs"])


def test_people_have_no_row(view, session):
    assert models_table(marked(view(session())), PLAN).empty


def test_the_temperatures_of_a_model_are_one_line_of_the_figure(view, epochs):
    rows = [epochs(SAME, SAME, temperature=t) for t in (0.1, 0.9)] + [epochs(SAME, model="other", temperature=0.5)]
    models = models_table(marked(view(*rows)), PLAN)
    assert models["temperature"].tolist() == [0.1, 0.9, 0.5]
    table = accuracy_by_temperature(models)
    assert table[["subject", "level"]].to_numpy().tolist() == [["M", 0.1], ["M", 0.9]]


def test_subjects_with_the_same_name_and_temperature_are_not_one_line_of_the_figure(view, epochs):
    models = models_table(marked(view(*(epochs(SAME, temperature=t) for t in (0.1, 0.9)))), PLAN)
    other_version = models.iloc[[1]].assign(model_version="M-2")
    assert accuracy_by_temperature(pd.concat([models, other_version])).empty
