"""Group commit: one thread commits all waiting work together.

`GroupCommit` passes the work to the thread, and `run_batch` does the work. Each piece of work is done completely or
not at all, and does not affect the other pieces. A commit waits once for the disk, for any number of responses. So
under load, many participants share one commit. A single request is committed at once. A caller gets the result only
after the commit.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from server.store.database import Database
from server.store.errors import StoreUnavailable
from server.store.sql import actions, responses
from server.store.sql.actions import NewAction
from server.store.sql.responses import ResponseBatch

Work = TypeVar("Work")
Job = Callable[[Database], Any]

logger = logging.getLogger("equipoise")

MAX_BATCH = 500
"""Largest number of requests in one commit. With more requests, each would wait longer."""
IDLE_S = 2.0
"""After this time in seconds without work, the thread calls `tidy`."""
CLOSE_TIMEOUT_S = 5.0
"""Longest wait of `close` in seconds for a commit, which may wait for another program that locks the database."""


@dataclass(frozen=True)
class _Request(Generic[Work]):
    work: Work
    reply: queue.SimpleQueue[Any]
    """Queue that receives the result. A queue wakes the waiting thread faster than a future."""


class GroupCommit(Generic[Work]):
    """Collect the work of all callers in batches, and commit one batch after the other.

    Parameters
    ----------
    commit
        Function that does and commits a batch of work. It returns one result for each piece of work. If only this
        piece failed, the result is an exception. If the function raises an error, nothing of the batch was done. It
        always runs in the same thread.
    tidy
        Function that runs in the same thread between batches. Its argument is False after a batch, and True after
        `IDLE_S` seconds without work.
    """

    def __init__(
        self, commit: Callable[[Sequence[Work]], Sequence[Any]], tidy: Callable[[bool], None] | None = None
    ) -> None:
        self._commit = commit
        self._tidy = tidy
        self._waiting: queue.SimpleQueue[_Request[Work] | None] = queue.SimpleQueue()
        self._lock = threading.RLock()  # A signal's handler may call `close` while the same thread is in `do`.
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="equipoise-writer", daemon=True)
        self._thread.start()

    def do(self, work: Work) -> Any:
        """Return the result of a piece of work once the work is committed.

        Raises
        ------
        StoreUnavailable
            If the store cannot be written now.
        Exception
            The exception that this piece of work raised.
        """
        request = _Request(work, queue.SimpleQueue())
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            self._waiting.put(request)
        outcome = request.reply.get()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def close(self) -> bool:
        """Finish the waiting work, then end the thread. Return True if the thread ends within `CLOSE_TIMEOUT_S`."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join(CLOSE_TIMEOUT_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            batch, is_last = self._next_batch()
            if batch:
                self._do(batch)
                self._tidy_up(is_idle=False)
        while not self._waiting.empty():  # Work that arrived at the moment of closing.
            late = self._waiting.get()
            if late is not None:
                late.reply.put(StoreUnavailable("the store is closed"))

    def _next_batch(self) -> tuple[list[_Request[Work]], bool]:
        """Wait for work. Return all waiting work, and a flag that is true if the thread must end afterwards."""
        batch: list[_Request[Work]] = []
        entry = self._next()
        while entry is not None:
            batch.append(entry)
            if len(batch) == MAX_BATCH:
                return batch, False
            try:
                entry = self._waiting.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _next(self) -> _Request[Work] | None:
        """Wait for the next piece of work, and return it. None means that the thread must end."""
        while self._tidy is not None:
            try:
                return self._waiting.get(timeout=IDLE_S)
            except queue.Empty:
                self._tidy_up(is_idle=True)
        return self._waiting.get()

    def _tidy_up(self, is_idle: bool) -> None:
        try:
            if self._tidy is not None:
                self._tidy(is_idle)
        except Exception:  # Whatever the error, the thread must continue.
            logger.exception("the store's housekeeping failed")

    def _do(self, batch: list[_Request[Work]]) -> None:
        outcomes: Sequence[Any]
        try:
            outcomes = self._commit([request.work for request in batch])
        except Exception as error:  # Whatever the error, the waiting callers must hear of it.
            outcomes = [error] * len(batch)
        for request, outcome in zip(batch, outcomes, strict=True):
            request.reply.put(outcome)


def run_batch(
    db: Database,
    batch: Sequence[ResponseBatch | NewAction | Job],
    of_one_alone: type[Exception],
    of_all: type[Exception],
) -> list[Any]:
    """Do all work of a batch. Return the result of each piece of work, or the exception that it raised.

    First all responses are stored, in few statements, and then all actions. Then the jobs are run in the order of the
    batch.

    Parameters
    ----------
    db
        A connection inside a transaction, which the caller commits.
    batch
        The pieces of work: responses and actions to store, and jobs (functions) to run.
    of_one_alone
        Class of database errors that concern only one piece of work, because it contradicts the store.
    of_all
        Class of all database errors. An error that does not belong to `of_one_alone` is raised, and nothing of the
        batch is done.
    """
    outcomes: dict[int, Any] = {}
    for kind, add in ((ResponseBatch, responses.add), (NewAction, actions.add)):
        positions = [position for position, work in enumerate(batch) if isinstance(work, kind)]
        outcomes |= _together(db, {position: batch[position] for position in positions}, add, of_one_alone, of_all)
    for position, work in enumerate(batch):
        if not isinstance(work, ResponseBatch | NewAction):
            outcomes[position] = _attempt(db, work, of_one_alone, of_all)
    return [outcomes[position] for position in range(len(batch))]


def _together(
    db: Database,
    requests: dict[int, Any],
    add: Callable[[Database, Sequence[Any]], Sequence[Any]],
    of_one_alone: type[Exception],
    of_all: type[Exception],
) -> dict[int, Any]:
    """Store the requests of one kind in few statements. Return the result of each of them, by its position."""
    if not requests:
        return {}
    results = _attempt(db, lambda db: add(db, list(requests.values())), of_one_alone, of_all)
    if not isinstance(results, Exception):
        return dict(zip(requests, results, strict=True))
    # One request contains a value that the database cannot store. Each request is tried alone, so that this request
    # does not affect the other requests.
    return {position: _alone(db, request, add, of_one_alone, of_all) for position, request in requests.items()}


def _alone(
    db: Database,
    request: Any,
    add: Callable[[Database, Sequence[Any]], Sequence[Any]],
    of_one_alone: type[Exception],
    of_all: type[Exception],
) -> Any:
    outcome = _attempt(db, lambda db: add(db, [request]), of_one_alone, of_all)
    return outcome if isinstance(outcome, Exception) else outcome[0]


def _attempt(db: Database, job: Job, of_one_alone: type[Exception], of_all: type[Exception]) -> Any:
    """Return a job's result. If the job raises an exception, undo the job's changes and return the exception."""
    db.execute("SAVEPOINT job")
    try:
        result = job(db)
    except Exception as error:
        if isinstance(error, of_all) and not isinstance(error, of_one_alone):
            raise
        db.execute("ROLLBACK TO SAVEPOINT job")
        result = error
    db.execute("RELEASE SAVEPOINT job")
    return result
