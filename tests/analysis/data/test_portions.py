"""Tidy portions of whole sessions are together the same as the tidy table of all rows."""

from typing import Any

import pandas as pd
import pytest

from analysis.data.portions import TidyPortions
from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.exclusions.in_portions import RunningExclusions
from analysis.provenance.record import RunningDigest, columns_since_the_digest, data_digest
from experiment.study.analysis_plan import AnalysisPlan

PLAN = AnalysisPlan.model_validate({"exclusions": [{"rule": "median_rt", "min_ms": 1000}], "invalid": "chance"})


@pytest.fixture
def rows(session: Any, row: Any, view: Any) -> pd.DataFrame:
    """Return people and repeated runs; levels of a factor are texts and numbers, and no session has all factors."""
    mixed = [
        row(participant="P03", item_id="n1", factors={"level": 1, "only_here": True}, session_number=2),
        row(participant="P03", item_id="n2", factors={"level": "01"}, trial_index=1, response=None),
        row(participant="P04", item_id="n3", factors={"size": 2}, excluded_reason="fire", excluded_at="2026-01-03"),
        row(participant="P05", item_id="n4", factors={"size": 0.5}, rt_ms=300.0),
    ]
    runs = [
        session(
            2,
            1,
            kind="model",
            run=f"Model A, epoch {epoch}",
            model="A",
            model_version="A-1",
            run_parameters=f'{{"epoch": {epoch}}}',
        )
        for epoch in (1, 2)
    ]
    templates = [
        session(2, 2, kind="model", run=f"Model B, template {name}", model="B", model_version="B-1", prompt_digest=name)
        for name in ("0123abcd", "4567ef01")
    ]
    return view(session(3, participant="P01"), session(3, participant="P02"), mixed, runs, templates)


def in_portions(rows: pd.DataFrame) -> tuple[TidyPortions, list[pd.DataFrame]]:
    sample = pd.concat([rows.drop_duplicates(["battery", "item_id"]), rows.drop_duplicates("run")]).drop_duplicates()
    form = TidyPortions(sample, "trials")
    return form, [form.tidy(part) for _, part in rows.groupby("session", sort=False)]


def values(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows with plain values."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def test_portions_have_the_values_of_the_whole_table(rows: pd.DataFrame) -> None:
    whole = tidy_trials(rows)
    _, portions = in_portions(rows)
    assert [row for portion in portions for row in values(portion[list(whole.columns)])] == values(whole)
    assert {tuple(portion.columns) for portion in portions} == {tuple(portions[0].columns)}
    assert set(whole.loc[whole["kind"] == "model", "subject"]) == {
        "Model A", "Model B, template 0123abcd", "Model B, template 4567ef01",
    }  # fmt: skip


def test_the_digest_of_portions_is_the_digest_of_the_whole_table(rows: pd.DataFrame) -> None:
    _, portions = in_portions(rows)
    digest = RunningDigest({column for portion in portions for column in columns_since_the_digest(portion)})
    for portion in portions:
        digest.add(portion)
    assert digest.value() == data_digest(tidy_trials(rows))
    without_number = tidy_trials(rows.assign(session_number=None))
    assert digest.value() != data_digest(without_number)


def test_exclusions_in_portions_are_the_exclusions_of_the_whole_table(rows: pd.DataFrame) -> None:
    whole = apply_exclusions(tidy_trials(rows), PLAN)
    _, portions = in_portions(rows)
    found = RunningExclusions(PLAN)
    for portion in portions:
        found.add(portion)
    pd.testing.assert_frame_equal(found.flow(), whole.flow)
    assert values(found.participants()) == values(whole.participants)
    excluded_by = whole.trials["excluded_by"]
    assert found.excluded_by().dropna().to_dict() == excluded_by.dropna().to_dict()
    assert {"median_rt", "excluded_by_researcher"} <= set(excluded_by)
