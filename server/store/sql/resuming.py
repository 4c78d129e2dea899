"""Resuming a session in the same browser, in another browser or in a laboratory, by the study's rules for resuming."""

import secrets
import uuid
from datetime import UTC, datetime, timedelta

from experiment.records import Participant, Source, Status
from experiment.study.definition import Study, StudyDefinition
from server.store.database import Database
from server.store.errors import BegunElsewhere, Conflict, NotYourSession, Refusal, StudyFull
from server.store.models import ENDED_FOR, REGAINED_AFTER, Identity, Release, SessionStart, SlotState, Visit
from server.store.sql import assignment, identities
from server.store.sql.assignment import HeldSlot
from server.store.sql.assignment_log import Log, lock_log_of
from server.store.sql.session_rows import begin, note_visit
from server.store.sql.studies import begun_with, served

MOST_VISITS = 100
"""Largest number of recorded visits of a session. Further visits are allowed but not recorded, so that a program that
reloads the page without end cannot fill the disk.
"""
IF_ANOTHER_PERSON = "if this is another person, use another code; if not,"
"""Beginning of the fix in an error message. It comes first, because storing two people as one participant is the worse
mistake.
"""

START_RETRIED_MIN = 10
"""Time in minutes for which a page repeats its start if no reply arrives."""


def known_session(db: Database, study: Study, start: SessionStart) -> str | None:
    """Return the session that an earlier start with the same id or identity has begun, or None.

    If the start has an identity and a session number, only a session with this number is returned. A repeated start
    without an identity needs a proof, except in a laboratory, which sends the researcher's token.
    """
    same_start = db.execute("SELECT session FROM sessions WHERE start_id = ?", (start.start_id,)).fetchone()
    if start.identity is None:
        if same_start and start.source is not Source.LAB and not _is_same_client(db, same_start[0], start):
            raise Refusal("start_used")
        return same_start[0] if same_start else None
    known = identities.session_of(db, study.name, start.identity, start.session_number)
    if same_start is not None and known is None:
        raise Refusal("start_of_another")
    return known


def _is_same_client(db: Database, session: str, start: SessionStart) -> bool:
    """Return True if this start comes from the client that began the session.

    The client has the session's token, or repeats the start because the reply may have been lost. A repeated start is
    accepted only for some minutes, and only while the session has no responses. Later, another person may know its id.
    """
    token_digest, start_id, started_at, n_answered, demographics = db.execute(
        "SELECT token_digest, start_id, started_at, n_answered, demographics FROM sessions WHERE session = ?",
        (session,),
    ).fetchone()
    if start.held_digest is not None and start.held_digest == token_digest:
        return True
    age = datetime.now(UTC) - datetime.fromisoformat(started_at)
    is_unused = n_answered == 0 and demographics is None and age <= timedelta(minutes=START_RETRIED_MIN)
    return start.start_id == start_id and is_unused


def resume_elsewhere(db: Database, study: Study, session: str, start: SessionStart) -> None:
    """Let a returning participant resume their session. The earlier token becomes invalid."""
    log = lock_log_of(db, session)
    session = known_session(db, study, start) or session  # Another session may have begun during the wait.
    _refuse_unproven(db, study, session, start)
    held = assignment.held_slot(db, session)
    if held.status is Status.WITHDRAWN:
        raise Refusal("cannot_begin_again")
    if start.session_number is not None:
        refuse_in_laboratory(db, held, study, start.identity, start.session_number, start.group)
    give_to_client(db, session, start)
    _come_back(log, held, study, start.visit)


def _refuse_unproven(db: Database, study: Study, session: str, start: SessionStart) -> None:
    """Raise an error if a client has a known id, but no proof that the same participant has come back."""
    if start.identity is None or _is_same_client(db, session, start):
        return
    if not identities.may_resume(db, session, start.identity):
        raise BegunElsewhere("begun_with_this_id" if start.identity.is_claim else "open_again_from_prolific")
    if start.identity.signed_at is not None:
        identities.let_in(db, study.name, start.identity)


def refuse_in_laboratory(
    db: Database, held: HeldSlot, study: Study, identity: Identity | None, session_number: int, group: int | None
) -> None:
    """Raise an error if a session is completed, belongs to another version of the study, or is in another group.

    The laboratory shows the items of its study folder, so its version must be that of the session. The experimenter
    reads the message.
    """
    whose = f"Participant {identity.external_id}" if identity else "This participant"
    begun = f"{whose} has begun session {session_number}"
    further = f"`--session-number {session_number + 1}`"
    if held.status is Status.COMPLETED:
        raise Conflict(
            f"{whose} has completed session {session_number} of this study. Fix: {IF_ANOTHER_PERSON} begin a further "
            f"session with {further}."
        )
    digest, version = db.execute(
        "SELECT study_digest, version FROM sessions JOIN studies USING (study_digest) WHERE session = ?",
        (held.session,),
    ).fetchone()
    if digest != served(db, study).study_digest:
        raise Conflict(
            f"{begun} with version {version} of this study. Fix: {IF_ANOTHER_PERSON} resume this session with the "
            f"study folder of version {version}, or begin a new session with {further}."
        )
    if group not in {None, held.group}:
        raise Conflict(
            f"{begun} in group {held.group}, not {group}. Fix: {IF_ANOTHER_PERSON} omit the group to resume the "
            "session."
        )


