"""Onsets and offsets in synthetic recordings of a photodiode."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batteries.errors import InputError
from experiment.lab.photodiode.light import find_light, moving_average
from tests.experiment.lab.photodiode.recordings import Setup, flash_times, voltage_of

FRAME_MS = 1000 / 60


def found_in(setup, n=12, **flashes):
    onsets_s, offsets_s = flash_times(n, **flashes)
    light = find_light(voltage_of(onsets_s, offsets_s, setup), setup.rate_hz)
    return onsets_s, offsets_s, light


def assert_found(setup, tolerance_ms, n=12, **flashes):
    onsets_s, offsets_s, light = found_in(setup, n, **flashes)
    assert len(light.onsets_s) == n
    assert np.abs(light.onsets_s - onsets_s).max() * 1000 < tolerance_ms
    assert np.abs(light.offsets_s - offsets_s).max() * 1000 < tolerance_ms
    assert light.is_inverted == setup.is_inverted
    return light


@settings(max_examples=25, deadline=None)
@given(
    setup=st.builds(
        Setup,
        rate_hz=st.sampled_from([1000.0, 2048.0, 5000.0, 16_000.0, 48_000.0]),
        rise_ms=st.floats(0.1, 12.0),
        noise=st.floats(0.0, 0.05),
        is_inverted=st.booleans(),
        drift=st.floats(-1.0, 1.0),
        volts=st.sampled_from([1e-6, 0.05, 2.0, 30_000.0]),
        seed=st.integers(0, 1000),
    ),
    white_frames=st.integers(2, 10),
    dropped=st.sets(st.integers(0, 7), max_size=4),
    seed=st.integers(0, 1000),
)
def test_every_flash_is_found_to_the_millisecond(setup, white_frames, dropped, seed):
    onsets_s, offsets_s = flash_times(8, white_frames=white_frames, dropped=dropped, seed=seed)
    light = find_light(voltage_of(onsets_s, offsets_s, setup), setup.rate_hz)
    tolerance_ms = 0.6 + 1000 * 0.3 / setup.rate_hz + 2 * setup.noise * setup.rise_ms
    assert len(light.onsets_s) == 8
    assert np.abs(light.onsets_s - onsets_s).max() * 1000 < tolerance_ms
    assert np.abs(light.offsets_s - offsets_s).max() * 1000 < tolerance_ms
    frames = np.round(light.durations_ms / FRAME_MS)
    assert list(frames) == [white_frames + (number in dropped) for number in range(8)]
    assert light.is_inverted == setup.is_inverted


def test_flashes_of_one_frame_are_found():
    assert_found(Setup(rate_hz=5000), 0.3, white_frames=1)


def test_without_noise_and_at_a_high_rate_the_times_are_exact():
    assert_found(Setup(rate_hz=20_000, noise=0), 0.05)


@pytest.mark.parametrize("time_constant_s", [0.03, 0.08, 0.3, 1.6])
def test_a_slow_high_pass_filter_changes_nothing(time_constant_s):
    assert_found(Setup(rate_hz=8000, time_constant_s=time_constant_s), 0.5)


@pytest.mark.parametrize(("flicker_hz", "duty"), [(120, 0.5), (240, 0.3), (480, 0.5), (1000, 0.2), (3000, 0.5)])
def test_the_flicker_of_a_backlight_is_averaged(flicker_hz, duty):
    light = assert_found(Setup(rate_hz=10_000, flicker_hz=flicker_hz, flicker_duty=duty), 700 / flicker_hz + 0.3)
    if flicker_hz < 1500:
        assert light.flicker_hz == pytest.approx(flicker_hz, abs=3)


def test_the_rise_time_is_that_of_the_light():
    light = assert_found(Setup(rate_hz=10_000, rise_ms=8, noise=0.01), 0.5)
    assert light.rise_ms == pytest.approx(8, abs=0.6)
    assert light.fall_ms == pytest.approx(8, abs=0.6)


def test_a_spike_of_the_mains_is_not_a_flash():
    onsets_s, offsets_s = flash_times(12)
    setup = Setup(rate_hz=5000)
    voltage = voltage_of(onsets_s, offsets_s, setup)
    voltage[200] += 30
    light = find_light(voltage, setup.rate_hz)
    assert np.abs(light.onsets_s[-12:] - onsets_s).max() < 0.0005
    assert len(light.onsets_s) == 12


def test_a_flash_that_the_recording_cuts_is_left_out():
    onsets_s, offsets_s = flash_times(12)
    voltage = voltage_of(onsets_s, offsets_s)
    first, last = round(1000 * (onsets_s[0] + 0.05)), round(1000 * (onsets_s[-1] + 0.05))
    light = find_light(voltage[first:last], 1000)
    assert light.onsets_s + first / 1000 == pytest.approx(onsets_s[1:-1], abs=0.0006)


@pytest.mark.parametrize(
    ("voltage", "rate_hz", "sentence"),
    [
        (np.zeros(5000), 1000, "no flashes were found. Fix: check that the photodiode"),
        (np.zeros(10), 1000, "no flashes were found"),
        (np.random.default_rng(0).standard_normal(20_000), 1000, "no flashes were found"),
        (np.sin(np.arange(20_000) / 3000), 1000, "no flashes were found"),
        (np.zeros(5000), 1, "the recording has 1 samples per second, but at least 500 are needed. Fix: record with"),
    ],
)
def test_a_recording_without_flashes_is_refused(voltage, rate_hz, sentence):
    with pytest.raises(InputError, match=sentence):
        find_light(voltage, rate_hz)


@pytest.mark.parametrize("hz", [60, 75, 85])
def test_the_light_of_a_tube_is_refused(hz):
    with pytest.raises(InputError, match=rf"the light flickers at ({hz}|{hz - 1}) Hz, as on a tube .* Fix: switch off"):
        found_in(Setup(rate_hz=10_000, flicker_hz=hz, flicker_duty=0.1, rise_ms=0.2))


def test_a_fast_high_pass_filter_is_refused():
    with pytest.raises(InputError, match=r"falls to its half within .* Fix: set the input to DC coupling"):
        found_in(Setup(rate_hz=10_000, time_constant_s=0.006, rise_ms=0.5))


def test_too_much_noise_is_refused():
    with pytest.raises(InputError, match=r"times as strong as the noise|no flashes were found"):
        found_in(Setup(rate_hz=1000, noise=0.4))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 10])
def test_a_moving_average_has_no_delay(n):
    values = np.zeros(41)
    values[20] = 1.0
    mean = moving_average(values, n)
    assert len(mean) == 41
    assert mean.sum() == pytest.approx(1)
    assert mean @ np.arange(41) == pytest.approx(20)


@pytest.mark.parametrize("is_inverted", [False, True])
def test_light_can_raise_or_lower_the_voltage(is_inverted):
    assert_found(Setup(rate_hz=5000, is_inverted=is_inverted, drift=0.5), 0.4)
