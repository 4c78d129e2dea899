import numpy as np
import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.item_agreement import AGREEMENT_COLUMNS, item_agreement, item_table
from analysis.statistics.agreement_measures import split_half_reliability
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(resamples=1_000)


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


def answers(row, right, **who):
    """Return a subject's trials: item `i<n>` is right if `right[n]` is true, and left out if it is None."""
    return [
        row(trial_index=n, item_id=f"i{n}", response=1 if each else 2, factors={"part": n % 2}, **who)
        for n, each in enumerate(right)
        if each is not None
    ]


@pytest.fixture
def study(view, row):
    """Return trials of six people and a model on twelve items; the model lacks the last, people the eleventh."""
    rng = np.random.default_rng(4)
    ease = np.linspace(0.1, 0.95, 12)
    people = [
        answers(row, [*(rng.random(10) < ease[:10]), None, rng.random() < ease[11]], participant=f"P{n}")
        for n in range(6)
    ]
    return view(people, answers(row, [*(ease > 0.4)[:11], None], kind="model", run="M"))


def test_the_item_table_has_the_items_that_both_answered_with_their_levels(study):
    table = item_table(marked(study))
    assert table.columns.tolist() == [
        "kind", "people", "model", "item_id", "part", "n_people", "accuracy_people", "n_model", "accuracy_model"
    ]  # fmt: skip
    assert table["item_id"].tolist() == [f"i{n}" for n in range(10)]
    assert table["part"].tolist() == [0, 1] * 5
    assert (table["n_people"] == 6).all()
    assert table["accuracy_model"].tolist() == [0.0] * 4 + [1.0] * 6


def test_agreement_is_the_correlation_over_the_item_table_and_items_left_out_are_counted(study):
    trials = marked(study)
    table, line = item_table(trials), item_agreement(trials, PLAN).iloc[0]
    assert line.index.tolist() == AGREEMENT_COLUMNS
    assert (line["n_items"], line["n_items_only_model"], line["n_items_only_people"]) == (10, 1, 1)
    ranks = table[["accuracy_people", "accuracy_model"]].rank()
    for name, columns in (("pearson", table), ("spearman", ranks)):
        expected = np.corrcoef(columns["accuracy_people"], columns["accuracy_model"])[0, 1]
        assert line[name] == pytest.approx(expected)
        assert line[f"{name}_ci_low"] < expected < line[f"{name}_ci_high"]
    people = trials[(trials["kind"] == "human") & trials["item_id"].isin(table["item_id"])]
    reliability = split_half_reliability(people["participant"], people["item_id"], people["correct"].astype(float))
    assert line["reliability"] == pytest.approx(reliability)
    assert line["ceiling"] == pytest.approx(np.sqrt(reliability))
    assert pd.isna(line["reason"])


def test_a_model_without_errors_has_no_correlation_and_the_reason_says_so(view, row):
    people = [answers(row, [n % 2, (n + 1) % 2, 1, 1], participant=f"P{n}") for n in range(4)]
    line = item_agreement(marked(view(people, answers(row, [1] * 4, kind="model", run="M"))), PLAN).iloc[0]
    assert pd.isna(line["pearson"])
    assert pd.isna(line["spearman_ci_low"])
    assert line["reason"].startswith("no correlation: the model is always right")
    line = item_agreement(marked(view(people, answers(row, [0] * 4, kind="model", run="M"))), PLAN).iloc[0]
    assert line["reason"].startswith("no correlation: the model is never right")


def test_too_few_shared_items_and_a_single_participant_have_a_reason(view, row):
    rows = view(answers(row, [1, 0], participant="P"), answers(row, [1, 0, 1], kind="model", run="M"))
    line = item_agreement(marked(rows), PLAN).iloc[0]
    assert "people and the model have only 2\u00a0common items" in line["reason"]
    assert "at least 2 participants" in line["reason"]