def give_to_client(db: Database, session: str, start: SessionStart) -> None:
    """Let the client of this start use the session. The earlier token becomes invalid."""
    # The id of a start that is sent again late may belong to the participant's previous session.
    free_start_id(db, session, start)
    db.execute(
        "UPDATE sessions SET token_digest = ?, start_id = ? WHERE session = ?",
        (start.token_digest, start.start_id, session),
    )


def free_start_id(db: Database, session: str, start: SessionStart) -> None:
    """Remove the id of a start from all sessions but one.

    A browser sends the same id (`SessionStart.start_id`) with each attempt to start one session. Afterwards, the id
    belongs only to `session`.
    """
    db.execute("UPDATE sessions SET start_id = NULL WHERE start_id = ? AND session <> ?", (start.start_id, session))


def open_again(db: Database, study: Study, token_digest: str, visit: Visit) -> None:
    """See `Store.open_session`."""
    found = db.execute("SELECT session FROM sessions WHERE token_digest = ?", (token_digest,)).fetchone()
    if found is None:
        raise NotYourSession("opened_elsewhere")
    log = lock_log_of(db, found[0])
    held = assignment.held_slot(db, found[0])
    # A visit that is uploaded later was already allowed where it took place.
    _come_back(log, held, study, visit, is_exempt=held.is_uploaded)


def _come_back(log: Log, held: HeldSlot, study: Study, visit: Visit, is_exempt: bool = False) -> None:
    """Resume a session. If it was opened too late or too often, and `is_exempt` is false, apply the study's rules."""
    db = log.db
    if held.status is not Status.ACTIVE or held.release_reason in ENDED_FOR:
        return
    known = db.execute("SELECT 1 FROM visits WHERE session = ? AND visit_id = ?", (held.session, visit.visit_id))
    if known.fetchone():
        _regain(log, held, study)
        return
    was_sent_away = held.slot is SlotState.RELEASED and held.release_reason not in REGAINED_AFTER
    is_exempt = is_exempt or held.has_all_responses or was_sent_away
    reason = None if is_exempt else _broken_rule(db, held.session)
    if reason is None:
        _regain(log, held, study)
        note_visit(db, held.session, visit, most=_most_visits(db, held.session))
    elif _definition(db, held.session).resume.otherwise == "end" or log.study_digest != served(db, study).study_digest:
        assignment.release(log, held, reason)  # Also if the server now serves another version, with other groups.
    else:
        _begin_again(log, held, study, visit)


def _most_visits(db: Database, session: str) -> int:
    """Return the largest number of visits to record, which is large enough for the study's rule about reloads."""
    return max(MOST_VISITS, (_definition(db, session).resume.max_reloads or 0) + 1)


def _broken_rule(db: Database, session: str) -> Release | None:
    rules = _definition(db, session).resume
    started_at, n_visits = db.execute(
        "SELECT started_at, (SELECT COUNT(*) FROM visits WHERE visits.session = sessions.session) "
        "FROM sessions WHERE session = ?",
        (session,),
    ).fetchone()
    age = datetime.now(UTC) - datetime.fromisoformat(started_at)
    if rules.max_age_min is not None and age > timedelta(minutes=rules.max_age_min):
        return Release.TOO_OLD
    if rules.max_reloads is not None and n_visits > rules.max_reloads:
        return Release.RELOADED
    return None


def _definition(db: Database, session: str) -> StudyDefinition:
    """Return the study's definition at the session's start."""
    (text,) = db.execute(
        "SELECT definition FROM sessions JOIN studies USING (study_digest) WHERE session = ?", (session,)
    ).fetchone()
    return StudyDefinition.model_validate_json(text)


def _begin_again(log: Log, held: HeldSlot, study: Study, visit: Visit) -> None:
    """Begin a new session of the same participant in the same group. The former session keeps its responses."""
    db = log.db
    participant, source, consent_digest, token_digest, start_id, demographics, session_number = db.execute(
        "SELECT participant, source, consent_digest, token_digest, start_id, demographics, session_number "
        "FROM sessions WHERE session = ?",
        (held.session,),
    ).fetchone()
    if held.slot is SlotState.RESERVED:
        assignment.release(log, held, Release.RESTARTED)
    # The new session gets the ids of the first session, so that a request that is sent again finds the new session.
    came_by_start = start_id == visit.visit_id
    kept_start_id = None if came_by_start else start_id
    db.execute("UPDATE sessions SET token_digest = NULL, start_id = ? WHERE session = ?", (kept_start_id, held.session))
    name = secrets.token_hex(8)
    seed = assignment.reserve_in(log, held, study.definition.recruitment, name)
    start = SessionStart(
        start_id if came_by_start else str(uuid.uuid4()),
        held.kind,
        Source(source),
        token_digest,
        consent_digest,
        session_number=session_number,
    )
    who = Participant(participant=participant, kind=held.kind)
    # The new session has the content of the first session, even after a revision: the participant consented to it.
    begin(db, study, begun_with(db, held.session), name, who, held.group, seed, start, visit)
    db.execute("UPDATE sessions SET demographics = ? WHERE session = ?", (demographics, name))


def resume(db: Database, study: Study, session: str) -> None:
    """See `Store.resume_session`."""
    log = lock_log_of(db, session)
    held = assignment.held_slot(db, session)
    if held.status is Status.ACTIVE:
        _regain(log, held, study)


def _regain(log: Log, held: HeldSlot, study: Study) -> None:
    try:
        assignment.regain(log, held, study.definition.recruitment)
    except StudyFull:
        # A participant with all responses only needs the end page: nobody is refused after their work is done.
        if not (held.has_all_responses or held.is_uploaded):
            raise
