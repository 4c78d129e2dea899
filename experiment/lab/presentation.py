"""Presentation of one trial: a blank interval, the fixation, then the stimulus, with a record of the actual timing."""

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from experiment.lab.hardware.clock import intervals_ms, wait_until
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.records import DrawnFrames, PlayedSound, Shown, TrialEvent

if TYPE_CHECKING:
    from experiment.lab.hardware.window import AtFlip, LabWindow, Prepared
    from experiment.lab.psychopy_trials.running import RunningTrial


@dataclass(frozen=True)
class Onset:
    """Onset of a stimulus, and the timing of the fixation before the stimulus."""

    onset_ns: int
    """Time of the flip that showed the stimulus, by `time.perf_counter_ns`."""
    shown_at: datetime
    """Time of the flip that showed the stimulus, in UTC."""
    fixation_ms: float
    """Time from the flip that showed the fixation to the flip that showed the stimulus; 0 without a fixation."""
    fixation_frames: int
    """Actual duration of the fixation, in frames."""
    fixation_frames_intended: int
    frame_ms: float
    """Duration of a frame in ms (`Refresh.frame_ms`)."""
    frames_dropped: int
    """Number of dropped frames. If the fixation is timed in frames, this is its duration in frames minus the number of
    its flips. If the fixation is timed by the clock, this is the number of frames by which the stimulus was late.
    """
    frame_intervals_ms: tuple[float, ...]
    """Intervals between all flips, from the flip of the fixation to the flip of the stimulus, in ms."""
    onset_source: Literal["flip"] = "flip"
    intertrial: Shown | None = None
    """Timing of the blank screen before the fixation; None if there was none."""
    screens: tuple[Shown, ...] = ()
    """Timing of the screens between the fixation and the stimulus."""


@dataclass(frozen=True)
class Step:
    """An image of a trial, with the sounds and videos that begin with it."""

    picture: ScreenImage
    event: Literal["intertrial", "screen", "stimulus", "mask", "blank"]
    """Name of the event at which the image appears."""
    duration_ms: int | None = None
    """Time until the next step, in ms; None for a step that the participant ends."""
    parts: Sequence[Mapping[str, Any]] = ()
    """Parts of the item's content that the image shows. Sounds and videos begin at the flip that shows the image."""
    trial: "RunningTrial | None" = None
    """The trial whose class draws over the image, before each frame; None if only the image is shown."""


@dataclass(frozen=True)
class Played:
    """The actual timing of a stimulus after its onset."""

    steps: tuple[Shown, ...] = ()
    """The steps of the stimulus that ended before the response."""
    drawn: DrawnFrames | None = None
    """The frames that a class of the study drew; None for other tasks."""
    sounds: tuple[PlayedSound, ...] = ()
    events: tuple[TrialEvent, ...] = ()
    """All events of the trial, from the fixation to the response."""
    events_before: tuple[TrialEvent, ...] = ()
    """The events between the last stored trial and this trial."""


