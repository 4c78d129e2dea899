"""The gateway in front of the Flask application: it passes a request to a thread when the request is complete.

A request that arrives slowly waits in the event loop, which needs some kilobytes of memory but no thread. The gateway
does not read a body that the application would refuse. So thousands of slow clients do not occupy the threads that
other clients need.
"""

import asyncio
import os
import queue
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING

from flask import Flask
from granian.rsgi import ProtocolClosed, ProtocolError, Scope  # type: ignore[attr-defined]
from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter

from server.cookies import UNREADABLE
from server.event_stream import STREAM
from server.file_reply import FILE, send_file_reply
from server.logs import logger
from server.request_body import BODY_TYPES, largest_body, media_type

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment
    from granian.rsgi import HTTPProtocol  # type: ignore[attr-defined]

BODY_DEADLINE_S = 30.0
"""Time limit for the arrival of a request's body, in seconds. Sending 64 KB over a line of 20 kbit/s takes 26 s."""
LARGE_BODY_BYTES = 64 * 1024
LARGE_BODY_BYTES_PER_S = 32 * 1024
"""Slowest arrival of a body over `LARGE_BODY_BYTES`. The page in the browser waits for the reply as long as this."""
LARGE_BODIES_AT_ONCE = 32
"""Largest number of bodies over `LARGE_BODY_BYTES` that arrive at the same time. Otherwise thousands of slow clients
could occupy the memory of thousands of large bodies. Further large bodies wait, and after the deadline get the status
408; the page in the browser then sends them again.
"""
DISCARDED_BYTES, DISCARDED_S = 1024 * 1024, 2.0
"""Limits for reading the body of a refused request: the largest number of bytes, and the longest time in seconds."""
DROP_CONNECTIONS = getattr(signal, "SIGUSR1", signal.SIGTERM)
"""Signal to a process that is stopping: it no longer waits for open connections."""
FINISHED_WITHIN_S = 2.0
"""Time in seconds in which running threads must finish after the signal `DROP_CONNECTIONS`."""
SETTLED_WITHIN_S = 0.005
"""Time in seconds for which answered requests are collected before the event loop finishes them together. If each
answered request woke the event loop, every request would be 3 % slower.
"""
UNTHREADED = frozenset({"/healthz"})
"""Addresses to which the event loop itself replies. A reply to the health check shows that the process runs, so it
needs no thread.
"""

Answer = Callable[[], None]


