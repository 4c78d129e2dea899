"""Identities of participants, such as panel ids, in a separate table. They can be deleted without the responses."""

import json
from typing import Any

from experiment.study.definition import Study
from server.store.checksums import link
from server.store.database import Database, insert_sql, now
from server.store.models import PANEL, Identity, SessionFound
from server.store.sql import payments
from server.store.sql.assignment_log import lock_log
from server.store.sql.studies import logs_of

SUBMISSION_PARAMETER = "SESSION_ID"
"""Parameter of the study's address with Prolific's id of the submission."""
IDENTITY_COLUMNS = ("id_kind", "external_id", "participant", "session", "status", "withdrawal_code", "created_at")

CHECKED = ("study", "id_kind", "external_id", "participant", "parameters", "created_at")
"""Columns that the checksum of a row covers. Rows have no chain of checksums, because a single row can be deleted."""


def insert(db: Database, study: str, identity: Identity, participant: str) -> None:
    """Store the identity that belongs to a pseudonym. The database raises an error for a duplicate identity."""
    row = (study, identity.id_kind, identity.external_id, participant, json.dumps(identity.parameters), now())
    values = (*row, link("", row), identity.signed_at)
    db.execute(insert_sql("identities", (*CHECKED, "checksum", "signed_at")), values)


def add_checksums(db: Database) -> None:
    """Add checksums to the rows of a store that has no checksums."""
    for row in db.execute(f"SELECT {', '.join(CHECKED)} FROM identities WHERE checksum IS NULL").fetchall():
        db.execute(
            "UPDATE identities SET checksum = ? WHERE study = ? AND id_kind = ? AND external_id = ?",
            (link("", row), *row[:3]),
        )


def changed(db: Database) -> list[str]:
    """Return the participants whose stored identity was changed, so that it does not match its checksum."""
    rows = db.execute(f"SELECT {', '.join(CHECKED)}, checksum FROM identities ORDER BY participant").fetchall()
    return [row[3] for *row, checksum in rows if checksum not in {None, link("", row)}]


def participant_of(db: Database, study: str, identity: Identity) -> str | None:
    """Return the pseudonym of a known identity, or None. Lock the row of the identity.

    Another server that begins a session for the same identity waits for the lock.
    """
    row = db.execute(
        f"SELECT participant FROM identities WHERE study = ? AND id_kind = ? AND external_id = ?{db.for_update}",
        (study, identity.id_kind, identity.external_id),
    ).fetchone()
    return row[0] if row else None


def session_of(db: Database, study: str, identity: Identity, session_number: int | None) -> str | None:
    """Return the session that this identity has begun, in any version of the study, or None.

    If there is a session number, only a session with this number is returned. If several sessions match, the latest
    completed session is returned. If no matching session is completed, the latest session is returned.
    """
    rows = db.execute(
        "SELECT session, session_number FROM identities JOIN sessions USING (participant) "
        "WHERE study = ? AND id_kind = ? AND external_id = ? "
        "ORDER BY CASE WHEN status = 'completed' THEN 0 ELSE 1 END, started_at DESC",
        (study, identity.id_kind, identity.external_id),
    )
    return next((session for session, of in rows.fetchall() if session_number in {None, of}), None)


def may_resume(db: Database, session: str, identity: Identity) -> bool:
    """Return True if a client with a known identity, but without the session's token, may resume the session.

    A panel id alone is not a proof, because other people may know the id. A signature of the panel is a proof, but
    only once. It must be newer than the last visit of the session, and newer than the last accepted signature. Without
    signatures, the panel's id of the submission must be the same as at the start.
    """
    if identity.id_kind != PANEL:  # Equipoise signs personal links, and a laboratory sends the researcher's token.
        return True
    parameters, let_in_at, opened_at = db.execute(
        "SELECT parameters, signed_at, "
        "(SELECT MAX(at) FROM visits WHERE visits.session = sessions.session) "
        "FROM identities JOIN sessions USING (participant) WHERE session = ?",
        (session,),
    ).fetchone()
    if identity.signed_at is not None:
        return all(identity.signed_at > at for at in (opened_at, let_in_at) if at is not None)
    submission = identity.parameters.get(SUBMISSION_PARAMETER)
    return submission is not None and submission == json.loads(parameters).get(SUBMISSION_PARAMETER)


def let_in(db: Database, study: str, identity: Identity) -> None:
    """Record the panel's signature with which a participant resumed a session, so that it cannot be used again."""
    db.execute(
        "UPDATE identities SET signed_at = ? WHERE study = ? AND id_kind = ? AND external_id = ?",
        (identity.signed_at, study, identity.id_kind, identity.external_id),
    )


def sessions_of(db: Database, study: str, id_kind: str, external_id: str) -> list[SessionFound]:
    """See `Store.sessions_of`."""
    rows = db.execute(
        "SELECT session, participant, status, slot, excluded_reason FROM identities JOIN sessions USING (participant) "
        "WHERE study = ? AND id_kind = ? AND external_id = ? ORDER BY started_at",
        (study, id_kind, external_id),
    )
    return [SessionFound(*row) for row in rows]


def external_id(db: Database, session: str) -> str | None:
    """See `Store.external_id`."""
    row = db.execute(
        "SELECT external_id FROM identities JOIN sessions USING (participant) WHERE session = ?", (session,)
    ).fetchone()
    return row[0] if row else None


def session_named(db: Database, study: str, session: str) -> SessionFound | None:
    """See `Store.session_named`."""
    row = db.execute(
        "SELECT session, participant, status, slot, excluded_reason FROM sessions JOIN studies USING (study_digest) "
        "WHERE study = ? AND session = ? AND slot IS NOT NULL",
        (study, session),
    ).fetchone()
    return SessionFound(*row) if row else None


def identities(db: Database, study: str) -> list[dict[str, Any]]:
    """See `Store.identities`."""
    rows = db.execute(
        "SELECT id_kind, external_id, participant, session, status, withdrawal_code, parameters, created_at "
        "FROM identities JOIN sessions USING (participant) WHERE study = ? "
        "ORDER BY created_at, external_id, started_at",
        (study,),
    )
    people = []
    for *fields, parameters, created_at in rows:
        known = dict(zip(IDENTITY_COLUMNS, (*fields, created_at), strict=True))
        kept = {f"url_{name}" if name in known else name: value for name, value in json.loads(parameters).items()}
        people.append(known | kept)
    return people


def delete(db: Database, study: Study, participant: str | None, by: str | None) -> int:
    """See `Store.delete_identities`."""
    chosen, values = ("", [study.name]) if participant is None else (" AND participant = ?", [study.name, participant])
    n_deleted = db.execute(f"DELETE FROM identities WHERE study = ?{chosen}", values).rowcount
    payments.delete(db, study.name, participant)
    for study_digest in logs_of(db, study) if n_deleted else ():
        lock_log(db, study_digest, by).write("identities deleted", number=n_deleted)
    return n_deleted
