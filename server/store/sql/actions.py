"""Storage of the actions in trials of interactive tasks. The actions of many participants are written together."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pydantic import JsonValue

from experiment.records import Status, TrialAction
from server.store.checksums import ACTION_COLUMNS, link
from server.store.database import Database, now
from server.store.errors import Conflict, NotYourSession, Refusal
from server.store.models import ENDED_FOR, NOTHING_PASSED_OVER, StoredAction
from server.store.sql.session_state import SessionState, insert_rows, lock_states, move_on, plain, portions
from server.store.sql.studies import as_json

COLUMNS = (*ACTION_COLUMNS, "checksum")


@dataclass(frozen=True)
class NewAction:
    """One action in the next trial of a session, and its observation."""

    session: str
    token_digest: str
    action: TrialAction
    observation: JsonValue
    passed_over: range = NOTHING_PASSED_OVER
    """Practice trials that are skipped, because an earlier round of practice was passed."""

    @property
    def trial(self) -> tuple[str, int]:
        """The session and the index of the trial."""
        return self.session, self.action.trial_index


def add(db: Database, batch: Sequence[NewAction]) -> list[bool | Conflict]:
    """Store the actions of several requests. Return one result for each request, as in `Store.add_action`.

    An action is stored or refused. The result of a refused action is a `Conflict`.
    """
    states = lock_states(db, sorted({request.session for request in batch}))
    n_actions = _count(db, batch)
    received_at = now()
    accepted: dict[tuple[str, int, int], tuple[Any, ...]] = {}
    outcomes: list[bool | Conflict] = []
    for request in batch:
        try:
            state = states.get(request.session)
            if state is None or state.token_digest != request.token_digest:
                raise NotYourSession("opened_elsewhere")
            n_before = n_actions.get(request.trial, 0)
            if request.action.action_index < n_before:
                outcomes.append(_check_is_retry(db, request, accepted))
                continue
            _check_is_next(request, state, n_before)
        except Conflict as conflict:
            outcomes.append(conflict)
            continue
        values = row(request, received_at)
        state.checksum = link(state.checksum, values)
        accepted[values[0], values[1], values[2]] = (*values, state.checksum)
        n_actions[request.trial] = n_before + 1
        outcomes.append(True)
    insert_rows(db, "actions", COLUMNS, list(accepted.values()))
    move_on(db, {session: states[session] for session, _, _ in accepted})
    return outcomes


def row(request: NewAction, received_at: str) -> tuple[Any, ...]:
    """Return an action in its stored form, in the order of `ACTION_COLUMNS`."""
    action = request.action
    return (
        request.session,
        action.trial_index,
        action.action_index,
        action.action_id,
        as_json(action.action),
        as_json(request.observation),
        plain(action.since_onset_ms),
        plain(action.rt_ms),
        action.input,
        action.attempt,
        action.visit,
        received_at,
    )


def of_trial(db: Database, session: str, trial_index: int) -> list[StoredAction]:
    """Return the actions of a trial, in order."""
    rows = db.execute(
        "SELECT action_id, action, observation FROM actions WHERE session = ? AND trial_index = ? "
        "ORDER BY action_index",
        (session, trial_index),
    )
    return [StoredAction(name, json.loads(action), json.loads(seen)) for name, action, seen in rows.fetchall()]


def _count(db: Database, batch: Sequence[NewAction]) -> dict[tuple[str, int], int]:
    """Return the number of stored actions of each trial in the batch that has any."""
    n_actions: dict[tuple[str, int], int] = {}
    for some in portions(sorted({request.trial for request in batch})):
        rows = db.execute(
            "SELECT session, trial_index, COUNT(*) FROM "
            f"(VALUES {', '.join(['(?, CAST(? AS INTEGER))'] * len(some))}) AS wanted "
            "JOIN actions ON session = wanted.column1 AND trial_index = wanted.column2 GROUP BY session, trial_index",
            list(chain.from_iterable(some)),
        )
        n_actions |= {(session, trial_index): n for session, trial_index, n in rows.fetchall()}
    return n_actions


def _check_is_next(request: NewAction, state: SessionState, n_before: int) -> None:
    if state.status != Status.ACTIVE or state.release_reason in ENDED_FOR:
        raise Refusal("session_over")
    skipped = request.passed_over
    n_answered = skipped.stop if state.n_answered in skipped else state.n_answered
    if request.action.trial_index < n_answered:
        raise Refusal("answered_already")
    if request.action.trial_index > n_answered or request.action.action_index > n_before:
        raise Refusal("answer_missing")


def _check_is_retry(db: Database, request: NewAction, accepted: dict[tuple[str, int, int], tuple[Any, ...]]) -> bool:
    """Return False if an action is stored already. Raise an error if another action is stored in its place."""
    place = (*request.trial, request.action.action_index)
    stored = db.execute(
        "SELECT action_id, action FROM actions WHERE session = ? AND trial_index = ? AND action_index = ?", place
    ).fetchone()
    if stored is None:  # It was accepted in this batch, and is not yet written.
        stored = accepted[place][3:5]
    if tuple(stored) != (request.action.action_id, as_json(request.action.action)):
        raise Refusal("opened_elsewhere")
    return False
