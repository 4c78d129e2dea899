"""Confidence ratings of a plan: tables, intervals over participants, figures, sentences, and refusals."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.planned.figures import planned_figures
from analysis.planned.results import PlannedResults, run_planned
from analysis.planned.study_rows import study_rows
from analysis.planned.tables import planned_table
from analysis.report.confidence_section import confidence_section, confidence_summary
from analysis.report.methods_section import methods_of_data
from analysis.report.summary import summary_sentences
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses, PlannedTable


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Twelve people who are over-confident by about 15 points, and a model with one run that is under-confident."""
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"participant": np.repeat([f"p{n:02d}" for n in range(12)], 20), "subject": "people"})
    model = pd.DataFrame({"participant": ["run"] * 40, "subject": "model", "kind": "model"})
    table = pd.concat([people.assign(kind="human"), model], ignore_index=True)
    table["item_id"] = table.groupby("participant").cumcount().map("i{:02d}".format)
    able = rng.normal(0, 0.06, 12)[pd.factorize(table["participant"])[0].clip(max=11)]
    table["confidence"] = rng.choice([0.5, 0.6, 0.7, 0.8, 0.9, 1.0], len(table))
    bias = np.where(table["subject"] == "people", -0.15 + able, 0.25)
    table["correct"] = (rng.random(len(table)) < table["confidence"] + bias).astype(int)
    table.loc[3, "confidence"] = np.nan
    return table


def results(rows: pd.DataFrame, **content: Any) -> tuple[PlannedResults, PlannedAnalyses]:
    plan = PlannedAnalyses.model_validate({"confidence_ratings": {"rated": {"rating": "confidence", **content}}})
    return run_planned(lambda _: rows, plan), plan


def test_each_subject_has_a_row_whose_means_and_intervals_are_those_of_a_table_of_the_plan(rows: pd.DataFrame) -> None:
    found, plan = results(rows)
    table = found.confidence_ratings["rated"].table
    own = table.set_index("subject").loc["people"]
    assert (own["n"], own["n_unrated"], own["n_participants"], own["unit"]) == (239, 1, 12, "participant")
    answered = rows[rows["confidence"].notna()]
    answered = answered.assign(over=answered["confidence"] - answered["correct"],
                               brier=(answered["confidence"] - answered["correct"]) ** 2)  # fmt: skip
    asked = PlannedTable(by=("subject",), of=("correct", "over", "brier", "confidence"))
    expected = planned_table(answered, "t", asked, plan.confidence).set_index("subject").loc["people"]
    for mine, other in (("accuracy", "correct"), ("overconfidence", "over"), ("brier", "brier"),
                        ("mean_confidence", "confidence")):  # fmt: skip
        columns = [f"{mine}_ci_low", f"{mine}_ci_high"]
        assert own[mine] == pytest.approx(expected[f"{other}_mean"])
        assert own[columns].tolist() == pytest.approx(expected[[f"{other}_ci_low", f"{other}_ci_high"]].tolist())
    assert own["overconfidence"] == pytest.approx(own["mean_confidence"] - own["accuracy"])
    parts = own["reliability"] - own["resolution"] + own["uncertainty"] + own["within_bins"]
    assert parts == pytest.approx(own["brier"])
    assert table.set_index("subject").loc["model", "unit"] == "item"


def test_the_bins_add_up_to_the_table_and_to_the_calibration_error(rows: pd.DataFrame) -> None:
    ratings = results(rows, bins=5)[0].confidence_ratings["rated"]
    for subject, own in ratings.bins.groupby("subject"):
        line = ratings.table.set_index("subject").loc[subject]
        assert own["n"].sum() == line["n"]
        gaps = (own["mean_confidence"] - own["accuracy"]).abs()
        assert (own["n"] * gaps).sum() / own["n"].sum() == pytest.approx(line["ece"])
        assert ((own["mean_confidence"] > own["bin_low"]) & (own["mean_confidence"] <= own["bin_high"])).all()


def test_percentages_give_the_same_table_as_shares(rows: pd.DataFrame) -> None:
    expected = results(rows)[0].confidence_ratings["rated"].table
    percent = results(rows.assign(confidence=100 * rows["confidence"]), scale="percent")[0]
    pd.testing.assert_frame_equal(percent.confidence_ratings["rated"].table, expected)


def test_without_a_subject_and_factors_there_is_one_row(rows: pd.DataFrame) -> None:
    found = results(rows.drop(columns=["subject", "participant", "kind", "item_id"]))[0].confidence_ratings["rated"]
    assert found.table["n"].tolist() == [279]
    assert found.table.columns[0] == "n"
    assert "unit" not in found.table


