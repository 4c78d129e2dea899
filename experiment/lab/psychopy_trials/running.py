"""A trial whose frames a class of the study draws, and which turns presses into a response."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from batteries.canonical_json import canonical_json
from batteries.errors import InputError
from batteries.items import Item
from batteries.stimulus.parameter_files import with_paths_replaced
from batteries.stimulus.parts import asset_parts
from batteries.tasks import task_named
from batteries.tasks.psychopy_trial import PsychoPyTask
from experiment.lab.hardware.key_names import is_key_name, names_of_keys
from experiment.lab.media.files import media_folder, read_file
from experiment.lab.psychopy_trials.loading import LoadedClass, errors_of_code
from experiment.lab.psychopy_trials.trial_class import TrialPress
from experiment.lab.screens.layout.screen_image import ESCAPE, RULES
from experiment.records import DrawnFrames
from experiment.study.definition import Study

if TYPE_CHECKING:
    from experiment.lab.hardware.keys_and_clicks import Press
    from experiment.lab.hardware.window import LabWindow

_OTHER_NAMES = {"enter": "return", "esc": "escape", "spacebar": "space", " ": "space"}
"""Names of keys that other programs use, and PsychoPy's names."""


class RunningTrial:
    """One attempt at a trial. The class's object is made, and its first frame is drawn once, before the fixation.

    Parameters
    ----------
    window
        The window.
    loaded
        The class.
    item
        The item, with the task `psychopy`.
    folder
        Folder of the battery, with the files that the parameters name.

    Raises
    ------
    InputError
        If the class fails, or its keys cannot give responses to the item. All methods raise the same error.
    """

    def __init__(self, window: "LabWindow", loaded: LoadedClass, item: Item, folder: Path) -> None:
        self._window, self._loaded, self._item = window, loaded, item
        self._onset_ns = self._flipped_ns = 0
        self._n_frames = self._n_dropped = 0
        self._longest_ms = 0.0
        for part in asset_parts(item.content):
            read_file(folder, part)  # Refuses a file that has changed.
        parameters: Any = with_paths_replaced(
            item.content["parameters"],
            lambda path: str((folder / path).resolve()),
        )
        with self._running("__init__"), window.lent() as lent:
            self._trial = loaded.trial_class(lent, parameters)
        self.takes_clicks = bool(self._trial.takes_clicks)
        self._check_keys(self._trial.keys)
        self.draw()  # The first drawing takes longest.

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that participants can press. A digit is also accepted on the keypad."""
        return (*self._trial.keys, *(f"num_{key}" for key in self._trial.keys if key.isdecimal()))

    @property
    def is_due(self) -> bool:
        """True if it is time to draw the next frame. Flips that wait for the screen make the program wait."""
        frame_ns = round((self._window.frame_ms - self._window.flip_ms) * 1e6)
        return self._window.pacing == "frames" or time.perf_counter_ns() >= self._flipped_ns + frame_ns

    @property
    def frames(self) -> DrawnFrames | None:
        """The frames between the onset and the end of the trial; None if the trial ended with its first frame."""
        if self._n_frames == 0:
            return None
        return DrawnFrames(frames=self._n_frames, dropped=self._n_dropped, longest_ms=self._longest_ms)

    def draw(self) -> None:
        """Draw the frame that the next flip will show."""
        n_frames = 0
        if self._onset_ns:
            frame_ns = self._window.frame_ms * 1e6
            next_ns = max(self._flipped_ns + frame_ns, time.perf_counter_ns())
            n_frames = max(1, round((next_ns - self._onset_ns) / frame_ns))
        with self._running("draw"), self._window.lent():
            self._trial.draw(n_frames * self._window.frame_ms)

    def begin(self, onset_ns: int) -> None:
        """Count the time of the frames from the onset, which is the flip of the first frame."""
        self._onset_ns = self._flipped_ns = onset_ns

    def note_frame(self, flipped_ns: int) -> None:
        """Record the flip of a frame that follows the frame before."""
        interval_ms = (flipped_ns - self._flipped_ns) / 1e6
        self._n_frames += 1
        self._n_dropped += max(0, round(interval_ms / self._window.frame_ms) - 1)
        self._longest_ms = max(self._longest_ms, interval_ms)
        self._flipped_ns = flipped_ns

    def resume(self, flipped_ns: int) -> None:
        """Continue after another screen, such as the rules. The time on the other screen counts for no frame."""
        self._flipped_ns = flipped_ns

    def response(self, press: "Press") -> JsonValue:
        """Return the response that a press gives; None if the trial continues."""
        with self._running("response"):
            given = self._trial.response(self._press_of(press))
            response: JsonValue = json.loads(json.dumps(given, allow_nan=False))
        if response is not None:
            self._check_response(response)
        return response

    def _press_of(self, press: "Press") -> TrialPress:
        if press.place_px is not None:
            (width_px, height_px), (x_px, y_px) = self._window.size_px, press.place_px
            return TrialPress(press.rt_ms, position_px=(x_px + 0.5 - width_px / 2, height_px / 2 - y_px - 0.5))
        is_known = press.name in self._trial.keys
        return TrialPress(press.rt_ms, press.name if is_known else press.name.removeprefix("num_"))

    def _check_keys(self, keys: Mapping[str, JsonValue]) -> None:
        if not isinstance(keys, Mapping) or not all(isinstance(key, str) for key in keys):
            raise self._problem("`keys` is not a dictionary of names of keys", 'write it as {"left": "left"}')
        if not keys and not self.takes_clicks:
            raise self._problem("no key and no click can give a response", "add `keys`, or write `takes_clicks = True`")
        for key, response in keys.items():
            if key in {ESCAPE, RULES}:
                raise self._problem(
                    f"the key `{key}` is not free: participants leave or read the rules with it", "use another key"
                )
            if not is_key_name(key) or key != key.lower() or key == " ":
                raise self._problem(f"PsychoPy has no key `{key}`", f"use {_suggestion(key)}")
            if response is not None:
                self._check_response(response)

    def _check_response(self, response: JsonValue) -> None:
        try:
            task_named(PsychoPyTask.name).check_response(dict(self._item.content), response)
        except InputError as error:
            raise InputError(f"{self._loaded.path}: item `{self._item.item_id}`: {error}") from None

    def _problem(self, problem: str, fix: str) -> InputError:
        name = self._loaded.trial_class.__name__
        return InputError(f"{self._loaded.path}: item `{self._item.item_id}`, class `{name}`: {problem}. Fix: {fix}.")

    @contextmanager
    def _running(self, method: str) -> Iterator[None]:
        name = self._loaded.trial_class.__name__
        with errors_of_code(self._loaded.path, f"`{name}.{method}` of the item `{self._item.item_id}`"):
            yield


def try_all_items(study: Study, classes: Mapping[str, LoadedClass], window: "LabWindow") -> int:
    """Make the object of each item once and draw its first frame. Equal items are tried once. Return the number.

    Raises
    ------
    InputError
        If a class fails for an item.
    """
    items = [item for item in study.battery.items if item.task == PsychoPyTask.name]
    different = {canonical_json(item.content): item for item in items}
    for item in different.values():
        RunningTrial(window, classes[str(item.content["trial"])], item, media_folder(study))
    return len(different)


def _suggestion(key: str) -> str:
    lower = key.lower()
    close = [_OTHER_NAMES[lower]] if lower in _OTHER_NAMES else get_close_matches(lower, names_of_keys(), 1, 0.6)
    return f"`{close[0]}`" if close else "the name that PsychoPy gives to the key"
