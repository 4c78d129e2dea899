"""Closed-loop participants over HTTP/1.1; they need little CPU time, because they share the cores with the server.

Each participant keeps one connection open and follows a script: a generator that yields requests and receives the
replies. The script runs inside the connection's own callback, so a request needs no task, no future and no turn of the
event loop. When a connection breaks, or the server asks to retry (429, 5xx), the participant repeats the same bytes, as
a participant's browser would. After a broken connection it uses the next server, if there are several.
"""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self, cast

import numpy as np

HOST = "127.0.0.1"
"""This machine only."""

RECONNECT_S = 0.02
RETRY_S = 0.1
"""Delay before repeating a refused request without a `Retry-After`."""

LONGEST_WINDOW_S = 120.0


class LoadError(Exception):
    """The server gave a reply that makes the run invalid."""


class Request(NamedTuple):
    """A participant's request."""

    data: bytes
    is_response: bool
    """True for a response to a trial, the one kind of request that is counted and timed."""


class Reply(NamedTuple):
    """The server's reply."""

    status: int
    head: bytes
    body: bytes

    def header(self, name: str) -> str:
        """Return the value of a header; refuse a reply without it."""
        for line in self.head.split(b"\r\n")[1:]:
            found, _, value = line.partition(b":")
            if found.lower() == name.encode():
                return value.strip().decode()
        raise LoadError(f"a reply has no header {name}:\n{self.head.decode()}")

    def expect(self, *statuses: int) -> Self:
        """Return the reply if its status is one of these; otherwise raise."""
        if self.status not in statuses:
            raise LoadError(f"the server answered {self.status}: {self.body[:500].decode(errors='replace')}")
        return self


Script = Generator[Request, Reply, None]


def request(method: str, path: str, body: bytes = b"", headers: str = "", is_response: bool = False) -> Request:
    r"""Return a request.

    Parameters
    ----------
    method, path
        Its first line.
    body
        Its body; may be empty.
    headers
        Further headers, each with the `\r\n` that ends it.
    is_response
        True for a response to a trial.
    """
    head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return Request(head.encode() + body, is_response)


def read_reply(data: bytes) -> Reply | None:
    """Return the reply that `data` holds, or None while part of it is missing."""
    end_of_head = data.find(b"\r\n\r\n")
    if end_of_head < 0:
        return None
    head, body = data[: end_of_head + 2], data[end_of_head + 4 :]
    lower = head.lower()
    at = lower.find(b"\r\ncontent-length:")
    if at >= 0:
        is_whole = len(body) == int(lower[at + 17 : lower.find(b"\r\n", at + 17)])
    elif b"\r\ntransfer-encoding: chunked" in lower:
        body, is_whole = _joined_chunks(body)
    else:
        raise LoadError(f"a reply has no length:\n{head.decode()}")
    return Reply(int(head[9:12]), head, body) if is_whole else None


def _joined_chunks(data: bytes) -> tuple[bytes, bool]:
    """Return the received chunks, joined, and whether the last one is among them."""
    joined, start = b"", 0
    while (end_of_line := data.find(b"\r\n", start)) >= 0:
        length = int(data[start:end_of_line], 16)
        joined += data[end_of_line + 2 : end_of_line + 2 + length]
        start = end_of_line + 2 + length + 2
        if length == 0:
            return joined, len(data) >= start
    return joined, False


@dataclass(frozen=True)
class Usage:
    """A server's usage so far: CPU seconds, and memory (proportional set size, MB) of all its processes."""

    cpu_s: float
    memory_mb: float


@dataclass(frozen=True)
class Window:
    """Measurements of one span of time."""

    responses_per_s: float
    """Acknowledged responses; starts, consents and completions take place too and are not counted."""
    p50_ms: float
    p99_ms: float
    """From the first sending of a response to its acknowledgement, retries included."""
    n_responses: int
    server_cores: float
    memory_mb: float
    client_cores: float
    sent_again: int
    """Requests that the server refused temporarily, or broke off."""


