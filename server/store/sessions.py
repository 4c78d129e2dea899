"""Sessions from their start to their end, as statements inside a transaction: each does all or raises."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from experiment.plan import Plan, plan_session
from experiment.records import Kind, Participant, Session, Status
from experiment.study import Study
from server.store import assignment, identities
from server.store.assignment import HeldPlace
from server.store.checksums import FIXED, SESSIONS, beginning_of_session
from server.store.contract import Refusal, Release, SessionStart, StudyFull
from server.store.database import Database, insert_sql
from server.store.log import Log, lock_log
from server.store.times import as_text, now


def start(db: Database, study: Study, start: SessionStart) -> None:
    """Begin a session, or find the one that this start or this person has begun. See `Store.start_session`."""
    # Before any lock: whoever is known needs the lock of their session's study only, perhaps an earlier version's.
    known = _known_session(db, study, start)
    if known is None:
        log = lock_log(db, study.digest)
        known = _known_session(db, study, start)  # begun while we waited for the lock, by a start that came twice
    if known is not None:
        _resume_elsewhere(db, study, known, start)
        return
    name, participant = secrets.token_hex(8), f"p-{secrets.token_hex(6)}"
    group, seed = assignment.reserve(log, start.kind, study.definition.recruitment, name)
    session = Session(
        session=name,
        participant=Participant(participant=participant, kind=start.kind),
        study_digest=study.digest,
        battery_digest=study.battery.digest,
        group=group,
        seed=seed,
        source=start.source,
        status=Status.ACTIVE,
        started_at=datetime.now(UTC),
    )
    insert(db, session, plan_session(study, group, seed), start, completion_code(study, start.kind))
    if start.identity is not None:
        identities.insert(db, study.name, start.identity, participant)


def _known_session(db: Database, study: Study, start: SessionStart) -> str | None:
    """Return the session that this start, or this person, has begun."""
    same_start = db.execute("SELECT session FROM sessions WHERE start_id = ?", (start.start_id,)).fetchone()
    known = same_start if start.identity is None else identities.session_of(db, study.name, start.identity)
    if same_start is not None and known is None:
        raise Refusal("start_of_another")
    return known[0] if known else None


def _resume_elsewhere(db: Database, study: Study, session: str, start: SessionStart) -> None:
    """Let somebody who comes again go on with the session they have; the token of then is no longer valid."""
    log = _lock(db, session)
    held = assignment.held_place(db, session)
    if held.status is Status.WITHDRAWN:
        raise Refusal("cannot_begin_again")
    if held.status is Status.ACTIVE:
        _regain(log, held, study)
    db.execute(
        "UPDATE sessions SET token_digest = ?, start_id = ? WHERE session = ?",
        (start.token_digest, start.start_id, session),
    )


def completion_code(study: Study, kind: Kind) -> str:
    """Return the study's fixed code, or one of the session's own; a simulated participant never gets the fixed one."""
    fixed = study.definition.completion_code
    return fixed if fixed and kind is Kind.HUMAN else secrets.token_hex(4).upper()


def insert(
    db: Database,
    session: Session,
    plan: Plan,
    start: SessionStart | None = None,
    completion_code: str | None = None,
    run: Sequence[Any] | None = None,
) -> str:
    """Store a new session with its participant and its plan; return the checksum that its answers go on from.

    `run` is what is stored of a model's run: label, model, version, temperature, prompt digest, parameters.
    """
    participant = session.participant
    started_at = as_text(session.started_at)
    completed_at = as_text(session.completed_at) if session.completed_at else None
    fixed = (
        session.session,
        participant.participant,
        participant.kind.value,
        session.study_digest,
        session.battery_digest,
        session.group,
        session.seed,
        session.source.value,
        started_at,
        start.consent_digest if start else None,
        *(run or [None] * 6),
        completed_at if run else None,
    )
    checksum = beginning_of_session(fixed, ((trial.phase, trial.item_id) for trial in plan.trials))
    db.execute(
        "INSERT INTO participants (participant, kind) VALUES (?, ?)", (participant.participant, participant.kind.value)
    )
    row: dict[str, Any] = {
        "session": session.session,
        "participant": participant.participant,
        "study_digest": session.study_digest,
        "battery_digest": session.battery_digest,
        "group": session.group,
        "seed": session.seed,
        "source": session.source.value,
        "status": session.status.value,
        "started_at": started_at,
        "completed_at": completed_at,
        "consent_digest": start.consent_digest if start else None,
        "token_digest": start.token_digest if start else None,
        "start_id": start.start_id if start else None,
        "completion_code": completion_code,
        "n_trials": len(plan.trials),
        "place": "reserved" if start else None,
        "seen_at": started_at if start else None,
        "n_answered": 0,
        "checksum": checksum,
    }
    db.execute(insert_sql("sessions", list(row)), list(row.values()))
    db.executemany(
        "INSERT INTO planned_trials (session, trial_index, phase, item_id) VALUES (?, ?, ?, ?)",
        [(session.session, trial.trial_index, trial.phase.value, trial.item_id) for trial in plan.trials],
    )
    return checksum


def beginning(db: Database, session: str) -> str:
    """Return the checksum with which a stored session's chain begins."""
    fixed = db.execute(f"SELECT {FIXED} FROM {SESSIONS} WHERE session = ?", (session,)).fetchone()
    plan = db.execute("SELECT phase, item_id FROM planned_trials WHERE session = ? ORDER BY trial_index", (session,))
    return beginning_of_session(fixed, plan.fetchall())


