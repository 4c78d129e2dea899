"""Numeric responses to ungraded items: the column `value`, its means, and plans with `of: value`."""

import numpy as np
import pandas as pd
import pytest
import scipy

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.planned.value_means import value_means
from analysis.study import analyze_trials
from experiment.study.analysis_plan import AnalysisPlan

SLIDER = {"plugin": "html-slider-response", "parameters": {}, "answers": []}
RATINGS = {
    "P1": {"A": [10, 20], "B": [40, 60]},
    "P2": {"A": [30, 40], "B": [50, 80]},
    "P3": {"A": [0, 5], "B": [5, 30]},
}
RIGHT = {"P1": 3, "P2": 2, "P3": 4}
"""Number of right responses to the four graded questions."""
MODEL = {"A": [12, 18], "B": [70, 90]}
PLAN = AnalysisPlan(
    by=["condition"],
    tables={"ratings": {"by": ["condition"], "of": ["value", "correct"], "who": "people"}},
    tests={
        "rating": {"test": "t", "of": "value", "per": "participant", "within": "condition"},
        "accuracy": {"test": "t", "of": "correct", "per": "participant", "against": "chance"},
    },
    models={"rating": {"formula": "value ~ condition + (1 | participant)", "who": "people"}},
)


@pytest.fixture(scope="module")
def trials(view, row):
    """Ratings of three people and a model in the conditions A and B, and graded questions in the condition C."""

    def of(who, ratings, **changes):
        rated = [
            row(trial_index=2 * place + n, item_id=f"{condition}{n}", task="jspsych", content=SLIDER, key=None,
                factors={"condition": condition}, response={"response": rating, "rt": 800}, **who, **changes)
            for place, (condition, own) in enumerate(ratings.items()) for n, rating in enumerate(own)
        ]  # fmt: skip
        graded = [
            row(trial_index=4 + n, item_id=f"C{n}", factors={"condition": "C"},
                response=1 + (n >= RIGHT.get(who.get("participant"), 3)), **who)
            for n in range(4)
        ]  # fmt: skip
        return [*rated, *graded]

    people = [of({"participant": name}, ratings) for name, ratings in RATINGS.items()]
    invalid = row(trial_index=8, item_id="A9", task="jspsych", content=SLIDER, key=None, factors={"condition": "A"},
                  response="I like it", valid=0, kind="model", run="M")  # fmt: skip
    return tidy_trials(view(people, of({"kind": "model", "run": "M"}, MODEL), invalid))


def test_the_value_is_the_sliders_number_and_has_no_score(trials):
    rated = trials[trials["task"] == "jspsych"]
    assert rated[["correct", "score", "chance"]].isna().all(axis=None)
    assert rated["value"].tolist()[:-1] == [10, 20, 40, 60, 30, 40, 50, 80, 0, 5, 5, 30, 12, 18, 70, 90]
    assert np.isnan(rated["value"].iloc[-1])  # The invalid reply of the model.
    assert trials.loc[trials["task"] == "multiple_choice", "value"].isna().all()
    assert trials.loc[trials["task"] == "multiple_choice", "correct"].notna().all()


def test_means_sds_and_intervals_are_those_of_participants(trials):
    table = value_means(apply_exclusions(trials, AnalysisPlan()).trials, ["condition"], AnalysisPlan())
    assert table[["subject", "condition", "n", "n_items"]].to_numpy().tolist() == [
        ["people", "A", 6, 2], ["people", "B", 6, 2], ["M", "A", 2, 2], ["M", "B", 2, 2],
    ]  # fmt: skip
    first = table.iloc[0]
    ratings = np.array([RATINGS[name]["A"] for name in RATINGS], dtype=float)
    assert first["value_mean"] == pytest.approx(ratings.mean())
    assert first["value_sd"] == pytest.approx(ratings.std(ddof=1))
    # Each participant has two ratings, so the standard error is that of the participants' means.
    se = ratings.mean(axis=1).std(ddof=1) / np.sqrt(3)
    half = se * scipy.stats.t.ppf(0.975, 2)
    assert (first["value_ci_low"], first["value_ci_high"]) == pytest.approx(
        (ratings.mean() - half, ratings.mean() + half)
    )
    assert table["unit"].tolist() == ["participant", "participant", "item", "item"]


def test_plans_of_value_use_the_rated_items_and_plans_of_correct_the_graded_items(trials, tmp_path):
    result = analyze_trials(trials, PLAN, tmp_path / "out", title="Ratings", software_version="1")
    assert result.planned.not_computed == []
    rating, accuracy = result.planned.tests.to_dict("records")
    means = pd.DataFrame({name: {condition: np.mean(own) for condition, own in ratings.items()}
                          for name, ratings in RATINGS.items()}).T  # fmt: skip
    known = scipy.stats.ttest_rel(means["A"], means["B"])
    assert (rating["statistic"], rating["p_value"], rating["n"]) == pytest.approx((*known, 3))
    assert rating["levels"] == "A - B"  # The condition C has no ratings, so this test does not have it.
    assert accuracy["estimate"] == pytest.approx(0.75 - 0.25)
    assert not rating["warnings"] and "excluded" not in accuracy["warnings"]
    coefficients = result.planned.models["rating"].model.coefficients.set_index("term")["estimate"]
    assert coefficients["conditionB"] == pytest.approx((means["B"] - means["A"]).mean())
    table = result.planned.tables["ratings"].set_index("condition")
    assert table["value_mean"].round(3).tolist() == [17.5, 44.167, pytest.approx(np.nan, nan_ok=True)]
    assert table["correct_mean"].tolist() == [pytest.approx(np.nan, nan_ok=True)] * 2 + [0.75]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Mean response by condition: task jspsych" in page
    assert {"values_overall_jspsych", "values_by_condition_jspsych"} <= result.figures.keys()
    assert result.tables["accuracy"]["condition"].unique().tolist() == ["C"]


def test_an_ungraded_attention_check_is_never_failed(view, row):
    plan = AnalysisPlan(exclusions=[{"rule": "attention_check"}])
    rows = view([
        row(participant="P1", trial_index=n, phase=phase, item_id=f"i{n}", key=None, response=2)
        for n, phase in enumerate(["test", "attention_check"])
    ])  # fmt: skip
    kept = apply_exclusions(tidy_trials(rows), plan)
    assert kept.participants["disposition"].tolist() == ["included"]
    assert kept.participants["n_attention_checks_failed"].tolist() == [0]
