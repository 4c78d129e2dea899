"""Sessions from their start to their end, as statements inside a transaction: each does all or raises."""

import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from experiment.records import Kind, Participant, Source, Status
from experiment.study.definition import Study, StudyDefinition
from server.store.database import Database
from server.store.errors import BegunElsewhere, Conflict, NotYourSession, Refusal, StudyFull
from server.store.models import ENDED_FOR, REGAINED_AFTER, Identity, Release, SessionStart, SlotState, Visit
from server.store.sql import assignment, identities, response_totals
from server.store.sql.assignment import HeldSlot
from server.store.sql.assignment_log import Log, lock_log
from server.store.sql.session_rows import begin, beginning, insert_participant, note_visit
from server.store.sql.studies import CONTENT_OF_SESSION, as_json, begun_with, served
from server.store.timestamps import as_text, now

MOST_VISITS = 100
"""Openings of a session that are recorded. Further ones open it too, and write nothing: a program that reloads the
page without end must not fill the disk.
"""
IF_SOMEBODY_ELSE = "If this is another person, use another code; if not,"
"""First in the message: to make one participant of two people is the worse mistake."""

START_RETRIED_MIN = 10
"""Minutes for which a page repeats its start without a reply."""


def start(db: Database, study: Study, start: SessionStart) -> bool:
    """Begin a session, or find the one that this start or this identity has begun, and return True if it is new.

    See `Store.start_session`.
    """
    # Before any lock: a known participant needs only the lock of their session's study, perhaps of an earlier version.
    known = _known_session(db, study, start)
    if known is None:
        registered = served(db, study)
        log = lock_log(db, registered.study_digest)
        # Of earlier occasions; asked first, because a server that begins something for the same participant makes us
        # wait here.
        participant = identities.participant_of(db, study.name, start.identity) if start.identity else None
        known = _known_session(db, study, start)  # Begun during the wait for the lock, by a repeated start.
    if known is not None:
        _resume_elsewhere(db, study, known, start)
        return False
    name = secrets.token_hex(8)
    if participant is not None:
        refuse_withdrawn(db, participant)
    group, seed = assignment.reserve(log, start.kind, study.definition.recruitment, name, start.group)
    if participant is None:
        participant = f"p-{secrets.token_hex(6)}"
        insert_participant(db, study, participant, start)
    who = Participant(participant=participant, kind=start.kind)
    begin(db, study, registered, name, who, group, seed, start, start.visit)
    return True


def require_slot(db: Database, study: Study, identity: Identity, occasion: int, group: int | None) -> None:
    """See `Store.require_slot`."""
    known = identities.session_of(db, study.name, identity, occasion)
    participant = identities.participant_of(db, study.name, identity)
    if participant is not None:
        refuse_withdrawn(db, participant)
    if known is not None:
        _refuse_in_laboratory(db, assignment.held_slot(db, known), study, identity, occasion, group)
    else:
        assignment.require_slot(db, served(db, study).study_digest, study.definition.recruitment, group)


def refuse_withdrawn(db: Database, participant: str) -> None:
    """Refuse a participant who has withdrawn from the study, on any occasion."""
    withdrawn = "SELECT 1 FROM sessions WHERE participant = ? AND status = 'withdrawn' LIMIT 1"
    if db.execute(withdrawn, (participant,)).fetchone():
        raise Refusal("cannot_begin_again")


def _known_session(db: Database, study: Study, start: SessionStart) -> str | None:
    """Return the session that this start, or this identity on this occasion, has begun.

    The laboratory sends the researcher's token, so the start's id alone is enough.
    """
    same_start = db.execute("SELECT session FROM sessions WHERE start_id = ?", (start.start_id,)).fetchone()
    if start.identity is None:
        if same_start and start.source is not Source.LAB and not _is_same_client(db, same_start[0], start):
            raise Refusal("start_used")
        return same_start[0] if same_start else None
    known = identities.session_of(db, study.name, start.identity, start.occasion)
    if same_start is not None and known is None:
        raise Refusal("start_of_another")
    return known


