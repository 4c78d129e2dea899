"""Storage of models' runs. Each run is stored completely, and only once."""

import json
import re
from operator import itemgetter
from typing import Any

from batteries.canonical_json import digest
from batteries.errors import InputError
from experiment.plan import Phase, Plan, Trial
from experiment.records import TRAINING_CUTOFF, TRUNCATED, Kind, Participant, Run, Session, Source, Status
from experiment.study.definition import Study
from server.store.checksums import MODEL_COLUMNS, link_response
from server.store.database import Database, insert_sql, marks, now
from server.store.errors import Conflict
from server.store.models import AddedRun, StoredRun
from server.store.sql import responses
from server.store.sql.assignment_log import Log
from server.store.sql.session_rows import insert
from server.store.sql.studies import Registered, as_json, served

_IDS_AT_ONCE = 10_000
"""Number of response ids in one statement. SQLite accepts at most 32,766 values in a statement."""


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
    _refuse_second_part(db, study, run)
    _refuse_stored_responses(db, run)
    label = _free_label(db, run.run)
    _insert(db, served(db, study), study, run, session, label)
    log.write("run added", session, run=label)
    return AddedRun(label, is_new=True)


def _identity(run: Run) -> dict[str, Any]:
    """Return the content that identifies a run: its items and responses, without label, times and training cutoff.

    Columns that a later Equipoise added are included only if they have values. So runs from before are still
    recognized.
    """
    identity = run.model_dump(mode="json", exclude={"run", "started_at", "completed_at"})
    identity["parameters"].pop(TRAINING_CUTOFF, None)
    for response in identity["responses"]:
        for column in MODEL_COLUMNS:
            if response[column] is None:
                del response[column]
    return identity


def _refuse_stored_responses(db: Database, run: Run) -> None:
    trial_index_of = {response.response_id: response.trial_index for response in run.responses}
    ids = list(trial_index_of)
    for first in range(0, len(ids), _IDS_AT_ONCE):
        some = ids[first : first + _IDS_AT_ONCE]
        stored = db.execute(
            "SELECT response_id, run FROM runs JOIN responses USING (session) "
            f"WHERE response_id IN ({marks(some)}) LIMIT 1",
            some,
        ).fetchone()
        if stored:
            response_id, label = stored
            raise Conflict(
                f"the response of `{run.run}` to item `{run.item_ids[trial_index_of[response_id]]}` is in the store "
                f"already, as part of the run `{label}`. Fix: import all files of a run together, and do not "
                "import a file twice."
            )


def _refuse_second_part(db: Database, study: Study, run: Run) -> None:
    """Raise an error for an imported run if the store has another import of the same model under the same condition.

    The second import usually contains the replies to requests that failed before. As a separate run, these replies
    would count as a second model.
    """
    if run.source is not Source.IMPORT or "format" not in run.parameters:
        return  # Stored Black Box runs name their experiments, so that a repetition is a separate run.
    stored = db.execute(
        "SELECT run, temperature, prompt_digest, parameters, n_answered FROM runs JOIN sessions USING (session) "
        "WHERE battery_digest = ? AND source = ? AND model = ? AND model_version = ?",
        (study.battery.digest, Source.IMPORT.value, run.model, run.model_version),
    ).fetchall()
    for label, temperature, prompt_digest, parameters, n_responses in stored:
        condition = _condition(temperature, prompt_digest, json.loads(parameters))
        if condition == _condition(run.temperature, run.prompt_digest, run.parameters):
            raise Conflict(
                f"the run `{label}` of the same model under the same condition is in the store already, with "
                f"{n_responses} responses. The imported run has {len(run.responses)} responses and cannot be added, "
                "because a stored run never changes. Fix: import all files of this run together into another store "
                "(--store)."
            )


def _condition(temperature: float | None, prompt_digest: str | None, parameters: dict[str, Any]) -> tuple[object, ...]:
    """Return the values that all imports of a run share: temperature, prompt digest and most parameters.

    Totals are left out, because they depend on the number of responses. The training cutoff is left out, because the
    researcher may add it later.
    """
    shared = {name: value for name, value in parameters.items() if name not in {"totals", TRAINING_CUTOFF}}
    return temperature, prompt_digest, shared


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


def listed(db: Database, study: str, canary: str | None) -> list[StoredRun]:
    """See `Store.runs`."""
    found = db.execute(
        """
        SELECT session, run, model, model_version, temperature, prompt_digest, parameters, source, started_at,
               completed_at, version AS study_version, sessions.battery_digest AS battery_digest,
               n_trials AS n_items
          FROM runs JOIN sessions USING (session) JOIN studies USING (study_digest)
         WHERE study = ?
        """,
        (study,),
    )
    names = [column[0] for column in found.description]
    rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    # Sorted by Python, because databases order texts differently.
    return [_with_counts(db, canary, **row) for row in sorted(rows, key=itemgetter("run"))]


def _with_counts(
    db: Database, canary: str | None, session: str, parameters: str, source: str, **described: Any
) -> StoredRun:
    return StoredRun(
        **described, **_counts(db, session, canary), parameters=json.loads(parameters), source=Source(source)
    )


def _counts(db: Database, session: str, canary: str | None) -> dict[str, Any]:
    """Count the responses of a run, without reading all of them into memory."""
    literal = re.sub("([!%_])", r"!\1", canary or "")
    truncated = sorted(TRUNCATED)
    counts = db.execute(
        f"""
        SELECT COUNT(*), COALESCE(SUM(1 - valid), 0),
               COALESCE(SUM(CASE WHEN stop_reason IN ({marks(truncated)}) THEN 1 ELSE 0 END), 0),
               SUM(input_tokens), SUM(output_tokens),
               COALESCE(SUM(CASE WHEN LOWER(text) LIKE LOWER(?) ESCAPE '!'
                              OR LOWER(thinking) LIKE LOWER(?) ESCAPE '!' THEN 1 ELSE 0 END), 0)
          FROM responses WHERE session = ?
        """,
        (*truncated, f"%{literal}%", f"%{literal}%", session),
    ).fetchone()
    names = ("n_responses", "n_invalid", "n_truncated", "input_tokens", "output_tokens", "n_with_canary")
    return dict(zip(names, counts, strict=True)) | ({} if canary else {"n_with_canary": None})
