"""A screen's refresh: the nominal rate, the measured rate, and whether flips wait for the screen.

A flip shows the next image. Time can be counted in frames only if each flip waits for the screen. With some drivers,
virtual screens and remote desktops, flips return at once, and counts of frames are meaningless.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

COMMON_HZ = 60.0
"""Assumed refresh rate in Hz if the screen's rate is neither known nor measurable."""
N_PLAIN_FLIPS = 60
N_BUSY_FLIPS = 60
BUSY_SHARES = tuple((7 * n % 15) / 20 for n in range(15))
"""Duration of the work in each busy interval (see `judge_refresh`): 0 to 0.7 frames, in a mixed but fixed order."""
RESTS = tuple(1.25 + (7 * n % 20) * 1.5 / 20 for n in range(20))
"""Duration of each rest before a rested interval (see `judge_refresh`): 1.25 to 2.75 frames, in a fixed order."""
FRAME_RANGE_MS = (2.0, 50.0)
"""Shortest and longest credible duration of a frame, in ms (500 Hz and 20 Hz)."""
REGULAR = 0.1
"""An interval counts as one frame if it differs from a frame by at most this share, or by at most 0.5 ms."""
SHARE_OF_PLAIN = 0.95
SHARE_OF_BUSY = 0.9
SHARE_OF_RESTED = 0.75
SAME_UNDER_WORK = 0.02
NEAR_NOMINAL = 0.03


@dataclass(frozen=True)
class Refresh:
    """A screen's refresh rate, and whether flips wait for the screen."""

    nominal_hz: float | None
    """Rate in Hz that the operating system reports for the screen; None if it is unknown."""
    measured_hz: float
    """Rate in Hz, computed from the median interval between flips."""
    jitter_ms: float
    """Standard deviation in ms of the intervals between flips that count as one frame."""
    is_synchronised: bool
    """True if flips wait for the screen."""
    reason: str
    """Reason why `is_synchronised` is True or False."""

    @property
    def frame_ms(self) -> float:
        """Duration of a frame in ms: measured if flips wait for the screen, otherwise nominal.

        If the nominal rate is unknown, 60 Hz is assumed.
        """
        return 1000 / (self.measured_hz if self.is_synchronised else self.nominal_hz or COMMON_HZ)


def judge_refresh(
    plain_ms: Sequence[float], busy_ms: Sequence[float], rested_ms: Sequence[float], nominal_hz: float | None
) -> Refresh:
    """Judge from intervals between flips whether flips wait for the screen.

    The intervals between flips are measured in three ways. A plain interval is without work. A busy interval includes
    work for 0 to 70 % of a frame before the second flip. A rested interval is between the first two flips after a rest
    of more than a frame.

    Flips wait for the screen if all of these conditions hold. Otherwise fixations are timed by the clock.

    - The median of the plain intervals is between 2 and 50 ms. This median is the duration of a frame.
    - At least 95 % of the plain intervals are one frame long, plus or minus a tenth of the frame.
    - At least 90 % of the busy intervals are one frame long. The medians of the busy and the plain intervals differ by
      at most 2 %. This condition detects flips that are regular only because each drawing takes the same time: if flips
      do not wait for the screen, the work makes busy intervals longer.
    - At least 75 % of the rested intervals are one frame long. With triple buffering or a compositor, the driver queues
      images. The driver then accepts the first images after a rest at once, a frame or more before they are visible.
      Later flips are regular, so only a rest shows this fault. Each trial begins after a rest.
    - The median of the plain intervals is within 3 % of the screen's nominal interval, if that interval is known.

    Parameters
    ----------
    plain_ms, busy_ms
        Intervals between consecutive flips in ms, without work and with work before each flip.
    rested_ms
        Intervals between the first two flips after a rest, in ms.
    nominal_hz
        Rate in Hz that the operating system reports for the screen; None if it is unknown.
    """
    frame_ms = statistics.median(plain_ms)
    single_ms = [interval_ms for interval_ms in plain_ms if _is_frame(interval_ms, frame_ms)]
    objection = _objection(plain_ms, busy_ms, rested_ms, frame_ms, nominal_hz)
    return Refresh(
        nominal_hz=nominal_hz,
        measured_hz=1000 / frame_ms,
        jitter_ms=statistics.pstdev(single_ms),
        is_synchronised=objection is None,
        reason=objection or "flips come at regular intervals, for any duration of work or rest between flips",
    )


def n_dropped(intervals_ms: Sequence[float], frame_ms: float) -> int:
    """Return the number of dropped frames.

    In an interval of more than 1.5 frames, every frame after the first frame counts as dropped.
    """
    return sum(round(each) - 1 for each in (ms / frame_ms for ms in intervals_ms) if each > 1.5)


def _share_of_frames(intervals_ms: Sequence[float], frame_ms: float) -> float:
    return sum(_is_frame(interval_ms, frame_ms) for interval_ms in intervals_ms) / len(intervals_ms)


def _is_frame(interval_ms: float, frame_ms: float) -> bool:
    return abs(interval_ms - frame_ms) <= max(REGULAR * frame_ms, 0.5)


def _objection(
    plain_ms: Sequence[float],
    busy_ms: Sequence[float],
    rested_ms: Sequence[float],
    frame_ms: float,
    nominal_hz: float | None,
) -> str | None:
    shortest_ms, longest_ms = FRAME_RANGE_MS
    if not shortest_ms <= frame_ms <= longest_ms:
        return f"flips come every {frame_ms:.2f} ms, which is impossible for a screen"
    share = _share_of_frames(plain_ms, frame_ms)
    if share < SHARE_OF_PLAIN:
        return f"only {share:.0%} of the intervals between flips are one frame long ({frame_ms:.2f} ms)"
    busy_frame_ms = statistics.median(busy_ms)
    is_same_under_work = abs(busy_frame_ms - frame_ms) <= SAME_UNDER_WORK * frame_ms
    if _share_of_frames(busy_ms, frame_ms) < SHARE_OF_BUSY or not is_same_under_work:
        return (
            f"flips take longer when the program works between flips ({busy_frame_ms:.2f} ms instead of "
            f"{frame_ms:.2f} ms), so flips do not wait for the screen"
        )
    if _share_of_frames(rested_ms, frame_ms) < SHARE_OF_RESTED:
        return "after a rest, flips return before the image is on the screen, because the driver queues the image"
    if nominal_hz is not None and abs(1000 / frame_ms - nominal_hz) > NEAR_NOMINAL * nominal_hz:
        return f"flips come at {1000 / frame_ms:.1f} Hz, but the screen's mode has {nominal_hz:.1f} Hz"
    return None
