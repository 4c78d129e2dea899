"""One trial in the laboratory: a blank interval, the fixation, then the stimulus until a response or the deadline."""

import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import JsonValue

from batteries.items import Item
from batteries.tasks.keypress import WITHHELD, Keypress
from batteries.tasks.psychopy_trial import PsychoPyTask
from batteries.tasks.rating import Rating
from experiment.lab.hardware.eye_tracker import EyeTracker
from experiment.lab.hardware.scanner import Scanner
from experiment.lab.input.key_bindings import is_typed, keys_of, state_after
from experiment.lab.input.response_state import ResponseState
from experiment.lab.presentation import Onset, Played, Step
from experiment.lab.screens.layout.screen_image import ESCAPE, RULES, Region, ScreenImage
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.trial import trial as draw_trial
from experiment.lab.screens.trial_header import TrialMoment
from experiment.lab.session_files.attempt_log import AttemptLog
from experiment.lab.trial_steps import steps_after, steps_before
from experiment.lab.visit_events import VisitEvents
from experiment.plan import Phase, Trial
from experiment.records import LabDevice, Presentation, Response, Signals
from experiment.study.timeline import Confidence, Timing, deadline_ms_of

if TYPE_CHECKING:
    from experiment.lab.hardware.keys_and_clicks import Press
    from experiment.lab.psychopy_trials.running import RunningTrial


MOST_EVENTS = 200
"""Most events that are stored with a response, and most events before its trial."""


class Display(Protocol):
    """The participant's screen, keys and mouse."""

    @property
    def device(self) -> LabDevice:
        """Description of the machine."""

    @property
    def events(self) -> VisitEvents:
        """The events of the visit."""

    def show(self, picture: ScreenImage) -> None:
        """Show a new screen. Earlier presses do not count for this screen."""

    def ask(self, picture: ScreenImage) -> None:
        """Show a new screen whose onset is time zero. Earlier presses do not count for this screen."""

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

    def fixate(
        self,
        fixation: ScreenImage,
        screens: Sequence[Step],
        stimulus: Sequence[Step],
        fixation_ms: int,
        intertrial: Step | None,
        trial: Trial,
        item: Item,
    ) -> Onset:
        """Show the blank interval if there is one, the fixation, then the screens, and then the stimulus.

        The onset of the stimulus is time zero. Discard presses from before the fixation. The stimulus is the first step
        of `stimulus`; the other steps replace it while the program waits for a response.

        Raises
        ------
        Escaped
            If the participant pressed escape on a screen that participants end.
        """

    def psychopy_trial(self, item: Item) -> "RunningTrial":
        """Make the object of the study's class that draws a trial, for an item with the task `psychopy`.

        Raises
        ------
        InputError
            If the class fails.
        """

    scanner: Scanner | None
    """The scanner whose pulse begins the trials of a visit; None without a scanner."""

    eye_tracker: EyeTracker | None
    """The eye tracker; None without an eye tracker."""

    def calibrate(self) -> None:
        """Calibrate the eye tracker, and record from then on. Presses during the calibration do not count.

        Raises
        ------
        InputError
            If the eye tracker has stopped.
        """

    def wait_for_scanner(self, picture: ScreenImage) -> None:
        """Show a screen until the scanner sends the pulse with which the trials begin.

        Raises
        ------
        Escaped
            If the participant or the experimenter pressed escape.
        """

    def stop(self) -> Played:
        """End the sounds and videos of the stimulus, and return the actual timing after the onset."""

    def discard_early_presses(self, picture: ScreenImage, keys: Collection[str]) -> int:
        """Discard presses during the fixation. Return how many of these presses would have been responses.

        Call this method directly after `fixate`.
        """

    @property
    def n_focus_lost(self) -> int:
        """Number of times another window took the focus since the fixation."""

    def mark(self, event: Literal["response", "time_out"], rt_ms: float, key: str | None = None) -> None:
        """Record the end of a trial among its events, and send its code.

        `rt_ms` is the time since the onset, and `key` is the key with which the response was given.
        """


class Escaped(Exception):
    """The participant pressed escape."""


