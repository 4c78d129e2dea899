"""Exclusion of sessions from the analysis by the researcher's decision, and its reversal.

The responses stay. Excluding a session releases its slot, so that another participant can have it. Including the
session again gives it a slot, if there is a free slot. The log records both actions.
"""

import json
from collections.abc import Sequence
from contextlib import suppress

from experiment.records import Kind, Status
from experiment.study.definition import Study
from server.store.database import Database, now
from server.store.errors import Conflict, StudyFull
from server.store.models import REGAINED_AFTER, Release, SlotState
from server.store.sql import assignment
from server.store.sql.assignment_log import Log, lock_log_of

OMIT = "Fix: omit this session from the command."


def exclude(db: Database, sessions: Sequence[str], reason: str, by: str | None = None) -> None:
    """See `Store.exclude_sessions`."""
    for session in sorted(sessions):
        log, excluded_reason = _locked(db, session, by)
        held = assignment.held_slot(db, session)
        if held.kind is not Kind.HUMAN:
            raise Conflict(
                f"session {session} belongs to a simulated participant. Fix: exclude all simulated participants from "
                "an analysis with `equipoise analyze --without-simulated`."
            )
        if held.status is Status.WITHDRAWN:
            raise Conflict(f"session {session} was withdrawn, so its responses are deleted. {OMIT}")
        if excluded_reason is not None:
            raise Conflict(f"session {session} is excluded already ({excluded_reason}). {OMIT}")
        at = now()
        db.execute("UPDATE sessions SET excluded_at = ?, excluded_reason = ? WHERE session = ?", (at, reason, session))
        log.write(
            "excluded",
            session,
            excluded_at=at,
            reason=reason,
            status=held.status,
            was=held.slot,
            slot_released_for=held.release_reason,
        )
        if held.slot is not SlotState.RELEASED or (
            # Otherwise the participant could resume the session.
            held.status is Status.ACTIVE and held.release_reason in REGAINED_AFTER
        ):
            assignment.release(log, held, Release.EXCLUSION)


def include(db: Database, study: Study, sessions: Sequence[str], reason: str, by: str | None = None) -> list[SlotState]:
    """See `Store.include_sessions`."""
    slots = []
    for session in sorted(sessions):
        log, excluded_reason = _locked(db, session, by)
        if excluded_reason is None:
            raise Conflict(f"session {session} is not excluded. {OMIT}")
        if assignment.held_slot(db, session).status is Status.WITHDRAWN:
            raise Conflict(f"session {session} was withdrawn, so its responses are deleted. {OMIT}")
        db.execute("UPDATE sessions SET excluded_at = NULL, excluded_reason = NULL WHERE session = ?", (session,))
        log.write("included", session, reason=reason)
        _give_slot_back(log, study, session)
        slots.append(assignment.held_slot(db, session).slot)
    return slots


def _locked(db: Database, session: str, by: str | None) -> tuple[Log, str | None]:
    """Lock the log of a session's study. Return the log, and the reason for the exclusion of the session, or None."""
    log = lock_log_of(db, session, by)
    (reason,) = db.execute("SELECT excluded_reason FROM sessions WHERE session = ?", (session,)).fetchone()
    return log, reason


def _give_slot_back(log: Log, study: Study, session: str) -> None:
    """Give a slot to an included session, if the exclusion released its slot and a slot is free now."""
    (text,) = log.db.execute(
        "SELECT details FROM events WHERE study_digest = ? AND session = ? AND event = 'excluded' "
        "ORDER BY event_index DESC LIMIT 1",
        (log.study_digest, session),
    ).fetchone()
    before = json.loads(text)
    held = assignment.held_slot(log.db, session)
    # Before `m010` the key was `place_released_for`.
    released_for = before.get("slot_released_for", before.get("place_released_for"))
    if held.release_reason != Release.EXCLUSION or released_for == Release.EXCLUSION:
        return  # The session was withdrawn since, or its slot was released before the exclusion.
    reason = Release(released_for or Release.NO_ROOM)
    assignment.release(log, held, reason)
    if before["was"] == SlotState.RELEASED:
        return
    held = assignment.held_slot(log.db, session)
    if held.status is Status.COMPLETED:
        (completed_at,) = log.db.execute("SELECT completed_at FROM sessions WHERE session = ?", (session,)).fetchone()
        assignment.confirm(log, held, study.definition.recruitment, completed_at)
        return
    with suppress(StudyFull):  # As after a time-out, the participant may resume once there is a free slot.
        assignment.regain(log, held, study.definition.recruitment)
