"""The participant's display: a PsychoPy window with its keys, its mouse and its event codes."""

import platform
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import psychopy

from batteries.items import Item
from experiment.lab.hardware.clock import wait_until
from experiment.lab.hardware.devices import Devices
from experiment.lab.hardware.keys_and_clicks import InputDevices, Press
from experiment.lab.hardware.monitors import viewing_of
from experiment.lab.hardware.psychopy_messages import collect_messages, psychopy_messages
from experiment.lab.hardware.response_box.box import open_box
from experiment.lab.hardware.sound_output import SoundOutput
from experiment.lab.hardware.triggers import open_trigger
from experiment.lab.hardware.window import AtFlip, LabWindow, Prepared, WindowSize
from experiment.lab.media.files import media_folder
from experiment.lab.playback import Playback
from experiment.lab.presentation import Onset, Played, Step
from experiment.lab.psychopy_trials.loading import LoadedClass, load_classes
from experiment.lab.psychopy_trials.running import RunningTrial, try_all_items
from experiment.lab.requirements import plays_sounds, sheet_for
from experiment.lab.screens.layout.screen_image import ESCAPE, ScreenImage
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.screen_before import CONTINUE_KEYS
from experiment.lab.session_files.psychopy_log import PsychoPyLog
from experiment.lab.timing_summary import MachineTiming
from experiment.lab.trial import Escaped
from experiment.lab.visit_events import ScreenName, VisitEvents
from experiment.plan import Trial
from experiment.records import LabDevice
from experiment.study.definition import Study

CONFIRMED_MS = 150
"""Shortest time in ms for which the final response is marked on the screen. The response time ends before this time."""

POLL_MS = 5
"""Time in ms after which the program looks again whether the scanner has sent a pulse. Pulses have their own times."""


