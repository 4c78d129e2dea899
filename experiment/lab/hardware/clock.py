"""Times from the clock `time.perf_counter_ns`, which never jumps and is the same for all programs of a machine.

`time.monotonic_ns` is not used, because it advances in steps of 15.6 ms on Windows up to Python 3.12.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Self

AWAKE_S = 0.002
"""Last part of each wait, in seconds. In this part, `wait_until` polls the clock, because a sleep can end too late."""

N_READINGS = 20


@dataclass(frozen=True)
class Anchor:
    """One moment by two clocks: `time.perf_counter_ns`, and the time of day in UTC.

    The time of day is read only once in a visit. So the difference of two times in UTC is exact to 1 µs, even if the
    system corrects the time of day during the visit.
    """

    at_ns: int
    utc: datetime

    @classmethod
    def now(cls) -> Self:
        """Read both clocks several times, and return the pair of readings with the least time between them."""
        readings = []
        for _ in range(N_READINGS):
            before_ns, utc, after_ns = time.perf_counter_ns(), datetime.now(UTC), time.perf_counter_ns()
            readings.append((after_ns - before_ns, (before_ns + after_ns) // 2, utc))
        _, at_ns, utc = min(readings)
        return cls(at_ns, utc)

    def us_until(self, at_ns: int) -> int:
        """Return the time from the anchor to a time by `time.perf_counter_ns`, in whole microseconds."""
        return round((at_ns - self.at_ns) / 1000)

    def utc_of(self, at_ns: int) -> datetime:
        """Return the UTC time of a time by `time.perf_counter_ns`."""
        return self.utc + timedelta(microseconds=self.us_until(at_ns))


def offset_s(clock_s: Callable[[], float], n_readings: int = N_READINGS) -> float:
    """Return the difference between another clock, which returns seconds, and `time.perf_counter_ns`, in s.

    Both clocks are read several times. The result is from the readings with the least time between them.
    """
    readings = []
    for _ in range(n_readings):
        before_ns, there_s, after_ns = time.perf_counter_ns(), clock_s(), time.perf_counter_ns()
        readings.append((after_ns - before_ns, there_s - (before_ns + after_ns) / 2e9))
    return min(readings)[1]


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
