"""The embedded store: one SQLite file in WAL mode, every commit fsynced, one writer thread."""

import json
import secrets
import sqlite3
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from batteries.canonical import digest
from batteries.errors import InputError
from batteries.items import Item
from experiment.plan import Phase, Plan, Trial, plan_session
from experiment.records import Kind, Participant, Response, Run, Session, Source, Status
from experiment.study import Study
from server.store.contract import AddedRun, Conflict, GroupProgress, Store, StoredSession, StoredTrial
from server.store.schema import migrations
from server.store.writer import GroupCommitWriter

BUSY_TIMEOUT_MS = 10_000
"""How long a commit waits for another process (an import beside a running server) to finish its own."""


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
        path.parent.mkdir(parents=True, exist_ok=True)
        _migrate(path)
        self._readers = threading.local()
        self._open_readers: list[sqlite3.Connection] = []
        self._writer = GroupCommitWriter(lambda: _connect(path))

    def register_study(self, study: Study) -> None:
        def job(db: sqlite3.Connection) -> None:
            answered = db.execute(
                "SELECT 1 FROM studies JOIN sessions USING (study_digest) JOIN participants USING (participant) "
                "WHERE study = ? AND version = ? AND study_digest <> ? AND kind = 'human' LIMIT 1",
                (study.name, study.definition.version, study.digest),
            ).fetchone()
            if answered:
                raise InputError(
                    f"{study.folder / 'study.yaml'}: people have answered version {study.definition.version} of this "
                    "study, and its definition, battery or texts have changed since; give it a new `version`."
                )
            _insert_study(db, study)

        self._writer.write(job)

    def start_session(
        self, study: Study, kind: Kind, source: Source, token_digest: str, consent_digest: str
    ) -> StoredSession:
        session = secrets.token_hex(8)

        def job(db: sqlite3.Connection) -> None:
            group, seed = _next_group_and_seed(db, study, kind)
            _insert_session(
                db,
                Session(
                    session=session,
                    participant=Participant(participant=f"p-{secrets.token_hex(6)}", kind=kind),
                    study_digest=study.digest,
                    battery_digest=study.battery.digest,
                    group=group,
                    seed=seed,
                    source=source,
                    status=Status.ACTIVE,
                    started_at=datetime.now(UTC),
                ),
                plan_session(study, group, seed),
                token_digest,
                consent_digest,
                study.definition.completion_code or secrets.token_hex(4).upper(),
            )

        self._writer.write(job)
        stored = self._session_where("sessions.session = ?", session)
        assert stored is not None
        return stored

    def find_session(self, token_digest: str) -> StoredSession | None:
        return self._session_where("token_digest = ?", token_digest)

    def add_response(self, session: str, response: Response) -> bool:
        return self._writer.write(lambda db: _add_response(db, session, response))

    def complete_session(self, session: str) -> None:
        def job(db: sqlite3.Connection) -> None:
            status, n_trials, n_answered = _state(db, session)
            if status == Status.WITHDRAWN:
                raise Conflict("You have left this study; your answers were deleted.")
            if n_answered < n_trials:
                raise Conflict(f"{n_trials - n_answered} answers have not arrived yet.")
            db.execute(
                "UPDATE sessions SET status = 'completed', completed_at = ? WHERE session = ? AND status = 'active'",
                (_now(), session),
            )

        self._writer.write(job)

    def withdraw_session(self, session: str) -> None:
        def job(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM responses WHERE session = ?", (session,))
            db.execute("UPDATE sessions SET status = 'withdrawn' WHERE session = ?", (session,))

        self._writer.write(job)

    def add_runs(self, study: Study, runs: Sequence[Run]) -> list[AddedRun]:
        def job(db: sqlite3.Connection) -> list[AddedRun]:
            _insert_study(db, study)
            return [_add_run(db, study, run) for run in runs]

        return self._writer.write(job)

    def sessions_with_code(self, completion_code: str) -> list[str]:
        rows = self._reader().execute("SELECT session FROM sessions WHERE completion_code = ?", (completion_code,))
        return [session for (session,) in rows]

    def progress(self) -> list[GroupProgress]:
        rows = self._reader().execute(
            """
            SELECT kind, "group", SUM(status = 'active'), SUM(status = 'completed'), SUM(status = 'withdrawn')
              FROM sessions JOIN participants USING (participant)
             WHERE kind <> 'model' GROUP BY kind, "group" ORDER BY kind, "group"
            """
        )
        return [GroupProgress(*row) for row in rows]

    def trials(self) -> list[dict[str, Any]]:
        return list(Database(self._reader()).query("SELECT * FROM trials ORDER BY session, trial_index"))

    def close(self) -> None:
        self._writer.close()
        for reader in self._open_readers:
            reader.close()

    def _reader(self) -> sqlite3.Connection:
        """Return this thread's reading connection."""
        if not hasattr(self._readers, "connection"):
            self._readers.connection = _connect(self.path)
            self._readers.connection.execute("PRAGMA query_only = ON")
            self._open_readers.append(self._readers.connection)
        connection: sqlite3.Connection = self._readers.connection
        return connection

    def _session_where(self, condition: str, value: str) -> StoredSession | None:
        reader = self._reader()
        row = reader.execute(
            # `condition` is one of our own two, never anything from outside
            f"""
            SELECT sessions.session, participant, kind, study_digest, sessions.battery_digest, "group", seed, source,
                   status, started_at, completed_at, completion_code,
                   (SELECT COUNT(*) FROM responses WHERE responses.session = sessions.session)
              FROM sessions JOIN participants USING (participant) JOIN studies USING (study_digest)
             WHERE {condition}
            """,  # noqa: S608
            (value,),
        ).fetchone()
        if row is None:
            return None
        (name, participant, kind, study_digest, battery_digest, group, seed, source, status, started_at, completed_at,
         completion_code, n_answered) = row  # fmt: skip
        trials = reader.execute(
            """
            SELECT trial_index, phase, item_id, task, factors, content, key
              FROM planned_trials JOIN items USING (item_id)
             WHERE session = ? AND battery_digest = ? ORDER BY trial_index
            """,
            (name, battery_digest),
        )
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
            trials=tuple(
                StoredTrial(
                    trial_index,
                    Phase(phase),
                    Item(
                        item_id=item_id,
                        task=task,
                        factors=json.loads(factors),
                        content=json.loads(content),
                        key=json.loads(key),
                    ),
                )
                for trial_index, phase, item_id, task, factors, content, key in trials
            ),
            n_answered=n_answered,
            completion_code=completion_code,
        )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _migrate(path: Path) -> None:
    """Bring the file's schema up to date; refuse, untouched, what is no store or comes from a newer version."""
    is_new = not path.exists() or path.stat().st_size == 0
    try:
        if not is_new:
            _check_is_ours(path)
        with _connect(path) as connection:
            migrations.apply(Database(connection))
        connection.close()
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: this file cannot be used as a store ({error}); move it away or mend it.") from None


