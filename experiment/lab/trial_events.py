"""The events of a trial: when each screen appeared, when the participant responded, and which event code was sent."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from experiment.lab.hardware.clock import Anchor
from experiment.lab.hardware.triggers import Trigger, TriggerEvent, code_of
from experiment.plan import Phase
from experiment.records import TrialEvent

if TYPE_CHECKING:
    from experiment.lab.hardware.window import AtFlip

ScreenName = Literal["fixation", "screen", "stimulus", "mask", "blank"]

_CODED = {
    "fixation": TriggerEvent.FIXATION,
    "stimulus": TriggerEvent.STIMULUS,
    "response": TriggerEvent.RESPONSE,
}
"""The events for which a code is sent."""


@dataclass
class TrialEvents:
    """The events of one trial. Each event is recorded as soon as it happens.

    Parameters
    ----------
    anchor
        The moment at which the visit's clock was 0.
    trigger
        Destination of event codes; None for no event codes.
    phase
        Phase of the trial, which determines the codes.
    """

    anchor: Anchor
    trigger: Trigger | None
    phase: Phase
    _events: list[TrialEvent] = field(default_factory=list)
    _on_screen: int | None = None
    """Position of the event whose screen is shown."""

    def at_flip(self, name: ScreenName) -> "AtFlip":
        """Return a function to call at the flip that shows a screen."""
        return lambda flipped_ns: self._shown(name, flipped_ns)

    def mark_response(self, responded_ns: int) -> None:
        """Send the code of the response, and record the response. Its time is by `time.perf_counter_ns`."""
        self._record("response", responded_ns)

    @property
    def recorded(self) -> tuple[TrialEvent, ...]:
        """The events so far, in order."""
        return tuple(self._events)

    def _shown(self, name: ScreenName, flipped_ns: int) -> None:
        self._record(name, flipped_ns)
        if self._on_screen is not None:
            before = self._events[self._on_screen]
            self._events[self._on_screen] = before.model_copy(update={"offset_us": self.anchor.us_until(flipped_ns)})
        self._on_screen = len(self._events) - 1

    def _record(self, name: ScreenName | Literal["response"], at_ns: int) -> None:
        code = None if self.trigger is None or name not in _CODED else code_of(self.phase, _CODED[name])
        sent_us = None
        if self.trigger is not None and code is not None:
            self.trigger.send(code)
            sent_us = self.anchor.us_until(time.perf_counter_ns())
        onset_us = self.anchor.us_until(at_ns)
        self._events.append(TrialEvent(event=name, onset_us=onset_us, code=code, code_us=sent_us))
