"""Sessions from the start to the end. The caller of each function runs it in a transaction."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from experiment.records import Kind, Participant, Source, Status
from experiment.study.definition import Study, StudyDefinition
from server.store.database import Database, as_text, now
from server.store.errors import Conflict, Refusal
from server.store.models import ENDED_FOR, FORMER_REASONS, Identity, Release, SessionStart, SlotState
from server.store.sql import assignment, identities, responses, resuming
from server.store.sql.assignment_log import lock_log, lock_log_of
from server.store.sql.session_rows import begin, beginning, insert_participant
from server.store.sql.studies import CONTENT_OF_SESSION, as_json, served


def start(db: Database, study: Study, start: SessionStart) -> bool:
    """Begin a session, or resume the session of this start or identity. Return True if the session is new.

    See `Store.start_session`.
    """
    # This comes before any lock: for a known participant only the log of their session is locked. That log may belong
    # to an earlier version of the study.
    known = resuming.known_session(db, study, start)
    if known is None:
        registered = served(db, study)
        log = lock_log(db, registered.study_digest)
        # The participant may have earlier sessions. This comes first, because it waits for any other server that begins
        # a session for the same participant.
        participant = identities.participant_of(db, study.name, start.identity) if start.identity else None
        known = resuming.known_session(db, study, start)  # Perhaps a repeated start has begun it meanwhile.
    if known is not None:
        resuming.resume_elsewhere(db, study, known, start)
        return False
    name = secrets.token_hex(8)
    if participant is not None:
        refuse_withdrawn(db, participant)
    had = _groups_of(db, registered.study_digest, participant)
    group, seed = assignment.reserve(log, start.kind, study.definition.recruitment, name, start.group, had)
    if participant is None:
        participant = f"p-{secrets.token_hex(6)}"
        insert_participant(db, study, participant, start)
    who = Participant(participant=participant, kind=start.kind)
    begin(db, study, registered, name, who, group, seed, start, start.visit)
    return True


def _groups_of(db: Database, study_digest: str, participant: str | None) -> frozenset[int]:
    """Return the groups of a participant's earlier sessions in a version of a study."""
    rows = db.execute(
        'SELECT DISTINCT "group" FROM sessions WHERE study_digest = ? AND participant = ?', (study_digest, participant)
    )
    return frozenset(group for (group,) in rows.fetchall())


def require_slot(db: Database, study: Study, identity: Identity, session_number: int, group: int | None) -> int:
    """See `Store.require_slot`."""
    known = identities.session_of(db, study.name, identity, session_number)
    participant = identities.participant_of(db, study.name, identity)
    if participant is not None:
        refuse_withdrawn(db, participant)
    if known is not None:
        held = assignment.held_slot(db, known)
        resuming.refuse_in_laboratory(db, held, study, identity, session_number, group)
        return held.group
    study_digest = served(db, study).study_digest
    had = _groups_of(db, study_digest, participant)
    return assignment.require_slot(db, study_digest, study.definition.recruitment, group, had)


def refuse_withdrawn(db: Database, participant: str) -> None:
    """Raise an error if the participant has withdrawn from the study in any of their sessions."""
    withdrawn = "SELECT 1 FROM sessions WHERE participant = ? AND status = 'withdrawn' LIMIT 1"
    if db.execute(withdrawn, (participant,)).fetchone():
        raise Refusal("cannot_begin_again")


def add_demographics(db: Database, session: str, answers: Mapping[str, Any]) -> bool:
    """See `Store.add_demographics`."""
    stored = db.execute(
        "UPDATE sessions SET demographics = ? WHERE session = ? AND demographics IS NULL AND status = 'active'",
        (as_json({"answers": dict(answers), "received_at": now()}), session),
    )
    return stored.rowcount > 0


def complete(
    db: Database, study: Study, session: str, passed_checks: bool, completed_elsewhere_at: datetime | None
) -> None:
    """See `Store.complete_session`."""
    log = lock_log_of(db, session)
    held = assignment.held_slot(db, session)
    if held.status is Status.WITHDRAWN:
        raise Refusal("answers_deleted")
    if completed_elsewhere_at is not None and held.source is not Source.LAB:
        raise Conflict("Only a laboratory session may have a time of completion. Fix: omit the time of completion.")
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
    # A simulated participant is never replaced, because a simulation has a fixed number of participants.
    if passed_checks or held.kind is Kind.SIMULATED:
        assignment.confirm(log, held, study.definition.recruitment, completed_at)
    else:
        assignment.release(log, held, Release.ATTENTION_CHECK, completed_at=completed_at)


