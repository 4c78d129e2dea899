"""Group commit: one thread owns the writing connection and commits all waiting jobs together.

A commit costs one fsync however many answers it holds, so under load many participants share one; alone, a job is
committed at once. A job's caller hears of success only after the commit.
"""

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from server.store.contract import StoreUnavailable

Result = TypeVar("Result")
Job = Callable[[sqlite3.Connection], Any]

MAX_BATCH = 500
"""Jobs in one commit, at most: enough to share an fsync, few enough that nobody waits long for the others."""


class GroupCommitWriter:
    """Runs jobs on a connection of its own, each whole or not at all.

    Parameters
    ----------
    connect
        Opens the connection, for use in another thread, with transactions left to the writer (`isolation_level=None`).
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connection = connect()
        self._waiting: queue.SimpleQueue[tuple[Job, Future[Any]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="equipoise-writer", daemon=True)
        self._thread.start()

    def write(self, job: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run a job in a transaction and return its result once it is committed.

        Raises
        ------
        StoreUnavailable
            If the database cannot be written now.
        Exception
            Whatever the job raises; its own changes are undone, other jobs are not touched.
        """
        future: Future[Result] = Future()
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            self._waiting.put((job, future))
        return future.result()

    def close(self) -> None:
        """Finish the waiting jobs, then end the thread."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            batch, is_last = self._next_batch()
            if batch:
                self._commit(self._connection, batch)
        self._connection.close()

    def _next_batch(self) -> tuple[list[tuple[Job, Future[Any]]], bool]:
        """Wait for a job, take all that wait with it, and say whether the end was asked for."""
        batch: list[tuple[Job, Future[Any]]] = []
        entry = self._waiting.get()
        while entry is not None:
            batch.append(entry)
            if len(batch) == MAX_BATCH:
                return batch, False
            try:
                entry = self._waiting.get_nowait()
            except queue.Empty:
                return batch, False
        return batch, True

    def _commit(self, connection: sqlite3.Connection, batch: list[tuple[Job, Future[Any]]]) -> None:
        outcomes: list[tuple[Future[Any], Any, Exception | None]] = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            for job, future in batch:
                connection.execute("SAVEPOINT job")
                try:
                    outcomes.append((future, job(connection), None))
                except sqlite3.OperationalError:
                    raise  # full disk, I/O error: nothing of this batch can be trusted to be written
                except Exception as error:
                    connection.execute("ROLLBACK TO job")
                    outcomes.append((future, None, error))
                connection.execute("RELEASE job")
            connection.execute("COMMIT")
        except Exception as error:
            _roll_back(connection)
            outcomes = [(future, None, StoreUnavailable(str(error))) for _, future in batch]
        for future, result, failure in outcomes:
            if failure is None:
                future.set_result(result)
            else:
                future.set_exception(failure)


def _roll_back(connection: sqlite3.Connection) -> None:
    # After a serious error SQLite may have rolled back by itself, or may not be able to just now: the next batch begins
    # with a new BEGIN either way, and fails as this one did if the trouble lasts.
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
