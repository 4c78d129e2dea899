"""Requirements on the laboratory's timing, measured as in benchmarks/lab_timing.py."""

import pytest

from benchmarks.lab_timing import SIZES_PX, measure_trials
from benchmarks.watched_screen import watched_screen

N_TRIALS = 25
FIXATION_MS = 200
N_MEASUREMENTS = 5
"""Largest number of measurements; other work of the machine must not fail the test."""


@pytest.fixture(scope="module")
def watched(_virtual_screens_work, tmp_path_factory):
    """Return a screen whose pixels the test watches."""
    with watched_screen(tmp_path_factory.mktemp("home"), SIZES_PX[0]) as made:
        yield made


def measured(watched, backend, is_exact):
    for _ in range(N_MEASUREMENTS):
        timing = measure_trials(watched, backend, N_TRIALS)
        if is_exact(timing):
            return timing
    return timing


def test_response_times_and_fixation_durations_are_exact(watched, psychtoolbox):
    timing = measured(
        watched,
        "ptb",
        lambda found: abs(found.rt_error_ms) < 1 and found.rt_error_sd_ms < 1 and found.within_a_frame >= 0.99,
    )
    assert timing.backend == "ptb"
    assert abs(timing.rt_error_ms) < 1
    assert timing.rt_error_sd_ms < 1
    assert timing.within_a_frame >= 0.99


def test_response_times_from_window_events_are_nearly_as_exact(watched):
    timing = measured(watched, "event", lambda found: abs(found.rt_error_ms) < 5)
    assert timing.backend == "event"
    assert abs(timing.rt_error_ms) < 5


@pytest.mark.parametrize("n_queued", [1, 2])
def test_a_driver_that_queues_images_is_detected(screen, n_queued):
    def errors_ms():
        return [abs(onset["fixation_ms"] - FIXATION_MS) for onset in found["onsets"]]

    for _ in range(N_MEASUREMENTS):
        with screen.start("waiting", "60", "5", str(n_queued)) as program:
            found = program.reply()
        assert found["pacing"] == "clock"
        if "queue" in found["refresh"]["reason"] and max(errors_ms()) < 2:
            break  # On a busy machine, another condition may fail first.
    assert "queue" in found["refresh"]["reason"]
    assert max(errors_ms()) < 2, "a flip to the queue takes no time"


@pytest.mark.parametrize("hz", [30, 60])
def test_flips_that_wait_are_detected_and_fixations_last_whole_frames(screen, hz):
    for _ in range(N_MEASUREMENTS):
        with screen.start("waiting", str(hz), "10") as program:
            found = program.reply()
        if found["refresh"]["is_synchronised"]:
            break
    assert (
        found["refresh"]["reason"] == "flips come at regular intervals, for any duration of work or rest between flips"
    )
    assert found["refresh"]["measured_hz"] == pytest.approx(hz, rel=0.02)
    assert found["pacing"] == "frames"
    n_frames = hz // 5
    for onset in found["onsets"]:
        assert onset["fixation_frames_intended"] == n_frames
        assert onset["fixation_frames"] == len(onset["frame_intervals_ms"]) + onset["frames_dropped"]
        assert abs(onset["fixation_ms"] - 200) < onset["frame_ms"] * (1 + onset["frames_dropped"])
