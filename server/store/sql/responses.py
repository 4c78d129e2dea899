"""Storage of responses. The responses of many participants are checked together and written in few statements.

Each study has totals, in a separate table: the number of responses, and a sum over their checksums. If a person
deletes the last responses of a session and also changes the session's count and checksum, the totals reveal it. The
totals of a study are the sum of several rows, so that server processes seldom wait for each other.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from experiment.records import Response, RunResponse, Status
from server.store.checksums import MODEL_COLUMNS, RESPONSE_COLUMNS, link_response
from server.store.database import Database, as_text, now
from server.store.errors import Conflict, NotYourSession, Refusal
from server.store.models import ENDED_FOR, NOTHING_PASSED_OVER
from server.store.sql.session_state import SessionState, insert_rows, lock_states, move_on, plain, portions
from server.store.sql.studies import as_json

COLUMNS = (*RESPONSE_COLUMNS, "checksum")
ID_IN_USE = "This response id belongs to another response. Fix: give each response its own id."
ONLY_PLANNED = "Fix: send only responses to trials of the session's plan."


@dataclass(frozen=True)
class ResponseBatch:
    """The responses in one request, which are to the next trials of one session."""

    session: str
    token_digest: str
    responses: Sequence[Response]
    passed_over: range = NOTHING_PASSED_OVER
    """Practice trials that are skipped, because an earlier round of practice was passed."""


def add(db: Database, batch: Sequence[ResponseBatch]) -> list[list[bool] | Conflict]:
    """Store the responses of several requests. Return one result for each request, as in `Store.add_responses`.

    Each request is stored completely or refused. The result of a refused request is a `Conflict`. A batch of any size
    needs six statements.
    """
    states = lock_states(db, sorted({request.session for request in batch}))
    _note_known_ids(db, batch, states)
    received_at = now()
    accepted: list[tuple[Any, ...]] = []
    outcomes: list[list[bool] | Conflict] = []
    for request in batch:
        state = states.get(request.session)
        before = replace(state, known_ids=set(state.known_ids)) if state else None
        n_accepted = len(accepted)
        try:
            if state is None or state.token_digest != request.token_digest:
                raise NotYourSession("opened_elsewhere")
            outcomes.append([_accept(db, request, state, one, received_at, accepted) for one in request.responses])
        except Conflict as conflict:
            if before:
                states[request.session] = before
            del accepted[n_accepted:]
            outcomes.append(conflict)
    write(db, accepted)
    move_on(db, {row[0]: states[row[0]] for row in accepted})
    add_to_totals(db, ((states[row[0]].study_digest, row[-1]) for row in accepted))
    return outcomes


def _note_known_ids(db: Database, batch: Sequence[ResponseBatch], states: dict[str, SessionState]) -> None:
    # Searched only in the session's responses: an index of all ids would be one more page to write per response.
    sent = [(request.session, response.response_id) for request in batch for response in request.responses]
    for some in portions(sent):
        rows = db.execute(
            f"SELECT session, response_id FROM (VALUES {', '.join(['(?, ?)'] * len(some))}) AS sent "
            "JOIN responses ON session = sent.column1 AND response_id = sent.column2",
            list(chain.from_iterable(some)),
        )
        for session, response_id in rows:
            states[session].known_ids.add(response_id)


def _accept(
    db: Database,
    request: ResponseBatch,
    state: SessionState,
    response: Response,
    received_at: str,
    accepted: list[tuple[Any, ...]],
) -> bool:
    """Add the row of a new response to `accepted`. Return False if the response is stored already."""
    if response.trial_index < state.n_answered:
        _check_is_retry(db, request.session, response, accepted)
        return False
    if state.status != Status.ACTIVE or state.release_reason in ENDED_FOR:
        raise Refusal("session_over")
    if response.trial_index >= state.n_trials:
        raise Conflict(f"There is no trial {response.trial_index} in this session. {ONLY_PLANNED}")
    if state.n_answered in request.passed_over:
        state.n_answered = request.passed_over.stop
    if response.trial_index > state.n_answered:
        raise Refusal("answer_missing")
    if response.response_id in state.known_ids:
        raise Conflict(ID_IN_USE)
    state.known_ids.add(response.response_id)
    values = row(request.session, response, received_at)
    state.n_answered, state.checksum = state.n_answered + 1, link_response(state.checksum, values)
    accepted.append((*values, state.checksum))
    return True


def _check_is_retry(db: Database, session: str, response: Response, accepted: Iterable[tuple[Any, ...]]) -> None:
    sent = (response.response_id, as_json(response.response))
    stored = db.execute(
        "SELECT response_id, response FROM responses WHERE session = ? AND trial_index = ?",
        (session, response.trial_index),
    ).fetchone()
    if stored is None:  # It may be accepted in this batch, and not yet written.
        stored = next(((row[3], row[4]) for row in accepted if row[:2] == (session, response.trial_index)), None)
    if stored is None:  # The trial was skipped, so it never had a response.
        raise Refusal("answered_already")
    if stored == sent:
        return
    if stored[0] == response.response_id:
        raise Conflict(ID_IN_USE)
    raise Refusal("answered_already")


def row(session: str, response: Response, received_at: str) -> tuple[Any, ...]:
    """Return a response of a person or a model in its stored form, in the order of `RESPONSE_COLUMNS`."""
    of_model = response if isinstance(response, RunResponse) else None
    imported_correct = of_model.imported_correct if of_model else None
    return (
        session,
        response.trial_index,
        response.attempt,
        response.response_id,
        as_json(response.response),
        plain(response.rt_ms),
        plain(response.fixation_ms),
        response.fixation_frames,
        response.fixation_frames_intended,
        plain(response.frame_ms),
        as_text(response.shown_at) if response.shown_at else None,
        response.onset_source,
        received_at,
        response.frames_dropped,
        response.focus_lost,
        int(of_model.valid) if of_model else 1,
        of_model.text if of_model else None,
        None if imported_correct is None else int(imported_correct),
        response.visit,
        response.input,
        response.missing,
        as_json(response.signals.model_dump(exclude_defaults=True)) if response.signals else None,
        as_json(response.jspsych.model_dump()) if response.jspsych else None,
        *(getattr(response, column, None) for column in MODEL_COLUMNS),
        as_json(response.presentation.model_dump(exclude_defaults=True)) if response.presentation else None,
        plain(response.confidence),
        plain(response.confidence_rt_ms),
    )


def write(db: Database, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows of responses. Each row comes from the function `row`, with its checksum at the end."""
    insert_rows(db, "responses", COLUMNS, rows)


