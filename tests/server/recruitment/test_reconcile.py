"""Reconciliation: every kind of mismatch gets its finding, and each submission and session is counted once."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.records import Status
from server.recruitment.reconcile import IN_WORDS, Finding, Match, SessionHere, counted, reconcile
from server.recruitment.submissions import PanelStatus, Submission
from server.store import Release, SlotState

AWAITING, APPROVED = PanelStatus.AWAITING_REVIEW, PanelStatus.APPROVED
HERE = SessionHere("s-anna", "p-anna", "anna", Status.COMPLETED, SlotState.CONFIRMED, "DONE", "sub-anna")


def submission(external_id: str = "anna", status: PanelStatus = AWAITING, **fields: object) -> Submission:
    found = Submission(f"sub-{external_id}", external_id, status, "DONE")
    return replace(found, **fields)  # type: ignore[arg-type]


def matches(submissions: list[Submission], *sessions: SessionHere) -> list[Match]:
    return reconcile(submissions, sessions, lambda text: re.fullmatch("[a-z]+", text) is not None)


def findings(submissions: list[Submission], *sessions: SessionHere) -> list[Finding]:
    return [match.finding for match in matches(submissions, *sessions)]


@pytest.mark.parametrize(
    ("one", "here", "finding"),
    [
        (submission(), HERE, Finding.COMPLETE),
        (submission(status=APPROVED), HERE, Finding.COMPLETE),
        (submission(code=None), HERE, Finding.COMPLETE),  # A panel without completion codes.
        (submission(code="OTHER"), HERE, Finding.CODE_MISMATCH),
        (submission(code=""), HERE, Finding.CODE_MISMATCH),
        (submission(), replace(HERE, status=Status.ACTIVE), Finding.INCOMPLETE),
        (submission(status=APPROVED), replace(HERE, status=Status.ACTIVE), Finding.INCOMPLETE),
        (submission(), replace(HERE, status=Status.WITHDRAWN), Finding.WITHDRAWN),
        (submission(), None, Finding.ONLY_PANEL),
        (None, HERE, Finding.ONLY_HERE),
        (submission(status=PanelStatus.TIMED_OUT), HERE, Finding.TIMED_OUT),
        (submission(status=PanelStatus.TIMED_OUT), None, Finding.TIMED_OUT),
        (submission(status=PanelStatus.RETURNED), replace(HERE, status=Status.ACTIVE), Finding.RETURNED),
        (submission(status=PanelStatus.UNDER_WAY), replace(HERE, status=Status.ACTIVE), Finding.UNDER_WAY),
        (submission(status=PanelStatus.REJECTED), HERE, Finding.REJECTED),
        (submission(status=PanelStatus.SCREENED_OUT), HERE, Finding.SCREENED_OUT),
        (submission("CONSENT_REVOKED"), None, Finding.NO_ID),
    ],
)
def test_each_kind_of_mismatch_has_its_finding(
    one: Submission | None, here: SessionHere | None, finding: Finding
) -> None:
    assert findings([one] if one else [], *([here] if here else [])) == [finding]


def test_of_two_submissions_the_submitted_one_counts_and_the_other_is_a_further_one() -> None:
    returned = submission(status=PanelStatus.RETURNED, submission="sub-first")
    again = submission(submission="sub-second")
    assert findings([returned, again], HERE) == [Finding.TWICE, Finding.COMPLETE]
    assert [match.must_release for match in matches([returned, again], HERE)] == [None, None]


def test_of_two_submitted_ones_the_one_in_the_participants_link_counts() -> None:
    other = submission(submission="sub-other")
    assert findings([other, submission()], HERE) == [Finding.TWICE, Finding.COMPLETE]
    assert findings([submission(), other], HERE) == [Finding.COMPLETE, Finding.TWICE]


def test_a_submission_that_is_listed_twice_counts_once() -> None:
    assert findings([submission(), submission()], HERE) == [Finding.COMPLETE, Finding.TWICE]


@pytest.mark.parametrize(
    ("status", "slot", "released"),
    [
        (PanelStatus.RETURNED, SlotState.RESERVED, Release.RETURN),
        (PanelStatus.RETURNED, SlotState.CONFIRMED, Release.RETURN),
        (PanelStatus.RETURNED, SlotState.RELEASED, None),
        (PanelStatus.TIMED_OUT, SlotState.RESERVED, Release.TIME_OUT),
        (PanelStatus.TIMED_OUT, SlotState.CONFIRMED, Release.TIME_OUT),
        (PanelStatus.REJECTED, SlotState.CONFIRMED, None),
        (PanelStatus.UNDER_WAY, SlotState.RESERVED, None),
        (AWAITING, SlotState.CONFIRMED, None),
    ],
)
def test_only_slots_of_returned_and_timed_out_submissions_are_released(
    status: PanelStatus, slot: SlotState, released: Release | None
) -> None:
    (match,) = matches([submission(status=status)], replace(HERE, slot=slot))
    assert match.must_release is released


SUBMISSIONS = st.lists(
    st.builds(
        Submission,
        st.sampled_from(["sub-a", "sub-b", "sub-c"]),
        st.sampled_from(["anna", "bert", "carl", "DATA_EXPIRED"]),
        st.sampled_from(PanelStatus),
        st.sampled_from(["DONE", "OTHER", "", None]),
    ),
    max_size=6,
)
SESSIONS = st.lists(
    st.builds(
        lambda name, status, slot: SessionHere(f"s-{name}", f"p-{name}", name, status, slot, "DONE", "sub-a"),
        st.sampled_from(["anna", "bert", "carl", "dora"]),
        st.sampled_from(Status),
        st.sampled_from(SlotState),
    ),
    unique_by=lambda here: here.external_id,
)


@given(SUBMISSIONS, SESSIONS)
def test_each_submission_and_each_session_is_counted_exactly_once(
    submissions: list[Submission], sessions: list[SessionHere]
) -> None:
    found = matches(submissions, *sessions)
    assert [match.submission for match in found if match.submission] == submissions
    main = [match.session for match in found if match.session and match.finding is not Finding.TWICE]
    assert Counter(one.session for one in main) == Counter(one.session for one in sessions)
    assert sum(n for _, n in counted(found)) == len(found)


def test_every_finding_has_words() -> None:
    assert set(IN_WORDS) == set(Finding)