@dataclass(frozen=True)
class ShownTrial:
    """A trial on the screen."""

    trial: Trial
    item: Item
    timing: Timing
    progress: str
    intertrial: Step | None = None
    """The blank screen before the fixation; None if there is none."""

    @property
    def content(self) -> dict[str, Any]:
        """Content of the item."""
        return self.item.content

    @property
    def deadline_ms(self) -> int | None:
        """Time in ms after which the trial ends without a response; None for no limit."""
        return deadline_ms_of(self.timing, self.trial.phase is Phase.PRACTICE, self.item.content)

    @property
    def reading_ms(self) -> int:
        """Time in ms after the onset during which no response is accepted."""
        return 0 if self.item.task in {Keypress.name, PsychoPyTask.name} else self.timing.reading_ms

    @property
    def moment(self) -> TrialMoment:
        """The trial before a response."""
        return self._at(TrialMoment())

    def picture(self, sheet: Sheet, moment: TrialMoment) -> ScreenImage:
        """Draw the screen of the trial at one moment."""
        return self._draw(sheet, self._at(moment))

    def changed(self, sheet: Sheet, state: ResponseState, before: ResponseState, shown: ScreenImage) -> ScreenImage:
        """Draw the screen after a press. It was shown with the state `before`."""
        moments = [self._at(TrialMoment(response_state=each)) for each in (state, before)]
        return self._draw(sheet, moments[0], (moments[1], shown))

    def _at(self, moment: TrialMoment) -> TrialMoment:
        return replace(moment, progress=self.progress, reading_ms=self.reading_ms, deadline_ms=self.deadline_ms)

    def _draw(
        self, sheet: Sheet, moment: TrialMoment, before: tuple[TrialMoment, ScreenImage] | None = None
    ) -> ScreenImage:
        return draw_trial(sheet, self.item.item_id, self.item.task, self.item.content, moment, before)


class _Presses:
    """The presses of a participant during a trial. The trial does not get the presses that open the rules."""

    def __init__(
        self, display: Display, keys: tuple[str, ...], is_typed: bool, read_rules: Callable[[], None] | None
    ) -> None:
        self._display, self._read_rules = display, read_rules
        self._is_typed = is_typed
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

    def next(self, picture: ScreenImage, until_ms: float | None, is_reading: bool = False) -> "Press | None":
        """Return the next press for the trial, or None after the time limit. Nothing is typed while people read.

        Raises
        ------
        Escaped
            If the participant pressed escape.
        """
        while True:
            if self._is_typed and not is_reading:
                press = self._display.typing(picture, until_ms)
            else:
                press = self._display.press(picture, self._keys, until_ms)
            if press is not None and press.name == ESCAPE:
                raise Escaped
            if press is None or press.name != RULES:
                return press
            if self._read_rules is not None:
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
    item, content = shown.item, shown.content
    own = display.psychopy_trial(item) if item.task == PsychoPyTask.name else None
    keys = own.keys if own else keys_of(item.task, content)
    presses = _Presses(display, keys, own is None and is_typed(item.task), read_rules if sheet.rules_hint else None)
    asking = shown.picture(sheet, TrialMoment())
    if own is not None and own.takes_clicks:
        asking = replace(asking, regions=(Region("click", (0, 0, *sheet.size_px)),))
    first = shown.picture(sheet, TrialMoment(is_reading=True)) if shown.reading_ms else asking
    screens, changes = steps_before(sheet, content), steps_after(sheet, item, shown.moment)
    stimulus = [Step(first, "stimulus", content.get("stimulus_ms"), content.get("stimulus", ()), own), *changes]
    try:
        onset = display.fixate(
            fixation, screens, stimulus, shown.timing.fixation_ms, shown.intertrial, shown.trial, item
        )
        n_too_early = display.discard_early_presses(first, keys)
        # As on the web, a trial begins when its stimulus is visible.
        attempt = attempt_log.begin(shown.trial.trial_index)
        attempt_log.note_frames(visit, shown.trial.trial_index, attempt, onset.frame_intervals_ms)
        if shown.reading_ms:
            while presses.next(first, shown.reading_ms, is_reading=True) is not None:
                n_too_early += 1
            display.redraw(asking)
        if own is None:
            press, response = _respond(display, sheet, shown, asking, presses)
        else:
            press, response = _respond_to_class(display, shown, asking, presses, own)
    finally:
        played = display.stop()
    is_withheld = press is None and bool(content.get("withhold"))
    return Response(
        response_id=str(uuid.uuid4()),
        trial_index=shown.trial.trial_index,
        response=WITHHELD if is_withheld else response,
        missing=None if press or is_withheld else "deadline",
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
        presentation=_presentation(onset, played),
    )


