"""`equipoise recruit reconcile`: fabricated exports with every kind of mismatch, and the release of slots."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import equipoise as eq
from server.store import Release
from tests.equipoise.commands.recruit.panel_study import (
    RECRUITMENT,
    change_recruitment,
    id_of,
    make_panel_study,
    take,
)
from tests.equipoise.commands.store.commands import StoredStudy, done, in_a_database, mode, posix, refused, table
from tests.server.stores import problems, rows

HEADER = "Submission id,Participant id,Status,Started at,Completion code"
EVERY_KIND = [
    ("anna", "AWAITING REVIEW", "DONE1"),
    ("bert", "APPROVED", "DONE9"),
    ("carl", "AWAITING REVIEW", "FAIL1"),
    ("emil", "TIMED-OUT", ""),
    ("fred", "AWAITING REVIEW", "DONE1"),
    ("gerd", "AWAITING REVIEW", "DONE1"),
    ("hans", "RETURNED", ""),
    ("ines", "REJECTED", "DONE1"),
    ("jane", "SCREENED OUT", ""),
    ("karl", "ACTIVE", ""),
    ("lisa", "AWAITING REVIEW", "NOCO1"),
    ("mona", "AWAITING REVIEW", "DEVI1"),
]
"""Dora's submission is missing."""


def export(folder: Path, submissions: Iterable[tuple[str, str, str]], *more: str) -> Path:
    path = folder / "export.csv"
    lines = [f"sub-{name},{id_of(name)},{status},2026-11-20,{code}" for name, status, code in submissions]
    path.write_text("\n".join([HEADER, *lines, *more]) + "\n", encoding="utf-8")
    return path


def slot(stored: StoredStudy, name: str) -> tuple[str, str | None]:
    with stored.opened() as store:
        query = "SELECT slot, release_reason FROM sessions WHERE session = ?"
        ((state, reason),) = rows(store, query, (stored.sessions[name],))
    return state, reason


def test_every_kind_of_mismatch_is_found_and_counted(stored: StoredStudy, tmp_path: Path) -> None:
    more = (f"sub-again,{id_of('anna')},RETURNED,,", "sub-gone,CONSENT_REVOKED,APPROVED,,DONE1")
    path = export(tmp_path, EVERY_KIND, *more)
    printed = done("recruit", "reconcile", stored.folder, path, "-o", tmp_path / "out.csv")
    found = {row["submission"] or row["panel_id"]: row["finding"] for row in table(tmp_path / "out.csv")}
    assert found == {
        "sub-anna": "complete",
        "sub-bert": "code mismatch",
        "sub-carl": "complete",
        "sub-emil": "timed out",
        "sub-fred": "withdrawn here",
        "sub-gerd": "only at the panel",
        "sub-hans": "returned",
        "sub-ines": "rejected",
        "sub-jane": "screened out",
        "sub-karl": "under way",
        "sub-lisa": "not begun",
        "sub-mona": "not begun",
        "sub-again": "twice",
        "sub-gone": "without id",
        id_of("dora"): "only here",
    }
    assert printed.splitlines() == [
        f"Made {tmp_path / 'out.csv'} with 15 rows. Keep this file safe.",
        "Complete at the panel and here: 2.",
        "Complete here, but another completion code at the panel: 1.",
        "Ended before the session, with the code for no consent or for an incompatible device: 2.",
        "Submitted at the panel, but no session here: 1.",
        "Session here, but no submission at the panel: 1.",
        "Timed out at the panel: 1.",
        "Returned at the panel: 1.",
        "Further submission of a participant with another submission: 1.",
        "Under way at the panel: 1.",
        "Submitted at the panel, but withdrawn here: 1.",
        "Rejected at the panel: 1.",
        "Screened out at the panel: 1.",
        "Without a readable panel id: 1.",
        "Slots released because of timed-out submissions: 1.",
    ]


