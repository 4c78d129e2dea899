"""Group commit: one thread commits all that waits together.

A commit costs one fsync however many answers it holds, so under load many participants share one; alone, a request is
committed at once. Who waits hears of success only after the commit.
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
"""Requests in one commit, at most: enough to share an fsync, few enough that nobody waits long for the others."""
IDLE_S = 2.0
"""Without work for so long, the thread has time for other things."""
CLOSE_TIMEOUT_S = 5.0
"""How long closing waits for a commit that does not end, as when another program holds the database."""


@dataclass(frozen=True)
class _Request(Generic[Work]):
    work: Work
    reply: queue.SimpleQueue[Any]
    """Gets what came of it; a queue, as it wakes the waiting thread at less cost than a future."""


class GroupCommit(Generic[Work]):
    """Hands all work that waits to one commit after the other.

    Parameters
    ----------
    commit
        Does a batch of work and commits it; returns for each piece what came of it, an exception where that piece
        alone failed. If it raises, nothing of the batch was done. Always called in the same thread.
    tidy
        Called in that thread after each batch, when all have heard of it, and after every `IDLE_S` seconds without
        work; told whether it is the latter.
    """

    def __init__(
        self, commit: Callable[[Sequence[Work]], Sequence[Any]], tidy: Callable[[bool], None] | None = None
    ) -> None:
        self._commit = commit
        self._tidy = tidy
        self._waiting: queue.SimpleQueue[_Request[Work] | None] = queue.SimpleQueue()
        self._lock = threading.RLock()  # a signal's handler may close while its own thread is in `do`
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="equipoise-writer", daemon=True)
        self._thread.start()

    def do(self, work: Work) -> Any:
        """Return what came of a piece of work once it is committed.

        Raises
        ------
        StoreUnavailable
            If the store cannot be written now.
        Exception
            Whatever came of this piece of work; others are not touched.
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
        """Finish the waiting work, then end the thread; return whether it has ended within `CLOSE_TIMEOUT_S`."""
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
        while not self._waiting.empty():  # work that was handed in at the very moment of closing
            late = self._waiting.get()
            if late is not None:
                late.reply.put(StoreUnavailable("the store is closed"))

    def _next_batch(self) -> tuple[list[_Request[Work]], bool]:
        """Wait for work, take all that waits with it, and say whether the end was asked for."""
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
        """Wait for work, or for None, which says to end."""
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
        except Exception:  # whatever it is, the thread must go on
            logger.exception("the store could not be tidied up")

    def _do(self, batch: list[_Request[Work]]) -> None:
        outcomes: Sequence[Any]
        try:
            outcomes = self._commit([request.work for request in batch])
        except Exception as error:  # whatever it is, those who wait must hear of it
            outcomes = [error] * len(batch)
        for request, outcome in zip(batch, outcomes, strict=True):
            request.reply.put(outcome)
