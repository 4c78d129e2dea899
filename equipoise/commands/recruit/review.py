"""`equipoise recruit approve` and `equipoise recruit reject`: review submissions at Prolific."""

import secrets
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.recruit.at_prolific import read_matches
from equipoise.commands.recruit.panel_sessions import panel_sessions
from equipoise.commands.store_access import (
    StoreAddress,
    StudyFolder,
    loaded,
    note_access,
    store_of,
    warn_of_changes,
    write_private_csv,
)
from equipoise.progress_bar import progress_bar
from experiment.study.definition import Study
from server.recruitment.prolific_api import OutcomeUnknown, ProlificApi, Refused, has_token, prolific_api
from server.recruitment.prolific_study import prolific_settings
from server.recruitment.reconcile import Match, SessionHere
from server.recruitment.review import (
    REJECTION_CATEGORY,
    SHORTEST_MESSAGE,
    may_reject,
    must_approve,
    rejection_message,
)
from server.recruitment.submissions import PanelStatus, Submission
from server.store import Access, Payment, PaymentState, Store
from server.store.models import REVIEW

COLUMNS = ("panel_id", "submission", "participant", "failed_checks", "checks", "finding", "category", "message")


@dataclass(frozen=True)
class Review:
    """One approval or rejection."""

    submission: Submission
    session: SessionHere
    finding: str
    message: str | None = None
    """Message to the participant, for a rejection."""


@dataclass(frozen=True)
class Reviewed:
    """Result of `recruit approve` or `recruit reject`."""

    decision: str
    """`approve` or `reject`."""
    reviews: tuple[Review, ...]
    """The submissions that Prolific's rules allow to approve or reject."""
    is_dry_run: bool
    n_sent: int = 0
    """Number of decisions that were sent now."""
    n_decided: int = 0
    """Number of submissions that await review at Prolific, but were decided with this store before."""
    n_left: int = 0
    """Number of submissions that await review, but that this command leaves to the researcher."""
    problems: tuple[str, ...] = ()
    """One sentence for each decision that Prolific refused."""

    def sentences(self) -> list[str]:
        """Return the result in words."""
        done = {"approve": "approved", "reject": "rejected"}[self.decision]
        n = len(self.reviews)
        if self.is_dry_run:
            first = f"Dry run: {n:,} {_noun(n)} would be {done}, and nothing was sent. To send, add --yes."
        else:
            first = f"{self.n_sent:,} of {n:,} {_noun(n)} {done}."
        advice = {"approve": "reject, or decide on Prolific's page", "reject": "failed checks allow no rejection"}
        left = f"{self.n_left:,} other {_noun(self.n_left)} awaiting review: {advice[self.decision]}."
        decided = f"{self.n_decided:,} {_noun(self.n_decided)} decided before: decide again on Prolific's page."
        return [
            first,
            *([decided] if self.n_decided else []),
            *([left] if self.n_left else []),
            *self.problems,
        ]


def _noun(n: int) -> str:
    return "submission" if n == 1 else "submissions"


def recruit_approve(
    study: StudyFolder,
    *,
    export: Path | str | None = None,
    output: Path | str | None = None,
    yes: bool = False,
    store: StoreAddress | None = None,
) -> Reviewed:
    """Approve submissions at Prolific, so that the participants are paid. Without `yes`, send nothing.

    A submission is approved if it awaits review, if all its responses are in the store, and if Prolific's rules do not
    allow a rejection.

    Parameters
    ----------
    study
        The study or its folder.
    export
        Prolific's list of submissions, .csv, for a dry run; by default, the list comes from Prolific's API.
    output
        File to write with the list of submissions, .csv. Only its owner can read the file.
    yes
        True to send the approvals to Prolific.
    store
        The store; by default the store in the settings.

    Returns
    -------
    Reviewed
        The approved submissions.

    Raises
    ------
    InputError
        If Prolific cannot be reached, or the outcome of a request is unknown.
    """

    def chosen(match: Match, n_checks: int) -> Review | None:
        if must_approve(match, n_checks) and match.submission and match.session:
            return Review(match.submission, match.session, match.finding)
        return None

    return _review(loaded(study), "approve", chosen, export=export, output=output, yes=yes, location=store)


def recruit_reject(
    study: StudyFolder,
    *,
    message: str | None = None,
    export: Path | str | None = None,
    output: Path | str | None = None,
    yes: bool = False,
    store: StoreAddress | None = None,
) -> Reviewed:
    """Reject submissions at Prolific as far as its rules allow. Without `yes`, send nothing.

    A submission is rejected if it awaits review, and if the participant failed at least two attention checks. In a
    study of less than five minutes, one failed check is enough. Comprehension checks do not count.

    Parameters
    ----------
    study
        The study or its folder.
    message
        Message to the participants, of at least 100 characters; by default, an English sentence with the number of
        failed checks.
    export
        Prolific's list of submissions, .csv, for a dry run; by default, the list comes from Prolific's API.
    output
        File to write with the list of submissions, .csv. Only its owner can read the file.
    yes
        True to send the rejections to Prolific.
    store
        The store; by default the store in the settings.

    Returns
    -------
    Reviewed
        The rejected submissions.

    Raises
    ------
    InputError
        If the message is too short, if Prolific cannot be reached, or if the outcome of a request is unknown.
    """
    if message is not None and len(message.strip()) < SHORTEST_MESSAGE:
        raise InputError(
            f"--message: the message has {len(message.strip())} characters, but Prolific asks for at least "
            f"{SHORTEST_MESSAGE}. Fix: say which checks were failed, and how the participant can reach you."
        )

    def chosen(match: Match, n_checks: int) -> Review | None:
        here = match.session
        if may_reject(match, n_checks) and match.submission and here:
            words = message or rejection_message(here.n_failed_checks, here.n_checks)
            return Review(match.submission, here, match.finding, words.strip())
        return None

    return _review(loaded(study), "reject", chosen, export=export, output=output, yes=yes, location=store)