def test_the_slots_of_returned_and_timed_out_submissions_are_released_once(stored: StoredStudy, tmp_path: Path) -> None:
    path = export(tmp_path, [("anna", "RETURNED", ""), ("bert", "AWAITING REVIEW", "DONE1"), ("emil", "TIMED-OUT", "")])
    found = eq.recruit_reconcile(stored.folder, path, output=tmp_path / "out.csv")
    assert found.n_released == {Release.RETURN: 1, Release.TIME_OUT: 1}
    assert slot(stored, "anna") == ("released", "return")
    assert slot(stored, "emil") == ("released", "time-out")
    assert slot(stored, "bert") == ("confirmed", None)
    again = eq.recruit_reconcile(stored.folder, path, output=tmp_path / "out.csv")
    assert sum(again.n_released.values()) == 0
    assert again.counts == found.counts
    with stored.opened() as store:
        assert problems(store) == []


def test_the_responses_of_a_returned_submission_stay(stored: StoredStudy, tmp_path: Path) -> None:
    before = eq.store_verify(stored.folder).n_responses
    eq.recruit_reconcile(stored.folder, export(tmp_path, [("anna", "RETURNED", "")]), output=tmp_path / "out.csv")
    assert eq.store_verify(stored.folder).n_responses == before


def test_an_unwritable_result_releases_no_slot(stored: StoredStudy, tmp_path: Path) -> None:
    path = export(tmp_path, [("anna", "RETURNED", "")])
    refused("recruit", "reconcile", stored.folder, path, "-o", tmp_path)
    assert slot(stored, "anna") == ("confirmed", None)


@posix
def test_the_result_is_private_and_the_log_records_it(stored: StoredStudy, tmp_path: Path) -> None:
    eq.recruit_reconcile(stored.folder, export(tmp_path, EVERY_KIND), output=tmp_path / "out.csv")
    assert mode(tmp_path / "out.csv") == 0o600
    eq.assignment_log(stored.folder, tmp_path / "log.csv")
    assert '"what": "reconciliation"' in table(tmp_path / "log.csv")[-1]["details"]


def test_deleted_panel_ids_are_only_at_the_panel(stored: StoredStudy, tmp_path: Path) -> None:
    eq.identities_delete(stored.folder, panel_id=id_of("anna"))
    path = export(tmp_path, [("anna", "APPROVED", "DONE1")])
    found = eq.recruit_reconcile(stored.folder, path, output=tmp_path / "out.csv")
    assert found.counts["only at the panel"] == 1


def test_an_export_of_sona_is_compared_by_survey_code(tmp_path: Path) -> None:
    recruitment = (
        'recruitment: {entry: panel, panel_parameter: id, kept_parameters: [], panel_id_pattern: "[0-9]{2,7}"}'
    )
    stored = make_panel_study(tmp_path / "study", recruitment)
    take(stored, "anna", parameter="id", panel_id="1234")
    take(stored, "bert", parameter="id", panel_id="77", n_answers=2)
    path = tmp_path / "sona.csv"
    path.write_text(
        "Code,Credit Status\n1234,Participated\n77,Unexcused No-Show\n98,Awaiting Action\n", encoding="utf-8"
    )
    options = ("--panel", "sona", "--column", "id=Code", "-o", tmp_path / "out.csv")
    printed = done("recruit", "reconcile", stored.folder, path, *options)
    assert [row["finding"] for row in table(tmp_path / "out.csv")] == ["complete", "returned", "only at the panel"]
    assert "Slots released because of returned submissions: 1." in printed


