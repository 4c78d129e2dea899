"""Models are compared with each other on the same items."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.model_differences import MODEL_DIFFERENCE_COLUMNS, model_differences
from analysis.measures.study_measures import study_measures
from analysis.statistics.paired_differences import paired_difference
from experiment.study.analysis_plan import AnalysisPlan


def marked(rows: Any, plan: AnalysisPlan) -> Any:
    return apply_exclusions(tidy_trials(rows), plan).trials


def test_each_pair_is_compared_on_its_shared_items(view: Any, session: Any, row: Any) -> None:
    plan = AnalysisPlan()
    trials = marked(
        view(
            session(n_test=20, n_correct=15, kind="model", run="A"),
            session(n_test=20, n_correct=12, kind="model", run="B"),
            session(n_test=10, n_correct=10, kind="model", run="C"),
            row(kind="model", run="C", trial_index=99, item_id="only C"),
            session(n_test=20, n_correct=3),
        ),
        plan,
    )
    table = model_differences(trials, plan)
    assert table.columns.tolist() == MODEL_DIFFERENCE_COLUMNS
    assert table[["model_1", "model_2", "n_items"]].to_numpy().tolist() == [
        ["A", "B", 20], ["A", "C", 10], ["B", "C", 10],
    ]  # fmt: skip
    assert table["difference"].tolist() == pytest.approx([0.15, 0.0, 0.0])
    np.testing.assert_allclose(table["accuracy_1"] - table["accuracy_2"], table["difference"])
    # The three items at which A and B differ: (0.15 * 20) / 22 and the error of these 22 differences.
    values = np.array([1.0] * 3 + [0.0] * 17 + [1.0, -1.0])
    half = 2.0796138447276626 * math.sqrt(values.var(ddof=1) / 22)  # t with 21 degrees of freedom
    assert table.loc[0, ["ci_low", "ci_high"]].tolist() == pytest.approx([3 / 22 - half, 3 / 22 + half])
    # Both models are always right at these items, but the interval has a width.
    assert table.loc[1, "ci_low"] < 0 < table.loc[1, "ci_high"]


def test_epochs_of_a_model_are_one_accuracy_per_item(view: Any, session: Any) -> None:
    plan = AnalysisPlan()
    epochs = [
        session(n_test=8, n_correct=n, kind="model", run=f"A, epoch {epoch}", model="A", model_version="A",
                run_parameters=json.dumps({"epoch": epoch}))
        for epoch, n in ((1, 8), (2, 4))
    ]  # fmt: skip
    trials = marked(view(epochs, session(n_test=8, n_correct=4, kind="model", run="B")), plan)
    if trials.loc[trials["kind"] == "model", "subject"].nunique() != 2:
        pytest.fail("the epochs are not one subject")
    (row,) = model_differences(trials, plan).to_dict("records")
    assert (row["accuracy_1"], row["accuracy_2"], row["n_items"]) == (0.75, 0.5, 8)


def test_clusters_of_items_are_the_units(view: Any, session: Any) -> None:
    rows = view(
        [session(n_test=24, n_correct=n, kind="model", run=run) for run, n in (("A", 24), ("B", 12))],
    )
    rows["factors"] = [f'{{"scenario": {int(item[1:]) // 6}}}' for item in rows["item_id"]]
    alone, clustered = AnalysisPlan(), AnalysisPlan(item_cluster="scenario")
    (one,), (other,) = (model_differences(marked(rows, plan), plan).to_dict("records") for plan in (alone, clustered))
    assert one["difference"] == other["difference"] == 0.5
    assert other["ci_high"] - other["ci_low"] > 1.5 * (one["ci_high"] - one["ci_low"])


def test_the_table_needs_two_models(view: Any, session: Any) -> None:
    plan = AnalysisPlan()
    one = session(kind="model", run="A")
    assert "model_differences" not in study_measures(marked(view(session(), one), plan), plan, [])
    two = view(one, session(kind="model", run="B"))
    assert len(study_measures(marked(two, plan), plan, [])["model_differences"]) == 1


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.2, 1.0]), min_size=1, max_size=40), st.integers(1, 10))
def test_an_interval_contains_the_difference_and_has_a_width(differences: list[float], n_clusters: int) -> None:
    values = np.array(differences)
    mean, interval = paired_difference(values, np.arange(len(values)) % n_clusters)
    assert -1 <= interval.low <= mean <= interval.high <= 1
    assert interval.low < interval.high
    opposite, mirrored = paired_difference(-values, np.arange(len(values)) % n_clusters)
    assert (opposite, mirrored.low, mirrored.high) == pytest.approx((-mean, -interval.high, -interval.low))
    wide = paired_difference(values, np.arange(len(values)) % n_clusters, 0.99)[1]
    assert wide.low <= interval.low
    assert wide.high >= interval.high


def test_the_interval_covers_the_difference_of_random_items() -> None:
    """Two models with related difficulties of items, at 24 items; the difference is known by symmetry."""
    generator = np.random.default_rng(4)
    ease = generator.normal(size=(600, 24, 1))
    chance = 1 / (1 + np.exp(-0.8 - ease - 0.5 * generator.normal(size=(600, 24, 2))))
    right = (generator.random(chance.shape) < chance).astype(float)
    inside = [
        interval.low <= 0 <= interval.high
        for _, interval in (paired_difference(one - other, np.arange(24)) for one, other in np.moveaxis(right, 2, 1))
    ]
    assert 0.93 <= np.mean(inside) <= 0.99
