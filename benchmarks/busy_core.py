"""A busy core: other work of the machine during a measurement."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def busy_core(is_busy: bool) -> Iterator[None]:
    """Keep one core busy if requested."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if is_busy else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()