def test_a_model_that_errs_once_has_no_interval(view, row):
    rng = np.random.default_rng(3)
    people = [answers(row, rng.random(20) < np.linspace(0.1, 1, 20), participant=f"P{n}") for n in range(5)]
    line = item_agreement(marked(view(people, answers(row, [0] + [1] * 19, kind="model", run="M"))), PLAN).iloc[0]
    assert line["pearson"] > 0
    assert pd.isna(line["pearson_ci_low"])
    assert line["reason"] == (
        "no interval (Pearson, Spearman): fewer than 4 items differ from the most frequent value of one of the two "
        "variables"
    )


def test_a_reason_is_true_for_both_subjects_and_for_perfect_correlations(view, row):
    """A correlation of 1 has no interval, although many items have different accuracies."""
    alike = [answers(row, [1, 1, 1], participant="P"), answers(row, [1, 0, 1], participant="Q")]
    model = [answers(row, [n % 2] * 3, kind="model", run=f"M, epoch {n}", model="M", model_version="M") for n in (1, 2)]
    runs = [[{**one, "run_parameters": f'{{"epoch": {n}}}'} for one in run] for n, run in enumerate(model, start=1)]
    line = item_agreement(marked(view(alike, runs)), PLAN).iloc[0]
    assert line["reason"].startswith("no correlation: the model is equally often right at every item")
    constant = [answers(row, [1, 1, 1], participant=name) for name in "PQ"]
    line = item_agreement(marked(view(constant, answers(row, [0, 0, 0], kind="model", run="M"))), PLAN).iloc[0]
    assert line["reason"].startswith("no correlation: people are always right and the model is never right")
    right = [1, 0] * 6
    people = [answers(row, right, participant=name) for name in "PQ"]
    line = item_agreement(marked(view(people, answers(row, right, kind="model", run="M"))), PLAN).iloc[0]
    assert (line["pearson"], line["spearman"]) == (pytest.approx(1), pytest.approx(1))
    assert line["reason"] == "no interval (Pearson, Spearman): the correlation is 1 or −1"
    almost = [answers(row, [1 - right[0], *right[1:]], participant=name) for name in "PQ"]
    line = item_agreement(marked(view(almost, answers(row, right, kind="model", run="M"))), PLAN).iloc[0]
    assert line["pearson"] < 1
    assert line["reason"] == "no interval (Pearson, Spearman): the correlation is 1 or −1 without one of the items"


def test_people_and_simulated_participants_are_compared_separately_and_rows_are_in_order(view, row):
    people = [answers(row, [1, 1, 0, 0, n], participant=f"P{n}") for n in range(2)]
    fakes = [answers(row, [0, 0, 1, 1, n], participant=f"S{n}", kind="simulated") for n in range(2)]
    models = [answers(row, [1, 1, 0, 0, 1], kind="model", run=f"Model {name}") for name in (10, 9)]
    table = item_agreement(marked(view(fakes, models, people)), PLAN)
    assert table[["people", "model"]].to_numpy().tolist() == [
        [who, f"Model {name}"] for who in ("people", "simulated participants") for name in (9, 10)
    ]
    assert (table["pearson"] > 0).tolist() == [True, True, False, False]


def test_a_models_unanswered_trials_count_as_not_correct(view, row):
    people = [answers(row, [1, 1, 0, n], participant=f"P{n}") for n in range(2)]
    model = answers(row, [1, 1, 0, 1], kind="model", run="M")
    model[0]["response"] = None
    table = item_table(marked(view(people, model)))
    assert table["accuracy_model"].tolist() == [0, 1, 0, 1]


def test_without_models_or_people_the_tables_are_empty(view, row):
    for rows in (view(answers(row, [1, 0, 1])), view(answers(row, [1, 0, 1], kind="model", run="M"))):
        trials = marked(rows)
        assert item_table(trials).empty
        assert item_agreement(trials, PLAN).empty
        assert item_agreement(trials, PLAN).columns.tolist() == AGREEMENT_COLUMNS


def test_the_order_of_rows_does_not_matter(study):
    trials = marked(study)
    shuffled = trials.sample(frac=1, random_state=2)
    pd.testing.assert_frame_equal(item_table(shuffled), item_table(trials))
    pd.testing.assert_frame_equal(item_agreement(shuffled, PLAN), item_agreement(trials, PLAN))