def _check_is_ours(path: Path) -> None:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        applied = {migration.name for migration in migrations.applied(Database(connection))}
    finally:
        connection.close()
    if not applied:
        raise InputError(f"{path}: this is not an Equipoise store; move it away, and a new one will be made.")
    unknown = applied - {migration.name for migration in migrations._migrations}
    if unknown:
        raise InputError(
            f"{path}: this store was written by a newer Equipoise (it has {', '.join(sorted(unknown))}); "
            "update Equipoise to read it."
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _insert_study(db: sqlite3.Connection, study: Study) -> None:
    db.execute(
        "INSERT INTO studies VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            study.digest,
            study.name,
            study.definition.version,
            study.battery.digest,
            study.definition.model_dump_json(),
            _as_json(dict(study.texts)),
            _now(),
        ),
    )
    db.executemany(
        "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            (study.battery.digest, item.item_id, item.task, *map(_as_json, (item.factors, item.content, item.key)))
            for item in study.battery.items
        ),
    )


def _next_group_and_seed(db: sqlite3.Connection, study: Study, kind: Kind) -> tuple[int, int]:
    """Return the group with the fewest sessions of this kind that are not withdrawn, and the session's number in it."""
    begun = dict.fromkeys(range(1, study.definition.design.groups + 1), 0)
    under_way = dict(begun)
    rows = db.execute(
        "SELECT \"group\", COUNT(*), SUM(status <> 'withdrawn') FROM sessions JOIN participants USING (participant) "
        'WHERE study_digest = ? AND kind = ? GROUP BY "group"',
        (study.digest, kind),
    )
    for group, n_begun, n_under_way in rows:
        begun[group], under_way[group] = n_begun, n_under_way
    group = min(under_way, key=lambda group: (under_way[group], group))
    return group, begun[group] + 1


def _insert_session(
    db: sqlite3.Connection,
    session: Session,
    plan: Plan,
    token_digest: str | None = None,
    consent_digest: str | None = None,
    completion_code: str | None = None,
) -> None:
    db.execute("INSERT INTO participants VALUES (?, ?)", (session.participant.participant, session.participant.kind))
    db.execute(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            session.session,
            session.participant.participant,
            session.study_digest,
            session.battery_digest,
            session.group,
            session.seed,
            session.source,
            session.status,
            session.started_at.isoformat(timespec="milliseconds"),
            session.completed_at.isoformat(timespec="milliseconds") if session.completed_at else None,
            consent_digest,
            token_digest,
            completion_code,
            len(plan.trials),
        ),
    )
    db.executemany(
        "INSERT INTO planned_trials VALUES (?, ?, ?, ?)",
        ((session.session, trial.trial_index, trial.phase, trial.item_id) for trial in plan.trials),
    )