class PsychoPyDisplay:
    """A `Display` (see `experiment.lab.trial`) in a window of PsychoPy.

    Parameters
    ----------
    window
        An open window.
    inputs
        The keys and the mouse of the window.
    events
        The events of the visit, with the destination of event codes.
    device
        Description of the machine, as stored with the session.
    devices
        The devices of the machine. Its scanner and its eye tracker are those of the visit.
    output
        The sound output; None if the study plays no sounds.
    media_folder
        Folder of the battery, with the files of sounds and videos; None if there are none.
    log
        PsychoPy's log of the visit; None for a log that receives no messages of PsychoPy.
    classes
        The classes of the study that draw trials, by name.
    """

    def __init__(
        self,
        window: LabWindow,
        inputs: InputDevices,
        events: VisitEvents,
        device: LabDevice,
        devices: Devices | None = None,
        output: SoundOutput | None = None,
        media_folder: Path | None = None,
        log: PsychoPyLog | None = None,
        classes: Mapping[str, LoadedClass] = MappingProxyType({}),
    ) -> None:
        devices = devices or Devices()
        self._window = window
        self._classes = classes
        self.log = log or PsychoPyLog()
        self._output, self._media_folder = output, media_folder
        self._playback: Playback | None = None
        self._onset_ns = 0
        self._inputs = inputs
        self.events = events
        self.scanner, self.eye_tracker = devices.scanner, devices.eye_tracker
        self.device = device
        self._prepared: dict[str, tuple[ScreenImage, Prepared]] = {}
        """The images that all trials have in common, by name."""
        self._shown: Prepared
        self._confirmed_until_ns = 0

    @property
    def machine_timing(self) -> MachineTiming:
        """Timing of fixations and key presses in this window."""
        refresh = self._window.refresh
        return MachineTiming(
            self._window.pacing,
            refresh.measured_hz,
            refresh.nominal_hz,
            refresh.reason,
            self._inputs.backend,
            self._inputs.obstacle,
        )

    def show(self, picture: ScreenImage) -> None:
        wait_until(self._confirmed_until_ns)
        self._inputs.idle = None  # Nothing of a trial moves while its rules are read.
        self._shown = self._window.prepare(picture.image)
        self._window.call_on_flip(self.events.page_appears)
        self._window.show(self._shown)
        self._inputs.clear()

    def ask(self, picture: ScreenImage) -> None:
        wait_until(self._confirmed_until_ns)
        self._inputs.reset_on_flip(self._window)
        self.show(picture)

    def redraw(self, picture: ScreenImage) -> None:
        def change(prepared: Prepared) -> None:
            self._window.update(prepared, picture.image, picture.changed_px or (0, 0, *picture.image.size))

        if self._playback is not None:
            self._playback.redraw(change)
            self._inputs.idle = self._playback.step
        else:
            change(self._shown)
            self._window.show(self._shown)

    def confirm(self, picture: ScreenImage) -> None:
        self.redraw(picture)
        self._confirmed_until_ns = time.perf_counter_ns() + CONFIRMED_MS * 1_000_000

    def press(self, picture: ScreenImage, keys: Collection[str], until_ms: float | None = None) -> Press | None:
        return self._inputs.wait(keys, until_ms, picture.regions)

    def typing(self, picture: ScreenImage, until_ms: float | None = None) -> Press | None:
        return self._inputs.wait_for_typing(until_ms, picture.regions)

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
        self.events.begin_trial(trial, item)

        def at_flip(name: ScreenName) -> Sequence[AtFlip]:
            functions: list[AtFlip] = [self.events.at_flip(name)]
            if intertrial is not None and name != "intertrial":
                functions.append(end_interval)
            return [*functions, *([self._begin_response] if name == "stimulus" else [])]

        is_interval = intertrial is not None

        def end_interval(_: int) -> None:
            """Discard the presses during the interval, because they belong to no trial."""
            nonlocal is_interval
            if is_interval:
                is_interval = False
                self._inputs.clear()

        self._playback = playback = Playback(self._window, self._output, self._media_folder, screens, stimulus, at_flip)
        prepared = self._prepared_once("fixation", fixation)
        blank = self._prepared_once("intertrial", intertrial.picture) if intertrial else None
        wait_until(self._confirmed_until_ns)
        self._window.pointer_is_visible = False  # Until the participant moves it.
        self._inputs.clear()
        intertrial_ms = (intertrial.duration_ms or 0) if intertrial else 0
        onset = playback.present(prepared, fixation_ms, self._until_continued, blank, intertrial_ms)
        self._inputs.idle = playback.step
        return onset

    def psychopy_trial(self, item: Item) -> RunningTrial:
        assert self._media_folder is not None
        return RunningTrial(self._window, self._classes[str(item.content["trial"])], item, self._media_folder)

    def _prepared_once(self, name: str, picture: ScreenImage) -> Prepared:
        """Prepare an image that is the same in all trials."""
        if name not in self._prepared or self._prepared[name][0] is not picture:
            self._prepared[name] = picture, self._window.prepare(picture.image)
        return self._prepared[name][1]

    def _begin_response(self, onset_ns: int) -> None:
        """Count response times from the onset of the stimulus."""
        self._onset_ns = onset_ns
        self._inputs.reset(onset_ns)

    def _until_continued(self, step: Step, shown_ns: int, idle: Callable[[], None]) -> None:
        self._inputs.ignore_double_press()
        self._inputs.reset(shown_ns)
        self._inputs.idle = idle
        press = self._inputs.wait(CONTINUE_KEYS, None, step.picture.regions)
        self._inputs.idle = None
        if press is not None and press.name == ESCAPE:
            raise Escaped

    def wait_for_scanner(self, picture: ScreenImage) -> None:
        self.show(picture)
        self.events.n_early_pulses = self.events.n_pulses
        n_needed = self.events.n_pulses + 1 + (self.scanner.n_discarded if self.scanner else 0)
        while self.events.n_pulses < n_needed:
            self._inputs.reset(time.perf_counter_ns())
            press = self._inputs.wait((), POLL_MS, picture.regions)
            if press is not None and press.name == ESCAPE:
                raise Escaped
        self.events.mark_scanner_start(n_needed)

    def calibrate(self) -> None:
        if self.eye_tracker is None:
            return
        self.events.mark_calibration()
        self.eye_tracker.calibrate(self._window.psychopy_window, self._inputs.forget)
        self._window.activate()
        self._inputs.forget()

    def stop(self) -> Played:
        self._inputs.idle = None
        playback, self._playback = self._playback, None
        if playback is None:
            return Played()
        self._shown = playback.shown
        return replace(playback.stop(), events=self.events.of_trial, events_before=self.events.before_trial)

    def discard_early_presses(self, picture: ScreenImage, keys: Collection[str]) -> int:
        return self._inputs.discard_early_presses(keys, picture.regions)

    @property
    def n_focus_lost(self) -> int:
        return self._inputs.n_focus_lost

    def mark(self, event: Literal["response", "time_out"], rt_ms: float, key: str | None = None) -> None:
        self.events.mark(event, self._onset_ns + round(rt_ms * 1e6), key)


