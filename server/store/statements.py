"""What the store writes, as functions of a connection inside a transaction (see `writer`): each does all or raises."""

import json
import secrets
import sqlite3
from datetime import UTC, datetime
from typing import Any

from batteries.canonical import digest
from batteries.errors import InputError
from experiment.plan import Phase, Plan, Trial
from experiment.records import Kind, Participant, Response, Run, Session, Status
from experiment.study import Study
from server.store.contract import AddedRun, Conflict, SessionStart


def now() -> str:
    """Return the time, UTC, ISO 8601, as the store writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _utc(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat(timespec="milliseconds") if at else None


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def completion_code(study: Study, kind: Kind) -> str:
    """Return the study's fixed code, or one of the session's own; a simulated participant never gets the fixed one."""
    fixed = study.definition.completion_code
    return fixed if fixed and kind is Kind.HUMAN else secrets.token_hex(4).upper()


def register(db: sqlite3.Connection, study: Study) -> None:
    """Record a study, unless people have begun sessions of a study of this version with another content."""
    answered = db.execute(
        "SELECT 1 FROM studies JOIN sessions USING (study_digest) JOIN participants USING (participant) "
        "WHERE study = ? AND version = ? AND study_digest <> ? AND kind = 'human' LIMIT 1",
        (study.name, study.definition.version, study.digest),
    ).fetchone()
    if answered:
        raise InputError(
            f"{study.folder / 'study.yaml'}: people have begun sessions of version {study.definition.version} of this "
            "study, and its definition, battery or texts have changed since; give it a new `version`."
        )
    _insert_study(db, study)


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
            now(),
        ),
    )
    db.executemany(
        "INSERT INTO items VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            (study.battery.digest, item.item_id, item.task, *map(_as_json, (item.factors, item.content, item.key)))
            for item in study.battery.items
        ),
    )


def next_group_and_seed(db: sqlite3.Connection, study: Study, kind: Kind) -> tuple[int, int]:
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


def insert_session(
    db: sqlite3.Connection,
    session: Session,
    plan: Plan,
    start: SessionStart | None = None,
    completion_code: str | None = None,
) -> None:
    """Store a new session with its participant and its plan."""
    db.execute("INSERT INTO participants VALUES (?, ?)", (session.participant.participant, session.participant.kind))
    db.execute(
        "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            session.session,
            session.participant.participant,
            session.study_digest,
            session.battery_digest,
            session.group,
            session.seed,
            session.source,
            session.status,
            _utc(session.started_at),
            _utc(session.completed_at),
            start.consent_digest if start else None,
            start.token_digest if start else None,
            start.start_id if start else None,
            completion_code,
            len(plan.trials),
        ),
    )
    db.executemany(
        "INSERT INTO planned_trials VALUES (?, ?, ?, ?)",
        ((session.session, trial.trial_index, trial.phase, trial.item_id) for trial in plan.trials),
    )


def state(db: sqlite3.Connection, session: str) -> tuple[Status, int, int]:
    """Return a session's status, its number of trials, and how many are answered."""
    status, n_trials, n_answered = db.execute(
        "SELECT status, n_trials, (SELECT COUNT(*) FROM responses WHERE session = ?1) FROM sessions WHERE session = ?1",
        (session,),
    ).fetchone()
    return Status(status), n_trials, n_answered


def add_response(db: sqlite3.Connection, session: str, response: Response) -> bool:
    """Store an answer if it is the next one; return whether it is new. See `Store.add_response`."""
    known = db.execute(
        "SELECT session, trial_index, response FROM responses WHERE response_id = ?", (response.response_id,)
    ).fetchone()
    if known is not None:
        if known == (session, response.trial_index, _as_json(response.response)):
            return False
        raise Conflict("This response id belongs to another answer.")
    status, n_trials, n_answered = state(db, session)
    if status != Status.ACTIVE:
        raise Conflict(f"This session is {status}; it takes no more answers.")
    # Participants read these.
    if response.trial_index >= n_trials:
        raise Conflict(f"There is no trial {response.trial_index} in this session.")
    if response.trial_index < n_answered:
        raise Conflict("This question has been answered already, perhaps in another window.")
    if response.trial_index > n_answered:
        raise Conflict("The answer to an earlier question has not arrived.")
    _insert_response(db, session, response, received_at=now())
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
            _utc(response.shown_at),
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


def add_run(db: sqlite3.Connection, study: Study, run: Run) -> AddedRun:
    """Store a run, or find that it is stored already. See `Store.add_runs`."""
    # A run is what was asked and answered: its label and the time of the asking are left out.
    identity = run.model_dump(mode="json", exclude={"run", "started_at", "completed_at"})
    try:
        session = f"run-{digest([study.battery.digest, identity])[:16]}"
    except InputError as error:
        raise InputError(f"the run {run.run}: {error}") from None
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
    insert_session(
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
        _insert_response(db, session, response, now(), response.valid, response.text, response.imported_correct)
