"""Sessions from their start to their end, as statements inside a transaction: each does all or raises."""

import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from experiment.plan import Plan, plan_session
from experiment.records import Kind, Participant, Session, Source, Status
from experiment.study import Study, StudyDefinition
from server.store import assignment, identities
from server.store.assignment import HeldPlace
from server.store.checksums import FIXED, SESSIONS, beginning_of_session
from server.store.contract import ENDED_FOR, NotYourSession, Place, Refusal, Release, SessionStart, StudyFull, Visit
from server.store.database import Database, insert_sql
from server.store.log import Log, lock_log
from server.store.registry import as_json
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
    name, participant = secrets.token_hex(8), Participant(participant=f"p-{secrets.token_hex(6)}", kind=start.kind)
    group, seed = assignment.reserve(log, start.kind, study.definition.recruitment, name)
    db.execute(
        "INSERT INTO participants (participant, kind) VALUES (?, ?)", (participant.participant, participant.kind.value)
    )
    _begin(db, study, name, participant, group, seed, start, start.visit)
    if start.identity is not None:
        identities.insert(db, study.name, start.identity, participant.participant)


def _begin(
    db: Database,
    study: Study,
    name: str,
    participant: Participant,
    group: int,
    seed: int,
    start: SessionStart,
    visit: Visit,
) -> None:
    session = Session(
        session=name,
        participant=participant,
        study_digest=study.digest,
        battery_digest=study.battery.digest,
        group=group,
        seed=seed,
        source=start.source,
        status=Status.ACTIVE,
        started_at=datetime.now(UTC),
    )
    insert(db, session, plan_session(study, group, seed), start, secrets.token_hex(5).upper())
    _note_visit(db, name, visit)


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
    session = _known_session(db, study, start) or session  # another one may have been begun while we waited
    held = assignment.held_place(db, session)
    if held.status is Status.WITHDRAWN:
        raise Refusal("cannot_begin_again")
    # A start that is sent again late may stand with the session that was begun before this one.
    db.execute("UPDATE sessions SET start_id = NULL WHERE start_id = ? AND session <> ?", (start.start_id, session))
    db.execute(
        "UPDATE sessions SET token_digest = ?, start_id = ? WHERE session = ?",
        (start.token_digest, start.start_id, session),
    )
    _come_back(log, held, study, start.visit)


def open_again(db: Database, study: Study, token_digest: str, visit: Visit) -> None:
    """See `Store.open_session`."""
    found = db.execute("SELECT session FROM sessions WHERE token_digest = ?", (token_digest,)).fetchone()
    if found is None:
        raise NotYourSession("opened_elsewhere")
    log = _lock(db, found[0])
    _come_back(log, assignment.held_place(db, found[0]), study, visit)


def _come_back(log: Log, held: HeldPlace, study: Study, visit: Visit) -> None:
    """Go on with a session, or do what the study's rules say of one that is opened too late or too often."""
    db = log.db
    if held.status is not Status.ACTIVE or held.release_reason in ENDED_FOR:
        return
    known = db.execute("SELECT 1 FROM visits WHERE session = ? AND visit_id = ?", (held.session, visit.visit_id))
    if known.fetchone():
        _regain(log, held, study)
        return
    was_sent_away = held.place is Place.RELEASED and held.release_reason != Release.TIME_OUT
    reason = None if held.has_all_answers or was_sent_away else _broken_rule(db, held.session)
    if reason is None:
        _regain(log, held, study)
        _note_visit(db, held.session, visit)
    elif _definition(db, held.session).resume.otherwise == "end" or log.study_digest != study.digest:
        assignment.release(log, held, reason)  # also where the study has a new version since, with groups of its own
    else:
        _begin_again(log, held, study, visit)


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
    """Return the study's definition as it was when the session began."""
    (text,) = db.execute(
        "SELECT definition FROM sessions JOIN studies USING (study_digest) WHERE session = ?", (session,)
    ).fetchone()
    return StudyDefinition.model_validate_json(text)


def _begin_again(log: Log, held: HeldPlace, study: Study, visit: Visit) -> None:
    """Begin another session of the same person, in the same group; the first one's answers stay with it."""
    db = log.db
    participant, source, consent_digest, token_digest, start_id, demographics = db.execute(
        "SELECT participant, source, consent_digest, token_digest, start_id, demographics "
        "FROM sessions WHERE session = ?",
        (held.session,),
    ).fetchone()
    if held.place is Place.RESERVED:
        assignment.release(log, held, Release.RESTARTED)
    # The new session is known by what led to it, so that a request that is sent again finds it.
    came_by_start = start_id == visit.visit_id
    kept_start_id = None if came_by_start else start_id
    db.execute("UPDATE sessions SET token_digest = NULL, start_id = ? WHERE session = ?", (kept_start_id, held.session))
    name = secrets.token_hex(8)
    seed = assignment.reserve_in(log, held, study.definition.recruitment, name)
    start = SessionStart(
        start_id if came_by_start else str(uuid.uuid4()), held.kind, Source(source), token_digest, consent_digest
    )
    _begin(db, study, name, Participant(participant=participant, kind=held.kind), held.group, seed, start, visit)
    db.execute("UPDATE sessions SET demographics = ? WHERE session = ?", (demographics, name))