def resume(db: Database, study: Study, session: str) -> None:
    """See `Store.resume_session`."""
    log = _lock(db, session)
    held = assignment.held_place(db, session)
    if held.status is Status.ACTIVE:
        _regain(log, held, study)


def _regain(log: Log, held: HeldPlace, study: Study) -> None:
    try:
        assignment.regain(log, held, study.definition.recruitment)
    except StudyFull:
        # Whoever has answered everything has only to hear so: nobody is sent away with their work done.
        if not held.has_all_answers:
            raise


def complete(db: Database, study: Study, session: str, passed_checks: bool) -> None:
    """See `Store.complete_session`."""
    log = _lock(db, session)
    held = assignment.held_place(db, session)
    if held.status is Status.WITHDRAWN:
        raise Refusal("answers_deleted")
    if held.status is Status.COMPLETED:
        return
    n_trials, n_answered = db.execute(
        f"SELECT n_trials, n_answered FROM sessions WHERE session = ?{db.for_update}",
        (session,),
    ).fetchone()
    if n_answered < n_trials:
        raise Refusal("answers_missing", number=n_trials - n_answered)
    completed_at = now()
    db.execute("UPDATE sessions SET status = 'completed', completed_at = ? WHERE session = ?", (completed_at, session))
    # A simulated participant is never replaced: a simulation is to have as many as were asked for.
    if passed_checks or held.kind is Kind.SIMULATED:
        assignment.confirm(log, held, study.definition.recruitment, completed_at)
    else:
        assignment.release(log, held, Release.ATTENTION_CHECK, completed_at=completed_at)


def withdraw(db: Database, session: str) -> None:
    """See `Store.withdraw_session`."""
    log = _lock(db, session)
    held = assignment.held_place(db, session)
    if held.status is Status.WITHDRAWN:
        return
    # The session's row first: an answer that is on its way waits for it, and then finds the session closed.
    db.execute(
        "UPDATE sessions SET status = 'withdrawn', n_answered = 0, checksum = ? WHERE session = ?",
        (beginning(db, session), session),
    )
    deleted = db.execute("DELETE FROM responses WHERE session = ?", (session,))
    log.write("withdrew", session, group=held.group, answers_deleted=deleted.rowcount)
    assignment.release(log, held, Release.WITHDRAWAL)


def release_place(db: Database, session: str, reason: Release) -> bool:
    """See `Store.release_place`."""
    log = _lock(db, session)
    return assignment.release(log, assignment.held_place(db, session), reason)


def _lock(db: Database, session: str) -> Log:
    (study_digest,) = db.execute("SELECT study_digest FROM sessions WHERE session = ?", (session,)).fetchone()
    return lock_log(db, study_digest)
