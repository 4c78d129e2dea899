"""Data of laboratory sessions: files, withdrawals, and the analysis."""

import shutil
import time
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from analysis.data.tidy_table import read_trials
from equipoise.cli.main import main
from equipoise.commands.analyze import analyze
from equipoise.commands.lab.clients import local_client
from equipoise.commands.lab.files import LabFiles, delete_withdrawn
from experiment.lab.session_files.psychopy_log import PsychoPyLog
from experiment.lab.visitor import Visitor, VisitOutcome
from experiment.load_study import load_study
from experiment.records import Kind
from server.store.sql.lab_sessions import trials_of
from tests.experiment.lab.visits.lab_visits import WITHDRAW, careful, leaving_at, rows, take_on_the_web


def test_session_2_belongs_to_the_same_participant_as_session_1(lab, small):
    study = load_study(small)
    first, second = lab(study, session_number=1), lab(study, session_number=2)
    assert first.session.session != second.session.session
    assert first.session.participant == second.session.participant


def test_a_later_withdrawal_by_participant_code_deletes_responses_and_files(lab, small):
    study = load_study(small)
    for session_number in (1, 2):
        lab(study, session_number=session_number)
    stays = lab(study, participant="P1")
    result = CliRunner().invoke(main, ["withdraw", str(small), "--participant", "P01"])
    assert result.exit_code == 0, result.stderr
    trials = read_trials(study.store_path)
    assert set(trials[trials["session"] != stays.session.session]["status"]) == {"withdrawn"}
    assert set(trials[trials["response"].notna()]["session"]) == {stays.session.session}
    kept = {path.name.partition("_")[0] for path in (small / "data" / "lab").rglob("*_*")}
    assert kept == {"P1"}


def test_the_next_visit_deletes_the_files_of_participants_who_withdrew_outside_the_laboratory(lab, small):
    study = load_study(small)
    leaves = lab(study, participant="P01", kind=Kind.SIMULATED)
    stays = lab(study, participant="P02")
    with local_client(study, None) as (_, store):
        store.withdraw_session(leaves.session.session)
        delete_withdrawn(study, store)
    assert stays.table.exists() and not leaves.table.exists()


def test_a_table_that_cannot_be_written_stops_no_session(lab, small):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    first.table.unlink()
    first.table.mkdir()  # As if the table were open in Excel.
    second = lab(study)
    assert second.outcome is VisitOutcome.COMPLETED
    assert "cannot be written" in second.problem and "Every response is in the store" in second.problem
    assert all(t["received_at"] for t in rows(study, second.session))
    first.table.rmdir()
    with local_client(study, None) as (_, store):
        files = LabFiles(study, store, Visitor("P01", 1, None), second.display.events, PsychoPyLog())
        files.write(second.session)
    assert files.problem is None and first.table.is_file()


def test_a_file_that_cannot_be_deleted_is_reported_and_the_withdrawal_is_stored(lab, small, monkeypatch):
    study = load_study(small)
    unlink, is_open = Path.unlink, [True]

    def refuse(path, **more):
        if path.suffix == ".csv" and is_open:
            raise PermissionError(13, "it is open in another program")
        unlink(path, **more)

    monkeypatch.setattr(Path, "unlink", refuse)
    leaves = lab(study, leaving_at(3, WITHDRAW))
    assert leaves.outcome is VisitOutcome.WITHDRAWN
    assert "cannot be deleted (it is open in another program)" in leaves.problem
    with local_client(study, None) as (_, store):
        assert "close the program that has the file open, and delete the file" in delete_withdrawn(study, store)
        result = CliRunner().invoke(main, ["withdraw", str(small), "--participant", "P01"])
        assert result.exit_code == 2 and "the responses are deleted, but a file is not deleted" in result.stderr
        is_open.clear()
        assert delete_withdrawn(study, store) is None
    assert list((small / "data" / "lab").rglob("*_*")) == []


def test_a_withdrawal_from_session_2_deletes_the_files_of_session_1(lab, small):
    study = load_study(small)
    first = lab(study)
    assert lab(study, leaving_at(3, WITHDRAW), session_number=2).outcome is VisitOutcome.WITHDRAWN
    assert not first.table.exists()
    assert list((small / "data" / "lab").rglob("*_*")) == []


