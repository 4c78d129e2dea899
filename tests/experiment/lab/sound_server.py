"""A sound output for tests on machines without one: the server JACK with its dummy driver, which runs in real time."""

import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

STARTING_S = 2.0
"""Time in which the server becomes ready, in seconds."""


def is_missing() -> bool:
    """Return True if JACK is not installed."""
    return shutil.which("jackd") is None


@contextmanager
def sound_server() -> Iterator[dict[str, str]]:
    """Start a server. Yield the environment in which programs use it."""
    name = f"equipoise-{uuid.uuid4().hex[:8]}"
    server = subprocess.Popen(
        ["jackd", "--no-realtime", "-n", name, "-d", "dummy", "-r", "48000", "-p", "256"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(STARTING_S)
        yield {"JACK_DEFAULT_SERVER": name}
    finally:
        server.terminate()
        server.wait()
