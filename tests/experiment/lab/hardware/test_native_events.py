"""Times of events by the X server, which has its own counter of milliseconds."""

import pytest

from experiment.lab.hardware.native_events import time_of_event_ns

WRAP_MS = 2**32
NOW_NS = 50_000_400_000_000_123
"""More than 50 days after the start of the machine, so the X server's counter has begun again."""


@pytest.mark.parametrize("delay_ms", [2, 37, 500, 9_999])
def test_an_event_that_is_read_late_gets_its_own_time_to_half_a_millisecond(delay_ms):
    happened_ns = NOW_NS - delay_ms * 1_000_000
    event_ms = happened_ns // 1_000_000 % WRAP_MS
    assert abs(time_of_event_ns(event_ms, NOW_NS) - happened_ns) <= 500_000


def test_an_event_that_is_read_at_once_gets_the_finer_time_of_the_reading():
    assert time_of_event_ns(NOW_NS // 1_000_000 % WRAP_MS, NOW_NS) == NOW_NS


@pytest.mark.parametrize("difference_ms", [-5_000, 20_000, 86_400_000])
def test_the_clock_of_another_machine_is_not_used(difference_ms):
    event_ms = (NOW_NS // 1_000_000 - difference_ms) % WRAP_MS
    assert time_of_event_ns(event_ms, NOW_NS) == NOW_NS


def test_a_time_is_right_when_the_counter_begins_again():
    now_ns = (WRAP_MS + 10) * 1_000_000
    assert abs(time_of_event_ns(WRAP_MS - 10, now_ns) - (WRAP_MS - 10) * 1_000_000) <= 500_000