def _is_same_client(db: Database, session: str, start: SessionStart) -> bool:
    """Return True if a start comes from the client that began a session: it holds the token, or repeats the start.

    A repeated start counts as long as its reply may have been lost: for some minutes, and until the session is used.
    Later another person may have learnt its id.
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


def _resume_elsewhere(db: Database, study: Study, session: str, start: SessionStart) -> None:
    """Let a returning participant resume their session; the earlier token is no longer valid."""
    log = _lock(db, session)
    session = _known_session(db, study, start) or session  # Another one may have been begun during the wait.
    _refuse_unproven(db, study, session, start)
    held = assignment.held_slot(db, session)
    if held.status is Status.WITHDRAWN:
        raise Refusal("cannot_begin_again")
    if start.occasion is not None:
        _refuse_in_laboratory(db, held, study, start.identity, start.occasion, start.group)
    hand_over(db, session, start)
    _come_back(log, held, study, start.visit)


def _refuse_unproven(db: Database, study: Study, session: str, start: SessionStart) -> None:
    """Refuse a client with a known id and without proof that it belongs to the participant who began the session."""
    if start.identity is None or _is_same_client(db, session, start):
        return
    if not identities.may_resume(db, session, start.identity):
        raise BegunElsewhere("begun_with_this_id" if start.identity.is_claim else "open_again_from_prolific")
    if start.identity.signed_at is not None:
        identities.let_in(db, study.name, start.identity)


def _refuse_in_laboratory(
    db: Database, held: HeldSlot, study: Study, identity: Identity | None, occasion: int, group: int | None
) -> None:
    """Refuse to resume a session that is completed, of another version of the study, or in another group.

    The laboratory shows the items of its own folder: those of another version would be stored as other items. These
    sentences are for the experimenter.
    """
    whose = f"Participant {identity.external_id}" if identity else "This participant"
    if held.status is Status.COMPLETED:
        raise Conflict(
            f"{whose} has completed session {occasion} of this study. {IF_SOMEBODY_ELSE} begin a further session "
            f"with `--occasion {occasion + 1}`."
        )
    digest, version = db.execute(
        "SELECT study_digest, version FROM sessions JOIN studies USING (study_digest) WHERE session = ?",
        (held.session,),
    ).fetchone()
    if digest != served(db, study).study_digest:
        raise Conflict(
            f"{whose} has begun session {occasion} with version {version} of this study. {IF_SOMEBODY_ELSE} resume "
            "with the folder of that version, or begin a further session of this one with `--occasion "
            f"{occasion + 1}`."
        )
    if group not in {None, held.group}:
        raise Conflict(
            f"{whose} has begun session {occasion} in group {held.group}, not {group}. {IF_SOMEBODY_ELSE} omit the "
            "group to resume it."
        )


def hand_over(db: Database, session: str, start: SessionStart) -> None:
    """Give a session to the client that has come now; the earlier token is no longer valid."""
    # A start that is sent again late may be with the session before this one.
    free_start_id(db, session, start)
    db.execute(
        "UPDATE sessions SET token_digest = ?, start_id = ? WHERE session = ?",
        (start.token_digest, start.start_id, session),
    )


def free_start_id(db: Database, session: str, start: SessionStart) -> None:
    """Remove the id of a start from any session but the one it now leads to; no id leads to that one any more."""
    db.execute("UPDATE sessions SET start_id = NULL WHERE start_id = ? AND session <> ?", (start.start_id, session))


def open_again(db: Database, study: Study, token_digest: str, visit: Visit) -> None:
    """See `Store.open_session`."""
    found = db.execute("SELECT session FROM sessions WHERE token_digest = ?", (token_digest,)).fetchone()
    if found is None:
        raise NotYourSession("opened_elsewhere")
    log = _lock(db, found[0])
    held = assignment.held_slot(db, found[0])
    # A visit that is uploaded after the session was allowed where it took place.
    _come_back(log, held, study, visit, is_exempt=held.is_uploaded)


def _come_back(log: Log, held: HeldSlot, study: Study, visit: Visit, is_exempt: bool = False) -> None:
    """Resume a session, or, unless exempt, apply the study's rules on sessions opened too late or too often."""
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
        assignment.release(log, held, reason)  # Also if the study has a new version since, with other groups.
    else:
        _begin_again(log, held, study, visit)


