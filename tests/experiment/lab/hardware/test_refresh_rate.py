"""Verdict on flips that wait for the screen, from intervals between flips."""

import random

import pytest

from experiment.lab.hardware.refresh_rate import BUSY_SHARES, judge_refresh, n_dropped

FRAME_MS = 1000 / 60


def waiting(n=60, frame_ms=FRAME_MS, jitter_ms=0.2, dropped=()):
    noise = random.Random(n)
    return [frame_ms * (2 if k in dropped else 1) + noise.uniform(-jitter_ms, jitter_ms) for k in range(n)]


def queued(n_queued, n=20):
    """The first flips after a rest return at once, or at the screen's next frame."""
    noise = random.Random(n_queued)
    return [noise.uniform(0.3, FRAME_MS) if n_queued == 1 else 0.4 for _ in range(n)]


def not_waiting(flip_ms, busy):
    return [flip_ms * (1 + (BUSY_SHARES[k % len(BUSY_SHARES)] if busy else 0)) for k in range(60)]


def test_flips_at_the_screens_rate_during_any_work_wait_for_the_screen():
    refresh = judge_refresh(waiting(), waiting(), waiting(20), nominal_hz=60)
    assert refresh.is_synchronised
    assert refresh.frame_ms == pytest.approx(FRAME_MS, abs=0.1)
    assert refresh.measured_hz == pytest.approx(60, abs=0.3)
    assert 0 < refresh.jitter_ms < 0.2


def test_flips_can_wait_for_a_screen_of_unknown_nominal_rate():
    intervals_ms = waiting(frame_ms=1000 / 144)
    assert judge_refresh(intervals_ms, intervals_ms, intervals_ms, nominal_hz=None).is_synchronised


def test_a_few_dropped_frames_do_not_change_the_verdict():
    assert judge_refresh(
        waiting(dropped={7, 30}), waiting(dropped={12}), waiting(20, dropped={3, 4}), nominal_hz=60
    ).is_synchronised


@pytest.mark.parametrize(
    ("plain_ms", "busy_ms", "nominal_hz", "reason"),
    [
        (not_waiting(0.6, busy=False), not_waiting(0.6, busy=True), None, "which is impossible for a screen"),
        (waiting(frame_ms=60), waiting(frame_ms=60), None, "which is impossible for a screen"),
        (not_waiting(5.0, busy=False), not_waiting(5.0, busy=True), None, "do not wait for the screen"),
        (not_waiting(FRAME_MS, busy=False), not_waiting(FRAME_MS, busy=True), 60, "do not wait for the screen"),
        (waiting(jitter_ms=5), waiting(jitter_ms=5), 60, "of the intervals between flips are one frame"),
        (waiting(dropped=range(0, 60, 5)), waiting(), 60, "of the intervals between flips are one frame"),
        (waiting(frame_ms=1000 / 50), waiting(frame_ms=1000 / 50), 60, "mode has 60.0 Hz"),
    ],
    ids=["at once", "too slow", "regular by chance", "regular at 60 Hz by chance", "jitter", "drops", "other rate"],
)
def test_other_flips_do_not_wait_and_the_reason_is_given(plain_ms, busy_ms, nominal_hz, reason):
    refresh = judge_refresh(plain_ms, busy_ms, plain_ms, nominal_hz)
    assert not refresh.is_synchronised
    assert reason in refresh.reason


@pytest.mark.parametrize("n_queued", [1, 2])
def test_flips_that_a_driver_queues_do_not_wait_although_they_are_regular(n_queued):
    refresh = judge_refresh(waiting(), waiting(), queued(n_queued), nominal_hz=60)
    assert not refresh.is_synchronised
    assert "queue" in refresh.reason


def test_if_flips_do_not_wait_a_frame_has_its_nominal_duration():
    at_once = not_waiting(0.6, busy=False)
    assert judge_refresh(at_once, at_once, at_once, nominal_hz=144).frame_ms == pytest.approx(1000 / 144)
    assert judge_refresh(at_once, at_once, at_once, nominal_hz=None).frame_ms == pytest.approx(FRAME_MS)


def test_the_frames_of_an_interval_after_its_first_are_dropped_frames():
    assert n_dropped([FRAME_MS, 1.4 * FRAME_MS, FRAME_MS], FRAME_MS) == 0
    assert n_dropped([2 * FRAME_MS, FRAME_MS, 3.1 * FRAME_MS], FRAME_MS) == 3
    assert n_dropped([1.6 * FRAME_MS], FRAME_MS) == 1
