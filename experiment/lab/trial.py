"""One trial in the laboratory: fixation, stimulus until answered or the time is over, and in practice the feedback."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from batteries.items import Item
from experiment.lab.input.key_bindings import Answering, after, keys_of
from experiment.lab.records.attempt_log import Notes
from experiment.lab.screens.layout.screen_image import ESCAPE, Picture
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.trial import trial as draw_trial
from experiment.lab.screens.trial_header import Showing
from experiment.plan import Phase, Trial
from experiment.records import LabDevice, Response, Signals
from experiment.study.timeline import Timing

if TYPE_CHECKING:
    from experiment.lab.hardware.keys_and_clicks import Press
    from experiment.lab.presentation import Onset


class Stage(Protocol):
    """What a participant sits at: a screen, keys and a mouse."""

    @property
    def device(self) -> LabDevice:
        """What it is."""

    def show(self, picture: Picture) -> None:
        """Put a new screen up; what was pressed before does not count for it."""

    def redraw(self, picture: Picture) -> None:
        """Show how the screen has changed by what was pressed; nothing is lost of what is pressed meanwhile."""

    def press(self, picture: Picture, keys: Collection[str], until_ms: float | None = None) -> "Press | None":
        """Return the next of these keys, escape, or click on a region; None when that time since the onset is over."""

    def typing(self, picture: Picture) -> "Press":
        """Return the next thing that somebody who types does."""

    def fixate(self, fixation: Picture, stimulus: Picture, fixation_ms: int, phase: Phase) -> "Onset":
        """Show the fixation and then the stimulus, whose onset is time zero; nothing pressed before is taken after."""

    def take_early(self, picture: Picture, keys: Collection[str]) -> int:
        """Forget what was pressed during the fixation; return how many of these presses would have been answers.

        To be called at once after `fixate`.
        """

    @property
    def n_focus_lost(self) -> int:
        """How often another window has taken the focus since the fixation."""

    def mark_response(self, phase: Phase) -> None:
        """Send the code of a response."""


class Escaped(Exception):
    """Somebody pressed escape."""


@dataclass(frozen=True)
class ShownTrial:
    """A trial as it is shown."""

    trial: Trial
    item: Item
    timing: Timing
    progress: str

    @property
    def deadline_ms(self) -> int | None:
        """Time after which it passes unanswered; practice never does."""
        return None if self.trial.phase is Phase.PRACTICE else self.timing.deadline_ms

    def picture(self, sheet: Sheet, showing: Showing) -> Picture:
        """Draw a moment of it."""
        moment = replace(
            showing, progress=self.progress, reading_ms=self.timing.reading_ms, deadline_ms=self.deadline_ms
        )
        return draw_trial(sheet, self.item.item_id, self.item.task, self.item.content, moment)


def take_trial(stage: Stage, sheet: Sheet, fixation: Picture, shown: ShownTrial, visit: int, notes: Notes) -> Response:
    """Show a trial until it is answered, or its time is over.

    Parameters
    ----------
    stage, sheet
        Where it is shown, and drawn.
    fixation
        The picture of the fixation.
    shown
        The trial.
    visit
        Number of the visit.
    notes
        Where the attempt and the frames are noted.

    Raises
    ------
    Escaped
        If somebody pressed escape; nothing is answered then.
    """
    item, timing = shown.item, shown.timing
    keys, answering = keys_of(item.task, item.content), Answering()
    asking = shown.picture(sheet, Showing())
    first = shown.picture(sheet, Showing(is_reading=True)) if timing.reading_ms else asking
    onset = stage.fixate(fixation, first, timing.fixation_ms, shown.trial.phase)
    n_too_early = stage.take_early(first, keys)
    attempt = notes.begin(shown.trial.trial_index)  # as on the web: what nobody has seen was not begun
    notes.note_frames(visit, shown.trial.trial_index, attempt, onset.frame_intervals_ms)
    if timing.reading_ms:
        while _press(stage, first, keys, timing.reading_ms) is not None:
            n_too_early += 1
        stage.redraw(asking)
    press = None
    while answering.response is None:
        press = _press(stage, asking, keys, shown.deadline_ms)
        if press is None:
            break
        before, answering = answering, after(item.task, item.content, answering, press.name)
        if answering.response is None and answering != before:
            asking = shown.picture(sheet, Showing(answering=answering))
            stage.redraw(asking)
    if press is not None:
        stage.mark_response(shown.trial.phase)
    return Response(
        response_id=str(uuid.uuid4()),
        trial_index=shown.trial.trial_index,
        response=answering.response,
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
        focus_lost=stage.n_focus_lost,
        signals=Signals(too_early=n_too_early) if n_too_early else None,
    )


def _press(stage: Stage, picture: Picture, keys: Collection[str], until_ms: float | None) -> "Press | None":
    press = stage.press(picture, keys, until_ms)
    if press is not None and press.name == ESCAPE:
        raise Escaped
    return press
