"""Who participants are to a panel: kept in a table of its own, which can be emptied without touching an answer."""

import json
from typing import Any

from server.store.database import Database
from server.store.times import now
from server.store.values import Identity, SessionFound

IDENTITY_COLUMNS = ("source", "external_id", "participant", "session", "status", "own_code", "created_at")


def insert(db: Database, study: str, identity: Identity, participant: str) -> None:
    """Store whom a pseudonym stands for; the primary key refuses the same person twice."""
    db.execute(
        "INSERT INTO identities (study, source, external_id, participant, parameters, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (study, identity.source, identity.external_id, participant, json.dumps(identity.parameters), now()),
    )


def participant_of(db: Database, study: str, identity: Identity) -> str | None:
    """Return the pseudonym of a person who is known; whoever else begins something for them waits."""
    row = db.execute(
        f"SELECT participant FROM identities WHERE study = ? AND source = ? AND external_id = ?{db.for_update}",
        (study, identity.source, identity.external_id),
    ).fetchone()
    return row[0] if row else None


def session_of(db: Database, study: str, identity: Identity, occasion: int | None) -> str | None:
    """Return the session that this person has begun, in any version of the study; of several a completed one.

    Where people come on several occasions, it is that of this occasion.
    """
    rows = db.execute(
        "SELECT session, occasion FROM identities JOIN sessions USING (participant) "
        "WHERE study = ? AND identities.source = ? AND external_id = ? "
        "ORDER BY CASE WHEN status = 'completed' THEN 0 ELSE 1 END, started_at DESC",
        (study, identity.source, identity.external_id),
    )
    return next((session for session, of in rows.fetchall() if occasion in {None, of}), None)


def sessions_of(db: Database, study: str, source: str, external_id: str) -> list[SessionFound]:
    """See `Store.sessions_of`."""
    rows = db.execute(
        "SELECT session, participant, status, place FROM identities JOIN sessions USING (participant) "
        "WHERE study = ? AND identities.source = ? AND external_id = ? ORDER BY started_at",
        (study, source, external_id),
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
        "SELECT session, participant, status, place FROM sessions JOIN studies USING (study_digest) "
        "WHERE study = ? AND session = ? AND place IS NOT NULL",
        (study, session),
    ).fetchone()
    return SessionFound(*row) if row else None


def identities(db: Database, study: str) -> list[dict[str, Any]]:
    """See `Store.identities`."""
    rows = db.execute(
        "SELECT identities.source, external_id, participant, session, status, completion_code, parameters, created_at "
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


def delete(db: Database, study: str, participant: str | None) -> int:
    """See `Store.delete_identities`."""
    if participant is None:
        return db.execute("DELETE FROM identities WHERE study = ?", (study,)).rowcount
    return db.execute("DELETE FROM identities WHERE study = ? AND participant = ?", (study, participant)).rowcount
