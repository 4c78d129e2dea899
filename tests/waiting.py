"""Waiting for a server that a test has started."""

import time
from typing import Protocol

import httpx


class Process(Protocol):
    """A process that has an exit code once it has ended."""

    def poll(self) -> int | None:
        """Return the exit code, or None while the process is running."""


def wait_until_it_replies(url: str, process: Process, within_s: float = 60) -> None:
    """Wait until an address replies, whatever the status; fail if the process ends or the time is over."""
    deadline = time.monotonic() + within_s
    with httpx.Client(timeout=5) as client:  # A new client for each request would need 20 ms of processor time.
        while time.monotonic() < deadline:
            assert process.poll() is None, f"the server ended with the code {process.poll()}"
            try:
                client.get(url)
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
    raise AssertionError("the server did not start")