@contextmanager
def open_display(
    study: Study,
    monitor: str | None,
    screen: int,
    size_px: WindowSize,
    devices: Devices,
) -> Iterator[tuple[PsychoPyDisplay, Sheet]]:
    """Open a window. Yield a display in this window, and the sheet (sizes, fonts and texts of the screens).

    Parameters
    ----------
    study
        The study.
    monitor
        Name of a monitor in PsychoPy's Monitor Center, whose calibration is used; None for no calibration.
    screen
        Number of the screen, from 0.
    size_px
        Width and height of the window; see `WindowSize`.
    devices
        The devices of the machine.

    Raises
    ------
    InputError
        If the monitor, screen, trigger, response box or a necessary sound output does not exist, no font has all
        characters of the study, or a class of the study that draws trials fails.
    """
    classes, scanner, box, tracker = load_classes(study), devices.scanner, devices.box, devices.eye_tracker
    window = LabWindow(size_px, screen=screen, monitor=monitor, background=study.definition.look.in_trials.paper)
    log = PsychoPyLog(collect_messages)
    with (
        psychopy_messages(log, window.anchor),
        closing(open_trigger(devices.trigger, study.highest_event_code)) if devices.trigger else nullcontext() as codes,
        closing(open_box(box)) if box else nullcontext() as opened_box,
        closing(SoundOutput()) if plays_sounds(study) else nullcontext() as output,
        window,
        closing(tracker) if tracker else nullcontext(),
    ):
        viewing = viewing_of(monitor) if monitor else None
        sheet = sheet_for(study, window.size_px, viewing)
        try_all_items(study, classes, window)
        events = VisitEvents(window.anchor, study.definition.event_codes, codes, tracker)
        pulse_key = scanner.key if scanner else None
        inputs = InputDevices(window, pulse_key=pulse_key, on_pulse=events.pulse, box=opened_box)
        device = _device(window, inputs, sheet)
        if box and opened_box:
            device = device.model_copy(update={"response_box": f"{box.text}; {opened_box.timing}"})
        media = media_folder(study)
        yield PsychoPyDisplay(window, inputs, events, device, devices, output, media, log, classes), sheet


def _device(window: LabWindow, inputs: InputDevices, sheet: Sheet) -> LabDevice:
    width_px, height_px = window.size_px
    return LabDevice(
        width_px=width_px,
        height_px=height_px,
        full_screen=window.full_screen,
        screen=window.screen,
        monitor=window.monitor,
        nominal_hz=window.refresh.nominal_hz,
        measured_hz=window.refresh.measured_hz,
        frame_ms=window.frame_ms,
        is_synchronised=window.refresh.is_synchronised,
        pacing=window.pacing,
        keyboard=inputs.backend,
        psychopy_version=psychopy.__version__,
        python_version=platform.python_version(),
        platform=platform.platform(),
        clock_started_at=window.anchor.utc,
        text_font=sheet.typeface.regular.stem,
        px_per_cm=sheet.viewing.px_per_cm if sheet.viewing else None,
        distance_cm=sheet.viewing.distance_cm if sheet.viewing else None,
    )