class Gateway:
    """An RSGI application around a Flask application.

    Parameters
    ----------
    app
        The application.
    n_threads
        Number of requests that are processed at the same time.
    on_stop
        Function that is called when the server stops, after the last request is finished.
    """

    def __init__(self, app: Flask, n_threads: int, on_stop: Callable[[], None]) -> None:
        self._app = app
        routes = app.url_map.bind("localhost")
        # Most requests use the same few addresses, which stay in the cache. Unknown addresses replace each other.
        self._is_route = lru_cache(256)(partial(_is_route, routes))
        self._large_bodies = asyncio.Semaphore(LARGE_BODIES_AT_ONCE)
        self._on_stop = on_stop
        self._has_warned_of_cookies = False
        self._answered: deque[asyncio.Future[None]] = deque()
        self._is_settling = False
        # The gateway has its own threads, because an executor's futures take a third of a request's time.
        self._waiting: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"equipoise-request-{number}", daemon=True)
            for number in range(n_threads)
        ]
        for thread in self._threads:
            thread.start()

    async def __rsgi__(self, scope: Scope, protocol: "HTTPProtocol") -> None:
        """Answer one request."""
        environ = to_environ(scope)
        if UNREADABLE in environ:
            self._warn_of_cookies()
        try:
            body = await self._read_body(environ, protocol)
        except TimeoutError:
            protocol.response_empty(HTTPStatus.REQUEST_TIMEOUT, [("connection", "close")])
            return
        except (ProtocolClosed, ProtocolError):  # The client has disconnected.
            return
        environ["wsgi.input"] = BytesIO(body)
        if environ["PATH_INFO"] in UNTHREADED:
            self._answer(environ, protocol)
            return
        loop = asyncio.get_running_loop()
        answered = loop.create_future()

        def answer() -> None:
            try:
                self._answer(environ, protocol)
            finally:
                self._answered.append(answered)  # Before the check, so that `_settle` includes this request.
                if not self._is_settling:
                    self._is_settling = True
                    loop.call_soon_threadsafe(loop.call_later, SETTLED_WITHIN_S, self._settle)

        self._waiting.put(answer)
        await answered
        if STREAM in environ:
            await _send_stream(environ[STREAM], protocol)

    def _settle(self) -> None:
        self._is_settling = False  # First, so that a request that is answered from now on schedules the next call.
        while self._answered:
            answered = self._answered.popleft()
            if not answered.done():  # Not cancelled.
                answered.set_result(None)

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the handler for the signal `DROP_CONNECTIONS`."""
        if os.name == "posix":
            loop.add_signal_handler(DROP_CONNECTIONS, self._drop_connections)

    def __rsgi_del__(self, _: asyncio.AbstractEventLoop) -> None:
        """Finish the requests that have a thread, then call `on_stop`."""
        self._stop(None)

    def _warn_of_cookies(self) -> None:
        """Log a warning about unreadable cookies only once, because one warning per request would fill the log."""
        if not self._has_warned_of_cookies:
            self._has_warned_of_cookies = True
            logger.warning(
                "the cookies of a request have a character that is not ASCII, so the server cannot read the cookies "
                "and cannot find the session. Fix: configure the proxy to remove the cookies of other sites under the "
                "same domain."
            )

    def _drop_connections(self) -> None:
        """Finish running threads, close the store and end the process, even if clients still have open connections."""
        self._stop(FINISHED_WITHIN_S)
        logger.warning("the server has stopped, and has dropped the connections that were still open")
        os._exit(0)

    def _stop(self, patience_s: float | None) -> None:
        for _thread in self._threads:
            self._waiting.put(None)
        deadline = None if patience_s is None else time.monotonic() + patience_s
        for thread in self._threads:
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        self._on_stop()

    async def _read_body(self, environ: "WSGIEnvironment", protocol: "HTTPProtocol") -> bytes:
        """Return the body of a request. If the application will refuse the request, return no bytes.

        Raises
        ------
        TimeoutError
            If the body does not arrive in time.
        """
        is_chunked = "HTTP_TRANSFER_ENCODING" in environ  # Refused: no browser sends such a body.
        if not is_chunked and environ.get("CONTENT_LENGTH", "0") == "0":
            return b""
        if is_chunked or not self._is_wanted(environ):
            with suppress(TimeoutError):
                await _discard_body(protocol)
            return b""
        n_bytes = int(environ["CONTENT_LENGTH"])
        if n_bytes <= LARGE_BODY_BYTES:
            async with asyncio.timeout(BODY_DEADLINE_S):
                return await protocol()
        async with asyncio.timeout(BODY_DEADLINE_S + n_bytes / LARGE_BODY_BYTES_PER_S), self._large_bodies:
            return await protocol()

    def _is_wanted(self, environ: "WSGIEnvironment") -> bool:
        if media_type(environ.get("CONTENT_TYPE", "")) not in BODY_TYPES:
            return False
        if int(environ.get("CONTENT_LENGTH", 0)) > largest_body(self._app.config, environ["PATH_INFO"]):
            return False
        return self._is_route(environ["PATH_INFO"], environ["REQUEST_METHOD"])

    def _work(self) -> None:
        while (answer := self._waiting.get()) is not None:
            try:
                answer()
            except Exception:
                logger.exception("a request could not be answered")

    def _answer(self, environ: "WSGIEnvironment", protocol: "HTTPProtocol") -> None:
        """Pass the request to the Flask application, and send the response."""
        status, headers = 0, []

        def start_response(line: str, fields: list[tuple[str, str]], *_: object) -> Callable[[bytes], object]:
            nonlocal status, headers
            status, headers = int(line[:3]), fields
            return lambda _: None

        content = self._app(environ, start_response)
        try:
            if FILE in environ and environ["REQUEST_METHOD"] == "GET":
                with suppress(ProtocolClosed):  # The client has disconnected.
                    if send_file_reply(status, headers, environ[FILE], protocol):
                        return
            body = b"".join(content)
        finally:
            if hasattr(content, "close"):
                content.close()
        if STREAM in environ:
            environ[STREAM] = Stream(status, headers, environ[STREAM])
            return
        with suppress(ProtocolClosed):  # The client has disconnected.
            protocol.response_bytes(status, headers, body)


@dataclass(frozen=True)
class Stream:
    """A reply whose body is a stream of events."""

    status: int
    headers: list[tuple[str, str]]
    events: AsyncIterator[bytes]


async def _send_stream(stream: Stream, protocol: "HTTPProtocol") -> None:
    """Send a stream until it ends or the client disconnects."""
    headers = [(name, value) for name, value in stream.headers if name.lower() != "content-length"]
    with suppress(ProtocolClosed, ProtocolError):
        transport = protocol.response_stream(stream.status, headers)
        async with aclosing(stream.events) as events:  # type: ignore[type-var]
            async for part in events:
                await transport.send_bytes(part)


def _is_route(routes: MapAdapter, path: str, method: str) -> bool:
    try:
        routes.match(path, method)
    except HTTPException:
        return False
    return True


@lru_cache(256)
def _environ_key(header: str) -> str:
    key = header.upper().replace("-", "_")
    return key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"


async def _discard_body(protocol: "HTTPProtocol") -> None:
    """Read part of the body of a refused request. A client reads the reply only after it has sent the body."""
    n_bytes = 0
    async with asyncio.timeout(DISCARDED_S):
        async for chunk in protocol:
            n_bytes += len(chunk)
            if n_bytes > DISCARDED_BYTES:
                return


def to_environ(scope: Scope) -> "WSGIEnvironment":
    """Return the WSGI environment of a request, without the body."""
    server, _, port = scope.server.rpartition(":")
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string.encode().decode("latin-1"),
        "SERVER_NAME": server,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope.headers.items():
        if "_" in name:
            continue  # WSGI cannot distinguish `X_Forwarded_For` from the proxy's `X-Forwarded-For`.
        key = _environ_key(name)
        between = "; " if key == "HTTP_COOKIE" else ", "
        environ[key] = f"{environ[key]}{between}{value}" if key in environ else value
    if "cookie" in scope.headers and scope.headers.get("cookie") is None:
        environ[UNREADABLE] = True  # granian drops headers with a byte outside ASCII.
    return environ
