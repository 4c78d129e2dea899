"""Synthetic recordings of a photodiode, with known onsets and offsets."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Setup:
    rate_hz: float = 1000.0
    rise_ms: float = 2.0
    """Time from 10 to 90 % of the light."""
    noise: float = 0.01
    """Standard deviation, as a share of the light."""
    is_inverted: bool = False
    drift: float = 0.0
    """Slow change over the recording, as a multiple of the light."""
    flicker_hz: float | None = None
    flicker_duty: float = 0.5
    time_constant_s: float | None = None
    """Time constant of a high-pass filter; None for DC coupling."""
    volts: float = 2.0
    seed: int = 0


def voltage_of(onsets_s, offsets_s, setup=Setup(), length_s=None):
    """Return the voltage at each sample. The light crosses its middle exactly at the onsets and offsets."""
    length_s = length_s or float(np.max(offsets_s)) + 0.5
    at_s = np.arange(round(length_s * setup.rate_hz)) / setup.rate_hz
    light = np.zeros(len(at_s))
    slope_s = setup.rise_ms / 1000 / 2.197  # Of a logistic curve: ln(9) - ln(1/9) = 2 ln 9 = 4.394 scales.
    for onset_s, offset_s in zip(onsets_s, offsets_s, strict=True):
        light += _logistic((at_s - onset_s) / (slope_s / 2)) - _logistic((at_s - offset_s) / (slope_s / 2))
    if setup.flicker_hz:
        light = light * ((at_s * setup.flicker_hz) % 1 < setup.flicker_duty) / setup.flicker_duty
    if setup.time_constant_s:
        light = _high_passed(light, 1 / (setup.time_constant_s * setup.rate_hz))
    random = np.random.default_rng(setup.seed)
    slow = setup.drift * np.sin(2 * np.pi * at_s / length_s)
    light = light + slow + setup.noise * random.standard_normal(len(at_s))
    return (0.3 - setup.volts * light) if setup.is_inverted else (0.3 + setup.volts * light)


def flash_times(n, frame_ms=1000 / 60, white_frames=6, black_ms=500.0, seed=0, dropped=()):
    """Return the onsets and offsets of flashes in s; the flashes in `dropped` last one frame longer."""
    random = np.random.default_rng(seed)
    onsets, offsets, at_ms = [], [], 800.0
    for number in range(n):
        frames = white_frames + (number in dropped)
        onsets.append(at_ms / 1000)
        offsets.append((at_ms + frames * frame_ms) / 1000)
        black = round((black_ms + random.uniform(0, 0.2 * black_ms)) / frame_ms)
        at_ms += (frames + black) * frame_ms
    return np.array(onsets), np.array(offsets)


def _logistic(x):
    return 1 / (1 + np.exp(-np.clip(x, -60, 60)))


def _high_passed(values, share):
    """Filter with a high-pass filter of the first order."""
    from scipy.signal import lfilter

    keep = 1 / (1 + share)
    return lfilter([keep, -keep], [1, -keep], values)
