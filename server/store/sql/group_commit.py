"""Group commit: one thread commits all waiting work together.

A commit costs one fsync however many responses it holds, so under load many participants share one; a single request is
committed at once. A caller hears of success only after the commit.
"""

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from server.store.errors import StoreUnavailable

Work = TypeVar("Work")

logger = logging.getLogger("equipoise")

MAX_BATCH = 500
"""Most requests in one commit: enough to share an fsync, few enough that no request waits long for the others."""
IDLE_S = 2.0
"""After this time without work, the thread does other work."""
CLOSE_TIMEOUT_S = 5.0
"""Longest wait of `close` for a commit that does not end, for instance while another program locks the database."""


@dataclass(frozen=True)
class _Request(Generic[Work]):
    work: Work
    reply: queue.SimpleQueue[Any]
    """Receives the result; a queue, because it wakes the waiting thread at lower cost than a future."""


class GroupCommit(Generic[Work]):
    """Passes all waiting work to one commit after the other.

    Parameters
    ----------
    commit
        Does a batch of work and commits it; returns one result for each piece, an exception if that piece alone failed.
        If it raises, nothing of the batch was done. Always called in the same thread.
    tidy
        Called in that thread after each batch, after all callers have their results, and after every `IDLE_S` seconds
        without work; its argument is True in the latter case.
    """

    def __init__(
        self, commit: Callable[[Sequence[Work]], Sequence[Any]], tidy: Callable[[bool], None] | None = None
    ) -> None:
        self._commit = commit
        self._tidy = tidy
        self._waiting: queue.SimpleQueue[_Request[Work] | None] = queue.SimpleQueue()
        self._lock = threading.RLock()  # A signal's handler may call `close` while its own thread is in `do`.
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="equipoise-writer", daemon=True)
        self._thread.start()

    def do(self, work: Work) -> Any:
        """Return the result of a piece of work once it is committed.

        Raises
        ------
        StoreUnavailable
            If the store cannot be written now.
        Exception
            The exception of this piece of work; others are not affected.
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
        """Finish the waiting work, then end the thread; return True if it has ended within `CLOSE_TIMEOUT_S`."""
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
        """Wait for work, take all waiting work, and return it with True if the end was requested."""
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
        """Wait for work, or for None, which requests the end."""
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