def ask_confidence(display: Display, sheet: Sheet, question: Confidence, progress: str) -> dict[str, float]:
    """Ask for the confidence in the response that was just given. Return the fields of the response.

    Raises
    ------
    Escaped
        If the participant pressed escape.
    """
    content = {"text": "", **question.model_dump(mode="json")}
    sheet = replace(sheet, rules_hint="")  # The rules belong to the question before.
    state, moment = ResponseState(), TrialMoment(progress=progress)
    picture = draw_trial(sheet, "confidence", Rating.name, content, moment)
    display.ask(picture)
    while True:
        press = display.press(picture, keys_of(Rating.name, content))
        assert press is not None  # There is no time limit.
        if press.name == ESCAPE:
            raise Escaped
        before, state = state, state_after(Rating.name, content, state, press.name, is_rtl=sheet.direction == "rtl")
        if state == before:
            continue
        moments = [replace(moment, response_state=each) for each in (state, before)]
        picture = draw_trial(sheet, "confidence", Rating.name, content, moments[0], (moments[1], picture))
        if state.response is not None:
            display.confirm(picture)
            return {"confidence": float(str(state.response)), "confidence_rt_ms": press.rt_ms}
        display.redraw(picture)


def _respond(
    display: Display, sheet: Sheet, shown: ShownTrial, asking: ScreenImage, presses: _Presses
) -> "tuple[Press | None, JsonValue]":
    """Wait for a response. Return the press that gave it, and the response; None and None after the deadline."""
    item, state = shown.item, ResponseState()
    while True:
        press = presses.next(asking, shown.deadline_ms)
        if press is None:
            display.mark("time_out", shown.deadline_ms or 0)
            return None, None
        before = state
        state = state_after(item.task, item.content, before, press.name, is_rtl=sheet.direction == "rtl")
        if state.response is not None:
            display.mark("response", press.rt_ms, press.key)
        if state != before and item.task != Keypress.name:  # A mask may be on the screen, which must not change.
            asking = shown.changed(sheet, state, before, asking)
            (display.redraw if state.response is None else display.confirm)(asking)
        if state.response is not None:
            return press, state.response


def _respond_to_class(
    display: Display, shown: ShownTrial, asking: ScreenImage, presses: _Presses, own: "RunningTrial"
) -> "tuple[Press | None, JsonValue]":
    """Wait until a class of the study turns a press into a response. The results are those of `_respond`."""
    while (press := presses.next(asking, shown.deadline_ms)) is not None:
        response = own.response(press)
        if response is not None:
            display.mark("response", press.rt_ms, press.key)
            return press, response
    display.mark("time_out", shown.deadline_ms or 0)
    return None, None


def _presentation(onset: Onset, played: Played) -> Presentation | None:
    """Return the timing of the screens, sounds, changes of the stimulus and events; None if there were none."""
    stimulus, mask = (*played.steps, None, None)[:2]
    found = Presentation(
        intertrial=onset.intertrial,
        screens=onset.screens,
        stimulus=stimulus,
        mask=mask,
        drawn=played.drawn,
        sounds=played.sounds,
        events=played.events[-MOST_EVENTS:],
        events_before=played.events_before[-MOST_EVENTS:],
    )
    return None if found == Presentation() else found


def _signals(n_too_early: int, presses: _Presses) -> Signals | None:
    signals = Signals(too_early=n_too_early, rules_opened=presses.n_rules_opened, rules_ms=presses.rules_ms)
    return None if signals == Signals() else signals
