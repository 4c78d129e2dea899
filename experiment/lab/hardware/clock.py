"""Times by `time.perf_counter_ns`: it never jumps, and is the same clock for all that happens on one machine.

Not by `time.monotonic_ns`, which up to Python 3.12 goes by steps of 15.6 ms on Windows.
"""

import time
from collections.abc import Sequence
from itertools import pairwise

AWAKE_S = 0.002
"""Sleep may last this much too long."""


def intervals_ms(stamps_ns: Sequence[int]) -> list[float]:
    """Return the times between stamps in a row, in ms."""
    return [(later - earlier) / 1e6 for earlier, later in pairwise(stamps_ns)]


def wait_until(due_ns: int) -> None:
    """Wait until a time: asleep at first, the last 2 ms awake."""
    asleep_s = (due_ns - time.perf_counter_ns()) / 1e9 - AWAKE_S
    if asleep_s > 0:
        time.sleep(asleep_s)
    while time.perf_counter_ns() < due_ns:
        pass