def _review(
    study: Study,
    decision: str,
    chosen: Callable[[Match, int], Review | None],
    *,
    export: Path | str | None,
    output: Path | str | None,
    yes: bool,
    location: StoreAddress | None,
) -> Reviewed:
    n_checks = prolific_settings(study).checks_for_rejection
    if yes and export is not None:
        raise InputError("--export is for a dry run, and --yes reads Prolific's own list. Fix: omit --export.")
    uses_api = yes or (export is None and has_token())
    with store_of(study, location, must_exist=True) as store, prolific_api() if uses_api else nullcontext() as api:
        warn_of_changes(study, store)
        recorded = [one for one in store.payments(study) if one.purpose == REVIEW]
        decided = {one.participant for one in recorded if one.state is PaymentState.DONE}
        matches = read_matches(study, panel_sessions(store, study), api, export)
        awaiting = [one for one in matches if one.submission and one.submission.status is PanelStatus.AWAITING_REVIEW]
        possible = [review for match in awaiting if (review := chosen(match, n_checks))]
        reviews = [review for review in possible if review.session.participant not in decided]
        found = Reviewed(
            decision,
            tuple(reviews),
            not yes,
            n_decided=len(possible) - len(reviews),
            n_left=len(awaiting) - len(possible),
        )
        if output is not None:
            write_private_csv(output, COLUMNS, [_row(review) for review in reviews])
            note_access(store, study, Access.EXPORTED, what=f"submissions to {decision}", number=len(reviews))
        if not yes or api is None:
            return found
        _settle_earlier(study, store, recorded, matches)
        return _send_all(study, store, api, found)


def _settle_earlier(study: Study, store: Store, recorded: Iterable[Payment], matches: Iterable[Match]) -> None:
    """Record the outcomes of earlier requests whose replies were lost, as Prolific lists them now."""
    now = {match.submission.submission: match.submission.status for match in matches if match.submission}
    for payment in recorded:
        status = now.get(payment.submission)
        if payment.state is PaymentState.SENT and status is not None:
            # Prolific ignores a repeated request, so a request that had no effect may be sent again.
            has_effect = status is not PanelStatus.AWAITING_REVIEW
            store.settle_payment(study, payment, PaymentState.DONE if has_effect else PaymentState.REFUSED)


def _send_all(study: Study, store: Store, api: ProlificApi, found: Reviewed) -> Reviewed:
    claim = secrets.token_hex(8)
    wanted = [
        Payment(review.session.participant, REVIEW, found.decision, review.submission.submission)
        for review in found.reviews
    ]
    claimed = {payment.participant for payment in store.claim_payments(study, wanted, claim)}
    n_sent, problems = 0, []
    try:
        with progress_bar("Sending", len(found.reviews)) as advance:
            for review in found.reviews:
                participant = review.session.participant
                # Another command may have claimed the submission since: then that command sends the decision.
                if participant in claimed and store.send_payments(study, claim, REVIEW, [participant]):
                    problem = _send(api, found.decision, review)
                    state = PaymentState.REFUSED if problem else PaymentState.DONE
                    store.settle_payments(study, claim, REVIEW, [participant], state)
                    n_sent += problem is None
                    problems += [problem] if problem else []
                advance()
    finally:
        if n_sent:
            note_access(store, study, Access.REVIEWED, decision=found.decision, number=n_sent)
    return replace(found, n_sent=n_sent, problems=tuple(problems))


def _send(api: ProlificApi, decision: str, review: Review) -> str | None:
    """Send one decision. Return the problem if Prolific refuses the decision on this submission.

    Raises
    ------
    ProlificError
        If the request failed for another reason, so that the next request would fail too.
    """
    submission = review.submission.submission
    body = {"action": decision.upper()}
    if decision == "reject":
        body |= {"message": review.message or "", "rejection_category": REJECTION_CATEGORY}
    try:
        api.transition_submission(submission, body)
    except Refused as error:
        if error.concerns_content:
            return f"Submission {submission}: {error}"
        raise
    except OutcomeUnknown:
        if api.submission(submission).get("status") != {"approve": "APPROVED", "reject": "REJECTED"}[decision]:
            raise
    return None


def _row(review: Review) -> list[object]:
    is_rejection = review.message is not None
    return [
        review.submission.external_id,
        review.submission.submission,
        review.session.participant,
        review.session.n_failed_checks,
        review.session.n_checks,
        review.finding,
        REJECTION_CATEGORY if is_rejection else None,
        review.message,
    ]
