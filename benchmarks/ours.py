"""Equipoise as labs run it: the sample study, the server with sessions, checks and plans, and its store."""

import json
import random
import secrets
import sqlite3
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.load import HOST, Request, Script, request
from benchmarks.processes import ServerProcess

EQUIPOISE = (sys.executable, "-P", "-m", "equipoise")
# All participants have one address here; the limits are for attackers.
ENVIRONMENT = {
    "EQUIPOISE_STARTS_PER_MINUTE": "1000000",
    "EQUIPOISE_SLOTS_PER_ADDRESS": "1000000",
    "EQUIPOISE_REQUESTS_PER_SECOND": "100000",
}
JSON = f"Content-Type: application/json\r\nOrigin: http://{HOST}\r\n"

STORED = "SELECT response_id, session, trial_index FROM responses"

Acknowledged = list[str]
"""Ids of acknowledged responses."""


def new_study(folder: Path, sample: str = "blackbox-predict") -> Path:
    """Make a sample study in `folder`, which must not exist, and return it."""
    command = [*EQUIPOISE, "new", str(folder), "--from", sample]
    subprocess.run(command, cwd=folder.parent, check=True, capture_output=True)
    return folder


def server(study: Path, port: int, store: str | None = None, under: Sequence[str] = ()) -> ServerProcess:
    """Return a server of a study.

    Parameters
    ----------
    study
        The study's folder.
    port
        Where to listen.
    store
        A PostgreSQL database, as a URL; by default SQLite in the study's folder.
    under
        A program with its arguments to run the server under, such as a tracer.
    """
    command = [*under, *EQUIPOISE, "serve", str(study), "--port", str(port), "--quiet"]
    if store is not None:
        command += ["--store", store]
    return ServerProcess(command, study, port, ENVIRONMENT, ready_path="/api/study")


def participant(acknowledged: Acknowledged | None = None, n_trials: int | None = None) -> Script:
    """Start a participant's session.

    Parameters
    ----------
    acknowledged
        Receives the id of each response when it is acknowledged.
    n_trials
        Number of trials after which the participant pauses; by default they complete the session.
    """
    (yield request("GET", "/")).expect(200)
    study = json.loads((yield request("GET", "/api/study")).expect(200).body)
    start = {"start_id": str(uuid.uuid4()), "consent_digest": study["consent_digest"], "kind": "human"}
    reply = (yield _post("/api/session", json.dumps(start).encode())).expect(200, 201)
    session = json.loads(reply.body)
    cookie = f"Cookie: {reply.header('set-cookie').partition(';')[0]}\r\n"

    shown_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    for trial in session["trials"][:n_trials]:
        response_id = str(uuid.uuid4())
        # the correct response to the attention check
        answer = b'"absorbed"' if trial["task"] == "blackbox_predict" else b"2"
        body = (
            b'{"session":"%b","responses":[{"response_id":"%b","trial_index":%d,"response":%b,"rt_ms":%d,'
            b'"fixation_ms":500.1,"fixation_frames":30,"shown_at":"%b","frames_dropped":0,"focus_lost":0}]}'
        ) % (
            session["session"].encode(),
            response_id.encode(),
            trial["trial_index"],
            answer,
            random.randrange(300, 3000),
            shown_at.encode(),
        )
        (yield _post("/api/responses", body, cookie, is_response=True)).expect(200, 201)
        if acknowledged is not None:
            acknowledged.append(response_id)
    if n_trials is None:
        (yield _post("/api/complete", b"{}", cookie)).expect(200)


def _post(path: str, body: bytes, cookie: str = "", is_response: bool = False) -> Request:
    return request("POST", path, body, f"{JSON}{cookie}", is_response)


@dataclass(frozen=True)
class Books:
    """Comparison of acknowledged and stored responses."""

    acknowledged: int
    lost: int
    """Acknowledged and not stored."""
    duplicates: int
    """Stored more than once, by id or by session and trial."""

    @classmethod
    def of(cls, acknowledged: Acknowledged, stored: Sequence[tuple[str, str, int]]) -> "Books":
        """Compare the two."""
        ids = Counter(response_id for response_id, _, _ in stored)
        trials = Counter(row[1:] for row in stored)
        return cls(
            acknowledged=len(acknowledged),
            lost=len(set(acknowledged) - set(ids)),
            duplicates=max(ids.total() - len(ids), trials.total() - len(trials)),
        )


def stored_in_sqlite(study: Path) -> list[tuple[str, str, int]]:
    """Return id, session and trial of each response in a study's SQLite store."""
    with closing(sqlite3.connect(f"{database(study).as_uri()}?mode=ro", uri=True)) as db:
        return db.execute(STORED).fetchall()


def stored_in_postgres(store: str) -> list[tuple[Any, ...]]:
    """Return id, session and trial of each response in a PostgreSQL store."""
    with psycopg.connect(store) as db:
        return db.execute(STORED).fetchall()


def database(study: Path) -> Path:
    """Return a study's SQLite file."""
    return study / "data" / "equipoise.db"


COPIED = {
    "participant": "'p-' || name",
    "session": "name",
    "token_digest": "name || name || name || name",
    "start_id": "name || '-0000-4000-8000-000000000000'",
    "response_id": "name || '-0000-4000-8000-' || printf('%012d', trial_index)",
}
"""Replacements for unique columns in a copied row, in SQL."""


def fill(study: Path, n_responses: int) -> None:
    """Put this many responses into a study's SQLite store, as copies of its first finished session.

    Their checksums are copies too, so the chains are invalid; code that serves participants does not read them.
    """
    with closing(sqlite3.connect(database(study), isolation_level=None)) as db:
        # One transaction without a journal: the only sync is the one at its end.
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA cache_size = -1000000")
        db.execute("BEGIN")
        session, participant_, n_answered = db.execute(
            "SELECT session, participant, n_answered FROM sessions WHERE status = 'completed' LIMIT 1"
        ).fetchone()
        # In order, so that the trees grow at their ends, which is fast; the names are as random as real ones.
        names = sorted(secrets.token_hex(8) for _ in range(n_responses // n_answered))
        db.execute("CREATE TEMP TABLE names (name TEXT)")
        db.executemany("INSERT INTO names VALUES (?)", ((name,) for name in names))
        _copy_rows(db, "participants", "participant", participant_)
        for table in ("sessions", "planned_trials", "responses"):
            _copy_rows(db, table, "session", session)
        db.execute("COMMIT")


def _copy_rows(db: sqlite3.Connection, table: str, column: str, value: str) -> None:
    """Copy the rows with a value once for each name."""
    db.execute(f"CREATE TEMP TABLE originals AS SELECT * FROM {table} WHERE {column} = ?", (value,))  # noqa: S608
    columns = [row[1] for row in db.execute("PRAGMA table_info(originals)")]
    values = ", ".join(COPIED.get(column, f'"{column}"') for column in columns)
    db.execute(f"INSERT INTO {table} SELECT {values} FROM names CROSS JOIN originals")  # noqa: S608
    db.execute("DROP TABLE originals")
