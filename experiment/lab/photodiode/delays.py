"""Comparison of the light with the event codes, and with the flashes that the program has shown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from batteries.errors import InputError
from experiment.lab.photodiode.flash_table import ShownFlash
from experiment.lab.photodiode.light import Floats, Ints, Light, find_light
from experiment.lab.photodiode.recording import Recording, trigger_onsets

EARLIEST_S = -0.1
LATEST_S = 0.25
"""A light belongs to an event code if its delay is from `EARLIEST_S` to `LATEST_S`, in s."""
SAME_FLASH_S = 0.04
"""A light belongs to a shown flash if their times differ by at most this time after the clocks are aligned, in s."""
N_TRIED = 10
"""Number of lights at which the alignment of the clocks is tried."""
LEAST_MATCHED = 0.8
"""Least share of the lights or of the shown flashes (the smaller number) that must match."""


@dataclass(frozen=True)
class MeasuredFlash:
    """One flash in the recording."""

    onset_s: float
    """Onset of the light, in s from the first sample."""
    offset_s: float
    """Offset of the light, in s from the first sample."""
    duration_ms: float
    """Duration of the light, in ms."""
    code_s: float | None
    """Onset of the event code in the recording, in s from the first sample; None without a code."""
    delay_ms: float | None
    """Time from the event code to the light, in ms; None without a code."""
    shown: ShownFlash | None
    """The flash as the program recorded it; None if it is not known."""
    deviation_ms: float | None
    """Onset of the light minus the onset by the program, in ms. The mean and the drift of the clocks are removed."""

    @property
    def frames(self) -> int | None:
        """Duration of the light in whole frames; None if the frame is not known."""
        return None if self.shown is None else round(self.duration_ms / self.shown.frame_ms)


@dataclass(frozen=True)
class ScreenTiming:
    """The measured timing of a screen."""

    recording: Recording
    light: Light
    flashes: tuple[MeasuredFlash, ...]
    n_codes: int | None
    """Number of event codes in the recording; None without a trigger."""
    shown: tuple[ShownFlash, ...] | None
    """The flashes that the program has shown; None if they are not known."""
    clock_ppm: float | None
    """Rate of the recording's clock compared with the program's clock, in parts per million; None if not known."""

    @property
    def n_expected(self) -> int | None:
        """Expected number of flashes; None if it is not known."""
        return len(self.shown) if self.shown is not None else self.n_codes

    @property
    def delays_ms(self) -> Floats:
        """Delays from the event codes to the light, in ms."""
        return np.array([each.delay_ms for each in self.flashes if each.delay_ms is not None])

    @property
    def durations_ms(self) -> Floats:
        """Durations of the light, in ms."""
        return np.array([each.duration_ms for each in self.flashes])

    @property
    def deviations_ms(self) -> Floats:
        """Deviations of the onsets from the times of the program, in ms."""
        return np.array([each.deviation_ms for each in self.flashes if each.deviation_ms is not None])

    @property
    def code_lag_ms(self) -> float | None:
        """Mean time from the flip until the program had sent the event code, in ms; None if it is not known."""
        lags = [(each.code_s - each.onset_s) * 1000 for each in self.shown or () if each.code_s is not None]
        return float(np.mean(lags)) if lags else None

    @property
    def n_frames_dropped(self) -> int:
        """Number of frames by which flashes lasted longer than intended."""
        return sum(
            max(0, each.frames - each.shown.white_frames_intended)
            for each in self.flashes
            if each.shown is not None and each.frames is not None
        )

    @property
    def of_wrong_duration(self) -> list[MeasuredFlash]:
        """The flashes whose light lasted another number of frames than intended."""
        return [each for each in self.flashes if each.shown and each.frames != each.shown.white_frames_intended]

    @property
    def of_other_record(self) -> list[MeasuredFlash]:
        """The flashes whose light lasted another number of frames than the program recorded."""
        return [each for each in self.flashes if each.shown and each.frames != each.shown.white_frames]

    @property
    def moved(self) -> list[MeasuredFlash]:
        """The flashes whose onset deviates from the time of the program by more than half a frame."""
        return [
            each for each in self.flashes
            if each.shown and each.deviation_ms is not None and abs(each.deviation_ms) > each.shown.frame_ms / 2
        ]  # fmt: skip


def measure_screen(recording: Recording, shown: Sequence[ShownFlash] | None = None) -> ScreenTiming:
    """Measure the timing of a screen.

    Parameters
    ----------
    recording
        The recording of the photodiode.
    shown
        The flashes that the program has shown during the recording; None if they are not known.

    Raises
    ------
    InputError
        If the recording has no clear flashes, or its flashes are not those that the program has shown.
    """
    try:
        light = find_light(recording.light, recording.rate_hz)
    except InputError as error:
        raise InputError(f"{recording.path}: {error}") from None
    codes_s = None if recording.trigger is None else trigger_onsets(recording)
    of_code = {} if codes_s is None else _codes_of_lights(light.onsets_s, codes_s)
    if codes_s is not None and not of_code:
        raise InputError(
            f"{recording.path}: no flash follows an event code within {LATEST_S * 1000:.0f} ms. Fix: check the column "
            "or the channel of the trigger, or export the recording without the trigger and use --flashes."
        )
    matched: dict[int, ShownFlash] = {}
    deviations_ms: dict[int, float] = {}
    clock_ppm = None
    if shown is not None:
        matched, deviations_ms, clock_ppm = _match(light.onsets_s, shown, recording)
    flashes = []
    for number, (onset_s, offset_s) in enumerate(zip(light.onsets_s.tolist(), light.offsets_s.tolist(), strict=True)):
        code_s = of_code.get(number)
        flashes.append(
            MeasuredFlash(
                onset_s,
                offset_s,
                (offset_s - onset_s) * 1000,
                code_s,
                None if code_s is None else (onset_s - code_s) * 1000,
                matched.get(number),
                deviations_ms.get(number),
            )
        )
    return ScreenTiming(
        recording,
        light,
        tuple(flashes),
        None if codes_s is None else len(codes_s),
        None if shown is None else tuple(shown),
        clock_ppm,
    )


def _codes_of_lights(onsets_s: Floats, codes_s: Floats) -> dict[int, float]:
    """Return the time of the event code of each light, by the position of the light."""
    of_code: dict[int, float] = {}
    for code_s in codes_s.tolist():
        delays = onsets_s - code_s
        nearest = int(np.argmin(np.abs(delays)))
        if EARLIEST_S <= delays[nearest] <= LATEST_S and nearest not in of_code:
            of_code[nearest] = code_s
    return of_code


def _match(
    onsets_s: Floats, shown: Sequence[ShownFlash], recording: Recording
) -> tuple[dict[int, ShownFlash], dict[int, float], float]:
    """Match lights with shown flashes by the times between them.

    Returns
    -------
    tuple
        For the position of each matched light: the shown flash, and the deviation of its onset in ms. Then the rate of
        the recording's clock compared with the program's clock, in parts per million.
    """
    program_s = np.array([each.onset_s for each in shown])
    best: tuple[int, float, Ints] | None = None
    for light_s in onsets_s[:N_TRIED]:
        for flash_s in program_s:
            nearest, distance = _nearest(onsets_s, program_s + (light_s - flash_s))
            is_same = distance <= SAME_FLASH_S
            score = (int(is_same.sum()), -float(distance[is_same].sum()))
            if best is None or score > best[:2]:
                best = (*score, np.where(is_same, nearest, -1))
    assert best is not None
    lights = best[2]
    pairs = {int(light): place for place, light in enumerate(lights) if light >= 0}
    if len(pairs) < max(3, LEAST_MATCHED * min(len(onsets_s), len(shown))):
        raise InputError(
            f"{recording.path}: the times between the flashes are not those of the file with the shown flashes (only "
            f"{len(pairs):,} of {min(len(onsets_s), len(shown)):,} match). Fix: name the file of the same run with "
            "--flashes."
        )
    positions = np.array(list(pairs))
    found_s, planned_s = onsets_s[positions], program_s[list(pairs.values())]
    is_usual = np.ones(len(found_s), dtype=bool)
    deviations_s = np.zeros(len(found_s))
    slope = 1.0
    for _ in range(3):  # A light that is late by a frame must not change the alignment of the clocks.
        slope, start_s = np.polyfit(planned_s[is_usual] - planned_s[0], found_s[is_usual], 1)
        deviations_s = found_s - start_s - slope * (planned_s - planned_s[0])
        deviations_s = deviations_s - np.median(deviations_s)
        is_usual = np.abs(deviations_s) <= max(shown[0].frame_ms / 2000, float(np.median(np.abs(deviations_s))) * 3)
    matched = {light: shown[place] for light, place in pairs.items()}
    return matched, dict(zip(pairs, (deviations_s * 1000).tolist(), strict=True)), float(slope - 1) * 1e6


def _nearest(sorted_s: Floats, times_s: Floats) -> tuple[Ints, Floats]:
    """Return the position of the nearest of the sorted times for each time, and the distance."""
    after = np.clip(np.searchsorted(sorted_s, times_s), 1, max(1, len(sorted_s) - 1))
    before = after - 1
    after = np.minimum(after, len(sorted_s) - 1)
    is_before = np.abs(times_s - sorted_s[before]) <= np.abs(times_s - sorted_s[after])
    nearest = np.where(is_before, before, after)
    return nearest, np.abs(times_s - sorted_s[nearest])