def _note_visit(db: Database, session: str, visit: Visit) -> None:
    device = as_json(visit.device.model_dump()) if visit.device else None
    db.execute(
        "INSERT INTO visits (session, visit, visit_id, at, next_trial_index, device) "
        "SELECT session, (SELECT COUNT(*) + 1 FROM visits WHERE session = ?), ?, ?, n_answered, ? "
        "FROM sessions WHERE session = ?",
        (session, visit.visit_id, now(), device, session),
    )


def add_demographics(db: Database, session: str, answers: Mapping[str, Any]) -> bool:
    """See `Store.add_demographics`."""
    stored = db.execute(
        "UPDATE sessions SET demographics = ? WHERE session = ? AND demographics IS NULL AND status = 'active'",
        (as_json({"answers": dict(answers), "received_at": now()}), session),
    )
    return stored.rowcount > 0


def insert(
    db: Database,
    session: Session,
    plan: Plan,
    start: SessionStart | None = None,
    completion_code: str | None = None,
    run: Sequence[Any] | None = None,
) -> str:
    """Store a new session of a participant, with its plan; return the checksum that its answers go on from.

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
    if held.release_reason in ENDED_FOR:
        raise Refusal("session_over")
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
    for (one,) in db.execute(
        "SELECT session FROM sessions WHERE participant = (SELECT participant FROM sessions WHERE session = ?) "
        "ORDER BY session",
        (session,),
    ).fetchall():
        _withdraw_one(db, one)


def _withdraw_one(db: Database, session: str) -> None:
    log = _lock(db, session)
    held = assignment.held_place(db, session)
    if held.status is Status.WITHDRAWN:
        return
    # The session's row first: an answer that is on its way waits for it, and then finds the session closed.
    db.execute(
        "UPDATE sessions SET status = 'withdrawn', n_answered = 0, checksum = ?, demographics = NULL WHERE session = ?",
        (beginning(db, session), session),
    )
    deleted = db.execute("DELETE FROM responses WHERE session = ?", (session,))
    db.execute("UPDATE visits SET device = NULL WHERE session = ?", (session,))
    log.write("withdrew", session, group=held.group, answers_deleted=deleted.rowcount)
    assignment.release(log, held, Release.WITHDRAWAL)


def release_place(db: Database, session: str, reason: Release) -> bool:
    """See `Store.release_place`."""
    log = _lock(db, session)
    return assignment.release(log, assignment.held_place(db, session), reason)


def _lock(db: Database, session: str) -> Log:
    (study_digest,) = db.execute("SELECT study_digest FROM sessions WHERE session = ?", (session,)).fetchone()
    return lock_log(db, study_digest)


LISTED = (
    "session", "participant", "kind", "study_version", "group", "source", "status", "place", "release_reason",
    "started_at", "completed_at", "n_trials", "n_answered", "consent_version", "consent_digest", "n_visits",
)  # fmt: skip
"""What is listed of a session, beside its device and what the participant said about themselves."""


def listed(db: Database, study: str) -> list[dict[str, Any]]:
    """See `Store.sessions`."""
    rows = db.execute(
        """
        SELECT session, participant, kind, version, "group", source, status, place, release_reason, started_at,
               completed_at, n_trials, n_answered, definition, consent_digest,
               (SELECT COUNT(*) FROM visits WHERE visits.session = sessions.session),
               (SELECT device FROM visits WHERE visits.session = sessions.session AND visit = 1), demographics
          FROM sessions JOIN participants USING (participant) JOIN studies USING (study_digest)
         WHERE study = ? AND kind <> 'model' ORDER BY started_at, session
        """,
        (study,),
    ).fetchall()
    return [_listed(row) for row in rows]


def _listed(row: Sequence[Any]) -> dict[str, Any]:
    *fields, definition, consent_digest, n_visits, device, demographics = row
    version = StudyDefinition.model_validate_json(definition).timeline.consent_version if consent_digest else None
    found = dict(zip(LISTED, (*fields, version, consent_digest, n_visits), strict=True))
    said = json.loads(demographics)["answers"] if demographics else {}
    used = json.loads(device) if device else {}
    device_columns = {f"device_{name}": value for name, value in used.items()}
    return found | device_columns | {f"demographics_{name}": value for name, value in said.items()}
