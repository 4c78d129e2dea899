"""Reconciliation: matching the panel's submissions with the sessions in the store.

Each submission and each session is in exactly one match, and each match has one finding. The counts are checked.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from experiment.records import Status
from server.recruitment.submissions import PanelStatus, Submission
from server.store.models import Release, SlotState


class Finding(StrEnum):
    """Result of comparing a submission with the store."""

    COMPLETE = "complete"
    CODE_MISMATCH = "code mismatch"
    INCOMPLETE = "incomplete here"
    NOT_BEGUN = "not begun"
    ONLY_PANEL = "only at the panel"
    ONLY_HERE = "only here"
    TIMED_OUT = "timed out"
    RETURNED = "returned"
    TWICE = "twice"
    UNDER_WAY = "under way"
    WITHDRAWN = "withdrawn here"
    REJECTED = "rejected"
    SCREENED_OUT = "screened out"
    NO_ID = "without id"


IN_WORDS = {
    Finding.COMPLETE: "Complete at the panel and here",
    Finding.CODE_MISMATCH: "Complete here, but another completion code at the panel",
    Finding.INCOMPLETE: "Submitted at the panel, but incomplete here",
    Finding.NOT_BEGUN: "Ended before the session, with the code for no consent or for an incompatible device",
    Finding.ONLY_PANEL: "Submitted at the panel, but no session here",
    Finding.ONLY_HERE: "Session here, but no submission at the panel",
    Finding.TIMED_OUT: "Timed out at the panel",
    Finding.RETURNED: "Returned at the panel",
    Finding.TWICE: "Further submission of a participant with another submission",
    Finding.UNDER_WAY: "Under way at the panel",
    Finding.WITHDRAWN: "Submitted at the panel, but withdrawn here",
    Finding.REJECTED: "Rejected at the panel",
    Finding.SCREENED_OUT: "Screened out at the panel",
    Finding.NO_ID: "Without a readable panel id",
}
"""Each finding in words, before its number."""

_OF_STATUS = {
    PanelStatus.RETURNED: Finding.RETURNED,
    PanelStatus.TIMED_OUT: Finding.TIMED_OUT,
    PanelStatus.REJECTED: Finding.REJECTED,
    PanelStatus.SCREENED_OUT: Finding.SCREENED_OUT,
    PanelStatus.UNDER_WAY: Finding.UNDER_WAY,
}
RELEASED_FOR = {Finding.TIMED_OUT: Release.TIME_OUT, Finding.RETURNED: Release.RETURN}
"""Findings after which the slot is released, because the panel gives the place to another participant."""

_MOST_VALID_FIRST = (
    PanelStatus.APPROVED, PanelStatus.AWAITING_REVIEW, PanelStatus.UNDER_WAY, PanelStatus.REJECTED,
    PanelStatus.SCREENED_OUT, PanelStatus.TIMED_OUT, PanelStatus.RETURNED,
)  # fmt: skip


@dataclass(frozen=True)
class SessionHere:
    """A participant's session in the store, for the comparison with the panel."""

    session: str
    participant: str
    external_id: str
    status: Status
    slot: SlotState
    code: str
    """The completion code that the participant saw, or would see at the end."""
    submission: str | None = None
    """The panel's id of the submission in the participant's link (`SESSION_ID`); None if the link had no such id."""
    panel_study: str | None = None
    """The panel's id of the study in the participant's link (`STUDY_ID`)."""
    n_checks: int = 0
    """Number of attention checks with a response."""
    n_failed_checks: int = 0
    """Number of attention checks with a wrong response. Missing responses and comprehension checks do not count."""


@dataclass(frozen=True)
class Match:
    """A submission with its session, and the result of comparing the two."""

    finding: Finding
    submission: Submission | None
    session: SessionHere | None

    @property
    def must_release(self) -> Release | None:
        """Reason for which the session's slot must be released; None if the slot stays."""
        if self.session is None or self.session.slot is SlotState.RELEASED:
            return None
        return RELEASED_FOR.get(self.finding)


def reconcile(
    submissions: Sequence[Submission],
    sessions: Iterable[SessionHere],
    is_id: Callable[[str], bool],
    early_codes: Collection[str] = (),
) -> list[Match]:
    """Match submissions with sessions: first each submission in its order, then the sessions without a submission.

    Parameters
    ----------
    submissions
        The submissions at the panel.
    sessions
        The sessions in the store, at most one for each participant.
    is_id
        Function that returns True for a text of the form of a panel id. Prolific writes `CONSENT_REVOKED` or
        `DATA_EXPIRED` instead of deleted data.
    early_codes
        Completion codes of participants who ended before their session began, for instance without consent.
    """
    by_id = {session.external_id: session for session in sessions}
    main = _main_submissions(submissions, by_id)
    matches = [_match(position, one, by_id, main, is_id, early_codes) for position, one in enumerate(submissions)]
    at_panel = {one.external_id for one in submissions}
    only_here = [Match(Finding.ONLY_HERE, None, one) for one in by_id.values() if one.external_id not in at_panel]
    n_matched = len({match.session.session for match in matches if match.session})
    if n_matched + len(only_here) != len(by_id):
        raise AssertionError("a session is in no match, or in several matches")
    return [*matches, *only_here]


def _main_submissions(submissions: Sequence[Submission], by_id: dict[str, SessionHere]) -> dict[str, int]:
    """Return the position of the one submission of each participant that counts.

    If there are several, a submitted one precedes a returned one. Among equals, the one whose id was in the
    participant's link counts, and then the first one.
    """
    positions: dict[str, list[int]] = defaultdict(list)
    for position, one in enumerate(submissions):
        positions[one.external_id].append(position)

    def rank(position: int) -> tuple[int, bool, int]:
        one = submissions[position]
        here = by_id.get(one.external_id)
        is_of_link = here is not None and here.submission == one.submission
        return _MOST_VALID_FIRST.index(one.status), not is_of_link, position

    return {external_id: min(found, key=rank) for external_id, found in positions.items()}


def _match(
    position: int,
    one: Submission,
    by_id: dict[str, SessionHere],
    main: dict[str, int],
    is_id: Callable[[str], bool],
    early_codes: Collection[str],
) -> Match:
    here = by_id.get(one.external_id)
    if here is None and not is_id(one.external_id):
        return Match(Finding.NO_ID, one, None)
    if main[one.external_id] != position:
        return Match(Finding.TWICE, one, here)
    return Match(_OF_STATUS.get(one.status) or _of_submitted(one, here, early_codes), one, here)


def _of_submitted(one: Submission, here: SessionHere | None, early_codes: Collection[str]) -> Finding:
    """Return the finding for a submission that awaits review or is approved."""
    if here is None:
        return Finding.NOT_BEGUN if one.code in early_codes else Finding.ONLY_PANEL
    if here.status is Status.WITHDRAWN:
        return Finding.WITHDRAWN
    if here.status is not Status.COMPLETED:
        return Finding.INCOMPLETE
    return Finding.COMPLETE if one.code in {None, here.code} else Finding.CODE_MISMATCH


def counted(matches: Iterable[Match]) -> list[tuple[Finding, int]]:
    """Return the number of matches with each finding that occurs, in the order of `Finding`."""
    counts = Counter(match.finding for match in matches)
    return [(finding, counts[finding]) for finding in Finding if counts[finding]]
