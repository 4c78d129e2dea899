"""Accuracy in all variants of an item. The variants are those that `batteries.variants` makes."""

import json
import math
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.perturbations import perturbation_effects
from analysis.measures.study_measures import study_measures
from analysis.measures.variants import POSITION_COLUMNS, VARIANT_COLUMNS, option_positions, variant_accuracy
from analysis.statistics.intervals import wilson
from analysis.study import analyze_trials
from batteries.errors import InputError
from batteries.items import Battery, Item
from batteries.variants.battery import with_variants
from batteries.vignettes.build import perturbation_factors
from batteries.vignettes.perturbation import Perturbation
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan(resamples=1_000)
MADE = datetime(2026, 1, 3, 12, 0, tzinfo=UTC)
WORDS = "item_id,prompt\nq0,In other words?\n"


def choice(n, key=1, n_options=4, **factors):
    content = {"text": "", "prompt": "Which?", "options": [f"option {n}-{place}" for place in range(n_options)]}
    return Item(item_id=f"q{n}", task="multiple_choice", content=content, key=key, factors={"pair": n // 2, **factors})


def variants_of(*items, paraphrases=None):
    battery = Battery(battery="demo", version="1", items=items)
    return with_variants(battery, [], None, paraphrases, []).battery.items


def marked(rows):
    return apply_exclusions(tidy_trials(rows), PLAN).trials


@pytest.fixture(scope="session")
def run(row):
    """Return a function that makes the trials of a subject; `respond` returns the response to an item."""

    def trials(items, respond, **who):
        return [
            row(**{"kind": "model", "run": "M", **who}, trial_index=index, item_id=item.item_id, factors=item.factors,
                content=item.content, key=item.key, response=respond(item))
            for index, item in enumerate(items)
        ]  # fmt: skip

    return trials


def first_position(item):
    return 1


def right(item):
    return item.key


def wrong(item):
    return item.key % len(item.content["options"]) + 1


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(5, 9))
@settings(max_examples=8, deadline=None)
def test_a_model_that_knows_survives_and_a_model_that_prefers_a_position_does_not(view, run, keys, n_options):
    items = variants_of(*(choice(n, key, n_options) for n, key in enumerate(keys)))
    trials = marked(view(run(items, right, run="knows"), run(items, first_position, run="prefers")))
    knows, prefers = (line for _, line in variant_accuracy(trials, PLAN).iterrows())
    assert (knows["surviving_accuracy"], knows["accuracy_original"], knows["accuracy_variants"]) == (1, 1, 1)
    assert (knows["consistency"], prefers["consistency"]) == (1, 0)
    assert prefers["surviving_accuracy"] == 0
    in_all = (prefers["accuracy_original"] + (n_options - 1) * prefers["accuracy_variants"]) / n_options
    assert in_all == pytest.approx(1 / n_options)
    positions = option_positions(trials, PLAN)
    assert positions["right"].to_numpy() == pytest.approx(1 / n_options)
    chosen = positions.pivot(index="subject", columns="position", values="chosen")
    assert chosen.loc["prefers"].tolist() == [1] + [0] * (n_options - 1)
    assert chosen.loc["knows"].to_numpy() == pytest.approx(1 / n_options)


def test_an_item_survives_only_if_every_order_and_paraphrase_is_right(view, run, tmp_path):
    (tmp_path / "words.csv").write_text(WORDS)
    items = variants_of(*(choice(n) for n in range(10)), paraphrases=tmp_path / "words.csv")
    missed = {"q0-paraphrase1", "q1-order3", "q2"}
    table = variant_accuracy(marked(view(run(items, lambda item: (right, wrong)[item.item_id in missed](item)))), PLAN)
    assert table.columns.tolist() == VARIANT_COLUMNS
    line = table.iloc[0]
    assert (line["n_items"], line["n_items_with_all_variants"]) == (10, 10)
    assert line["accuracy_original"] == pytest.approx(9 / 10)
    assert line["accuracy_variants"] == pytest.approx((8 + 3 / 4 + 2 / 3) / 10)
    assert line["surviving_accuracy"] == pytest.approx(7 / 10)
    assert (line["surviving_accuracy_ci_low"], line["surviving_accuracy_ci_high"]) == pytest.approx(wilson(7, 10))
    assert line["consistency"] == pytest.approx((8 + 2 * 3 / 6) / 10)  # Two items with one other response in four.
    assert pd.isna(line["reason"])


def test_an_epoch_survives_or_not_by_itself_and_clusters_widen_the_interval(view, run):
    items = variants_of(*(choice(n) for n in range(12)))

    def epoch(number, misses):
        settings = {"run": f"M, epoch {number}", "run_parameters": json.dumps({"epoch": number})}
        return run(items, lambda item: (right, wrong)[item.item_id in misses](item), **settings, model="M",
                   model_version="M")  # fmt: skip

    trials = marked(view(epoch(1, {"q0", "q1", "q2", "q3"}), epoch(2, {"q0-order2", "q1", "q2", "q4"})))
    narrow, wide, same = (
        variant_accuracy(trials, AnalysisPlan(item_cluster=cluster)).iloc[0]
        for cluster in (None, "pair", "original_item")
    )
    assert narrow["surviving_accuracy"] == pytest.approx((7 + 2 / 2) / 12)
    assert wide["surviving_accuracy_ci_low"] < narrow["surviving_accuracy_ci_low"]
    assert same["surviving_accuracy_ci_low"] == narrow["surviving_accuracy_ci_low"]


def test_people_who_see_each_item_once_have_no_surviving_accuracy_and_a_reason(view, run):
    items = variants_of(choice(0), choice(1))
    once = [run(items[n::4], right, kind="human", participant=f"P{n}", run=None) for n in range(4)]
    line = variant_accuracy(marked(view(*once)), PLAN).iloc[0]
    assert (line["subject"], line["n_items"], line["n_items_with_all_variants"]) == ("people", 2, 0)
    assert (line["accuracy_original"], line["accuracy_variants"]) == (1, 1)
    assert np.isnan(line["surviving_accuracy"])
    assert np.isnan(line["consistency"])
    assert line["reason"] == "no participant was asked an item in all its variants"
    both = [run(items, respond, kind="human", participant=name, run=None) for name, respond in
            (("A", right), ("B", first_position), ("C", right))]  # fmt: skip
    line = variant_accuracy(marked(view(*both)), PLAN).iloc[0]
    assert line["surviving_accuracy"] == pytest.approx(4 / 6)
    assert line["surviving_accuracy_ci_low"] < 4 / 6 < line["surviving_accuracy_ci_high"]


def test_an_invalid_reply_chooses_nothing(view, run):
    rows = run(variants_of(choice(0)), right)
    rows[0] |= {"valid": 0, "response": json.dumps("I cannot say.")}
    rows[1] |= {"valid": 0, "response": json.dumps("I cannot say.")}
    trials = marked(view(rows))
    line = variant_accuracy(trials, PLAN).iloc[0]
    assert (line["accuracy_original"], line["surviving_accuracy"]) == (0, 0)
    assert line["consistency"] == pytest.approx(1 / 6)
    positions = option_positions(trials, PLAN)
    assert positions.columns.tolist() == POSITION_COLUMNS
    assert positions["chosen"].sum() == pytest.approx(1 / 2)


def test_items_without_variants_and_other_tasks_are_left_out(view, run, row):
    fixed = choice(7).model_copy(update={"content": {"prompt": "?", "options": ["a", "b", "None of the above"]}})
    items = variants_of(choice(0), fixed)
    board = {"size": 8, "atoms": [[2, 3]], "entry": "north-1"}
    ray = row(kind="model", run="M", trial_index=90, item_id="ray", task="blackbox_predict", content=board,
              key="south-1", response="south-1",
              factors={"original_item": "ray", "item_variant": "original"})  # fmt: skip
    trials = marked(view(run(items, right), ray))
    assert variant_accuracy(trials, PLAN)["n_items"].tolist() == [1]
    assert option_positions(trials, PLAN)["n_options"].tolist() == [4] * 4


def test_tables_are_made_for_data_with_variants_only(view, run, row, tmp_path):
    not_computed = []
    assert "variants" not in study_measures(marked(view(row())), PLAN, not_computed)
    assert not not_computed
    items = variants_of(choice(0))
    made = study_measures(marked(view(run(items, right))), PLAN, not_computed)
    assert {"variants", "option_positions"} <= made.keys()
    (tmp_path / "words.csv").write_text(WORDS)
    battery = Battery(battery="demo", version="1", items=(choice(0),))
    reworded = with_variants(battery, [], 1, tmp_path / "words.csv", []).battery.items
    made = study_measures(marked(view(run(reworded, right))), PLAN, not_computed)
    assert "option_positions" not in made
    assert made["variants"]["surviving_accuracy"].tolist() == [1]
    assert math.isnan(made["variants"]["consistency"].iloc[0])
    assert not not_computed
    study_measures(marked(view(run(items[:1], right))), PLAN, not_computed)
    assert ["in one form only" in sentence for sentence in not_computed] == [True]
    with pytest.raises(InputError, match="Fix: "):
        variant_accuracy(marked(view(run(items[:1], right))), PLAN)


def test_the_report_explains_surviving_accuracy(view, run, tmp_path):
    rows = view(run(variants_of(choice(0), choice(1)), right))
    analyze_trials(tidy_trials(rows), PLAN, tmp_path / "out", title="Demo", software_version="1", made_at=MADE)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Accuracy in all variants of an item" in report
    assert "Surviving accuracy: share of items" in report
    assert (tmp_path / "out" / "tables" / "variants.csv").is_file()


def test_perturbed_variants_are_compared_with_the_same_variants_unperturbed(view, run):
    clean = choice(0, **perturbation_factors(Perturbation()))
    noisy = clean.model_copy(
        update={
            "item_id": "q0-noisy",
            "factors": {**clean.factors, **perturbation_factors(Perturbation(spacing_proportion=0.5))},
        }
    )
    table = perturbation_effects(marked(view(run(variants_of(clean, noisy), right))), PLAN)
    assert table["n_items"].tolist() == [4]
