"""Onsets and offsets of flashes in the voltage of a photodiode.

A flash is found by its two edges. At an edge, the mean voltage of the next 6 ms differs from the mean of the last 6 ms.
So slow changes, such as drift or a high-pass filter of the amplifier, are not edges. The time of an edge is the moment
at which the voltage crosses the middle between dark and light. The height of the edge comes from the median of all
edges, so that noise at one edge hardly changes its time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from batteries.errors import InputError

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

LEAST_RATE_HZ = 500.0
"""Lowest sampling rate of a recording, in Hz."""
EDGE_S = 0.006
"""Time before and after an edge whose mean voltages are compared, in s."""
SPAN_S = 0.04
"""Longest time before and after an edge in which its levels are measured, in s."""
SMOOTHING_S = 0.001
"""Duration of the moving average, in s."""
FLICKER_HZ = (45.0, 1500.0)
"""Range of frequencies in which flicker is searched, in Hz. The moving average removes faster flicker."""
SLOWEST_BACKLIGHT_HZ = 95.0
"""Lowest frequency of flicker that is averaged. Slower flicker is that of a tube, or of a backlight with strobe."""
FLICKER_CONTRAST = 15.0
"""Least ratio of the power at the frequency of flicker to the power at neighbouring frequencies."""
STRONG_FLICKER = 0.3
"""Least RMS amplitude of strong flicker, as a share of the range of the voltage."""
LEAST_HEIGHT_RATIO = 2.5
"""Least ratio of the height of edges to the height of the largest changes between edges."""
LEAST_SIGNAL_TO_NOISE = 5.0
SHORTEST_HALF_LIFE_S = 0.01
"""Shortest time in s in which the recorded light may fall to its half while the flash continues."""
FEWEST_FLASHES = 3


@dataclass(frozen=True)
class Light:
    """Flashes in the recording of a photodiode."""

    onsets_s: Floats
    """Time of each onset, in s from the first sample: the voltage is in the middle between dark and light."""
    offsets_s: Floats
    """Time of each offset, in s from the first sample."""
    rise_ms: float
    """Median time in which the voltage rises from 10 to 90 % of the light, in ms."""
    fall_ms: float
    """Median time in which the voltage falls from 90 to 10 % of the light, in ms."""
    signal_to_noise: float
    """Height of the edges, divided by the standard deviation of the voltage in the dark."""
    flicker_hz: float | None
    """Frequency of the flicker that was averaged, in Hz; None if there is no such flicker."""
    is_inverted: bool
    """True if light lowers the voltage."""

    @property
    def durations_ms(self) -> Floats:
        """Duration of each flash, in ms."""
        return (self.offsets_s - self.onsets_s) * 1000


def find_light(voltage: Floats, rate_hz: float) -> Light:
    """Find the flashes in the recording of a photodiode. The flashes must be shorter than the dark between them.

    Parameters
    ----------
    voltage
        The voltage at each sample, in any unit.
    rate_hz
        The sampling rate, in Hz.

    Raises
    ------
    InputError
        If flashes cannot be found reliably. The message has a fix, and does not name the file.
    """
    if rate_hz < LEAST_RATE_HZ:
        raise InputError(
            f"the recording has {rate_hz:,.4g} samples per second, but at least {LEAST_RATE_HZ:,.0f} are needed. Fix: "
            "record with 1,000 or more samples per second, and check that the times are in seconds."
        )
    voltage = voltage - np.median(voltage)
    if len(voltage) < rate_hz * 4 * SPAN_S or np.ptp(voltage) == 0:
        raise _no_flashes()
    flicker_hz = _flicker_hz(voltage, rate_hz)
    smooth = moving_average(voltage, _samples(max(SMOOTHING_S, 1 / flicker_hz if flicker_hz else 0), rate_hz))
    rising, falling = _pairs(_edges(smooth, rate_hz))
    is_inverted = _is_inverted(rising, falling)
    if is_inverted:
        smooth = -smooth
        rising, falling = falling, rising
    rising, falling = _whole_flashes(rising, falling)
    if len(rising) < FEWEST_FLASHES:
        raise _no_flashes()
    _refuse_fast_decay(smooth, rising, falling, rate_hz)
    onsets, rise_ms, height, noise = _exact(smooth, rising, falling, rate_hz)
    # An offset is an onset of the dark: with the opposite sign, the same function finds it.
    offsets, fall_ms, _, _ = _exact(-smooth, falling, np.append(rising[1:], len(smooth)), rate_hz)
    signal_to_noise = height / noise if noise > 0 else float("inf")
    if signal_to_noise < LEAST_SIGNAL_TO_NOISE:
        raise InputError(
            f"the light is only {signal_to_noise:.1f} times as strong as the noise, but {LEAST_SIGNAL_TO_NOISE:.0f} "
            "times is needed. Fix: fix the photodiode closer to the screen, make the screen brighter, and shield the "
            "photodiode from the light of the room."
        )
    return Light(onsets / rate_hz, offsets / rate_hz, rise_ms, fall_ms, signal_to_noise, flicker_hz, is_inverted)


def moving_average(values: Floats, n: int) -> Floats:
    """Return the mean of `n` samples around each sample. At both ends, the first or the last value is repeated.

    The result has no delay: for an even `n`, the two outermost samples count half.
    """
    if n <= 1:
        return values
    weights = np.ones(n) if n % 2 else np.concatenate([[0.5], np.ones(n - 1), [0.5]])
    half = len(weights) // 2
    padded = np.pad(values, half, mode="edge")
    total = np.concatenate([[0.0], np.cumsum(padded)])
    width = len(weights)
    sums = total[width:] - total[:-width]
    if n % 2 == 0:
        sums = sums - (padded[: len(values)] + padded[width - 1 :]) / 2
    return np.asarray(sums / n, dtype=np.float64)


def _samples(duration_s: float, rate_hz: float) -> int:
    return max(1, round(duration_s * rate_hz))


def _no_flashes() -> InputError:
    return InputError(
        "no flashes were found. Fix: check that the photodiode is on the white patch and that its voltage is in the "
        "right column, and record again with `equipoise lab flashes`."
    )


def _flicker_hz(voltage: Floats, rate_hz: float) -> float | None:
    """Return the frequency of the backlight's flicker; None without flicker. Refuse flicker as slow as the frames."""
    fast = voltage - moving_average(voltage, _samples(0.02, rate_hz))
    n = min(len(fast), _samples(0.5, rate_hz))
    window = np.hanning(n)
    starts = range(0, len(fast) - n + 1, max(1, n // 2))
    power = np.mean([np.abs(np.fft.rfft(fast[start : start + n] * window)) ** 2 for start in starts], axis=0)
    hz = np.fft.rfftfreq(n, 1 / rate_hz)
    is_candidate = (hz >= FLICKER_HZ[0]) & (hz <= min(FLICKER_HZ[1], rate_hz / 2.5))
    highest = float(power[is_candidate].max())
    for place in np.flatnonzero(is_candidate & (power >= highest / 4)):
        near = (hz > hz[place] * 0.7) & (hz < hz[place] * 1.4) & (hz >= FLICKER_HZ[0] * 0.7)
        if power[place] < FLICKER_CONTRAST * np.median(power[near]):
            continue
        peak = place + int(np.argmax(power[place : place + 3]))
        if hz[peak] >= SLOWEST_BACKLIGHT_HZ:
            return float(hz[peak])
        low, high = np.percentile(moving_average(voltage, _samples(0.02, rate_hz)), [1, 99])
        if float(np.sqrt(np.mean(fast**2))) > STRONG_FLICKER * (high - low):
            raise InputError(
                f"the light flickers at {hz[peak]:.0f} Hz, as on a tube or with a backlight that flashes in each "
                "frame, so durations cannot be measured. Fix: switch off the reduction of motion blur or the "
                "insertion of black frames in the menu of the screen."
            )
    return None


def _edges(smooth: Floats, rate_hz: float) -> list[tuple[int, float]]:
    """Return the sample of each edge, and its change of the voltage, which is positive if the voltage rises."""
    n = _samples(EDGE_S, rate_hz)
    total = np.concatenate([[0.0], np.cumsum(np.pad(smooth, n, mode="edge"))])
    change = (total[2 * n :] - 2 * total[n:-n] + total[: -2 * n])[:-1] / n
    size = np.abs(change)
    places = _maxima(size, n)
    heights = size[: len(size) // n * n].reshape(-1, n).max(axis=1)
    threshold = float(heights.mean())
    for _ in range(100):  # The threshold of Ridler and Calvard (1978): in the middle between the means of both classes.
        low, high = heights[heights <= threshold], heights[heights > threshold]
        if len(low) == 0 or len(high) == 0:
            break
        following = float(low.mean() + high.mean()) / 2
        if abs(following - threshold) <= 1e-9 * abs(threshold):
            break
        threshold = following
    low, high = heights[heights <= threshold], heights[heights > threshold]
    if len(high) == 0 or (len(low) > 0 and high.mean() < LEAST_HEIGHT_RATIO * low.mean()):
        raise _no_flashes()
    return [(int(place), float(change[place])) for place in places[size[places] > threshold]]


def _maxima(size: Floats, n: int) -> Ints:
    """Return the places of the largest values of a series, at least `n` samples apart."""
    is_peak = np.concatenate([[False], (size[1:-1] >= size[:-2]) & (size[1:-1] > size[2:]), [False]])
    kept: list[int] = []
    for place in np.flatnonzero(is_peak):
        if kept and place - kept[-1] < n:
            if size[place] > size[kept[-1]]:
                kept[-1] = int(place)
        else:
            kept.append(int(place))
    return np.array(kept or [0], dtype=np.int64)


def _pairs(edges: Sequence[tuple[int, float]]) -> tuple[Ints, Ints]:
    """Return the rising and the falling edges. Of several edges in one direction, only the largest remains."""
    kept: list[tuple[int, float]] = []
    for edge in edges:
        if kept and (kept[-1][1] > 0) == (edge[1] > 0):
            if abs(edge[1]) > abs(kept[-1][1]):
                kept[-1] = edge
        else:
            kept.append(edge)
    rising = np.array([place for place, change in kept if change > 0], dtype=np.int64)
    falling = np.array([place for place, change in kept if change < 0], dtype=np.int64)
    return rising, falling


def _is_inverted(rising: Ints, falling: Ints) -> bool:
    """Return True if the voltage is high for longer than it is low, because flashes are shorter than the dark."""
    if len(rising) < 2 or len(falling) < 2:
        return False
    highs, lows = _gaps(rising, falling), _gaps(falling, rising)
    return bool(np.median(highs) > np.median(lows))


def _gaps(starts: Ints, ends: Ints) -> Ints:
    """Return the time from each start to the next end, in samples."""
    following = np.searchsorted(ends, starts)
    has_end = following < len(ends)
    return np.asarray(ends[following[has_end]] - starts[has_end], dtype=np.int64)


def _whole_flashes(rising: Ints, falling: Ints) -> tuple[Ints, Ints]:
    """Return the edges without a flash that the beginning or the end of the recording cuts."""
    if len(rising) and len(falling):
        falling = falling[falling > rising[0]]
        rising = rising[: len(falling)]
    n = min(len(rising), len(falling))
    return rising[:n], falling[:n]


def _refuse_fast_decay(smooth: Floats, rising: Ints, falling: Ints, rate_hz: float) -> None:
    """Raise an InputError if the recording device blocks the light so fast that its edges are distorted."""
    n_edge, length = _samples(EDGE_S, rate_hz), int(np.median(falling - rising))
    if length < _samples(3 * SHORTEST_HALF_LIFE_S, rate_hz):
        return  # In so short flashes, a slow fall of the light looks the same.
    rising = rising[(rising >= 2 * n_edge) & (rising + length <= len(smooth))]
    if len(rising) == 0:
        return
    shape = np.median([smooth[edge : edge + length] - smooth[edge - 2 * n_edge] for edge in rising], axis=0)
    peak = int(np.argmax(shape))
    below = np.flatnonzero(shape[peak:] < shape[peak] / 2)
    if len(below) and below[0] < _samples(SHORTEST_HALF_LIFE_S, rate_hz) and below[0] + peak < 0.7 * length:
        raise InputError(
            f"the recorded light falls to its half within {below[0] / rate_hz * 1000:.0f} ms while the flash "
            "continues, because the recording device blocks slow changes (AC coupling, a high-pass filter). Fix: set "
            "the input to DC coupling, or switch off the filter."
        )


def _exact(smooth: Floats, edges: Ints, next_edges: Ints, rate_hz: float) -> tuple[Floats, float, float, float]:
    """Find the exact time of each rising edge.

    Parameters
    ----------
    smooth
        The voltage.
    edges, next_edges
        Sample near each edge, and sample near the following edge.
    rate_hz
        The sampling rate, in Hz.

    Returns
    -------
    tuple
        The times in samples, with fractions; the median duration of the rise (10 to 90 %) in ms; the height of the
        edges; and the standard deviation of the voltage before the edges.
    """
    n_edge = _samples(EDGE_S, rate_hz)
    gap = int(min(np.median(next_edges - edges), np.median(np.diff(edges)) if len(edges) > 1 else len(smooth)))
    span = min(_samples(SPAN_S, rate_hz), max(gap - n_edge // 2, n_edge))
    padded = np.pad(smooth, span, mode="edge")
    pieces = np.stack([padded[edge : edge + 2 * span + 1] for edge in edges])
    times = np.zeros(len(edges))  # In samples from the coarse edge.
    height = 0.0
    for _ in range(2):  # The second time, the pieces are aligned at the exact times.
        shape = np.median(_aligned(pieces, times), axis=0)
        before = slice(max(0, span - 3 * n_edge), max(1, span - n_edge))
        base, top = float(np.mean(shape[before])), float(shape[span:].max())
        plateau = shape[span:] >= base + 0.8 * (top - base)
        height = float(np.mean(shape[span:][plateau])) - base if top > base else 0.0
        if height <= 0:
            raise _no_flashes()
        bases = pieces[:, before].mean(axis=1)
        times = np.array(
            [_crossing(piece, base + height / 2, span, n_edge) for piece, base in zip(pieces, bases, strict=True)]
        )
    shape = np.median(_aligned(pieces, times), axis=0)
    low, high = (_crossing(shape, base + share * height, span, n_edge) for share in (0.1, 0.9))
    noise = float(np.median(np.std(pieces[:, before] - np.median(pieces[:, before], axis=0), axis=1)))
    return edges + times, max(0.0, (high - low) / rate_hz * 1000), height, noise


def _aligned(pieces: Floats, times: Floats) -> Floats:
    """Return the pieces, each moved by its time in whole samples."""
    places = np.arange(pieces.shape[1]) + np.round(times).astype(np.int64)[:, None]
    return np.take_along_axis(pieces, np.clip(places, 0, pieces.shape[1] - 1), axis=1)


def _crossing(piece: Floats, level: float, middle: int, n_edge: int) -> float:
    """Return the time at which a piece rises through a level, in samples from its middle.

    If noise makes the voltage cross the level several times, return the mean of the first and the last crossing.
    """
    is_above = piece >= level
    places = np.flatnonzero(~is_above[:-1] & is_above[1:])
    if len(places) == 0:
        return 0.0
    nearest = int(places[np.argmin(np.abs(places - middle))])
    near = places[np.abs(places - nearest) <= n_edge // 2]
    times = [place + (level - piece[place]) / (piece[place + 1] - piece[place]) for place in (near[0], near[-1])]
    return float(np.mean(times)) - middle
