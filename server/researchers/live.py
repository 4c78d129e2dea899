"""The live dashboard: one computation for all open dashboards, and its stream of events for each of them.

The computation reads a snapshot of the store through a separate connection. After a computation, the next one waits
a hundred times as long as the computation took, and at least two seconds. So the computations need at most a hundredth
of the time of one core, however many dashboards are open and however large the study is.
"""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from werkzeug.exceptions import ServiceUnavailable

from server.logs import logger
from server.researchers.signed_in import SignIn
from server.store import StoreUnavailable

LEAST_INTERVAL_S = 2.0
REST_FACTOR = 100
"""Number of times that the pause is longer than the computation before it."""
CHECK_S = 0.5
"""Time between two checks of a stream for new content."""
KEEP_ALIVE_S = 15.0
"""Longest time without an event, so that proxies do not close the stream."""
LONGEST_STREAM_S = 3600.0
"""Longest duration of a stream. The browser then opens a new one, and the server checks the age of its cookie."""
MOST_STREAMS = 200
"""Largest number of streams of one server process."""


@dataclass(frozen=True)
class Content:
    """The result of one computation."""

    version: int
    html: str

    @cached_property
    def event(self) -> bytes:
        """The content as a server-sent event. Its data is a JSON text, because the data must be one line."""
        return f"id: {self.version}\ndata: {json.dumps(self.html)}\n\n".encode()


@dataclass(eq=False)
class Subscriber:
    """An open stream."""

    sign_in: SignIn
    """The sign-in that opened the stream."""
    has_ended: bool = field(default=False)
    """True once the sign-in is no longer valid."""


class LiveDashboard:
    """The content of the dashboard, which a thread renews while streams are open.

    Parameters
    ----------
    render
        Computes the content. It reads the store.
    ended
        Returns the names of those sign-ins that are no longer valid.
    """

    def __init__(self, render: Callable[[], str], ended: Callable[[Sequence[SignIn]], set[str]]) -> None:
        self._render = render
        self._ended = ended
        self._lock = threading.Lock()
        self._content = Content(0, "")
        self._due_at = 0.0
        self._subscribers: set[Subscriber] = set()
        self._thread: threading.Thread | None = None

    def current(self) -> Content:
        """Return the content. Compute it if it is due, or wait for the thread that computes it just now."""
        with self._lock:
            if time.monotonic() >= self._due_at:
                began_at = time.thread_time()
                html = self._render()
                pause_s = max(LEAST_INTERVAL_S, REST_FACTOR * (time.thread_time() - began_at))
                self._due_at = time.monotonic() + pause_s
                if html != self._content.html:
                    self._content = Content(self._content.version + 1, html)
            return self._content

    def make_due(self) -> None:
        """Make the next call of `current` compute the content, because a researcher has just changed the study."""
        self._due_at = 0.0

    async def events(self, sign_in: SignIn) -> AsyncIterator[bytes]:
        """Yield the content as server-sent events whenever it changes, until the sign-in ends."""
        with self._subscribed(sign_in) as subscriber:
            version, sent_at = 0, time.monotonic()
            ends_at = sent_at + LONGEST_STREAM_S
            while not subscriber.has_ended and time.monotonic() < ends_at:
                content = self._content
                if content.version != version:
                    version, sent_at = content.version, time.monotonic()
                    yield content.event
                elif time.monotonic() - sent_at > KEEP_ALIVE_S:
                    sent_at = time.monotonic()
                    yield b": \n\n"
                await asyncio.sleep(CHECK_S)
            if subscriber.has_ended:
                yield b"event: end\ndata: \n\n"

    def refuse_more_streams(self) -> None:
        """Refuse a stream if too many are open.

        Raises
        ------
        ServiceUnavailable
            If `MOST_STREAMS` are open.
        """
        if len(self._subscribers) >= MOST_STREAMS:
            raise ServiceUnavailable("Too many dashboards are open. Fix: close the dashboards that you do not need.")

    @contextmanager
    def _subscribed(self, sign_in: SignIn) -> Iterator[Subscriber]:
        subscriber = Subscriber(sign_in)
        with self._lock:
            self._subscribers.add(subscriber)
            if self._thread is None:
                self._thread = threading.Thread(target=self._renew, name="equipoise-dashboard", daemon=True)
                self._thread.start()
        try:
            yield subscriber
        finally:
            self._subscribers.discard(subscriber)

    def _renew(self) -> None:
        """Renew the content, and end streams whose sign-in has ended, as long as streams are open."""
        while True:
            with self._lock:
                subscribers = list(self._subscribers)
                if not subscribers:
                    self._thread = None
                    return
            try:
                ended = self._ended([subscriber.sign_in for subscriber in subscribers])
                for subscriber in subscribers:
                    subscriber.has_ended = subscriber.sign_in.name in ended
                self.current()
            except StoreUnavailable as error:
                logger.warning("the dashboard cannot read the store", extra={"reason": str(error)})
            except Exception:
                logger.exception("the dashboard failed")
            time.sleep(LEAST_INTERVAL_S)