def test_the_files_are_beside_the_store_for_every_study_folder(lab, small, tmp_path):
    """The folder of an earlier version resumes its sessions, on the same store."""
    study, store = load_study(small), tmp_path / "shared" / "equipoise.db"
    other = shutil.copytree(small, tmp_path / "copy", ignore=shutil.ignore_patterns("data"))
    first = lab(study, leaving_at(3, ["2"]), store=str(store))
    second = lab(load_study(other), store=str(store))
    assert first.table == second.table and first.table.parent == store.parent / "lab"
    with local_client(study, str(store)) as (_, opened):
        attempts = [t["attempt"] for t in trials_of(opened, second.session.session)]
    assert attempts[:4] == [1, 1, 2, 1]


def test_tables_of_trials_and_frames_are_in_separate_folders(lab, small):
    study = load_study(small)
    visit = lab(study)
    assert list(visit.table.parent.glob("*.csv")) == [visit.table]
    (frames,) = (visit.table.parent / "frames").glob("*.csv")
    assert frames.name == f"{visit.table.stem}_frames.csv"


def logs_of(visit):
    """Return the texts of the logs of a session's visits, by the name of the file, in order."""
    found = sorted((visit.table.parent / "logs").glob(f"{visit.table.stem}_run-*.log"))
    return [path.read_text() for path in found]


def test_each_visit_has_its_own_log_with_every_event(lab, small):
    study = load_study(small)
    first, second = lab(study, leaving_at(3, ["2"])), lab(study)
    logs = [[line.split("\t") for line in log.splitlines()] for log in logs_of(second)]
    for log, visit in zip(logs, (first, second), strict=True):
        recorded = [each.event for each in visit.display.events.recorded]
        assert [level for _, level, _ in log] == ["EXP "] * len(recorded)
        assert [message.partition(":")[0] for *_, message in log] == [event.event for event in recorded]
        assert [time_s for time_s, *_ in log] == [f"{event.onset_us / 1e6:.4f} " for event in recorded]
    trial = rows(study, second.session)[-1]
    named = f"stimulus: trial_index={trial['trial_index']}, phase={trial['phase']}, item_id={trial['item_id']}"
    assert named in [message for *_, message in logs[1]]


def test_a_log_that_cannot_be_written_stops_no_session(lab, small):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    (first.table.parent / "logs" / f"{first.table.stem}_run-2.log").mkdir()
    second = lab(study)
    assert second.outcome is VisitOutcome.COMPLETED
    assert "run-2.log: this file cannot be written" in second.problem
    assert "Every response is in the store" in second.problem
    assert all(t["received_at"] for t in rows(study, second.session))


def test_a_withdrawal_deletes_the_logs(lab, small):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    assert logs_of(first)
    assert lab(study, leaving_at(1, WITHDRAW)).outcome is VisitOutcome.WITHDRAWN
    assert not list((first.table.parent / "logs").iterdir())


def test_the_table_of_a_rehearsal_says_that_it_is_a_rehearsal(lab, small):
    study = load_study(small)
    rehearsal, real = lab(study, kind=Kind.SIMULATED), lab(study)
    assert "rehearsal" in rehearsal.table.name and "rehearsal" not in real.table.name
    kinds = [set(pd.read_csv(each.table)["kind"]) for each in (rehearsal, real)]
    assert kinds == [{"simulated"}, {"human"}]


def test_a_change_of_the_clock_does_not_change_a_sessions_files(lab, small, monkeypatch):
    study = load_study(small)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    first = lab(study, leaving_at(3, ["2"]))
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    second = lab(study)
    assert second.table == first.table
    assert [t["attempt"] for t in rows(study, second.session)][:4] == [1, 1, 2, 1]
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("damage", [b"\xff\xfe\n", b"5\n", b"null\n", b'{"trial_index": "x"}\n', b"{\n"])
def test_a_damaged_attempt_log_stops_no_session(lab, small, damage):
    study = load_study(small)
    first = lab(study, leaving_at(3, ["2"]))
    (begun,) = first.table.parent.glob("*_begun.jsonl")
    begun.write_bytes(begun.read_bytes() + b"\n" + damage)
    second = lab(study)
    assert [t["attempt"] for t in rows(study, second.session)][:4] == [1, 1, 2, 1]


