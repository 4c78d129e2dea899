"""The results of a plan: a result that cannot be computed is listed by its name, and does not stop the others."""

import pandas as pd
import pytest

from analysis.planned.results import PlannedResults, run_planned
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedAnalyses

DATA = pd.DataFrame(
    {
        "participant": [f"p{number}" for number in range(8) for _ in range(4)],
        "condition": ["A", "A", "B", "B"] * 8,
        "level": [0, 2] * 16,
        "correct": [1, 0, 0, 1, 1, 1, 0, 0] * 4,
        "rt_ms": [700.0 + 37 * (number * number % 11) for number in range(32)],
    }
)
FORMULA = "rt_ms ~ condition + (1 | participant)"
PLAN = {
    "flags": {"hard": {"level": 2}, "harder": {"level": 9}},
    "tables": {
        "plain": {"by": ["condition"], "of": ["correct"]},
        "by_hard": {"by": ["hard"], "of": ["correct"]},
        "by_harder": {"by": ["harder"], "of": ["correct"]},
    },
    "models": {
        "plain": {"formula": FORMULA},
        "of_hard": {"formula": FORMULA, "where": {"hard": True}},
        "of_harder": {"formula": "rt_ms ~ condition * harder + (1 | participant)"},
        "unreadable": {"formula": "rt_ms ~ (condition"},
    },
    "tests": {
        "plain": {"test": "t", "of": "correct", "per": "participant", "within": "condition"},
        "of_harder": {"test": "t", "of": "correct", "per": "participant", "within": "harder"},
    },
}


@pytest.fixture(scope="module")
def results() -> PlannedResults:
    return run_planned(lambda _: DATA, PlannedAnalyses.model_validate(PLAN))


def test_a_flag_that_cannot_be_computed_drops_only_the_results_that_use_it(results: PlannedResults) -> None:
    assert list(results.tables) == ["plain", "by_hard"]
    assert list(results.models) == ["plain", "of_hard"]
    assert list(results.tests["name"]) == ["plain"]


def test_each_result_that_is_not_computed_is_listed_with_its_name_and_reason(results: PlannedResults) -> None:
    reason = "the flag `harder`: `level` has no level 9. Fix: choose one of 0, 2."
    by_harder, of_harder, unreadable, test = results.not_computed
    assert by_harder == f"the table `by_harder`: {reason}"
    assert of_harder == f"the model `of_harder`: {reason}"
    assert unreadable.startswith("the model `unreadable`: the formula `rt_ms ~ (condition` ends before")
    assert test == f"the test `of_harder`: {reason}"


def test_a_result_without_rows_is_listed_with_its_name() -> None:
    def nothing(who: str) -> pd.DataFrame:
        raise InputError(f"the data contain no trials of {who}. Fix: collect trials.")

    found = run_planned(nothing, PlannedAnalyses.model_validate({"models": {"m": {"formula": FORMULA}}}))
    assert found.not_computed == ["the model `m`: the data contain no trials of everyone. Fix: collect trials."]
