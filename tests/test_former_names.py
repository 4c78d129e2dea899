"""`session_number` was called `occasion`: clients, exports, plans, locks and commands with that name still work."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import click
import pandas as pd
import pytest
from click.testing import CliRunner

from analysis.data.columns import VIEW_COLUMNS
from analysis.data.tidy_table import read_trials
from analysis.preregistration.deviations import deviations
from analysis.preregistration.lock import Lock, add_lock, read_locks
from analysis.provenance.record import data_digest
from batteries.errors import InputError
from batteries.files.file_reading import read_yaml
from equipoise.cli import lab as lab_cli
from experiment.lab_api import SessionQuery, SlotQuery
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses
from tests.analysis.conftest import session_rows

PLAN = """
by: [occasion]
tables:
  retest: {by: [occasion, condition], of: [correct], order_by: [-occasion], where: {occasion: 1, place: occasion}}
models:
  growth:
    formula: correct ~ occasion * condition + (1 | my_occasion)
    reference: {occasion: 1}
    contrasts: [{of: [occasion], by: [condition]}]
tests:
  occasion: {test: t, of: correct, per: participant, within: occasion}
flags: {first: {occasion: 1}}
signals:
  unsure: {signal: {occasion: 1}, response: occasion}
comparisons: {all: {by: [occasion]}}
"""


def rows_of_an_export() -> pd.DataFrame:
    rows = [
        row
        for number in (1, 2)
        for row in session_rows(participant="P01", session=f"s{number}", source="lab", session_number=number)
    ]
    return pd.DataFrame(rows, columns=list(VIEW_COLUMNS), dtype=object)


@pytest.mark.parametrize("query", [SessionQuery, SlotQuery])
def test_an_older_laboratory_names_the_number_by_its_former_key(query: type[SessionQuery]) -> None:
    assert query.model_validate({"participant": "P01", "occasion": 2}).session_number == 2
    assert query.model_validate_strings({"participant": "P01", "occasion": "2"}).session_number == 2
    with pytest.raises(ValueError, match="occasion"):
        query.model_validate({"participant": "P01", "occasion": 2, "session_number": 2})


def test_an_older_export_is_read_and_has_the_same_digest(tmp_path: Path) -> None:
    rows = rows_of_an_export()
    rows.to_csv(tmp_path / "new.csv", index=False)
    rows.rename(columns={"session_number": "occasion"}).to_csv(tmp_path / "old.csv", index=False)
    old, new = read_trials(tmp_path / "old.csv"), read_trials(tmp_path / "new.csv")
    assert sorted(set(old["session_number"])) == [1, 2]
    pd.testing.assert_frame_equal(old, new)
    assert data_digest(old) == data_digest(new)


def test_an_older_store_is_read_without_being_changed(tmp_path: Path) -> None:
    path = tmp_path / "equipoise.db"
    with sqlite3.connect(path) as db:
        rows_of_an_export().rename(columns={"session_number": "occasion"}).to_sql("trials", db, index=False)
    before = path.read_bytes()
    assert sorted(set(read_trials(path)["session_number"])) == [1, 2]
    assert path.read_bytes() == before


def test_an_older_plan_is_read_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN, encoding="utf-8")
    with pytest.warns(
        FutureWarning, match=r"plan\.yaml: `occasion` is now called `session_number`\. Fix: use the new name"
    ):
        plan = read_yaml(path, AnalysisPlan)
    assert plan.by == ("session_number",)
    assert plan.tables["retest"].where == {"session_number": 1, "place": "occasion"}
    assert plan.tables["retest"].order_by == ("-session_number",)
    assert plan.models["growth"].formula == "correct ~ session_number * condition + (1 | my_occasion)"
    assert plan.models["growth"].reference == {"session_number": 1}
    assert plan.models["growth"].contrasts[0].of == ("session_number",)
    assert plan.tests["occasion"].within == "session_number"
    assert plan.flags == {"first": {"session_number": 1}}
    assert (plan.signals["unsure"].signal, plan.signals["unsure"].response) == ({"session_number": 1}, "occasion")
    assert plan.comparisons["all"].by == ("session_number",)


def test_a_plan_with_both_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("tables: {a: {by: [x], of: [y], where: {occasion: 1, session_number: 1}}}\n", encoding="utf-8")
    with pytest.raises(InputError, match="`occasion` is the former name of `session_number`, and both are given"):
        read_yaml(path, AnalysisPlan)


def test_a_table_of_another_program_keeps_its_column(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("tables: {a: {by: [occasion], of: [y]}}\n", encoding="utf-8")
    assert read_yaml(path, PlannedAnalyses).tables["a"].by == ("occasion",)


def test_an_older_lock_is_of_the_same_plan(tmp_path: Path) -> None:
    path = tmp_path / "analysis.lock.json"
    content: dict[str, Any] = {"tables": {"a": {"by": ["occasion"], "of": ["y"], "where": {"occasion": 1}}}}
    lock = Lock(plan=content, of={}, n_sessions=0, locked_at="2026-01-01T00:00:00+00:00", software="old", previous="")
    path.write_text(json.dumps({"locks": [lock.model_dump()], "digest": lock.digest}), encoding="utf-8")
    plan = AnalysisPlan.model_validate(content)
    assert deviations(read_locks(path)[0], plan, {}) == []
    assert deviations(read_locks(path)[0], PlannedAnalyses.model_validate(content), {}) == []
    with pytest.raises(InputError, match="already locked at"):
        add_lock(path, plan, of={}, n_sessions=0, software="new")


@pytest.mark.parametrize("option", ["--session-number", "--occasion", "--session"])
def test_former_options_name_the_session_too_and_are_not_shown(option: str) -> None:
    found = []

    @click.command()
    @lab_cli._with_visitor
    def command(visitor: Any) -> None:
        found.append(visitor)

    result = CliRunner().invoke(command, ["--participant", "P01", option, "3"])
    assert (result.exit_code, found[0].session_number) == (0, 3), result.output
    shown = CliRunner().invoke(command, ["--help"]).output
    assert "--session-number" in shown and "--occasion" not in shown and "--session " not in shown