class Load:
    """Active participants, as an asynchronous context manager that stops them.

    Parameters
    ----------
    ports
        Ports of the server's processes; participants are spread over them.
    new_script
        Makes the script of a session. A participant starts another session when one is finished.
    think_s
        Mean time before each request, exponentially distributed; 0 for none.
    """

    def __init__(self, ports: Sequence[int], new_script: Callable[[], Script], think_s: float = 0.0) -> None:
        self.ports = ports
        self.new_script = new_script
        self.think_s = think_s
        self.latencies_s: list[float] = []
        self.n_sessions = 0
        self.n_sent_again = 0
        self.is_stopping = False
        self._participants: list[_Participant] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                await self.stop()
        finally:
            for participant in self._participants:
                participant.leave()
            self._failure.cancel()

    def start(self, n_participants: int) -> None:
        """Start this many participants; each takes session after session until `stop`."""
        self._add(n_participants, goes_on=True)

    async def hold(self, n_participants: int) -> None:
        """Take this many participants through one script, and leave their connections open."""
        for first in range(0, n_participants, 50):
            self._add(min(50, n_participants - first), goes_on=False)
            await self.run_until(lambda: all(participant.is_done for participant in self._participants[-50:]))

    async def run(self, seconds: float) -> None:
        """Let the participants continue for some seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._failure), seconds)

    async def run_until(self, is_reached: Callable[[], bool], at_most_s: float = 60.0) -> None:
        """Let the participants continue until a condition holds; raise an error after a time-out."""
        deadline = time.perf_counter() + at_most_s
        while not is_reached():
            await self.run(0.01)
            if time.perf_counter() > deadline:
                raise LoadError(f"the participants did not reach the condition within {at_most_s:.0f} s")

    async def window(self, seconds: float, usage: Callable[[], Usage]) -> Window:
        """Measure for this many seconds, and longer until as many sessions are finished as there are participants.

        This way a slow server, too, is measured with all parts of a session.
        """
        n_latencies, n_again = len(self.latencies_s), self.n_sent_again
        n_enough = self.n_sessions + len(self._participants)
        before, client_cpu_s, begin = usage(), time.process_time(), time.perf_counter()
        await self.run(seconds)
        await self.run_until(lambda: self.n_sessions >= n_enough, LONGEST_WINDOW_S)
        latencies_s = self.latencies_s[n_latencies:]
        wall_s = time.perf_counter() - begin
        client_cpu_s = time.process_time() - client_cpu_s
        state_after = usage()
        p50, p99 = np.percentile(latencies_s, [50, 99])
        return Window(
            responses_per_s=len(latencies_s) / wall_s,
            p50_ms=float(p50) * 1e3,
            p99_ms=float(p99) * 1e3,
            n_responses=len(latencies_s),
            server_cores=(state_after.cpu_s - before.cpu_s) / wall_s,
            memory_mb=state_after.memory_mb,
            client_cores=client_cpu_s / wall_s,
            sent_again=self.n_sent_again - n_again,
        )

    async def stop(self) -> None:
        """Stop each participant when its open request is answered."""
        self.is_stopping = True
        await self.run_until(lambda: all(participant.is_done for participant in self._participants))

    def fail(self, error: LoadError) -> None:
        """Stop the run with an error, which `run`, `window`, `hold` or `stop` raises."""
        if not self._failure.done():
            self._failure.set_exception(error)

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine, and keep a reference to it until it is done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _add(self, n_participants: int, goes_on: bool) -> None:
        for _ in range(n_participants):
            participant = _Participant(self, number=len(self._participants), goes_on=goes_on)
            self._participants.append(participant)
            self.in_background(participant.connect())


class _Participant(asyncio.Protocol):
    """One participant: a connection and the script of the current session."""

    def __init__(self, load: Load, number: int, goes_on: bool) -> None:
        self._load = load
        self._number = number
        self._goes_on = goes_on
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._sending_later: asyncio.TimerHandle | None = None
        self.is_done = False
        self._script = load.new_script()
        self._request = next(self._script)
        self._first_sent = time.perf_counter()

    async def connect(self) -> None:
        """Open the connection to the next server; the callbacks below receive connection and reply."""
        port = self._load.ports[self._number % len(self._load.ports)]
        self._number += 1
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: self, HOST, port)
        except OSError:
            loop.call_later(RECONNECT_S, self._reconnect)

    def leave(self) -> None:
        """Close the connection for good."""
        self.is_done = True
        if self._transport:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._received = b""
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._sending_later:
            self._sending_later.cancel()  # the next connection sends it
        if not self.is_done:
            self._load.n_sent_again += 1
            asyncio.get_running_loop().call_later(RECONNECT_S, self._reconnect)

    def data_received(self, data: bytes) -> None:
        if self._received:
            data = self._received + data
        try:
            reply = read_reply(data)
            if reply is None:
                self._received = data
                return
            self._received = b""
            if reply.status == 429 or reply.status >= 500:
                self._send_later(reply)
                return
            self._go_on(reply)
        except LoadError as error:
            self._load.fail(error)
            self.leave()

    def _send_first(self) -> None:
        self._first_sent = time.perf_counter()
        self._send()

    def _send(self) -> None:
        assert self._transport is not None
        self._transport.write(self._request.data)

    def _send_later(self, reply: Reply) -> None:
        self._load.n_sent_again += 1
        wait_s = float(reply.header("retry-after")) if b"\r\nretry-after:" in reply.head.lower() else RETRY_S
        self._sending_later = asyncio.get_running_loop().call_later(wait_s, self._send)

    def _go_on(self, reply: Reply) -> None:
        now = time.perf_counter()
        if self._request.is_response:
            self._load.latencies_s.append(now - self._first_sent)
        try:
            self._request = self._script.send(reply)
        except StopIteration:
            if not self._goes_on:
                self.is_done = True
                return
            self._load.n_sessions += 1
            self._script = self._load.new_script()
            self._request = next(self._script)
        if self._load.is_stopping:
            self.leave()
            return
        if self._load.think_s:
            wait_s = random.expovariate(1 / self._load.think_s)
            self._sending_later = asyncio.get_running_loop().call_later(wait_s, self._send_first)
        else:
            self._send_first()

    def _reconnect(self) -> None:
        if not self.is_done:
            self._load.in_background(self.connect())
