"""The durations of a study in frames of a screen: how long each duration will really be on the screen."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from experiment.study.definition import Study
from experiment.study.timeline import IntertrialRange

LARGEST_DIFFERENCE_MS = 1.0
"""Largest difference between a duration and whole frames that needs no warning, in ms."""


@dataclass(frozen=True)
class FrameDuration:
    """A duration of the study, and the whole number of frames for which it will be shown."""

    name: str
    """Name of the setting, such as `fixation_ms`."""
    wanted_ms: int
    n_frames: int
    frame_ms: float

    @property
    def shown_ms(self) -> float:
        """Duration on the screen, in ms."""
        return self.n_frames * self.frame_ms

    @property
    def differs(self) -> bool:
        """True if the duration on the screen differs by more than `LARGEST_DIFFERENCE_MS`."""
        return abs(self.shown_ms - self.wanted_ms) > LARGEST_DIFFERENCE_MS

    @property
    def sentence(self) -> str:
        """The duration in words, such as `fixation_ms 200 will last 12 frames (200.0 ms)`."""
        frames = "1 frame" if self.n_frames == 1 else f"{self.n_frames} frames"
        return f"{self.name} {self.wanted_ms} will last {frames} ({self.shown_ms:.1f} ms)"


def frame_durations(study: Study, frame_ms: float) -> list[FrameDuration]:
    """Return the durations of a study, each once, on a screen with this frame interval.

    A random interval between trials is not in the list: its durations are all whole ms of a range.
    """
    found = dict.fromkeys(_durations(study))
    return [
        FrameDuration(name, wanted_ms, max(least, round(wanted_ms / frame_ms)), frame_ms)
        for name, wanted_ms, least in found
    ]


def durations_warning(
    study: Study, frame_ms: float | None, pacing: Literal["frames", "clock"] = "frames"
) -> str | None:
    """Return a warning that names the durations that are not whole frames; None if there are none.

    There is no warning if the frame interval is unknown, or if the clock times durations (`pacing`).
    """
    if frame_ms is None or pacing == "clock":
        return None
    differing = [each.sentence for each in frame_durations(study, frame_ms) if each.differs]
    if not differing:
        return None
    return (
        f"Durations that are not whole frames at {1000 / frame_ms:.2f} Hz: {'; '.join(differing)}. Fix: choose "
        f"multiples of {frame_ms:.2f} ms, or accept the durations on the screen."
    )


def _durations(study: Study) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the duration in ms, and the least number of frames of each duration."""
    timing = study.definition.timing
    if timing.fixation_ms:
        yield "fixation_ms", timing.fixation_ms, 0
    if timing.intertrial_ms and not isinstance(timing.intertrial_ms, IntertrialRange):
        yield "intertrial_ms", timing.intertrial_ms, 0
    definition = study.definition
    apart = [study.battery.by_id[item_id] for item_id in (*definition.practice, *definition.attention_checks)]
    for item in [*apart, *study.test_items]:
        content: dict[str, Any] = item.content
        for screen in content.get("screens", ()):
            if screen["duration_ms"] is not None:
                yield "duration_ms", screen["duration_ms"], 1
        for name in ("stimulus_ms", "mask_ms"):
            if content.get(name) is not None:
                yield name, content[name], 1
