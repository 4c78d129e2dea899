"""Times from the clock `time.perf_counter_ns`, which never jumps and is the same for all programs of a machine.

`time.monotonic_ns` is not used, because it advances in steps of 15.6 ms on Windows up to Python 3.12.
"""

import time
from collections.abc import Sequence
from itertools import pairwise

AWAKE_S = 0.002
"""Last part of each wait, in seconds. In this part, `wait_until` polls the clock, because a sleep can end too late."""


def intervals_ms(stamps_ns: Sequence[int]) -> list[float]:
    """Return the differences between consecutive times, in ms."""
    return [(later - earlier) / 1e6 for earlier, later in pairwise(stamps_ns)]


def wait_until(due_ns: int) -> None:
    """Wait until the clock `time.perf_counter_ns` shows `due_ns`.

    Sleep first, then poll the clock for the last 2 ms.
    """
    asleep_s = (due_ns - time.perf_counter_ns()) / 1e9 - AWAKE_S
    if asleep_s > 0:
        time.sleep(asleep_s)
    while time.perf_counter_ns() < due_ns:
        pass