def _state(db: sqlite3.Connection, session: str) -> tuple[Status, int, int]:
    """Return a session's status, its number of trials, and how many are answered."""
    status, n_trials, n_answered = db.execute(
        "SELECT status, n_trials, (SELECT COUNT(*) FROM responses WHERE session = ?1) FROM sessions WHERE session = ?1",
        (session,),
    ).fetchone()
    return Status(status), n_trials, n_answered


def _add_response(db: sqlite3.Connection, session: str, response: Response) -> bool:
    known = db.execute(
        "SELECT session, trial_index, response FROM responses WHERE response_id = ?", (response.response_id,)
    ).fetchone()
    if known is not None:
        if known == (session, response.trial_index, _as_json(response.response)):
            return False
        raise Conflict("This response id belongs to another answer.")
    status, n_trials, n_answered = _state(db, session)
    if status != Status.ACTIVE:
        raise Conflict(f"This session is {status}; it takes no more answers.")
    if response.trial_index >= n_trials:
        raise Conflict(f"There is no trial {response.trial_index} in this session.")
    if response.trial_index != n_answered:
        raise Conflict(
            f"Trial {response.trial_index} is not the next one; the next is trial {n_answered}."
            if n_answered < n_trials
            else "Every trial of this session is answered."
        )
    _insert_response(db, session, response, received_at=_now())
    return True


def _insert_response(
    db: sqlite3.Connection,
    session: str,
    response: Response,
    received_at: str,
    valid: bool = True,
    text: str | None = None,
    imported_correct: bool | None = None,
) -> None:
    db.execute(
        "INSERT INTO responses VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            response.response_id,
            session,
            response.trial_index,
            _as_json(response.response),
            response.rt_ms,
            response.fixation_ms,
            response.fixation_frames,
            response.shown_at.astimezone(UTC).isoformat(timespec="milliseconds") if response.shown_at else None,
            received_at,
            response.frames_dropped,
            response.focus_lost,
            valid,
            text,
            imported_correct,
        ),
    )


def _free_label(db: sqlite3.Connection, label: str) -> str:
    taken = {row[0] for row in db.execute("SELECT run FROM runs")}
    free, number = label, 1
    while free in taken:
        number += 1
        free = f"{label} ({number})"
    return free


def _add_run(db: sqlite3.Connection, study: Study, run: Run) -> AddedRun:
    # A run is what was asked and answered: its label and the time of the asking are left out.
    identity = run.model_dump(mode="json", exclude={"run", "started_at", "completed_at"})
    session = f"run-{digest([study.battery.digest, identity])[:16]}"
    known = db.execute("SELECT run FROM runs WHERE session = ?", (session,)).fetchone()
    if known:
        return AddedRun(known[0], is_new=False)
    for response in run.responses:
        stored = db.execute(
            "SELECT run FROM responses JOIN runs USING (session) WHERE response_id = ?", (response.response_id,)
        ).fetchone()
        if stored:
            raise Conflict(
                f"the answer of `{run.run}` to item `{run.item_ids[response.trial_index]}` is in the store already, "
                f"as part of the run `{stored[0]}`; import all files of a run together, and each once."
            )
    label = _free_label(db, run.run)
    _insert_run(db, study, run, session, label)
    return AddedRun(label, is_new=True)


def _insert_run(db: sqlite3.Connection, study: Study, run: Run, session: str, label: str) -> None:
    trials = tuple(
        Trial(trial_index=index, phase=Phase.TEST, item_id=item_id) for index, item_id in enumerate(run.item_ids)
    )
    _insert_session(
        db,
        Session(
            session=session,
            participant=Participant(participant=session, kind=Kind.MODEL),
            study_digest=study.digest,
            battery_digest=study.battery.digest,
            group=None,
            seed=None,
            source=run.source,
            status=Status.COMPLETED,
            started_at=run.started_at,
            completed_at=run.completed_at,
        ),
        Plan(group=None, seed=None, trials=trials),
    )
    db.execute(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)",
        (session, label, run.model, run.model_version, run.temperature, run.prompt_digest, _as_json(run.parameters)),
    )
    for response in run.responses:
        _insert_response(db, session, response, _now(), response.valid, response.text, response.imported_correct)
