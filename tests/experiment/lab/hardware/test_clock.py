"""The time of day is read once, so a correction of the system's clock changes no difference of times."""

import time
from datetime import UTC, datetime, timedelta

from experiment.lab.hardware.clock import Anchor


def test_the_time_of_day_is_right_to_a_millisecond():
    anchor = Anchor.now()
    now = anchor.utc_of(time.perf_counter_ns())
    assert abs(now - datetime.now(UTC)) < timedelta(milliseconds=50)


def test_differences_are_exact_to_a_microsecond():
    anchor = Anchor(at_ns=123, utc=datetime(2026, 11, 28, 12, 0, 0, 7, tzinfo=UTC))
    first, second = anchor.utc_of(1_000_000_123), anchor.utc_of(1_200_001_123)
    assert second - first == timedelta(microseconds=200_001)
    assert first == datetime(2026, 11, 28, 12, 0, 1, 7, tzinfo=UTC)
