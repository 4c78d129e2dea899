"""Prolific's rules: when a submission may be rejected, and when its participant must be paid."""

from dataclasses import replace

import pytest

from experiment.records import Status
from experiment.study.prolific import ProlificSettings
from server.recruitment.reconcile import Finding, Match, SessionHere
from server.recruitment.review import SHORTEST_MESSAGE, may_reject, must_approve, rejection_message
from server.recruitment.submissions import PanelStatus, Submission
from server.store import SlotState

HERE = SessionHere("s", "p", "anna", Status.COMPLETED, SlotState.CONFIRMED, "DONE")


def decided(
    n_failed: int,
    minutes: int,
    status: PanelStatus = PanelStatus.AWAITING_REVIEW,
    finding: Finding = Finding.COMPLETE,
) -> tuple[bool, bool]:
    settings = ProlificSettings(description="Rays.", minutes=minutes, wage_per_hour=9)
    match = Match(finding, Submission("sub", "anna", status, "DONE"), replace(HERE, n_failed_checks=n_failed))
    needed = settings.checks_for_rejection
    return may_reject(match, needed), must_approve(match, needed)


@pytest.mark.parametrize(
    ("n_failed", "minutes", "may"),
    [(0, 10, False), (1, 10, False), (2, 10, True), (1, 5, False), (2, 5, True), (1, 4, True), (0, 4, False)],
)
def test_two_failed_checks_are_needed_from_five_minutes_on_and_one_below(
    n_failed: int, minutes: int, may: bool
) -> None:
    assert decided(n_failed, minutes) == (may, not may)


@pytest.mark.parametrize("status", [status for status in PanelStatus if status is not PanelStatus.AWAITING_REVIEW])
def test_a_submission_that_does_not_await_review_is_neither_approved_nor_rejected(status: PanelStatus) -> None:
    assert decided(5, 10, status) == (False, False)
    assert decided(0, 10, status) == (False, False)


@pytest.mark.parametrize("finding", sorted(set(Finding) - {Finding.COMPLETE, Finding.CODE_MISMATCH}))
def test_only_complete_sessions_are_decided(finding: Finding) -> None:
    """A participant who did not pass the practice (a comprehension check) has an incomplete session."""
    assert decided(5, 10, finding=finding) == (False, False)
    assert decided(0, 10, finding=finding) == (False, False)


def test_a_participant_with_another_code_whose_responses_are_complete_is_paid() -> None:
    assert decided(0, 10, finding=Finding.CODE_MISMATCH) == (False, True)


@pytest.mark.parametrize(("n_failed", "n_checks"), [(1, 1), (2, 2), (10, 12)])
def test_the_message_is_long_enough_for_prolific(n_failed: int, n_checks: int) -> None:
    message = rejection_message(n_failed, n_checks)
    assert len(message) >= SHORTEST_MESSAGE
    assert f"{n_failed} of {n_checks} attention check" in message