def responses_of(db: Database, session: str) -> list[tuple[int, str]]:
    """Return the trial index and the JSON text of each response of a session."""
    rows: list[tuple[int, str]] = db.execute(
        "SELECT trial_index, response FROM responses WHERE session = ? ORDER BY trial_index", (session,)
    ).fetchall()
    return rows


N_PARTS = 16
Totals = tuple[int, int]
"""Number of responses, and the sum of `number_of` over the checksums of these responses."""


def number_of(checksum: str) -> int:
    """Return the number that a response with this checksum adds to the totals.

    The number has 32 bits, so that the sum for billions of responses has at most 64 bits.
    """
    try:
        return int(checksum[:8], 16)
    except ValueError:  # The checksum is damaged, which also breaks its session's chain.
        return 0


def add_to_totals(db: Database, responses: Iterable[tuple[str, str]], sign: int = 1) -> None:
    """Add responses to the totals of their studies, or subtract them.

    Parameters
    ----------
    db
        A connection inside a transaction.
    responses
        The study digest and the checksum of each response.
    sign
        1 for stored responses, -1 for deleted responses.
    """
    n_responses: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    number = 0
    for study_digest, checksum in responses:
        number = number_of(checksum)
        n_responses[study_digest] += sign
        sums[study_digest] += sign * number
    if not n_responses:
        return
    rows = [
        (study_digest, number % N_PARTS, n_responses[study_digest], sums[study_digest]) for study_digest in n_responses
    ]
    db.execute(
        "INSERT INTO response_totals (study_digest, part, n_responses, checksum_sum) "
        f"VALUES {', '.join(['(?, ?, ?, ?)'] * len(rows))} ON CONFLICT (study_digest, part) DO UPDATE "
        "SET n_responses = response_totals.n_responses + excluded.n_responses, "
        "checksum_sum = response_totals.checksum_sum + excluded.checksum_sum",
        [value for row in sorted(rows) for value in row],
    )


def count_totals(db: Database) -> None:
    """If the store has no totals yet, count the responses of each study, and store these totals."""
    if not db.execute("SELECT 1 FROM response_totals LIMIT 1").fetchone():
        add_to_totals(
            db, db.stream("SELECT study_digest, responses.checksum FROM responses JOIN sessions USING (session)")
        )


def read_totals(db: Database) -> dict[str, Totals]:
    """Return the totals of each study."""
    rows = db.execute(
        "SELECT study_digest, SUM(n_responses), SUM(checksum_sum) FROM response_totals GROUP BY study_digest"
    ).fetchall()
    return {study_digest: (int(n_responses), int(checksum_sum)) for study_digest, n_responses, checksum_sum in rows}
