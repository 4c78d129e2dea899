"""Runs of models: each run is stored completely and once."""

from typing import Any

from batteries.canonical_json import digest
from batteries.errors import InputError
from experiment.plan import Phase, Plan, Trial
from experiment.records import Kind, Participant, Run, Session, Status
from experiment.study.definition import Study
from server.store.checksums import MODEL_COLUMNS, link_response
from server.store.database import Database, insert_sql, now
from server.store.errors import Conflict
from server.store.models import AddedRun
from server.store.sql import responses
from server.store.sql.assignment_log import Log
from server.store.sql.session_rows import insert
from server.store.sql.studies import Registered, as_json, served


def add(log: Log, study: Study, run: Run) -> AddedRun:
    """Store a run, unless the run is stored already. See `Store.add_runs`."""
    db = log.db
    try:
        session = f"run-{digest([study.battery.digest, _identity(run)])[:16]}"
    except InputError as error:
        raise InputError(f"the run {run.run}: {error}") from None
    known = db.execute("SELECT run FROM runs WHERE session = ?", (session,)).fetchone()
    if known:
        return AddedRun(known[0], is_new=False)
    _refuse_stored_responses(db, run)
    label = _free_label(db, run.run)
    _insert(db, served(db, study), study, run, session, label)
    log.write("run added", session, run=label)
    return AddedRun(label, is_new=True)


def _identity(run: Run) -> dict[str, Any]:
    """Return the content that identifies a run: its items and responses, without label and times.

    Columns that are newer than the first stored runs are included only if they have values. So a stored run keeps its
    identity.
    """
    identity = run.model_dump(mode="json", exclude={"run", "started_at", "completed_at"})
    for response in identity["responses"]:
        for column in MODEL_COLUMNS:
            if response[column] is None:
                del response[column]
    return identity


def _refuse_stored_responses(db: Database, run: Run) -> None:
    trial_index_of = {response.response_id: response.trial_index for response in run.responses}
    stored = db.execute("SELECT response_id, run FROM runs JOIN responses USING (session)")
    for response_id, label in stored:
        if response_id in trial_index_of:
            raise Conflict(
                f"the response of `{run.run}` to item `{run.item_ids[trial_index_of[response_id]]}` is in the store "
                f"already, as part of the run `{label}`. Fix: import all files of a run together, and do not "
                "import a file twice."
            )


def _free_label(db: Database, label: str) -> str:
    in_use = {row[0] for row in db.execute("SELECT run FROM runs")}
    free, number = label, 1
    while free in in_use:
        number += 1
        free = f"{label} ({number})"
    return free


def _insert(db: Database, registered: Registered, study: Study, run: Run, session: str, label: str) -> None:
    trials = tuple(
        Trial(trial_index=index, phase=Phase.TEST, item_id=item_id) for index, item_id in enumerate(run.item_ids)
    )
    described = (label, run.model, run.model_version, run.temperature, run.prompt_digest, as_json(run.parameters))
    db.execute("INSERT INTO participants (participant, kind) VALUES (?, ?)", (session, Kind.MODEL.value))
    checksum = insert(
        db,
        Session(
            session=session,
            participant=Participant(participant=session, kind=Kind.MODEL),
            study_digest=registered.study_digest,
            revision=registered.revision,
            battery_digest=study.battery.digest,
            group=None,
            seed=None,
            source=run.source,
            status=Status.COMPLETED,
            started_at=run.started_at,
            completed_at=run.completed_at,
        ),
        Plan(group=None, seed=None, trials=trials),
        run=described,
    )
    db.execute(
        insert_sql("runs", ("session", "run", "model", "model_version", "temperature", "prompt_digest", "parameters")),
        (session, *described),
    )
    received_at = now()
    rows = []
    for response in sorted(run.responses, key=lambda response: response.trial_index):
        values = responses.row(session, response, received_at)
        checksum = link_response(checksum, values)
        rows.append((*values, checksum))
    responses.write(db, rows)
    responses.add_to_totals(db, ((registered.study_digest, row[-1]) for row in rows))
    db.execute("UPDATE sessions SET n_answered = ?, checksum = ? WHERE session = ?", (len(rows), checksum, session))
