"""Prolific's rules on approvals and rejections (Attention and comprehension checks, mid-2026).

A submission may be rejected only after failed attention checks: two in a study of five minutes or longer, one in a
shorter study. A failed comprehension check, such as the practice, is never a reason, and a screened-out submission is
never rejected. A suspicion is a reason to exclude responses from the analysis, but not to refuse the payment.
"""

from server.recruitment.reconcile import Finding, Match
from server.recruitment.submissions import PanelStatus

SHORTEST_MESSAGE = 100
"""Fewest characters of the message for a rejection."""
REJECTION_CATEGORY = "FAILED_CHECK"

_ALL_RESPONSES_HERE = {Finding.COMPLETE, Finding.CODE_MISMATCH}


def may_reject(match: Match, checks_for_rejection: int) -> bool:
    """Return True if Prolific's rules allow the rejection of a submission.

    Parameters
    ----------
    match
        The submission and its session.
    checks_for_rejection
        Number of failed attention checks that the rules ask for (`ProlificSettings.checks_for_rejection`).
    """
    return _awaits_review(match) and match.session is not None and match.session.n_failed_checks >= checks_for_rejection


def must_approve(match: Match, checks_for_rejection: int) -> bool:
    """Return True if a participant must be paid: all responses are in the store, and no rule allows a rejection."""
    return _awaits_review(match) and not may_reject(match, checks_for_rejection)


def _awaits_review(match: Match) -> bool:
    one = match.submission
    return one is not None and one.status is PanelStatus.AWAITING_REVIEW and match.finding in _ALL_RESPONSES_HERE


def rejection_message(n_failed: int, n_checks: int) -> str:
    """Return the message to a participant whose submission is rejected."""
    checks = "attention check" if n_checks == 1 else "attention checks"
    return (
        f"Thank you for your time. We cannot approve this submission, because {n_failed} of {n_checks} {checks} had a "
        "wrong answer. If you think that this is a mistake, please write to us."
    )