def test_an_export_of_cloudresearch_is_compared_by_assignment(tmp_path: Path) -> None:
    recruitment = (
        "recruitment: {entry: panel, panel_parameter: participantId, kept_parameters: [assignmentId],"
        " exits: {completed: {code: CLOUD1}}}"
    )
    stored = make_panel_study(tmp_path / "study", recruitment)
    take(stored, "anna", parameter="participantId", panel_id="AB12CD")
    path = tmp_path / "cloud.csv"
    path.write_text(
        "ParticipantId,AssignmentId,Status,Completion Code\nAB12CD,x1,Approved,CLOUD1\nZZ99,x2,Returned,\n",
        encoding="utf-8",
    )
    found = eq.recruit_reconcile(stored.folder, path, output=tmp_path / "out.csv", panel="cloudresearch")
    assert found.counts == {"complete": 1, "returned": 1}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--column", "id"), "the name of the column is missing. Fix:"),
        (("--column", "age=Age"), "unknown field. Fix:"),
        (("--column", "id=Who"), "there is no column `Who`. Fix:"),
    ],
)
def test_a_wrong_column_is_refused(stored: StoredStudy, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    path = export(tmp_path, EVERY_KIND)
    assert message in refused("recruit", "reconcile", stored.folder, path, *options, "-o", tmp_path / "out.csv")


def test_a_study_without_a_panel_has_nothing_to_compare(stored: StoredStudy, tmp_path: Path) -> None:
    path = stored.folder / "study.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(RECRUITMENT, "recruitment: {entry: open}\n"), encoding="utf-8")
    message = refused("recruit", "reconcile", stored.folder, export(tmp_path, []), "-o", tmp_path / "out.csv")
    assert "the study has no panel. Fix:" in message


def test_a_store_in_postgresql_is_compared_and_its_slots_are_released(tmp_path: Path, postgres: Any) -> None:
    folder = make_panel_study(tmp_path / "study").folder
    stored = in_a_database(folder, postgres.new_database())
    take(stored, "anna")
    take(stored, "dora", n_failed=2)
    take(stored, "emil", n_answers=1)
    people = [("anna", "AWAITING REVIEW", "DONE1"), ("dora", "AWAITING REVIEW", "FAIL1"), ("emil", "RETURNED", "")]
    path = export(tmp_path, people)
    found = eq.recruit_reconcile(folder, path, output=tmp_path / "out.csv", store=stored.location)
    assert found.counts == {"complete": 2, "returned": 1}
    assert slot(stored, "emil") == ("released", "return")
    assert [row["failed_checks"] for row in table(tmp_path / "out.csv")] == ["0", "2", "0"]
    rejected = eq.recruit_reject(folder, export=path, store=stored.location)
    assert [review.submission.submission for review in rejected.reviews] == ["sub-dora"]


def test_a_missing_response_to_a_check_changes_the_code_but_is_not_a_wrong_response(tmp_path: Path) -> None:
    stored = make_panel_study(tmp_path / "study")
    change_recruitment(stored, "fixation_ms: 200", "fixation_ms: 200\n  deadline_ms: 60000")
    assert take(stored, "anna", n_missing=2)["completion_code"] == "FAIL1"
    path = export(tmp_path, [("anna", "AWAITING REVIEW", "FAIL1")])
    found = eq.recruit_reconcile(stored.folder, path, output=tmp_path / "out.csv")
    assert found.counts == {"complete": 1}
    assert [row["failed_checks"] for row in table(tmp_path / "out.csv")] == ["0"]
    assert eq.recruit_reject(stored.folder, export=path).reviews == ()
    assert len(eq.recruit_approve(stored.folder, export=path).reviews) == 1


def test_a_session_that_began_again_is_compared_by_its_latest_session(tmp_path: Path) -> None:
    stored = make_panel_study(tmp_path / "study")
    change_recruitment(stored, "recruitment:", "resume: {max_reloads: 0, otherwise: restart}\nrecruitment:")
    take(stored, "anna", n_answers=2)
    first = stored.sessions["anna"]
    take(stored, "anna")  # The same submission in another browser: the rules begin a new session.
    assert stored.sessions["anna"] != first
    path = export(tmp_path, [("anna", "AWAITING REVIEW", "DONE1")])
    found = eq.recruit_reconcile(stored.folder, path, output=tmp_path / "out.csv")
    assert found.counts == {"complete": 1}
    assert found.matches[0].session is not None
    assert found.matches[0].session.session == stored.sessions["anna"]
