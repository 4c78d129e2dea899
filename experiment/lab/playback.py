"""Playback of one trial: the screens before the stimulus, the changes of the stimulus, its sounds and its videos."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batteries.stimulus.parts import kind_of
from experiment.lab.hardware.video_player import VideoPlayer
from experiment.lab.media.files import read_file
from experiment.lab.media.sounds import decode_sound
from experiment.lab.presentation import Onset, Played, Step, next_flip_ns, no_garbage_collection, present
from experiment.lab.visit_events import ScreenName
from experiment.records import PlayedSound, Shown

if TYPE_CHECKING:
    from experiment.lab.hardware.sound_output import LoadedSound, SoundOutput
    from experiment.lab.hardware.window import AtFlip, LabWindow, Prepared

PAUSE_S = 0.0005
"""Pause between two looks at the clock while a screen is shown, in seconds."""

UntilContinued = Callable[[Step, int, Callable[[], None]], None]


@dataclass(frozen=True)
class _LoadedStep:
    """A step whose image, sounds and videos can begin at once."""

    step: Step
    prepared: "Prepared"
    videos: tuple[VideoPlayer, ...]
    sounds: tuple[tuple[int, "LoadedSound"], ...]
    """Position of each sound among the parts, and the sound."""

    def plan(self, at_ns: int) -> None:
        """Begin the sounds at a planned time."""
        for _, sound in self.sounds:
            sound.play_at(at_ns)

    def close(self) -> None:
        """End the sounds and videos."""
        for video in self.videos:
            video.close()
        for _, sound in self.sounds:
            sound.close()


class Playback:
    """The steps of one trial, all loaded before the fixation.

    Parameters
    ----------
    window
        The window.
    output
        The sound output; None if the study plays no sounds.
    folder
        Folder of the battery, with the files of sounds and videos.
    screens
        The screens before the stimulus.
    stimulus
        The stimulus, and the steps that replace it (such as a mask).
    at_flip
        Function that returns the functions to call at the flip of an event, such as `stimulus`.
    """

    def __init__(
        self,
        window: "LabWindow",
        output: "SoundOutput | None",
        folder: Path | None,
        screens: Sequence[Step],
        stimulus: Sequence[Step],
        at_flip: Callable[[ScreenName], Sequence["AtFlip"]],
    ) -> None:
        self._at_flip = at_flip
        self._window, self._output, self._folder = window, output, folder
        self._resources = ExitStack()
        self._screens = [self._loaded(step) for step in screens]
        self._stimulus = [self._loaded(step) for step in stimulus]
        self._current = (self._screens or self._stimulus)[0]
        self._next: list[_LoadedStep] = []
        self._flipped_ns = self._onset_ns = 0
        self._ended: list[Shown] = []

    def present(
        self,
        fixation: "Prepared",
        fixation_ms: float,
        until_continued: UntilContinued,
        blank: "Prepared | None" = None,
        intertrial_ms: float = 0,
    ) -> Onset:
        """Show the blank interval, the fixation, the screens and the stimulus. Return when the stimulus is there.

        Parameters
        ----------
        fixation, fixation_ms
            As for `experiment.lab.presentation.present`.
        until_continued
            Function that returns when the participant ends a screen. Its arguments are the screen, the time of its
            flip, and a function to call again and again while it waits.
        blank, intertrial_ms
            As for `experiment.lab.presentation.present`.
        """
        first, *others = [*self._screens, self._stimulus[0]]
        if self._stimulus[0].step.trial is not None:
            self._resources.enter_context(no_garbage_collection())
        onset = present(
            self._window,
            fixation,
            first.prepared,
            fixation_ms,
            self._at_flip("fixation"),
            self._functions_at_flip(first.step),
            on_planned=first.plan,
            blank=blank,
            intertrial_ms=intertrial_ms,
            on_blank=self._at_flip("intertrial"),
        )
        self._flipped_ns = onset.onset_ns
        with no_garbage_collection():
            shown = [self._replace(following, until_continued) for following in others]
        self._next = self._stimulus[1:]
        self._onset_ns = self._flipped_ns
        self._draw_ahead()
        if not others:
            return onset
        shown_at = self._window.anchor.utc_of(self._onset_ns)
        return replace(onset, onset_ns=self._onset_ns, shown_at=shown_at, screens=tuple(shown))

    @property
    def shown(self) -> "Prepared":
        """The image on the screen, without its videos."""
        return self._current.prepared

    def step(self) -> None:
        """Show the next step or the next frames of videos, if it is time. Call this while waiting for a response."""
        duration_ms = self._current.step.duration_ms
        if self._next and duration_ms is not None and time.perf_counter_ns() >= self._call_ns(duration_ms):
            following = self._next.pop(0)
            following.plan(next_flip_ns(self._window, self._flipped_ns, duration_ms))
            self._ended.append(self._flip_to(following, is_drawn=not following.videos))
            self._draw_ahead()
        else:
            self._show_frames()

    def redraw(self, picture_changed: Callable[["Prepared"], None]) -> None:
        """Show the current image again, after `picture_changed` has changed it on the graphics card."""
        picture_changed(self._current.prepared)
        self._draw(self._current)
        flipped_ns = self._window.flip()
        if self._current.step.trial is not None:
            self._current.step.trial.resume(flipped_ns)
        self._draw_ahead()

    def stop(self) -> Played:
        """End the sounds and videos, and return the actual timing."""
        sounds = []
        for number, sound in self._stimulus[0].sounds:
            at_ns, latency_ms = sound.onset()
            onset_ms = None if at_ns is None else (at_ns - self._onset_ns) / 1e6
            sounds.append(PlayedSound(part=number, onset_ms=onset_ms, latency_ms=latency_ms))
        trial = self._stimulus[0].step.trial
        self.close()
        return Played(tuple(self._ended), trial.frames if trial else None, tuple(sounds))

    def close(self) -> None:
        """End the sounds and videos."""
        for each in (*self._screens, *self._stimulus):
            each.close()
        self._screens, self._stimulus, self._next = [], [], []
        self._resources.close()

    def _loaded(self, step: Step) -> _LoadedStep:
        prepared = self._window.prepare(step.picture.image, step.trial.draw if step.trial else None)
        videos = [
            VideoPlayer(self._window, step.parts[place.number], self._read(step.parts[place.number]), place.box_px)
            for place in step.picture.videos
        ]
        sounds = []
        for number, part in enumerate(step.parts):
            if kind_of(part) in {"sound", "video"} and self._output is not None:
                samples = decode_sound(part, self._read(part), self._output.rate_hz)
                if samples is not None:
                    sounds.append((number, self._output.load(samples)))
        return _LoadedStep(step, prepared, tuple(videos), tuple(sounds))

    def _read(self, part: Mapping[str, Any]) -> bytes:
        assert self._folder is not None
        return read_file(self._folder, part)

    def _replace(
        self,
        following: _LoadedStep,
        until_continued: UntilContinued,
    ) -> Shown:
        """Show the current screen to its end, and then the following step."""
        duration_ms = self._current.step.duration_ms
        if duration_ms is None:
            until_continued(self._current.step, self._flipped_ns, self._show_frames)
            following.plan(time.perf_counter_ns())
            return self._flip_to(following)
        following.plan(next_flip_ns(self._window, self._flipped_ns, duration_ms))
        has_videos = bool(self._current.videos or following.videos)
        if not has_videos:
            self._draw(following)
        call_ns = self._call_ns(duration_ms)
        while time.perf_counter_ns() < call_ns:
            self._show_frames()
            if call_ns - time.perf_counter_ns() > 2_000_000:  # Near the flip, do not sleep: a sleep can end too late.
                time.sleep(PAUSE_S)
        return self._flip_to(following, is_drawn=not has_videos)

    def _call_ns(self, duration_ms: int) -> int:
        """Return the time at which the program calls the flip that ends the current step."""
        # A flip that waits for the screen is called in the middle of the last frame.
        early_ms = self._window.frame_ms / 2 if self._window.pacing == "frames" else self._window.flip_ms
        return next_flip_ns(self._window, self._flipped_ns, duration_ms) - round(early_ms * 1e6)

    def _flip_to(self, following: _LoadedStep, is_drawn: bool = False) -> Shown:
        """Show a step, end the current step, and return the actual timing of the current step."""
        if not is_drawn:
            self._draw(following)
        for function in self._functions_at_flip(following.step):
            self._window.call_on_flip(function)
        flipped_ns = self._window.flip()
        frame_ms, intended_ms = self._window.frame_ms, self._current.step.duration_ms
        duration_ms = (flipped_ns - self._flipped_ns) / 1e6
        intended = None if intended_ms is None else max(1, round(intended_ms / frame_ms))
        if self._current is not self._stimulus[0]:
            self._current.close()
        self._current, self._flipped_ns = following, flipped_ns
        return Shown(duration_ms=duration_ms, frames=round(duration_ms / frame_ms), frames_intended=intended)

    def _functions_at_flip(self, step: Step) -> list["AtFlip"]:
        return [*self._at_flip(step.event), *([step.trial.begin] if step.trial else [])]

    def _show_frames(self) -> None:
        """Show the next frame that a class of the study draws, or the next frames of the videos, if it is time."""
        trial = self._current.step.trial
        if trial is not None:
            if trial.is_due:
                trial.note_frame(self._window.show(self._current.prepared))
            return
        elapsed_ms = (time.perf_counter_ns() - self._flipped_ns) / 1e6 + self._window.frame_ms / 2
        n_new = sum(video.advance(elapsed_ms) for video in self._current.videos)
        if n_new > 0:
            self._draw(self._current)
            self._window.flip()

    def _draw(self, step: _LoadedStep) -> None:
        self._window.draw(step.prepared)
        for video in step.videos:
            video.draw()

    def _draw_ahead(self) -> None:
        """Draw the next step now, because the flip to this step must not be late."""
        if self._next and not self._next[0].videos and not self._current.videos:
            self._draw(self._next[0])
