"""The events of a visit: when each screen appeared, when the participant responded, and which event codes were sent."""

import time
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from batteries.items import Item
from experiment.lab.hardware.clock import Anchor
from experiment.lab.hardware.eye_tracker import EyeTracker
from experiment.lab.hardware.triggers import Trigger
from experiment.plan import Trial
from experiment.records import EventName, SessionEventName, TrialEvent, TrialEventName
from experiment.study.event_codes import BlockLevel, EventCodes

if TYPE_CHECKING:
    from experiment.lab.hardware.window import AtFlip

ScreenName = Literal["intertrial", "fixation", "screen", "stimulus", "mask", "blank"]

SAME_PULSE_NS = 50_000_000
"""Two key presses within this time are the same pulse of a scanner. A volume takes longer."""


@dataclass(frozen=True)
class VisitEvent:
    """An event of a visit, with the trial to which it belongs."""

    event: TrialEvent
    trial: Trial | None
    """The trial; None for an event between trials."""
    eye_tracker_s: float | None = None
    """Time of the event on the clock of ioHub, in seconds; None if no eye tracker received a message."""


class VisitEvents:
    """All events of a visit. Each event is recorded as soon as it happens.

    Parameters
    ----------
    anchor
        The moment at which the visit's clock was 0.
    codes
        The event codes of the study.
    trigger
        Destination of event codes; None for no event codes.
    eye_tracker
        The eye tracker, which receives a message about each event; None without an eye tracker.
    """

    def __init__(
        self,
        anchor: Anchor,
        codes: EventCodes,
        trigger: Trigger | None,
        eye_tracker: EyeTracker | None = None,
    ) -> None:
        self.anchor = anchor
        self._codes, self._trigger, self._eye_tracker = codes, trigger, eye_tracker
        self._recorded: list[VisitEvent] = []
        self._pulses_ns: list[int] = []
        self.n_early_pulses = 0
        """Number of pulses of the scanner before the program began to wait for the scanner."""
        self._trial: tuple[Trial, Item] | None = None
        self._trial_from = self._unstored_from = 0
        self._on_screen: int | None = None
        self._next_screen: Callable[[int], None] | None = None

    @property
    def recorded(self) -> Sequence[VisitEvent]:
        """The events so far, in the order in which they were recorded."""
        return self._recorded

    @property
    def pulses_us(self) -> list[int]:
        """The times of the scanner's pulses, in microseconds since the start of the visit's clock."""
        return [self.anchor.us_until(at_ns) for at_ns in self._pulses_ns]

    @property
    def lsl_offset_s(self) -> float | None:
        """Difference between the clock of LabStreamingLayer and the visit's clock, in s; None without LSL."""
        offset_s = getattr(self._trigger, "clock_offset_s", None)
        return None if offset_s is None else offset_s + self.anchor.at_ns / 1e9

    def begin_trial(self, trial: Trial, item: Item) -> None:
        """Begin a trial. The events that follow belong to this trial."""
        self._trial = trial, item
        self._trial_from = len(self._recorded)

    def at_flip(self, name: ScreenName) -> "AtFlip":
        """Return a function to call at the flip that shows a screen of the current trial."""
        return lambda flipped_ns: self._appeared(flipped_ns, self._of_trial(name, flipped_ns))

    def mark(self, name: TrialEventName, at_ns: int, key: str | None = None) -> None:
        """Record an event of the current trial that is not a screen, and send its code.

        `at_ns` is its time by `time.perf_counter_ns`. `key` is the key with which a response was given.
        """
        marked = self._of_trial(name, at_ns)
        self._recorded.append(replace(marked, event=marked.event.model_copy(update={"key": key})))

    def mark_session(
        self,
        name: SessionEventName,
        at_ns: int | None = None,
        block: BlockLevel | None = None,
    ) -> None:
        """Record an event between trials that is not a screen, and send its code. By default, its time is now."""
        at_ns = time.perf_counter_ns() if at_ns is None else at_ns
        self._recorded.append(self._of_session(name, at_ns, block))

    def announce_feedback(self) -> None:
        """Record the feedback of the current trial when the next page appears (`page_appears`)."""
        self._next_screen = lambda at_ns: self._appeared(at_ns, self._of_trial("feedback", at_ns))

    def announce(self, name: Literal["break", "block"], block: BlockLevel | None = None) -> None:
        """Record an event between trials when the next page appears (`page_appears`)."""
        self._next_screen = lambda at_ns: self._appeared(at_ns, self._of_session(name, at_ns, block))

    def mark_calibration(self) -> None:
        """Record that a calibration of the eye tracker begins. It lasts until the next page or trial appears."""
        at_ns = time.perf_counter_ns()
        self._appeared(at_ns, self._sent("calibration", at_ns, None, None))

    def page_appears(self, flipped_ns: int) -> None:
        """Record that a page appears: the screen before it disappears. Call this at the flip of each page."""
        announced, self._next_screen = self._next_screen, None
        if announced is not None:
            announced(flipped_ns)
        else:
            self._disappeared(flipped_ns)

    def pulse(self, at_ns: int) -> None:
        """Record a pulse of a scanner. A pulse that two devices have reported counts once."""
        if all(abs(at_ns - other_ns) > SAME_PULSE_NS for other_ns in self._pulses_ns[-5:]):
            insort(self._pulses_ns, at_ns)

    def mark_scanner_start(self, number: int) -> None:
        """Record that the trials begin with the pulse of this number, from 1."""
        self._recorded.append(self._sent("scanner_start", self._pulses_ns[number - 1], None, None))

    @property
    def n_pulses(self) -> int:
        """Number of pulses of the scanner so far."""
        return len(self._pulses_ns)

    @property
    def of_trial(self) -> tuple[TrialEvent, ...]:
        """The events of the current trial so far."""
        return tuple(each.event for each in self._recorded[self._trial_from :])

    @property
    def before_trial(self) -> tuple[TrialEvent, ...]:
        """The events between the last stored trial and the current trial, also of attempts that were given up."""
        return tuple(each.event for each in self._recorded[self._unstored_from : self._trial_from])

    def note_stored(self) -> None:
        """Note that the response of the current trial is stored with the events so far."""
        self._unstored_from = len(self._recorded)

    def _appeared(self, flipped_ns: int, event: VisitEvent) -> None:
        self._disappeared(flipped_ns)
        self._recorded.append(event)
        self._on_screen = len(self._recorded) - 1

    def _disappeared(self, flipped_ns: int) -> None:
        if self._on_screen is not None:
            shown = self._recorded[self._on_screen]
            ended = shown.event.model_copy(update={"offset_us": self.anchor.us_until(flipped_ns)})
            self._recorded[self._on_screen] = replace(shown, event=ended)
            self._on_screen = None

    def _of_trial(self, name: TrialEventName, at_ns: int) -> VisitEvent:
        assert self._trial is not None
        trial, item = self._trial
        return self._sent(name, at_ns, self._codes.of_trial(name, trial.phase.value, item), trial)

    def _of_session(self, name: SessionEventName, at_ns: int, block: BlockLevel | None) -> VisitEvent:
        return self._sent(name, at_ns, self._codes.of_session(name, block), None)

    def _sent(self, name: EventName, at_ns: int, code: int | None, trial: Trial | None) -> VisitEvent:
        """Send a code, and a message to the eye tracker. Return the event."""
        sent_us = None
        if self._trigger is None:
            code = None
        elif code is not None:
            self._trigger.send(code, at_ns)
            sent_us = self.anchor.us_until(time.perf_counter_ns())
        event = TrialEvent(event=name, onset_us=self.anchor.us_until(at_ns), code=code, code_us=sent_us)
        eye_tracker_s = None if self._eye_tracker is None else self._eye_tracker.send(_message(event, trial), at_ns)
        return VisitEvent(event, trial, eye_tracker_s)


def _message(event: TrialEvent, trial: Trial | None) -> str:
    """Return the message for the eye tracker. The item comes last, because the longest messages are cut at the end."""
    words = [event.event, f"onset_us={event.onset_us}"]
    words += [] if event.code is None else [f"code={event.code}"]
    if trial is not None:
        words += [f"trial_index={trial.trial_index}", f"phase={trial.phase.value}", f"item_id={trial.item_id}"]
    return " ".join(words)
