"""The gate in front of the Flask application: it takes whole requests and hands each to a thread.

A thread is taken only once a request's body is there. Headers and bodies that arrive slowly, or never, wait in the
event loop, where one more costs some kilobytes, and a body that the application would refuse is not read at all. So
thousands of slow clients take nothing from the others.
"""

import asyncio
import os
import queue
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING

from flask import Flask
from granian.rsgi import ProtocolClosed, ProtocolError, Scope  # type: ignore[attr-defined]
from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter

from server.cookies import UNREADABLE
from server.logs import logger
from server.request_body import BODY_TYPES, media_type

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment
    from granian.rsgi import HTTPProtocol  # type: ignore[attr-defined]

BODY_DEADLINE_S = 30.0
"""Time in which a request's body must arrive: 64 KB take 26 s over a line of 20 kbit/s."""
PASSED_OVER_BYTES, PASSED_OVER_S = 1024 * 1024, 2.0
"""Of a body that is refused, this much is let go by, in this time."""
LET_GO = getattr(signal, "SIGUSR1", signal.SIGTERM)
"""Tells a process that was told to stop to wait no longer for connections that never end."""
FINISHED_WITHIN_S = 2.0
"""Time for what threads are at when the process lets go."""
SETTLED_WITHIN_S = 0.005
"""Coroutines of answered requests end together, so seldom: waking the event loop for each would slow all by 3 %."""
UNTHREADED = frozenset({"/healthz"})
"""Answered at once, whatever the threads wait for: a process lives as long as its event loop turns."""

Answer = Callable[[], None]


class Gateway:
    """An RSGI application around a Flask application.

    Parameters
    ----------
    app
        The application.
    n_threads
        Requests that are worked on at once.
    on_stop
        Called when the server stops, after the last request is finished.
    """

    def __init__(self, app: Flask, n_threads: int, on_stop: Callable[[], None]) -> None:
        self._app = app
        routes = app.url_map.bind("localhost")
        # The same few addresses come with every answer; others, such as made-up ones, take the place of each other.
        self._is_route = lru_cache(256)(partial(_is_route, routes))
        self._max_body_bytes: int = app.config["MAX_CONTENT_LENGTH"]
        self._on_stop = on_stop
        self._has_warned_of_cookies = False
        self._answered: deque[asyncio.Future[None]] = deque()
        self._is_settling = False
        # Threads of our own: an executor's futures would cost each request a third of its time.
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
        except (ProtocolClosed, ProtocolError):  # the client has gone
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
                self._answered.append(answered)  # before the look: who settles now takes it along
                if not self._is_settling:
                    self._is_settling = True
                    loop.call_soon_threadsafe(loop.call_later, SETTLED_WITHIN_S, self._settle)

        self._waiting.put(answer)
        await answered

    def _settle(self) -> None:
        self._is_settling = False  # first: who is answered from here on asks again
        while self._answered:
            answered = self._answered.popleft()
            if not answered.done():  # not cancelled
                answered.set_result(None)

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Be ready to let go."""
        if os.name == "posix":
            loop.add_signal_handler(LET_GO, self._let_go)

    def __rsgi_del__(self, _: asyncio.AbstractEventLoop) -> None:
        """Finish what is under way, then let go of the rest."""
        self._stop(None)

    def _warn_of_cookies(self) -> None:
        """Say once that cookies cannot be read: it is not to fill the log."""
        if not self._has_warned_of_cookies:
            self._has_warned_of_cookies = True
            logger.warning(
                "a request's cookies cannot be read, as one of them has a character that is not ASCII, and the session "
                "is not found. Fix: have the proxy drop the cookies of other sites under the same domain."
            )

    def _let_go(self) -> None:
        """End the process, with the store closed, though a client still has not sent or read all."""
        self._stop(FINISHED_WITHIN_S)
        logger.warning("the server has stopped; a connection that did not end was dropped")
        os._exit(0)

    def _stop(self, patience_s: float | None) -> None:
        for _thread in self._threads:
            self._waiting.put(None)
        deadline = None if patience_s is None else time.monotonic() + patience_s
        for thread in self._threads:
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        self._on_stop()

    async def _read_body(self, environ: "WSGIEnvironment", protocol: "HTTPProtocol") -> bytes:
        """Return the body of a request, or nothing where the application will refuse it without a look at it.

        Raises
        ------
        TimeoutError
            If it does not arrive in time.
        """
        is_chunked = "HTTP_TRANSFER_ENCODING" in environ  # refused: no browser sends a body so
        if not is_chunked and environ.get("CONTENT_LENGTH", "0") == "0":
            return b""
        if is_chunked or not self._is_wanted(environ):
            with suppress(TimeoutError):
                await _pass_over(protocol)
            return b""
        async with asyncio.timeout(BODY_DEADLINE_S):
            return await protocol()

    def _is_wanted(self, environ: "WSGIEnvironment") -> bool:
        if media_type(environ.get("CONTENT_TYPE", "")) not in BODY_TYPES:
            return False
        if int(environ.get("CONTENT_LENGTH", 0)) > self._max_body_bytes:
            return False
        return self._is_route(environ["PATH_INFO"], environ["REQUEST_METHOD"])

    def _work(self) -> None:
        while (answer := self._waiting.get()) is not None:
            try:
                answer()
            except Exception:
                logger.exception("a request could not be answered")

    def _answer(self, environ: "WSGIEnvironment", protocol: "HTTPProtocol") -> None:
        """Send the application's response."""
        status, headers = 0, []

        def start_response(line: str, fields: list[tuple[str, str]], *_: object) -> Callable[[bytes], object]:
            nonlocal status, headers
            status, headers = int(line[:3]), fields
            return lambda _: None

        content = self._app(environ, start_response)
        try:
            body = b"".join(content)
        finally:
            if hasattr(content, "close"):
                content.close()
        with suppress(ProtocolClosed):  # the client has gone
            protocol.response_bytes(status, headers, body)


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


async def _pass_over(protocol: "HTTPProtocol") -> None:
    """Let some of a body that is refused go by: a client that still sends would not see why the connection closes."""
    n_bytes = 0
    async with asyncio.timeout(PASSED_OVER_S):
        async for chunk in protocol:
            n_bytes += len(chunk)
            if n_bytes > PASSED_OVER_BYTES:
                return


def to_environ(scope: Scope) -> "WSGIEnvironment":
    """Return a request as WSGI wants it, but for its body."""
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
            continue  # `X_Forwarded_For` would pass for `X-Forwarded-For`, which a proxy in front overwrites
        key = _environ_key(name)
        between = "; " if key == "HTTP_COOKIE" else ", "
        environ[key] = f"{environ[key]}{between}{value}" if key in environ else value
    if "cookie" in scope.headers and scope.headers.get("cookie") is None:
        environ[UNREADABLE] = True  # granian gives no header that has a byte outside ASCII
    return environ
