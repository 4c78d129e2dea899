"""Exports of panels: each panel's columns and statuses are read, and a strange export is refused with a fix."""

from pathlib import Path

import pytest

from batteries.errors import InputError
from server.recruitment.submissions import PANELS, PanelStatus, Submission, panel_named, read_submissions

DEMOGRAPHIC_EXPORT = (
    "Submission id,Participant id,Status,Custom study tncs accepted at,Started at,Completed at,Reviewed at,Archived at,"
    "Time taken,Completion code,Total approvals,Age,Sex\n"
    "66a1,5f3a9c0d12ab34cd56ef7890,{status},Not Applicable,2026-11-20T10:00:00Z,,,,,DONE1,12,CONSENT_REVOKED,Female\n"
)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "export.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("RESERVED", PanelStatus.UNDER_WAY), ("ACTIVE", PanelStatus.UNDER_WAY), ("TIMED-OUT", PanelStatus.TIMED_OUT),
        ("AWAITING REVIEW", PanelStatus.AWAITING_REVIEW), ("APPROVED", PanelStatus.APPROVED),
        ("RETURNED", PanelStatus.RETURNED), ("REJECTED", PanelStatus.REJECTED),
        ("SCREENED OUT", PanelStatus.SCREENED_OUT),
    ],
)  # fmt: skip
def test_prolifics_demographic_export_is_read(tmp_path: Path, word: str, status: PanelStatus) -> None:
    found = read_submissions(written(tmp_path, DEMOGRAPHIC_EXPORT.format(status=word)), PANELS["prolific"])
    assert found == [Submission("66a1", "5f3a9c0d12ab34cd56ef7890", status, "DONE1")]


def test_the_exports_of_sona_and_cloudresearch_are_read(tmp_path: Path) -> None:
    sona = "Name,Survey Code,Status\nA,1234,Participated\nB,99,Unexcused No-Show\n"
    assert read_submissions(written(tmp_path, sona), PANELS["sona"]) == [
        Submission("", "1234", PanelStatus.APPROVED, None),
        Submission("", "99", PanelStatus.RETURNED, None),
    ]
    cloud = "ParticipantId,AssignmentId,Status,CompletionCode\nAB12,x1,Approved,DONE\n"
    assert read_submissions(written(tmp_path, cloud), PANELS["cloudresearch"]) == [
        Submission("x1", "AB12", PanelStatus.APPROVED, "DONE")
    ]


def test_a_column_with_another_name_is_read_if_it_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "code of survey,what,Status\n7,Participated,x\n")
    found = read_submissions(path, PANELS["sona"], {"id": "code of survey", "status": "what"})
    assert found == [Submission("", "7", PanelStatus.APPROVED, None)]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("Submission id,Participant id,Status\na,b,ACTIVE\n", {}, "no column `Completion code`.*Fix:"),
        (DEMOGRAPHIC_EXPORT.format(status="FINISHED"), {}, "line 2: `FINISHED` is not a status.*Fix:"),
        (DEMOGRAPHIC_EXPORT.format(status="ACTIVE"), {"id": "who"}, "no column `who`.*Fix:"),
        (DEMOGRAPHIC_EXPORT.format(status="ACTIVE"), {"age": "Age"}, "unknown field.*Fix:"),
        ("Status,Status\na,b\n", {}, "duplicate column.*Fix:"),
        ("", {}, "empty.*Fix:"),
    ],
)
def test_a_strange_export_is_refused(tmp_path: Path, text: str, columns: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_submissions(written(tmp_path, text), PANELS["prolific"], columns)


def test_an_unknown_panel_is_refused() -> None:
    with pytest.raises(InputError, match=r"`mturk` is not a known panel. Fix:"):
        panel_named("mturk")
