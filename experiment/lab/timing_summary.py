"""The timing of a visit in sentences for the experimenter: what the machine can do, and what the trials had.

The first sentence comes before the participant sees anything. The second comes after the visit, from the stored trials.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from batteries.errors import InputError

CHECK_MACHINE = "Fix: run `equipoise lab check`, which says how to correct this machine."


@dataclass(frozen=True)
class MachineTiming:
    """Timing of fixations and key presses on a machine, as measured when the window opened."""

    pacing: Literal["frames", "clock"]
    """`frames` if flips wait for the screen, so that fixations are counted in frames; otherwise `clock`."""
    measured_hz: float | None
    """Measured refresh rate in Hz."""
    nominal_hz: float | None
    """Refresh rate of the screen's mode in Hz; None if it is unknown."""
    refresh_reason: str
    """Reason why flips wait for the screen, or do not wait."""
    keyboard: Literal["ptb", "iohub", "event"]
    """Program that reads the keyboard."""
    keyboard_obstacle: str | None
    """Reason why psychtoolbox does not read the keyboard; None if it does."""

    @property
    def is_degraded(self) -> bool:
        """True if the clock times fixations, or if psychtoolbox does not read the keyboard."""
        return self.pacing != "frames" or self.keyboard != "ptb"

    @property
    def sentences(self) -> tuple[str, str]:
        """A sentence on fixations and a sentence on key presses."""
        rates = f"measured {_hz(self.measured_hz)}, nominal {_hz(self.nominal_hz)}"
        frames = f"Flips wait for the screen ({rates}), so fixations are counted in frames."
        if self.pacing != "frames":
            frames = f"Flips do not wait for the screen ({rates}: {self.refresh_reason}), so the clock times fixations."
        keys = "psychtoolbox times key presses."
        if self.keyboard != "ptb":
            keys = f"The window's events time key presses, because {self.keyboard_obstacle or 'they were requested'}."
        return frames, keys

    def require(self, *, frames: bool, ptb: bool) -> None:
        """Refuse a machine with degraded timing.

        Parameters
        ----------
        frames
            True if flips must wait for the screen.
        ptb
            True if psychtoolbox must read the keyboard.

        Raises
        ------
        InputError
            If the machine does not meet a requirement. The message names the option of the command.
        """
        problems = []
        if frames and self.pacing != "frames":
            problems.append(f"--require-frames: flips do not wait for the screen ({self.refresh_reason})")
        if ptb and self.keyboard != "ptb":
            why = self.keyboard_obstacle or "the window's events were requested"
            problems.append(f"--require-ptb: psychtoolbox does not read the keyboard ({why})")
        if problems:
            raise InputError(f"{'; '.join(problems)}. The session did not begin. {CHECK_MACHINE}")


@dataclass(frozen=True)
class TrialTiming:
    """The actual timing of the trials of a visit."""

    n_trials: int
    """Number of trials that were shown and stored."""
    n_trials_with_drops: int
    """Number of trials with dropped frames during the fixation."""
    n_frames_dropped: int
    """Number of dropped frames in all trials."""
    n_fixations_off: int
    """Number of fixations that differed from their intended duration by more than half a frame."""
    largest_error_ms: float
    """Largest difference between an actual and an intended duration of a fixation, in ms."""
    n_focus_lost: int
    """Number of trials in which another window took the focus."""

    @property
    def has_problems(self) -> bool:
        """True if a trial has dropped frames, a wrong fixation or a lost focus."""
        return bool(self.n_trials_with_drops or self.n_fixations_off or self.n_focus_lost)

    @property
    def sentence(self) -> str:
        """A sentence with all numbers."""
        drops = "no dropped frames"
        if self.n_trials_with_drops:
            drops = f"dropped frames in {self.n_trials_with_drops:,} ({_counted(self.n_frames_dropped, 'frame')})"
        largest = f"largest error {self.largest_error_ms:.1f} ms"
        fixations = f"every fixation within half a frame of its intended duration ({largest})"
        if self.n_fixations_off:
            fixations = f"a fixation off by more than half a frame in {self.n_fixations_off:,} ({largest})"
        focus = f"a lost focus in {self.n_focus_lost:,}" if self.n_focus_lost else "no lost focus"
        return f"{_counted(self.n_trials, 'trial')}: {drops}; {fixations}; {focus}."


def trial_timing(
    trials: Iterable[Mapping[str, Any]], pacing: Literal["frames", "clock"], fixation_ms: float
) -> TrialTiming | None:
    """Return the timing of a visit's trials; None if no trial was shown and stored.

    Parameters
    ----------
    trials
        Rows of the view `trials`, all of one visit.
    pacing
        `MachineTiming.pacing` of this visit. If fixations are counted in frames, the intended duration is the planned
        whole number of frames. If the clock times fixations, it is `fixation_ms`.
    fixation_ms
        The study's `timing.fixation_ms`.
    """
    shown = [trial for trial in trials if trial["fixation_ms"] is not None and trial["frame_ms"] is not None]
    if not shown:
        return None
    errors_ms = [_error_ms(trial, pacing, fixation_ms) for trial in shown]
    return TrialTiming(
        n_trials=len(shown),
        n_trials_with_drops=sum(bool(trial["frames_dropped"]) for trial in shown),
        n_frames_dropped=sum(trial["frames_dropped"] or 0 for trial in shown),
        n_fixations_off=sum(error_ms > trial["frame_ms"] / 2 for error_ms, trial in zip(errors_ms, shown, strict=True)),
        largest_error_ms=max(errors_ms),
        n_focus_lost=sum(bool(trial["focus_lost"]) for trial in shown),
    )


def before_the_visit(machine: MachineTiming) -> str:
    """Return the report on the machine's timing before the participant's first page."""
    if not machine.is_degraded:
        return f"Timing: {' '.join(machine.sentences)}"
    return "\n  ".join(["WARNING: the timing of this session is degraded.", *machine.sentences, CHECK_MACHINE])


def after_the_visit(machine: MachineTiming, trials: TrialTiming) -> str:
    """Return the report on the timing of the machine and of the trials, after the visit."""
    if machine.is_degraded:
        head, fix = "WARNING: the timing of this session is degraded.", CHECK_MACHINE
    elif trials.has_problems:
        head = "WARNING: the timing of some trials is degraded."
        fix = (
            "Fix: close other programs before the next session. The exclusion rules `dropped_frames`, "
            "`fixation_off_by_ms` and `trial_focus_lost` can exclude such trials."
        )
    else:
        return f"Timing: {' '.join(machine.sentences)} {trials.sentence}"
    return "\n  ".join([head, *machine.sentences, trials.sentence, fix])


def _error_ms(trial: Mapping[str, Any], pacing: str, fixation_ms: float) -> float:
    """Return the absolute difference between the actual and the intended duration of a trial's fixation."""
    n_frames = trial["fixation_frames_intended"]
    intended_ms = fixation_ms if pacing == "clock" and n_frames else n_frames * trial["frame_ms"]
    return float(abs(trial["fixation_ms"] - intended_ms))


def _hz(rate: float | None) -> str:
    return "unknown" if rate is None else f"{rate:.2f} Hz"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
