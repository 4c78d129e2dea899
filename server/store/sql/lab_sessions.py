"""Laboratory sessions with all their data, for uploads to another store."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from experiment.records import Kind, LabDevice, Response, Status
from experiment.study.definition import Study
from server.store.checksums import RESPONSE_COLUMNS
from server.store.contract import Store
from server.store.database import Database
from server.store.sql.studies import CONTENT_OF_SESSION, nearest

_SELECT = f"""
    SELECT session, participant, external_id, session_number, kind, "group", seed, status, started_at, completed_at,
           consent_digest, start_id, withdrawal_code, demographics, contents.content_digest, excluded_reason
      FROM sessions JOIN participants USING (participant) JOIN identities USING (participant)
      JOIN {CONTENT_OF_SESSION}
     WHERE sessions.source = 'lab' AND id_kind = 'lab'
"""
"""Query of laboratory sessions. Rehearsals have no laboratory code, so the query omits them."""


@dataclass(frozen=True)
class LabSessionRecord:
    """A laboratory session with all its responses."""

    session: str
    participant: str
    """The participant's pseudonym."""
    code: str
    """The code that the laboratory gave the participant."""
    session_number: int
    kind: Kind
    group: int
    seed: int
    status: Status
    started_at: datetime
    completed_at: datetime | None
    consent_digest: str | None
    start_id: str
    """Id with which the session began, for retries of the upload. If this store no longer has the id, it is made from
    `session`.
    """
    withdrawal_code: str
    """The code with which the participant can delete the responses."""
    demographics: dict[str, Any] | None
    """Answers to the questions about the participant; None if there are no answers."""
    content_digest: str
    """Digest of the study's content with which the session began."""
    excluded_reason: str | None
    """Reason of the researcher's exclusion in this store; None if the session is not excluded."""
    device: LabDevice | None
    """The computer that was used in the last visit."""
    responses: tuple[Response, ...]


def lab_session_records(db: Database, study: Study) -> list[LabSessionRecord]:
    """Return the laboratory sessions of this version of a study, the oldest session first."""
    rows = db.execute(
        f"{_SELECT} AND sessions.study_digest = ? ORDER BY started_at, session", (_digest(db, study),)
    ).fetchall()
    return [_record(db, row) for row in rows]


def _digest(db: Database, study: Study) -> str:
    registered = nearest(db, study)
    return registered.study_digest if registered else ""


def lab_session_record(db: Database, session: str) -> LabSessionRecord:
    """Return the laboratory session with this name."""
    return _record(db, db.execute(f"{_SELECT} AND session = ?", (session,)).fetchone())


def versions_of_others(db: Database, study: Study) -> dict[str, int]:
    """Return the number of laboratory sessions of each other version of the study. The keys are versions."""
    rows = db.execute(
        "SELECT version, COUNT(*) FROM sessions JOIN studies USING (study_digest) "
        "JOIN identities ON identities.participant = sessions.participant AND id_kind = 'lab' "
        "WHERE studies.study = ? AND study_digest <> ? AND sessions.source = 'lab' GROUP BY version ORDER BY version",
        (study.name, _digest(db, study)),
    )
    return dict(rows.fetchall())


def n_without_code(db: Database, study: Study) -> int:
    """Return the number of people's laboratory sessions whose laboratory code was deleted. They cannot be uploaded."""
    rows = db.execute(
        "SELECT COUNT(*) FROM sessions JOIN participants USING (participant) "
        "WHERE study_digest = ? AND source = 'lab' AND kind = 'human' AND NOT EXISTS "
        "(SELECT 1 FROM identities WHERE identities.participant = sessions.participant AND id_kind = 'lab')",
        (_digest(db, study),),
    )
    n: int = rows.fetchone()[0]
    return n


def withdrawn_in_laboratory(db: Database, study: str) -> list[str]:
    """Return the names of the laboratory sessions of a study that were withdrawn."""
    rows = db.execute(
        "SELECT session FROM sessions JOIN studies USING (study_digest) "
        "WHERE study = ? AND source = 'lab' AND status = 'withdrawn'",
        (study,),
    )
    return [session for (session,) in rows.fetchall()]


def _record(db: Database, row: Sequence[Any]) -> LabSessionRecord:
    session, participant, code, session_number, kind, group, seed, status, *rest = row
    (
        started_at,
        completed_at,
        consent_digest,
        start_id,
        withdrawal_code,
        demographics,
        content_digest,
        excluded_reason,
    ) = rest
    devices = db.execute(
        "SELECT device FROM visits WHERE session = ? AND device IS NOT NULL ORDER BY visit DESC LIMIT 1", (session,)
    ).fetchall()
    return LabSessionRecord(
        session,
        participant,
        code,
        session_number,
        Kind(kind),
        group,
        seed,
        Status(status),
        datetime.fromisoformat(started_at),
        datetime.fromisoformat(completed_at) if completed_at else None,
        consent_digest,
        # Always the same id, because a session that is uploaded while it runs is compared with the last upload.
        start_id or str(uuid.uuid5(uuid.NAMESPACE_OID, session)),
        withdrawal_code,
        json.loads(demographics)["answers"] if demographics else None,
        content_digest,
        excluded_reason,
        LabDevice.model_validate_json(devices[0][0]) if devices else None,
        tuple(_responses(db, session)),
    )


def _responses(db: Database, session: str) -> list[Response]:
    columns = [column for column in RESPONSE_COLUMNS if column in Response.model_fields]
    rows = db.execute(
        f"SELECT {', '.join(columns)} FROM responses WHERE session = ? ORDER BY trial_index, attempt", (session,)
    )
    return [Response.model_validate(_with_json_values(dict(zip(columns, row, strict=True)))) for row in rows.fetchall()]


def _with_json_values(row: dict[str, Any]) -> dict[str, Any]:
    as_json = ("response", "signals", "jspsych", "presentation")
    return row | {name: json.loads(row[name]) for name in as_json if row[name] is not None}


def devices_of(store: Store, session: str) -> dict[int, LabDevice]:
    """Return the computer of each visit of a session. The keys are the numbers of the visits."""
    with store.snapshot() as db:
        rows = db.execute("SELECT visit, device FROM visits WHERE session = ? AND device IS NOT NULL", (session,))
        return {visit: LabDevice.model_validate_json(device) for visit, device in rows.fetchall()}


def trials_of(store: Store, session: str) -> list[dict[str, Any]]:
    """Return the rows of a session in the view `trials`, in the order of its plan."""
    with store.snapshot() as db:
        rows = db.execute("SELECT * FROM trials WHERE session = ? ORDER BY trial_index", (session,))
        names = [column[0] for column in rows.description]
        return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]