def test_a_participant_code_is_unknown_outside_its_laboratory(lab, small):
    lab(load_study(small), leaving_at(3, ["2"]))
    for arguments in (["withdraw"], ["assignment", "release", "--reason", "return"], ["identities", "delete"]):
        refused = CliRunner().invoke(main, [*arguments, str(small), "--panel-id", "P01"])
        assert refused.exit_code == 2 and "no participant with this id has begun this study" in refused.stderr
    released = ["assignment", "release", str(small), "--participant", "P01", "--reason", "return"]
    assert CliRunner().invoke(main, released).exit_code == 0
    deleted = CliRunner().invoke(main, ["identities", "delete", str(small), "--participant", "P01"])
    assert deleted.stdout == "Deleted ids and codes: 1.\n"
    assert "no participant with this code" in CliRunner().invoke(main, released).stderr


def test_the_analysis_includes_and_reports_all_sessions_of_a_participant(lab, small, tmp_path, edit):
    for rule in ("attention_check, max_failed: 0", "median_rt, min_ms: 2000"):
        edit(small / "study.yaml", f"    - {{rule: {rule}}}\n", "")
    edit(
        small / "study.yaml",
        "analysis:\n",
        "analysis:\n  tables: {retest: {by: [session_number], of: [correct]}}\n",
    )
    study = load_study(small)
    for participant in ("P01", "P02", "P03"):
        for session_number in (1, 2):
            lab(study, participant=participant, session_number=session_number)
    analyze(study, tmp_path / "results")
    results = tmp_path / "results"
    assert "3\u00a0participants completed several planned sessions" in (results / "report.html").read_text()
    retest = pd.read_csv(results / "tables" / "retest.csv")
    assert retest["session_number"].tolist() == [1, 2] and retest["n"].nunique() == 1
    flow = pd.read_csv(results / "tables" / "exclusions.csv").query("step == 'included'")
    assert flow["n_participants"].tolist() == [3]


def test_early_presses_and_focus_losses_are_in_the_data(lab, small):
    study = load_study(small)

    def hasty(display):
        display.early = 3 if len(display.trials) == 1 else 0  # Read at the start of the next trial.
        display.n_focus_lost = int(len(display.trials) == 2)
        return careful(display)

    lab(study, hasty)
    trials = read_trials(study.store_path).sort_values("trial_index")
    assert trials["signal_too_early"].tolist() == [0, 3, *[0] * (len(trials) - 2)]
    assert trials["focus_lost"].tolist() == [0, 1, *[0] * (len(trials) - 2)]
    assert trials["signal_pasted"].isna().all()


def test_a_rehearsal_is_stored_as_simulated(lab, small):
    study = load_study(small)
    lab(study, kind=Kind.SIMULATED)
    assert set(read_trials(study.store_path)["kind"]) == {"simulated"}
    with local_client(study, None) as (_, store):
        assert store.identities(study) == []


def test_laboratory_and_web_sessions_are_in_one_analysis(lab, small, tmp_path, edit):
    for rule in ("attention_check, max_failed: 0", "median_rt, min_ms: 2000"):
        edit(small / "study.yaml", f"    - {{rule: {rule}}}\n", "")
    study = load_study(small)
    lab(study, group=1)
    with local_client(study, None) as (lab_client, _):
        take_on_the_web(lab_client._client)
    trials = read_trials(study.store_path)
    assert set(trials["source"]) == {"lab", "web"}
    in_lab, on_web = (trials[trials["source"] == source].sort_values("trial_index") for source in ("lab", "web"))
    assert set(in_lab["group"]) == {1} and set(on_web["group"]) == {2}, (
        "laboratory and web share the slots of the groups"
    )
    analyze(study, tmp_path / "results")
    people = pd.read_csv(tmp_path / "results" / "tables" / "participants.csv")
    assert sorted(people["source"]) == ["lab", "web"]
