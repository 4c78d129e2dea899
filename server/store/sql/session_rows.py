"""The rows of a new session: participant, session, plan, first visit, and the first checksum of its chain."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from experiment.plan import Plan, plan_session
from experiment.records import Participant, Session, Status
from experiment.study.definition import Study
from server.store.checksums import FIXED, SESSIONS, beginning_of_session
from server.store.database import Database, as_text, insert_sql, now
from server.store.models import SessionStart, Visit
from server.store.sql import identities
from server.store.sql.studies import Registered, as_json
from server.store.tables import TABLES


def insert_participant(db: Database, study: Study, participant: str, start: SessionStart) -> None:
    """Store a new participant under a pseudonym, together with the participant's identity."""
    db.execute("INSERT INTO participants (participant, kind) VALUES (?, ?)", (participant, start.kind.value))
    if start.identity is not None:
        identities.insert(db, study.name, start.identity, participant)


def begin(
    db: Database,
    study: Study,
    registered: Registered,
    name: str,
    participant: Participant,
    group: int,
    seed: int,
    start: SessionStart,
    visit: Visit,
) -> None:
    """Store a new session, with a reserved slot, and the session's first visit.

    An uploaded session keeps its withdrawal code and the time of its start.
    """
    session = Session(
        session=name,
        participant=participant,
        study_digest=registered.study_digest,
        revision=registered.revision,
        battery_digest=registered.battery_digest,
        group=group,
        seed=seed,
        source=start.source,
        status=Status.ACTIVE,
        started_at=start.uploaded.started_at if start.uploaded else datetime.now(UTC),
    )
    withdrawal_code = (start.uploaded and start.uploaded.withdrawal_code) or secrets.token_hex(5).upper()
    insert(db, session, plan_session(study, group, seed), start, withdrawal_code)
    note_visit(db, name, visit)


def note_visit(db: Database, session: str, visit: Visit, most: int = 1) -> None:
    """Record a visit of a session with its device, unless `most` visits are recorded already."""
    device = as_json(visit.device.model_dump(mode="json")) if visit.device else None
    db.execute(
        "INSERT INTO visits (session, visit, visit_id, at, next_trial_index, device) "
        "SELECT session, (SELECT COUNT(*) + 1 FROM visits WHERE session = ?), ?, ?, n_answered, ? "
        "FROM sessions WHERE session = ? AND (SELECT COUNT(*) FROM visits WHERE session = ?) < ?",
        (session, visit.visit_id, now(), device, session, session, most),
    )


def insert(
    db: Database,
    session: Session,
    plan: Plan,
    start: SessionStart | None = None,
    withdrawal_code: str | None = None,
    run: Sequence[Any] | None = None,
) -> str:
    """Store a new session with its plan. Return the first checksum of the session's chain.

    For the session of a model, `run` has the label, model, version, temperature, prompt digest and parameters.
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
        start.session_number if start else None,
        now() if start and start.uploaded else None,
        session.revision,
        withdrawal_code,
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
        "withdrawal_code": withdrawal_code,
        "n_trials": len(plan.trials),
        "slot": "reserved" if start else None,
        "seen_at": started_at if start else None,
        "n_answered": 0,
        "checksum": checksum,
        "session_number": fixed[-4],
        "uploaded_at": fixed[-3],
        "revision": session.revision,
    }
    db.execute(insert_sql("sessions", list(row)), list(row.values()))
    db.insert(
        "planned_trials",
        TABLES["planned_trials"],
        [(session.session, trial.trial_index, trial.phase.value, trial.item_id) for trial in plan.trials],
    )
    return checksum


def beginning(db: Database, session: str, columns: str = FIXED) -> str:
    """Return the first checksum of a stored session's chain. `columns` are the columns that the checksum covers."""
    fixed = db.execute(f"SELECT {columns} FROM {SESSIONS} WHERE session = ?", (session,)).fetchone()
    plan = db.execute("SELECT phase, item_id FROM planned_trials WHERE session = ? ORDER BY trial_index", (session,))
    return beginning_of_session(fixed, plan.fetchall())