def _most_visits(db: Database, session: str) -> int:
    """Return the number of recorded visits of a session, for the study's own rule about them."""
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
    """Begin another session of the same participant, in the same group; the first one's responses stay with it."""
    db = log.db
    participant, source, consent_digest, token_digest, start_id, demographics, occasion = db.execute(
        "SELECT participant, source, consent_digest, token_digest, start_id, demographics, occasion "
        "FROM sessions WHERE session = ?",
        (held.session,),
    ).fetchone()
    if held.slot is SlotState.RESERVED:
        assignment.release(log, held, Release.RESTARTED)
    # The new session gets the ids of the first, so that a request that is sent again finds it.
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
        occasion=occasion,
    )
    who = Participant(participant=participant, kind=held.kind)
    # With the content of the first session: it is what they consented to, whatever was revised since.
    begin(db, study, begun_with(db, held.session), name, who, held.group, seed, start, visit)
    db.execute("UPDATE sessions SET demographics = ? WHERE session = ?", (demographics, name))


def add_demographics(db: Database, session: str, answers: Mapping[str, Any]) -> bool:
    """See `Store.add_demographics`."""
    stored = db.execute(
        "UPDATE sessions SET demographics = ? WHERE session = ? AND demographics IS NULL AND status = 'active'",
        (as_json({"answers": dict(answers), "received_at": now()}), session),
    )
    return stored.rowcount > 0


def resume(db: Database, study: Study, session: str) -> None:
    """See `Store.resume_session`."""
    log = _lock(db, session)
    held = assignment.held_slot(db, session)
    if held.status is Status.ACTIVE:
        _regain(log, held, study)


def _regain(log: Log, held: HeldSlot, study: Study) -> None:
    try:
        assignment.regain(log, held, study.definition.recruitment)
    except StudyFull:
        # A participant who has answered everything only needs the end page: no one is refused after their work is done.
        if not (held.has_all_responses or held.is_uploaded):
            raise


def complete(
    db: Database, study: Study, session: str, passed_checks: bool, completed_elsewhere_at: datetime | None
) -> None:
    """See `Store.complete_session`."""
    log = _lock(db, session)
    held = assignment.held_slot(db, session)
    if held.status is Status.WITHDRAWN:
        raise Refusal("answers_deleted")
    if completed_elsewhere_at is not None and held.source is not Source.LAB:
        raise Conflict("Only a laboratory session names its time of completion.")
    if held.status is Status.COMPLETED:
        return
    if held.release_reason in ENDED_FOR:
        raise Refusal("session_over")
    n_trials, n_answered = db.execute(
        f"SELECT n_trials, n_answered FROM sessions WHERE session = ?{db.for_update}",
        (session,),
    ).fetchone()
    if n_answered < n_trials:
        raise Refusal("answers_missing", number=n_trials - n_answered)
    completed_at = as_text(completed_elsewhere_at) if completed_elsewhere_at else now()
    db.execute("UPDATE sessions SET status = 'completed', completed_at = ? WHERE session = ?", (completed_at, session))
    # A simulated participant is never replaced: a simulation has the requested number.
    if passed_checks or held.kind is Kind.SIMULATED:
        assignment.confirm(log, held, study.definition.recruitment, completed_at)
    else:
        assignment.release(log, held, Release.ATTENTION_CHECK, completed_at=completed_at)


