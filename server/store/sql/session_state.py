"""The progress of a session, which grows with each stored response and each stored action.

The progress of several sessions is read in one statement, and written in one statement, because that is faster.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from server.store.database import Database, marks

MAX_ROWS_AT_ONCE = 1_000
"""Largest number of rows in one statement. SQLite accepts at most 32,766 values in a statement."""
Row = TypeVar("Row")


@dataclass
class SessionState:
    """The state of a session, which changes with each accepted response and action."""

    study_digest: str
    token_digest: str | None
    status: str
    release_reason: str | None
    n_trials: int
    n_answered: int
    checksum: str
    known_ids: set[str] = field(default_factory=set)
    """Response ids in the present requests that this session has already stored or accepted."""


def lock_states(db: Database, sessions: list[str]) -> dict[str, SessionState]:
    """Read the states of sessions, and lock their rows until the end of the transaction."""
    # The rows are locked in the order of the sessions' names, so that two servers never wait for each other.
    rows = db.execute(
        "SELECT session, study_digest, token_digest, status, release_reason, n_trials, n_answered, checksum "
        f"FROM sessions WHERE session IN ({marks(sessions)}) ORDER BY session{db.for_update}",
        sessions,
    )
    return {session: SessionState(*state) for session, *state in rows}


def move_on(db: Database, changed: dict[str, SessionState]) -> None:
    """Write the progress of all sessions in one statement, which is faster."""
    if changed:
        new = ", ".join(["(?, CAST(? AS INTEGER), ?)"] * len(changed))
        values = [(session, state.n_answered, state.checksum) for session, state in changed.items()]
        db.execute(
            "UPDATE sessions SET n_answered = new.column2, checksum = new.column3 "
            f"FROM (VALUES {new}) AS new WHERE session = new.column1",
            list(chain.from_iterable(values)),
        )


def insert_rows(db: Database, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows in as few statements as possible."""
    for some in portions(rows):
        values = ", ".join([f"({marks(columns)})"] * len(some))
        db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES {values}", list(chain.from_iterable(some)))


def portions(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Yield as many rows at a time as one statement can hold."""
    return (rows[first : first + MAX_ROWS_AT_ONCE] for first in range(0, len(rows), MAX_ROWS_AT_ONCE))


def plain(number: float | None) -> float | None:
    """Return a number, with 0.0 instead of -0.0, because SQLite has no negative zero."""
    return None if number is None else number + 0.0
