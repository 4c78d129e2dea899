"""One trial in the laboratory: the fixation, then the stimulus until a response or the deadline."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from batteries.items import Item
from experiment.lab.input.key_bindings import is_typed, keys_of, state_after
from experiment.lab.input.response_state import ResponseState
from experiment.lab.screens.layout.screen_image import ESCAPE, ScreenImage
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
        """Show the screen again, with the change that a press has made. Presses during this call are kept.

        If `picture.changed_px` is a box, only this box differs from the screen.
        """

    def confirm(self, picture: ScreenImage) -> None:
        """Show the screen with the final response. The next screen follows after a moment, so that people see it."""

    def press(self, picture: ScreenImage, keys: Collection[str], until_ms: float | None = None) -> "Press | None":
        """Return the next press of escape, of a key in `keys`, or on a region.

        Return None if there is no such press until `until_ms`, in ms after the onset of the stimulus.
        """

    def typing(self, picture: ScreenImage, until_ms: float | None = None) -> "Press | None":
        """Return the next typed text, editing key or click.

        Return None if there is none until `until_ms`, in ms after the onset of the stimulus.
        """

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
        return self._draw(sheet, self._at(moment))

    def changed(self, sheet: Sheet, state: ResponseState, before: ResponseState, shown: ScreenImage) -> ScreenImage:
        """Draw the screen after a press. It was shown with the state `before`."""
        moments = [self._at(TrialMoment(response_state=each)) for each in (state, before)]
        return self._draw(sheet, moments[0], (moments[1], shown))

    def _at(self, moment: TrialMoment) -> TrialMoment:
        return replace(moment, progress=self.progress, reading_ms=self.timing.reading_ms, deadline_ms=self.deadline_ms)

    def _draw(
        self, sheet: Sheet, moment: TrialMoment, before: tuple[TrialMoment, ScreenImage] | None = None
    ) -> ScreenImage:
        return draw_trial(sheet, self.item.item_id, self.item.task, self.item.content, moment, before)


def run_trial(
    display: Display, sheet: Sheet, fixation: ScreenImage, shown: ShownTrial, visit: int, attempt_log: AttemptLog
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

    Raises
    ------
    Escaped
        If the participant pressed escape. No response is stored then.
    """
    item, timing = shown.item, shown.timing
    keys, response_state = keys_of(item.task, item.content), ResponseState()
    asking = shown.picture(sheet, TrialMoment())
    first = shown.picture(sheet, TrialMoment(is_reading=True)) if timing.reading_ms else asking
    onset = display.fixate(fixation, first, timing.fixation_ms, shown.trial.phase)
    n_too_early = display.discard_early_presses(first, keys)
    attempt = attempt_log.begin(shown.trial.trial_index)  # As on the web, a trial begins when its stimulus is visible.
    attempt_log.note_frames(visit, shown.trial.trial_index, attempt, onset.frame_intervals_ms)
    if timing.reading_ms:
        while _press(display, first, keys, timing.reading_ms) is not None:
            n_too_early += 1
        display.redraw(asking)
    press = None
    while response_state.response is None:
        press = _answer(display, asking, item, shown.deadline_ms)
        if press is None:
            break
        before = response_state
        response_state = state_after(item.task, item.content, before, press.name, is_rtl=sheet.direction == "rtl")
        if response_state != before:
            asking = shown.changed(sheet, response_state, before, asking)
            if response_state.response is None:
                display.redraw(asking)
    if press is not None:
        display.mark_response(shown.trial.phase)
        display.confirm(asking)
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
        focus_lost=display.n_focus_lost,
        signals=Signals(too_early=n_too_early) if n_too_early else None,
    )


def _answer(display: Display, picture: ScreenImage, item: Item, until_ms: float | None) -> "Press | None":
    if not is_typed(item.task):
        return _press(display, picture, keys_of(item.task, item.content), until_ms)
    press = display.typing(picture, until_ms)
    if press is not None and press.name == ESCAPE:
        raise Escaped
    return press


def _press(display: Display, picture: ScreenImage, keys: Collection[str], until_ms: float | None) -> "Press | None":
    press = display.press(picture, keys, until_ms)
    if press is not None and press.name == ESCAPE:
        raise Escaped
    return press