def withdraw(db: Database, session: str, by_researcher: bool = False) -> None:
    """See `Store.withdraw_session`."""
    for (one,) in db.execute(
        "SELECT session FROM sessions WHERE participant = (SELECT participant FROM sessions WHERE session = ?) "
        "ORDER BY session",
        (session,),
    ).fetchall():
        _withdraw_one(db, one, by_researcher)


def _withdraw_one(db: Database, session: str, by_researcher: bool) -> None:
    log = _lock(db, session)
    held = assignment.held_slot(db, session)
    if held.status is Status.WITHDRAWN:
        return
    # The session's row first: a response on its way waits for it, and then finds the session closed.
    db.execute(
        "UPDATE sessions SET status = 'withdrawn', n_answered = 0, checksum = ?, demographics = NULL WHERE session = ?",
        (beginning(db, session), session),
    )
    checksums = db.execute("SELECT checksum FROM responses WHERE session = ?", (session,)).fetchall()
    response_totals.add(db, ((log.study_digest, checksum) for (checksum,) in checksums), sign=-1)
    deleted = db.execute("DELETE FROM responses WHERE session = ?", (session,))
    db.execute("UPDATE visits SET device = NULL WHERE session = ?", (session,))
    by = {"by": "researcher"} if by_researcher else {}
    log.write("withdrew", session, group=held.group, answers_deleted=deleted.rowcount, **by)
    assignment.release(log, held, Release.WITHDRAWAL)


def release_slot(db: Database, session: str, reason: Release) -> bool:
    """See `Store.release_slot`."""
    log = _lock(db, session)
    held = assignment.held_slot(db, session)
    if held.slot is SlotState.RELEASED and reason not in ENDED_FOR:
        return False  # The reason stays too: a session that the rules ended must not open again through another one.
    return assignment.release(log, held, reason)


def _lock(db: Database, session: str) -> Log:
    (study_digest,) = db.execute("SELECT study_digest FROM sessions WHERE session = ?", (session,)).fetchone()
    return lock_log(db, study_digest)


LISTED = (
    "session", "participant", "kind", "study_version", "group", "source", "status", "slot", "release_reason",
    "started_at", "completed_at", "n_trials", "n_answered", "consent_version", "consent_digest", "occasion",
    "uploaded_at", "n_visits", "study_revision", "content_digest", "excluded_at", "excluded_reason",
)  # fmt: skip
"""The listed columns of a session, beside its device and the answers about the participant."""


def listed(db: Database, study: str) -> list[dict[str, Any]]:
    """See `Store.sessions`."""
    rows = db.execute(
        f"""
        SELECT session, participant, kind, version, "group", source, status, slot, release_reason, started_at,
               completed_at, n_trials, n_answered, consent_digest, occasion, uploaded_at,
               (SELECT COUNT(*) FROM visits WHERE visits.session = sessions.session),
               contents.revision, contents.content_digest, excluded_at, excluded_reason, contents.definition,
               (SELECT device FROM visits WHERE visits.session = sessions.session AND visit = 1), demographics
          FROM sessions JOIN participants USING (participant)
          JOIN studies ON studies.study_digest = sessions.study_digest
          JOIN {CONTENT_OF_SESSION}
         WHERE study = ? AND kind <> 'model' ORDER BY started_at, session
        """,
        (study,),
    ).fetchall()
    return [_listed(row) for row in rows]


def _listed(row: Sequence[Any]) -> dict[str, Any]:
    *fields, definition, device, demographics = row
    found = dict(zip((name for name in LISTED if name != "consent_version"), fields, strict=True))
    consent_version = StudyDefinition.model_validate_json(definition).timeline.consent_version
    found["consent_version"] = consent_version if found["consent_digest"] else None
    said = json.loads(demographics)["answers"] if demographics else {}
    used = json.loads(device) if device else {}
    device_columns = {f"device_{name}": value for name, value in used.items()}
    return found | device_columns | {f"demographics_{name}": value for name, value in said.items()}
