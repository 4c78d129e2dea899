"""One trial in the laboratory: the fixation, then the stimulus until a response or the deadline."""

import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from batteries.items import Item
from experiment.lab.input.key_bindings import ResponseState, keys_of, state_after
from experiment.lab.screens.layout.screen_image import ESCAPE, RULES, ScreenImage
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.trial import trial as draw_trial
from experiment.lab.screens.trial_header import TrialMoment
from experiment.lab.session_files.attempt_log import AttemptLog
from experiment.plan import Phase, Trial
from experiment.records import LabDevice, Response, Signals
from experiment.study.timeline import Timing

if TYPE_CHECKING:
    from experiment.lab.hardware.keys_and_clicks import Press
    from experiment.lab.presentation import Onset


class Display(Protocol):
    """The participant's screen, keys and mouse."""

    @property
    def device(self) -> LabDevice:
        """Description of the machine."""

    def show(self, picture: ScreenImage) -> None:
        """Show a new screen. Earlier presses do not count for this screen."""

    def redraw(self, picture: ScreenImage) -> None:
        """Show the screen again, with the change that a press has made. Presses during this call are kept."""

    def press(self, picture: ScreenImage, keys: Collection[str], until_ms: float | None = None) -> "Press | None":
        """Return the next press of escape, of a key in `keys`, or on a region.

        Return None if there is no such press until `until_ms`, in ms after the onset of the stimulus.
        """

    def typing(self, picture: ScreenImage) -> "Press":
        """Return the next typed text, editing key or click."""

    def fixate(self, fixation: ScreenImage, stimulus: ScreenImage, fixation_ms: int, phase: Phase) -> "Onset":
        """Show the fixation and then the stimulus.

        The onset of the stimulus is time zero. Discard presses from before the fixation.
        """

    def discard_early_presses(self, picture: ScreenImage, keys: Collection[str]) -> int:
        """Discard presses during the fixation. Return how many of these presses would have been responses.

        Call this method directly after `fixate`.
        """

    @property
    def n_focus_lost(self) -> int:
        """Number of times another window took the focus since the fixation."""

    def mark_response(self, phase: Phase) -> None:
        """Send the event code (trigger) that marks a response."""


class Escaped(Exception):
    """The participant pressed escape."""


@dataclass(frozen=True)
class ShownTrial:
    """A trial on the screen."""

    trial: Trial
    item: Item
    timing: Timing
    progress: str

    @property
    def deadline_ms(self) -> int | None:
        """Time in ms after which the trial ends without a response; None in practice or without a limit."""
        return None if self.trial.phase is Phase.PRACTICE else self.timing.deadline_ms

    def picture(self, sheet: Sheet, moment: TrialMoment) -> ScreenImage:
        """Draw the screen of the trial at one moment."""
        moment = replace(
            moment, progress=self.progress, reading_ms=self.timing.reading_ms, deadline_ms=self.deadline_ms
        )
        return draw_trial(sheet, self.item.item_id, self.item.task, self.item.content, moment)


class _Presses:
    """The presses of a participant during a trial. The trial does not get the presses that open the rules."""

    def __init__(self, display: Display, keys: Collection[str], read_rules: Callable[[], None] | None) -> None:
        self._display, self._read_rules = display, read_rules
        self._keys = (*keys, RULES) if read_rules else keys
        self.n_rules_opened, self._rules_s, self._n_focus_lost = 0, 0.0, 0

    @property
    def rules_ms(self) -> int:
        """Time for which the rules were open."""
        return round(1000 * self._rules_s)

    @property
    def n_focus_lost(self) -> int:
        """Number of times another window took the focus since the fixation."""
        return self._n_focus_lost + self._display.n_focus_lost

    def next(self, picture: ScreenImage, until_ms: float | None) -> "Press | None":
        """Return the next press for the trial, or None after the time limit.

        Raises
        ------
        Escaped
            If the participant pressed escape.
        """
        while True:
            press = self._display.press(picture, self._keys, until_ms)
            if press is not None and press.name == ESCAPE:
                raise Escaped
            if press is None or press.name != RULES or self._read_rules is None:
                return press
            self._open_rules(self._read_rules)
            self._display.redraw(picture)

    def _open_rules(self, read_rules: Callable[[], None]) -> None:
        self._n_focus_lost += self._display.n_focus_lost  # A new page sets the display's number to 0.
        began_s = time.perf_counter()
        read_rules()
        self.n_rules_opened += 1
        self._rules_s += time.perf_counter() - began_s


def run_trial(
    display: Display,
    sheet: Sheet,
    fixation: ScreenImage,
    shown: ShownTrial,
    visit: int,
    attempt_log: AttemptLog,
    read_rules: Callable[[], None],
) -> Response:
    """Show a trial until a response or the deadline.

    Parameters
    ----------
    display, sheet
        The participant's display, and the sheet (sizes, fonts and texts of the screens).
    fixation
        The image of the fixation.
    shown
        The trial.
    visit
        Number of the visit in which the session is running.
    attempt_log
        The log of attempts at trials and of frame intervals.
    read_rules
        Function that shows the rules until the participant closes them. It is called if the sheet has a hint about the
        rules, and the participant presses its key.

    Raises
    ------
    Escaped
        If the participant pressed escape. No response is stored then.
    """
    item, timing = shown.item, shown.timing
    keys, response_state = keys_of(item.task, item.content), ResponseState()
    presses = _Presses(display, keys, read_rules if sheet.rules_hint else None)
    asking = shown.picture(sheet, TrialMoment())
    first = shown.picture(sheet, TrialMoment(is_reading=True)) if timing.reading_ms else asking
    onset = display.fixate(fixation, first, timing.fixation_ms, shown.trial.phase)
    n_too_early = display.discard_early_presses(first, keys)
    attempt = attempt_log.begin(shown.trial.trial_index)  # As on the web, a trial begins when its stimulus is visible.
    attempt_log.note_frames(visit, shown.trial.trial_index, attempt, onset.frame_intervals_ms)
    if timing.reading_ms:
        while presses.next(first, timing.reading_ms) is not None:
            n_too_early += 1
        display.redraw(asking)
    press = None
    while response_state.response is None:
        press = presses.next(asking, shown.deadline_ms)
        if press is None:
            break
        before, response_state = response_state, state_after(item.task, item.content, response_state, press.name)
        if response_state.response is None and response_state != before:
            asking = shown.picture(sheet, TrialMoment(response_state=response_state))
            display.redraw(asking)
    if press is not None:
        display.mark_response(shown.trial.phase)
    return Response(
        response_id=str(uuid.uuid4()),
        trial_index=shown.trial.trial_index,
        response=response_state.response,
        missing=None if press else "deadline",
        attempt=attempt,
        visit=visit,
        input=press.input if press else None,
        rt_ms=press.rt_ms if press else None,
        fixation_ms=onset.fixation_ms,
        fixation_frames=onset.fixation_frames,
        fixation_frames_intended=onset.fixation_frames_intended,
        frame_ms=onset.frame_ms,
        shown_at=onset.shown_at,
        onset_source=onset.onset_source,
        frames_dropped=onset.frames_dropped,
        focus_lost=presses.n_focus_lost,
        signals=_signals(n_too_early, presses),
    )


def _signals(n_too_early: int, presses: _Presses) -> Signals | None:
    signals = Signals(too_early=n_too_early, rules_opened=presses.n_rules_opened, rules_ms=presses.rules_ms)
    return None if signals == Signals() else signals
