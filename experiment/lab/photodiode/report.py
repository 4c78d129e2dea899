"""The report on the measured timing of a screen, for a technician."""

import numpy as np

from experiment.lab.photodiode.delays import ScreenTiming
from experiment.lab.photodiode.light import Floats

CONSTANT_SD_MS = 2.0
"""Highest standard deviation of a delay that the report calls nearly constant, in ms."""
FAR_MS = 5.0
"""A delay is far from the median if it differs by more than this time, in ms."""
MOST_FAR = 0.05
"""Largest share of far delays of a screen that the report calls nearly constant."""


def report(timing: ScreenTiming) -> str:
    """Return the report: the numbers, then their meaning for response times."""
    return "\n".join([*_numbers(timing), *_meaning(timing)])


def _numbers(timing: ScreenTiming) -> list[str]:
    recording, light = timing.recording, timing.light
    inverted = " (inverted: light lowers the voltage)" if light.is_inverted else ""
    lines = [
        f"Recording: {recording.path.name}, {recording.rate_hz:,.0f} samples per second, "
        f"{recording.length_s:,.1f} s{inverted}.",
        f"Flashes found: {len(timing.flashes):,}; expected: "
        + (f"{timing.n_expected:,}." if timing.n_expected is not None else "unknown."),
    ]
    if timing.n_codes is not None:
        lines.append(f"Event codes found: {timing.n_codes:,}; codes with a flash: {len(timing.delays_ms):,}.")
        lines.append(f"Delay from the event code to the light: {_summary(timing.delays_ms)}.")
    if timing.code_lag_ms is not None:
        lines.append(
            f"Time from the flip until the code was sent, by the program's clock: mean {_ms(timing.code_lag_ms)}."
        )
    if timing.clock_ppm is not None:
        lines.append(f"Variation of the onsets against the program's times: {_summary(timing.deviations_ms)}.")
        lines.append(f"Difference between the two clocks: {timing.clock_ppm:+.0f} parts per million (removed above).")
    lines.append(f"Duration of the light: {_summary(timing.durations_ms)}.")
    if timing.shown is not None:
        intended = sorted({(each.white_frames_intended, each.frame_ms) for each in timing.shown})
        words = " or ".join(f"{_ms(frames * frame_ms)} ({frames} frames)" for frames, frame_ms in intended)
        lines.append(f"Intended duration: {words}.")
        lines.append(
            f"Flashes of another duration than intended: {len(timing.of_wrong_duration):,}; dropped frames: "
            f"{timing.n_frames_dropped:,}; flashes whose duration the program recorded wrongly: "
            f"{len(timing.of_other_record):,}."
        )
        lines.append(f"Onsets that are more than half a frame from the program's time: {len(timing.moved):,}.")
        if any(each.pacing == "clock" for each in timing.shown):
            lines.append("The program timed these flashes by the clock, because flips did not wait for the screen.")
    flicker = f"; flicker of {light.flicker_hz:.0f} Hz was averaged" if light.flicker_hz else ""
    lines.append(
        f"Light: rises in {_ms(light.rise_ms)} and falls in {_ms(light.fall_ms)} (10 to 90 %){flicker}. "
        "Onset and offset: 50 %."
    )
    return lines


def _meaning(timing: ScreenTiming) -> list[str]:
    lines = ["", "Meaning:"]
    delays_ms = timing.delays_ms
    if len(delays_ms):
        delay_ms = float(np.mean(delays_ms)) + (timing.code_lag_ms or 0)
        if delay_ms < 0:
            lines.append(
                f"- The light comes {_ms(-delay_ms)} before the event code, so the recording device receives the codes "
                "late. This recording does not show the delay of the screen. Use a faster trigger."
            )
        else:
            lines.append(
                f"- Participants see a stimulus about {delay_ms:.0f} ms after its recorded onset. Response times of "
                f"this setup are about {delay_ms:.0f} ms too long. This does not include the delay of the keyboard. "
                "If the trigger itself is late, the true delay is longer."
            )
        lines.append(_spread("delay", delays_ms))
    else:
        lines.append(
            "- Without a trigger, the recording does not show the delay of the screen. It shows only durations and "
            "variation."
        )
        if timing.clock_ppm is not None:
            lines.append(_spread("onset", timing.deviations_ms))
    if timing.shown is not None:
        lines.append(
            "- All flashes lasted as many frames as intended."
            if not timing.of_wrong_duration
            else f"- {len(timing.of_wrong_duration):,} of {len(timing.flashes):,} flashes did not last as long as "
            "intended. Close other programs, and measure again."
        )
    if timing.n_expected is not None and len(timing.flashes) != timing.n_expected:
        lines.append(
            f"- The number of flashes is not the expected number ({len(timing.flashes):,} instead of "
            f"{timing.n_expected:,}). Check that the recording covers the whole run and that the photodiode did not "
            "move."
        )
    lines.append("- The numbers hold for this place on this screen, with these settings of the screen and computer.")
    return lines


def _spread(what: str, values_ms: Floats) -> str:
    distances_ms = values_ms - np.median(values_ms)
    worst_ms = float(distances_ms[np.argmax(np.abs(distances_ms))])
    is_far = np.abs(distances_ms) > FAR_MS
    details = f"SD {_ms(_sd(values_ms))}; worst: {worst_ms:+.1f} ms from the median"
    if _sd(values_ms[~is_far]) > CONSTANT_SD_MS or is_far.mean() > MOST_FAR:
        return f"- The {what} varies ({details}). This adds noise to response times and to event-related measures."
    if is_far.any():
        return (
            f"- The {what} is nearly constant, but {is_far.sum():,} of {len(values_ms):,} flashes differ by more than "
            f"{FAR_MS:.0f} ms ({details}). Close other programs, and measure again."
        )
    return f"- The {what} is nearly constant ({details}), so differences between conditions are hardly affected."


def _summary(values_ms: Floats) -> str:
    if len(values_ms) == 0:
        return "none"
    return (
        f"mean {_ms(float(np.mean(values_ms)))}, SD {_ms(_sd(values_ms))}, "
        f"range {_number(values_ms.min())} to {_ms(values_ms.max())}, n = {len(values_ms):,}"
    )


def _sd(values: Floats) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _number(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 0.05 else "0.0"


def _ms(value: float) -> str:
    return f"{_number(value)} ms"
