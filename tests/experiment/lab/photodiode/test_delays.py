"""Delays, durations and dropped frames in synthetic recordings with known times, and the report."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batteries.errors import InputError
from experiment.lab.photodiode.delays import measure_screen
from experiment.lab.photodiode.flash_table import ShownFlash
from experiment.lab.photodiode.recording import Recording
from experiment.lab.photodiode.report import report
from tests.experiment.lab.photodiode.recordings import Setup, flash_times, voltage_of

FRAME_MS = 1000 / 60


def shown_flashes(onsets_s, frames=None, code_lag_s=None):
    return [
        ShownFlash(
            flash=number + 1, onset_s=float(at_s), offset_s=float(at_s) + 6 * FRAME_MS / 1000, black_ms=500.0,
            black_frames=30, black_frames_intended=30, white_ms=6 * FRAME_MS,
            white_frames=(frames or {}).get(number, 6), white_frames_intended=6, frames_dropped=0, code=1,
            code_s=None if code_lag_s is None else float(at_s) + code_lag_s,
            frame_ms=FRAME_MS, pacing="frames",
        )
        for number, at_s in enumerate(onsets_s)
    ]  # fmt: skip


def recorded(onsets_s, offsets_s, codes_s=None, setup=Setup(rate_hz=1000)):  # noqa: B008 - it is frozen
    light = voltage_of(onsets_s, offsets_s, setup)
    trigger = None
    if codes_s is not None:
        at_s = np.arange(len(light)) / setup.rate_hz
        trigger = np.zeros(len(light))
        for code_s in codes_s:
            trigger[(at_s >= code_s) & (at_s < code_s + 0.01)] = 5.0
    return Recording(Path("scope.csv"), setup.rate_hz, light, trigger)


@settings(max_examples=20, deadline=None)
@given(
    delay_ms=st.floats(-5, 80),
    jitter_ms=st.floats(0, 3),
    start_s=st.floats(-200, 200),
    ppm=st.floats(-150, 150),
    dropped=st.sets(st.integers(1, 18), max_size=4),
    seed=st.integers(0, 100),
)
def test_delays_and_dropped_frames_are_those_of_the_screen(delay_ms, jitter_ms, start_s, ppm, dropped, seed):
    flips_s, ends_s = flash_times(20, seed=seed, dropped=dropped)
    jitter_s = np.random.default_rng(seed).uniform(-1, 1, 20) * jitter_ms / 1000
    lights_s = flips_s + delay_ms / 1000 + jitter_s
    recording = recorded(lights_s, ends_s + delay_ms / 1000 + jitter_s, flips_s, Setup(rate_hz=2000, seed=seed))
    timing = measure_screen(recording, shown_flashes(flips_s * (1 + ppm / 1e6) + start_s))
    expected_ms = (lights_s - flips_s) * 1000
    assert timing.delays_ms == pytest.approx(expected_ms, abs=0.6)  # A sample is 0.5 ms.
    assert [each.shown.flash for each in timing.flashes] == list(range(1, 21))
    assert {each.shown.flash - 1 for each in timing.of_wrong_duration} == dropped
    assert timing.n_frames_dropped == len(dropped)
    assert len(timing.of_other_record) == len(dropped)
    assert np.std(timing.deviations_ms) == pytest.approx(np.std(jitter_s * 1000), abs=0.5)


def test_without_a_trigger_a_late_flash_is_found_by_the_intervals():
    flips_s, ends_s = flash_times(30)
    lights_s = flips_s.copy()
    lights_s[11] += FRAME_MS / 1000
    timing = measure_screen(recorded(lights_s, ends_s), shown_flashes(flips_s - 50))
    assert len(timing.delays_ms) == 0
    assert [each.shown.flash for each in timing.moved] == [12]
    assert timing.moved[0].deviation_ms == pytest.approx(FRAME_MS, abs=0.5)
    assert [each.shown.flash for each in timing.of_wrong_duration] == [12]  # It ended at the right time.


def test_a_recording_of_a_part_of_the_run_is_matched_by_the_intervals():
    flips_s, ends_s = flash_times(40)
    part = slice(15, 32)
    timing = measure_screen(recorded(flips_s[part] - 8, ends_s[part] - 8), shown_flashes(flips_s))
    assert [each.shown.flash for each in timing.flashes] == list(range(16, 33))
    assert "Flashes found: 17; expected: 40." in report(timing)
    assert "The number of flashes is not the expected number (17 instead of 40)" in report(timing)


def test_flashes_of_another_run_are_refused():
    flips_s, ends_s = flash_times(30, seed=1)
    with pytest.raises(InputError, match=r"scope.csv: the times between the flashes are not those .* Fix: name"):
        measure_screen(recorded(flips_s, ends_s), shown_flashes(flash_times(30, black_ms=700, seed=2)[0]))


def test_codes_without_a_flash_are_counted():
    flips_s, ends_s = flash_times(12)
    timing = measure_screen(recorded(flips_s, ends_s, [*(flips_s - 0.02), ends_s[-1] + 0.4]))
    assert (timing.n_codes, len(timing.delays_ms)) == (13, 12)
    assert "Event codes found: 13; codes with a flash: 12." in report(timing)


def test_codes_that_are_far_from_every_flash_are_refused():
    flips_s, ends_s = flash_times(12)
    with pytest.raises(InputError, match=r"no flash follows an event code within 250 ms. Fix: check the column"):
        measure_screen(recorded(flips_s, ends_s, flips_s - 0.3))


def test_an_error_about_the_light_names_the_file():
    with pytest.raises(InputError, match=r"^scope.csv: no flashes were found. Fix"):
        measure_screen(Recording(Path("scope.csv"), 1000.0, np.zeros(5000), None))


def test_the_report_states_the_delay_and_its_meaning():
    flips_s, ends_s = flash_times(50)
    setup = Setup(rate_hz=10_000, noise=0.005)
    recording = recorded(flips_s + 0.012, ends_s + 0.012, flips_s, setup)
    assert report(measure_screen(recording, shown_flashes(flips_s, code_lag_s=0.0001))).splitlines() == [
        "Recording: scope.csv, 10,000 samples per second, 33.3 s.",
        "Flashes found: 50; expected: 50.",
        "Event codes found: 50; codes with a flash: 50.",
        "Delay from the event code to the light: mean 12.0 ms, SD 0.0 ms, range 11.9 to 12.1 ms, n = 50.",
        "Time from the flip until the code was sent, by the program's clock: mean 0.1 ms.",
        "Variation of the onsets against the program's times: mean 0.0 ms, SD 0.0 ms, range 0.0 to 0.0 ms, n = 50.",
        "Difference between the two clocks: +0 parts per million (removed above).",
        "Duration of the light: mean 100.0 ms, SD 0.0 ms, range 100.0 to 100.0 ms, n = 50.",
        "Intended duration: 100.0 ms (6 frames).",
        "Flashes of another duration than intended: 0; dropped frames: 0; flashes whose duration the program recorded "
        "wrongly: 0.",
        "Onsets that are more than half a frame from the program's time: 0.",
        "Light: rises in 2.1 ms and falls in 2.1 ms (10 to 90 %). Onset and offset: 50 %.",
        "",
        "Meaning:",
        "- Participants see a stimulus about 12 ms after its recorded onset. Response times of this setup are about 12 "
        "ms too long. This does not include the delay of the keyboard. If the trigger itself is late, the true delay "
        "is longer.",
        "- The delay is nearly constant (SD 0.0 ms; worst: -0.1 ms from the median), so differences between "
        "conditions are hardly affected.",
        "- All flashes lasted as many frames as intended.",
        "- The numbers hold for this place on this screen, with these settings of the screen and computer.",
    ]


def test_the_report_names_a_late_trigger_a_varying_delay_and_a_missing_trigger():
    flips_s, ends_s = flash_times(20)
    late = report(measure_screen(recorded(flips_s, ends_s, flips_s + 0.02)))
    assert "The light comes 20" in late
    assert "This recording does not show the delay of the screen. Use a faster trigger." in late
    varying_s = flips_s + np.arange(20) % 3 * FRAME_MS / 1000
    assert "- The delay varies (SD 1" in report(measure_screen(recorded(varying_s, ends_s + 0.04, flips_s)))
    one_late_s = flips_s + np.where(np.arange(20) == 7, FRAME_MS / 1000, 0)
    assert "- The delay is nearly constant, but 1 of 20 flashes differ by more than 5 ms (SD 3" in report(
        measure_screen(recorded(one_late_s, ends_s, flips_s))
    )
    without = report(measure_screen(recorded(flips_s, ends_s)))
    assert "Flashes found: 20; expected: unknown." in without
    assert "- Without a trigger, the recording does not show the delay of the screen." in without


def test_the_report_counts_dropped_frames():
    flips_s, ends_s = flash_times(20, dropped={4, 7})
    timing = measure_screen(recorded(flips_s, ends_s), shown_flashes(flips_s, frames={4: 7}))
    assert (
        "Flashes of another duration than intended: 2; dropped frames: 2; flashes whose duration the program recorded "
        "wrongly: 1." in report(timing)
    )
    assert "- 2 of 20 flashes did not last as long as intended." in report(timing)
