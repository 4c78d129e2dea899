"""The embedded store: one SQLite file in WAL mode, every commit fsynced, one writer thread."""

import json
import queue
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from batteries.errors import InputError
from batteries.items import Item
from experiment.plan import Phase, plan_session
from experiment.records import Participant, Response, Run, Session, Status
from experiment.study import Study, StudyDefinition
from server.store import statements
from server.store.contract import (
    AddedRun,
    Conflict,
    GroupProgress,
    RegisteredDefinition,
    SessionStart,
    Store,
    StoredSession,
    StoredTrial,
)
from server.store.opening import connect, migrate
from server.store.writer import GroupCommitWriter


class SqliteStore(Store):
    """A store in one file.

    Parameters
    ----------
    path
        The database file; made, with its folder, if it is not there.

    Raises
    ------
    InputError
        If the file is no store, or was written by a newer Equipoise.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # answers are for their owner's eyes
        except OSError as error:
            raise InputError(f"{path.parent}: this folder cannot be made ({error.strerror}); mend the path.") from None
        migrate(path)
        self._idle_readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._definitions: dict[str, tuple[StudyDefinition, dict[str, str]]] = {}
        self._writer = GroupCommitWriter(lambda: connect(path))

    def register_study(self, study: Study) -> None:
        self._writer.write(lambda db: statements.register(db, study))

    def start_session(self, study: Study, start: SessionStart) -> StoredSession:
        def job(db: sqlite3.Connection) -> None:
            begun_before = db.execute(
                "UPDATE sessions SET token_digest = ? WHERE start_id = ?", (start.token_digest, start.start_id)
            )
            if begun_before.rowcount:
                return
            group, seed = statements.next_group_and_seed(db, study, start.kind)
            session = Session(
                session=secrets.token_hex(8),
                participant=Participant(participant=f"p-{secrets.token_hex(6)}", kind=start.kind),
                study_digest=study.digest,
                battery_digest=study.battery.digest,
                group=group,
                seed=seed,
                source=start.source,
                status=Status.ACTIVE,
                started_at=datetime.now(UTC),
            )
            statements.insert_session(
                db, session, plan_session(study, group, seed), start, statements.completion_code(study, start.kind)
            )

        self._writer.write(job)
        stored = self.find_session(start.token_digest)
        assert stored is not None
        return stored

    def find_session(self, token_digest: str) -> StoredSession | None:
        with self._reading() as db:
            return self._find_session(db, token_digest)

    def add_response(self, session: str, response: Response) -> bool:
        return self._writer.write(lambda db: statements.add_response(db, session, response))

    def complete_session(self, session: str) -> None:
        def job(db: sqlite3.Connection) -> None:
            status, n_trials, n_answered = statements.state(db, session)
            if status == Status.WITHDRAWN:
                raise Conflict("You have left this study; your answers were deleted.")
            if n_answered < n_trials:
                raise Conflict(f"{n_trials - n_answered} answers have not arrived yet.")
            db.execute(
                "UPDATE sessions SET status = 'completed', completed_at = ? WHERE session = ? AND status = 'active'",
                (statements.now(), session),
            )

        self._writer.write(job)

    def withdraw_session(self, session: str) -> None:
        def job(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM responses WHERE session = ?", (session,))
            db.execute("UPDATE sessions SET status = 'withdrawn' WHERE session = ?", (session,))

        self._writer.write(job)
        with connect(self.path) as db, suppress(sqlite3.OperationalError):
            # The log still holds what was deleted; if a reader is in the way just now, a later checkpoint empties it.
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()

    def add_runs(self, study: Study, runs: Sequence[Run]) -> list[AddedRun]:
        def job(db: sqlite3.Connection) -> list[AddedRun]:
            statements.register(db, study)
            return [statements.add_run(db, study, run) for run in runs]

        return self._writer.write(job)

    def sessions_with_code(self, completion_code: str) -> list[str]:
        with self._reading() as db:
            rows = db.execute(
                "SELECT session FROM sessions JOIN studies USING (study_digest) WHERE completion_code = ? "
                "AND completion_code IS NOT json_extract(definition, '$.completion_code')",
                (completion_code,),
            )
            return [session for (session,) in rows]

    def progress(self, study: Study) -> list[GroupProgress]:
        with self._reading() as db:
            rows = db.execute(
                """
                SELECT kind, "group", SUM(status = 'active'), SUM(status = 'completed'), SUM(status = 'withdrawn')
                  FROM sessions JOIN participants USING (participant)
                 WHERE kind <> 'model' AND study_digest = ? GROUP BY kind, "group" ORDER BY kind, "group"
                """,
                (study.digest,),
            )
            return [GroupProgress(*row) for row in rows]

    def registered_definitions(self) -> list[RegisteredDefinition]:
        with self._reading() as db:
            rows = db.execute(
                """
                SELECT registered_at, definition, COUNT(*)
                  FROM studies JOIN sessions USING (study_digest) JOIN participants USING (participant)
                 WHERE kind <> 'model' GROUP BY study_digest ORDER BY registered_at
                """
            )
            return [RegisteredDefinition(at, StudyDefinition.model_validate_json(text), n) for at, text, n in rows]

    def trials(self) -> list[dict[str, Any]]:
        with self._reading() as db:
            return list(Database(db).query("SELECT * FROM trials ORDER BY session, trial_index"))

    def close(self) -> None:
        self._writer.close()
        while not self._idle_readers.empty():
            self._idle_readers.get().close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a reading connection: as many are kept as were ever needed at once, whatever threads come and go."""
        try:
            db = self._idle_readers.get_nowait()
        except queue.Empty:
            db = connect(self.path)
            db.execute("PRAGMA query_only = ON")
        try:
            yield db
        finally:
            self._idle_readers.put(db)

    def _find_session(self, db: sqlite3.Connection, token_digest: str) -> StoredSession | None:
        row = db.execute(
            """
            SELECT session, participant, kind, study_digest, battery_digest, "group", seed, source, status,
                   started_at, completed_at, completion_code,
                   (SELECT COUNT(*) FROM responses WHERE responses.session = sessions.session)
              FROM sessions JOIN participants USING (participant)
             WHERE token_digest = ?
            """,
            (token_digest,),
        ).fetchone()
        if row is None:
            return None
        (name, participant, kind, study_digest, battery_digest, group, seed, source, status, started_at, completed_at,
         completion_code, n_answered) = row  # fmt: skip
        definition, texts = self._registered(db, study_digest)
        return StoredSession(
            session=Session(
                session=name,
                participant=Participant(participant=participant, kind=kind),
                study_digest=study_digest,
                battery_digest=battery_digest,
                group=group,
                seed=seed,
                source=source,
                status=status,
                started_at=started_at,
                completed_at=completed_at,
            ),
            trials=tuple(_stored_trials(db, name, battery_digest)),
            n_answered=n_answered,
            completion_code=completion_code,
            fixation_ms=definition.timing.fixation_ms,
            debrief=texts[definition.timeline.debrief],
        )

    def _registered(self, db: sqlite3.Connection, study_digest: str) -> tuple[StudyDefinition, dict[str, str]]:
        """Return a study's definition and texts as they were registered; what a digest names never changes."""
        if study_digest not in self._definitions:
            definition, texts = db.execute(
                "SELECT definition, texts FROM studies WHERE study_digest = ?", (study_digest,)
            ).fetchone()
            self._definitions[study_digest] = (StudyDefinition.model_validate_json(definition), json.loads(texts))
        return self._definitions[study_digest]


def _stored_trials(db: sqlite3.Connection, session: str, battery_digest: str) -> Iterator[StoredTrial]:
    rows = db.execute(
        """
        SELECT trial_index, phase, item_id, task, factors, content, key
          FROM planned_trials JOIN items USING (item_id)
         WHERE session = ? AND battery_digest = ? ORDER BY trial_index
        """,
        (session, battery_digest),
    )
    for trial_index, phase, item_id, task, factors, content, key in rows:
        item = Item(
            item_id=item_id,
            task=task,
            factors=json.loads(factors),
            content=json.loads(content),
            key=json.loads(key),
        )
        yield StoredTrial(trial_index, Phase(phase), item)
