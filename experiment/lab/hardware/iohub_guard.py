"""A program that ends ioHub's process if the program of the session dies. ioHub itself would then run on for ever.

The program of the session holds the other end of this program's standard input. So the input ends when that program
ends, also if the system kills that program.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

CLOSING_S = 10.0
"""Time in seconds in which ioHub notices that the session's program is gone, and closes its files."""


def start_guard(process_id: int) -> "subprocess.Popen[bytes]":
    """Start the program. Kill it when ioHub's process, which has the number `process_id`, has ended."""
    arguments = ["-P", __file__, str(process_id), str(CLOSING_S)]  # -P: this folder has no modules for the program.
    return subprocess.Popen([sys.executable, *arguments], stdin=subprocess.PIPE)


def _wait_and_end(process_id: int, closing_s: float) -> None:
    sys.stdin.read()
    time.sleep(closing_s)
    with suppress(OSError):  # ioHub has ended.
        os.kill(process_id, signal.SIGTERM)


if __name__ == "__main__":
    _wait_and_end(int(sys.argv[1]), float(sys.argv[2]))