def test_factors_divide_the_rows_of_each_subject(rows: pd.DataFrame) -> None:
    table = results(rows.assign(easy=rows["item_id"] < "i10"), by=["easy"])[0].confidence_ratings["rated"].table
    assert table[["subject", "easy"]].drop_duplicates().shape == (4, 2)
    assert table["n"].sum() == 279
    assert table["n_unrated"].sum() == 1


def test_the_report_says_who_is_over_confident_only_if_the_interval_says_so(rows: pd.DataFrame) -> None:
    found, plan = results(rows)
    table = found.confidence_ratings["rated"].table.set_index("subject")
    assert table.loc["people", "overconfidence_ci_low"] > 0
    assert table.loc["model", "overconfidence_ci_high"] < 0
    (summary,) = confidence_summary(found)
    assert "over-confident: people" in summary
    assert "under-confident: model" in summary
    assert summary_sentences(found, plan) == [summary]
    (section,) = confidence_section(found, plan, planned_figures(found, 0.95))
    people = next(sentence for sentence in section["sentences"] if sentence.startswith("people"))
    assert f"accuracy {100 * table.loc['people', 'accuracy']:.1f}\u00a0%" in people
    assert (
        f"(over-confident); Brier score {table.loc['people', 'brier']:.3f}; ECE {table.loc['people', 'ece']:.3f}"
        in people
    )
    assert "239\u00a0responses" in people
    nearly = results(rows.assign(confidence=rows["correct"].mean() + 0.01).drop(columns="subject"))[0]
    assert nearly.confidence_ratings["rated"].table["overconfidence"][0] == pytest.approx(0.01)
    (summary,) = confidence_summary(nearly)
    assert summary == "Confidence ratings `rated`: neither over- nor under-confidence shown: all responses."


def test_each_subject_has_a_reliability_diagram(rows: pd.DataFrame) -> None:
    found, _ = results(rows)
    drawings = planned_figures(found, 0.95)["confidence_ratings/rated"]
    assert [drawing.name for drawing in drawings] == ["rated_reliability_1", "rated_reliability_2"]
    assert {drawing.title for drawing in drawings} == {
        "Confidence and accuracy of people", "Confidence and accuracy of model"
    }  # fmt: skip
    bins = found.confidence_ratings["rated"].bins
    assert sum(len(drawing.data) for drawing in drawings) == len(bins)


def test_the_methods_name_the_bins_the_seed_the_units_and_the_sources(rows: pd.DataFrame) -> None:
    found, plan = results(rows, bins=7)
    methods = methods_of_data(plan, found, "1.0")
    text = " ".join(methods.paragraphs)
    assert "over 7 bins of equal width" in text
    assert "1,000 simulations with the seed 1)" in text
    assert "units: " in text
    assert "The intervals of accuracy are Wilson intervals (Wilson, 1927) with an effective number of trials" in text
    for work in (
        "Brier, G. W.",
        "Murphy, A. H.",
        "Naeini, M. P.",
        "Stephenson, D. B.",
        "Bröcker, J.",
        "Cochran",
        "Wilson",
        "Korn",
    ):
        assert any(reference.startswith(work) for reference in methods.references), work


def test_in_a_study_the_subjects_are_people_and_each_model(view: Any, session: Any) -> None:
    """The score of a choice is 1 or 0, like the rating of a respondent who knows whether the response is right."""
    plan = AnalysisPlan.model_validate({"confidence_ratings": {"sure": {"rating": "score"}}})
    people = [session(participant=name, n_correct=n) for name, n in (("A", 3), ("B", 2))]
    trials = apply_exclusions(tidy_trials(view(people, session(kind="model", n_correct=1))), plan).trials
    table = run_planned(study_rows(trials), plan).confidence_ratings["sure"].table
    assert table.set_index("subject")["accuracy"].to_dict() == {"people": 5 / 8, "Model A": 1 / 4}
    assert (table[["brier", "ece", "ece_if_calibrated", "overconfidence"]] == 0).all(axis=None)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"rating": "percent"}, "has the value 50, but the scale `share` is from 0 to 1. Fix: write `scale: percent`."),
        ({"rating": "wrong", "scale": "percent"}, "has the value -1, but the scale `percent` is from 0 to 100. Fix: "),
        ({"of": "percent"}, "the column `percent` has values other than 0 and 1"),
        ({"rating": "missing"}, "no row has both `correct` and `missing`"),
        ({"rating": "unknown"}, "unknown"),
    ],
)
def test_impossible_ratings_are_not_computed_and_the_reason_is_said(
    rows: pd.DataFrame, content: dict[str, Any], sentence: str
) -> None:
    data = rows.assign(percent=50.0, wrong=-1.0, missing=np.nan)
    (said,) = results(data, **content)[0].not_computed
    assert said.startswith("the confidence ratings `rated`")
    assert sentence in said