def withdraw(db: Database, session: str, by: str | None = None) -> None:
    """See `Store.withdraw_session`."""
    for (one,) in db.execute(
        "SELECT session FROM sessions WHERE participant = (SELECT participant FROM sessions WHERE session = ?) "
        "ORDER BY session",
        (session,),
    ).fetchall():
        _withdraw_one(db, one, by)


def _withdraw_one(db: Database, session: str, by: str | None) -> None:
    log = lock_log_of(db, session, by)
    held = assignment.held_slot(db, session)
    if held.status is Status.WITHDRAWN:
        return
    # The session's row comes first: a response that arrives now waits for it, and then finds the session closed.
    db.execute(
        "UPDATE sessions SET status = 'withdrawn', n_answered = 0, checksum = ?, demographics = NULL WHERE session = ?",
        (beginning(db, session), session),
    )
    checksums = db.execute("SELECT checksum FROM responses WHERE session = ?", (session,)).fetchall()
    responses.add_to_totals(db, ((log.study_digest, checksum) for (checksum,) in checksums), sign=-1)
    deleted = db.execute("DELETE FROM responses WHERE session = ?", (session,))
    db.execute("DELETE FROM actions WHERE session = ?", (session,))
    db.execute("UPDATE visits SET device = NULL WHERE session = ?", (session,))
    log.write("withdrew", session, group=held.group, answers_deleted=deleted.rowcount)
    assignment.release(log, held, Release.WITHDRAWAL)


def release_slot(db: Database, session: str, reason: Release, by: str | None = None) -> bool:
    """See `Store.release_slot`."""
    log = lock_log_of(db, session, by)
    held = assignment.held_slot(db, session)
    if held.slot is SlotState.RELEASED and reason not in ENDED_FOR:
        # The former reason stays: after another reason, a session that the rules have ended could be opened again.
        return False
    return assignment.release(log, held, reason)


def rename_reasons(db: Database) -> None:
    """Replace the former names of release reasons (before the migration `m010`) by the present names."""
    for former, present in FORMER_REASONS.items():
        db.execute("UPDATE sessions SET release_reason = ? WHERE release_reason = ?", (present, former))


LISTED = (
    "session", "participant", "kind", "study_version", "group", "source", "status", "slot", "release_reason",
    "started_at", "completed_at", "n_trials", "n_answered", "consent_version", "consent_digest", "session_number",
    "uploaded_at", "n_visits", "study_revision", "content_digest", "excluded_at", "excluded_reason",
)  # fmt: skip
"""Columns of a session in the result of `listed`."""


def listed(db: Database, study: str) -> list[dict[str, Any]]:
    """See `Store.sessions`."""
    return list(stream_sessions(db, study))


def stream_sessions(db: Database, study: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of `Store.sessions` one by one."""
    rows = db.execute(
        f"""
        SELECT session, participant, kind, version, "group", source, status, slot, release_reason, started_at,
               completed_at, n_trials, n_answered, consent_digest, session_number, uploaded_at,
               (SELECT COUNT(*) FROM visits WHERE visits.session = sessions.session),
               contents.revision, contents.content_digest, excluded_at, excluded_reason, contents.definition,
               (SELECT device FROM visits WHERE visits.session = sessions.session AND visit = 1), demographics
          FROM sessions JOIN participants USING (participant)
          JOIN studies ON studies.study_digest = sessions.study_digest
          JOIN {CONTENT_OF_SESSION}
         WHERE study = ? AND kind <> 'model' ORDER BY started_at, session
        """,
        (study,),
    )
    # The rows are read one by one, because each row has a whole definition.
    consent_versions: dict[str, str | None] = {}
    for row in rows:
        yield _listed(row, consent_versions)


def _listed(row: Sequence[Any], consent_versions: dict[str, str | None]) -> dict[str, Any]:
    *fields, definition, device, demographics = row
    found = dict(zip((name for name in LISTED if name != "consent_version"), fields, strict=True))
    if definition not in consent_versions:
        consent_versions[definition] = StudyDefinition.model_validate_json(definition).timeline.consent_version
    found["consent_version"] = consent_versions[definition] if found["consent_digest"] else None
    said = json.loads(demographics)["answers"] if demographics else {}
    used = json.loads(device) if device else {}
    device_columns = {f"device_{name}": value for name, value in used.items()}
    return found | device_columns | {f"demographics_{name}": value for name, value in said.items()}