def present(
    window: "LabWindow",
    fixation: "Prepared | None",
    stimulus: "Prepared",
    fixation_ms: float,
    on_fixation: Sequence["AtFlip"] = (),
    on_onset: Sequence["AtFlip"] = (),
    on_planned: "AtFlip | None" = None,
    blank: "Prepared | None" = None,
    intertrial_ms: float = 0,
    on_blank: Sequence["AtFlip"] = (),
) -> Onset:
    """Show the blank interval, the fixation, then the stimulus; return as soon as the stimulus is on the screen.

    If flips wait for the screen, the fixation lasts the number of frames nearest to `fixation_ms`. Dropped frames are
    counted, so they do not make the fixation longer. If flips do not wait for the screen, the stimulus is drawn in
    advance, and the window flips when `fixation_ms` have passed by the clock. The interval is timed in the same way.

    Parameters
    ----------
    window
        The window.
    fixation, stimulus
        Prepared images. No fixation is shown if `fixation` is None, or if the fixation would last less than half a
        frame.
    fixation_ms
        Intended duration of the fixation, in ms.
    on_fixation, on_onset
        Functions to call at the flip of the fixation, and at the flip of the stimulus, such as `InputDevices.reset`.
        The argument of each function is the time of the flip, by `time.perf_counter_ns`.
    on_planned
        Function to call as soon as the time of the stimulus's flip is planned, for example to plan a sound. Its
        argument is this time.
    blank, intertrial_ms, on_blank
        Prepared image of the interval before the fixation, its intended duration in ms, and functions to call at its
        flip. There is no interval if `blank` is None, or if the interval would last less than half a frame.
    """
    n_intended = round(fixation_ms / window.frame_ms) if fixation is not None else 0
    n_blank = round(intertrial_ms / window.frame_ms) if blank is not None else 0
    first = fixation if fixation is not None and n_intended > 0 else stimulus
    blank_ns, stamps_ns = 0, list[int]()
    with no_garbage_collection():
        if blank is not None and n_blank > 0:
            blank_ns = _show(window, blank, on_blank)
            _wait_before_flip(window, blank, first, blank_ns, n_blank, intertrial_ms)
        if fixation is not None and n_intended > 0:
            stamps_ns.append(_show(window, fixation, on_fixation))
            if on_planned is not None:
                on_planned(next_flip_ns(window, stamps_ns[0], fixation_ms))
            if window.pacing == "frames":
                # Half a frame of tolerance, because flips jitter.
                while _lasted_ms(stamps_ns) < (n_intended - 1.5) * window.frame_ms:
                    stamps_ns.append(window.show(fixation))
                stamps_ns.append(_show(window, stimulus, on_onset))
            else:
                window.draw(stimulus)
                wait_until(stamps_ns[0] + round((fixation_ms - window.flip_ms) * 1e6))
                stamps_ns.append(_flip(window, on_onset))
        else:
            if on_planned is not None:
                on_planned(time.perf_counter_ns())
            stamps_ns.append(_show(window, stimulus, on_onset))
    onset = _achieved(window, stamps_ns, n_intended, fixation_ms)
    return replace(onset, intertrial=_shown(window, stamps_ns[0] - blank_ns, n_blank)) if n_blank else onset


def _wait_before_flip(
    window: "LabWindow", shown: "Prepared", following: "Prepared", flipped_ns: int, n_frames: int, duration_ms: float
) -> None:
    """Keep an image on the screen, so that the next flip ends its duration."""
    if window.pacing == "frames":
        last_ns = flipped_ns
        while last_ns - flipped_ns < (n_frames - 1.5) * window.frame_ms * 1e6:
            last_ns = window.show(shown)
    else:
        window.draw(following)  # Drawing is faster the second time.
        wait_until(flipped_ns + round((duration_ms - window.flip_ms) * 1e6))


def _shown(window: "LabWindow", duration_ns: int, n_intended: int) -> Shown:
    duration_ms = duration_ns / 1e6
    return Shown(duration_ms=duration_ms, frames=round(duration_ms / window.frame_ms), frames_intended=n_intended)


def next_flip_ns(window: "LabWindow", flipped_ns: int, duration_ms: float) -> int:
    """Return the planned time of a flip, for a duration in ms since an earlier flip. In frames, if flips wait."""
    if window.pacing == "frames":
        duration_ms = max(1, round(duration_ms / window.frame_ms)) * window.frame_ms
    return flipped_ns + round(duration_ms * 1e6)


def _lasted_ms(stamps_ns: Sequence[int]) -> float:
    """Return the time from the first to the last flip, in ms."""
    return (stamps_ns[-1] - stamps_ns[0]) / 1e6


def _show(window: "LabWindow", prepared: "Prepared", at_flip: Sequence["AtFlip"]) -> int:
    window.draw(prepared)
    return _flip(window, at_flip)


def _flip(window: "LabWindow", at_flip: Sequence["AtFlip"]) -> int:
    for function in at_flip:
        window.call_on_flip(function)
    return window.flip()


def _achieved(window: "LabWindow", stamps_ns: list[int], n_intended: int, fixation_ms: float) -> Onset:
    frames_ms = intervals_ms(stamps_ns)
    shown_ms = _lasted_ms(stamps_ns)
    shown_frames = round(shown_ms / window.frame_ms)
    if window.pacing == "frames":
        dropped = shown_frames - len(frames_ms)
    else:
        dropped = round((shown_ms - fixation_ms) / window.frame_ms) if n_intended else 0
    return Onset(
        onset_ns=stamps_ns[-1],
        shown_at=window.anchor.utc_of(stamps_ns[-1]),
        fixation_ms=shown_ms,
        fixation_frames=shown_frames,
        fixation_frames_intended=n_intended,
        frame_ms=window.frame_ms,
        frames_dropped=max(0, dropped),
        frame_intervals_ms=tuple(frames_ms),
    )


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable garbage collection, which can take longer than a frame."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
