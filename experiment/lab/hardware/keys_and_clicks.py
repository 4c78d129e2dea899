"""Key presses and clicks, with their times by `time.perf_counter_ns`.

If psychtoolbox works, it reads the keyboard in a separate thread and records the time of each press. Otherwise this
program polls the window's events without a pause. A response box that acts as a keyboard counts as a keyboard.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import psychopy.core
from psychopy import event, logging
from pyglet.window import key, mouse

from experiment.lab.hardware.keyboard_backends import Backend, letters_by_ptb_code, ptb_obstacle
from experiment.lab.input.typed_answers import CONTROL_ENTER
from experiment.lab.screens.layout.screen_image import ESCAPE, RULES, Region

if TYPE_CHECKING:
    from experiment.lab.hardware.window import LabWindow

EDITING_KEYS = frozenset({ESCAPE, RULES, "return", "num_enter", "tab"})
"""Keys for editing text that are not in `_MOTIONS`. All other keys produce text."""
_MOTIONS = {
    key.MOTION_LEFT: "left",
    key.MOTION_RIGHT: "right",
    key.MOTION_UP: "up",
    key.MOTION_DOWN: "down",
    key.MOTION_BEGINNING_OF_LINE: "home",
    key.MOTION_END_OF_LINE: "end",
    key.MOTION_BACKSPACE: "backspace",
    key.MOTION_DELETE: "delete",
}
"""PsychoPy's names of the keys that move the text cursor or delete. A key that is held down repeats its motion."""
KEYPAD_WITHOUT_NUM_LOCK = {
    "num_insert": "num_0",
    "num_end": "num_1",
    "num_down": "num_2",
    "num_page_down": "num_3",
    "num_next": "num_3",
    "num_left": "num_4",
    "num_begin": "num_5",
    "num_right": "num_6",
    "num_home": "num_7",
    "num_up": "num_8",
    "num_page_up": "num_9",
    "num_prior": "num_9",
    "num_delete": "num_decimal",
}
"""Name of each keypad key with Num Lock, by the name that the window reports without Num Lock.

The names from psychtoolbox do not depend on Num Lock.
"""
PTB_PAUSE_S = 0.0005
"""Pause between two polls of psychtoolbox, in seconds. The time of a click can be too late by up to this pause."""


@dataclass(frozen=True)
class Press:
    """A key press or a click."""

    name: str
    """PsychoPy's name of the key, such as `1`, `num_1`, `return` or `left`, or the name of the clicked region."""
    rt_ms: float
    """Time in ms since time zero, which `InputDevices.reset` sets.

    It is negative only for an escape before time zero.
    """
    input: Literal["key", "mouse"]
    text: str = ""
    """The typed text in the participant's keyboard layout. Only `InputDevices.wait_for_typing` sets this field."""


@dataclass(frozen=True)
class _Stamped:
    at_ns: int
    name: str
    input: Literal["key", "mouse"]
    text: str = ""
    place_px: tuple[int, int] | None = None
    is_drag: bool = False
    """True if the mouse has moved while its button was held down."""


class InputDevices:
    """Key presses and clicks of a participant in a window.

    Parameters
    ----------
    window
        An open window.
    backend
        Program that reads the keyboard (`ptb` or `event`); None for the best one that works on this machine.

    Raises
    ------
    OSError
        If psychtoolbox is requested and cannot open the keyboard.
    """

    backend: Backend
    obstacle: str | None
    """Reason why psychtoolbox cannot read the keys on this machine.

    None if psychtoolbox reads the keys, or if the caller chose a backend.
    """

    def __init__(self, window: "LabWindow", backend: Backend | None = None) -> None:
        self._window = window
        self._zero_ns = time.perf_counter_ns()
        self._heard: list[_Stamped] = []
        self._typed: list[_Stamped] = []
        self.idle: Callable[[], object] | None = None
        """Function that is called again and again while the program waits for a press, such as for a video."""
        self.n_focus_lost = 0
        """Number of times the window has lost the focus since `clear`."""
        self._away_since_ns: int | None = None
        self._was_away = (0, 0)
        self.obstacle = None if backend else ptb_obstacle()
        self._read_keys = _event_keys if backend == "event" or self.obstacle else self._opened_keys(backend)
        self.backend = "event" if self._read_keys is _event_keys else "ptb"
        self._is_typing = False
        window.listen(on_mouse_press=self._clicked, on_mouse_drag=self._dragged, on_close=self._closed)
        window.listen(on_text=self._has_typed, on_text_motion=self._has_moved, on_key_press=self._has_pressed)
        window.listen(on_deactivate=self._lost_focus, on_activate=self._has_focus)

    def clear(self) -> None:
        """Discard all presses so far except an escape, and set `n_focus_lost` to 0."""
        self._listen()
        self._heard = [each for each in self._heard if each.name == ESCAPE]
        self.n_focus_lost = 0

    def reset(self, at_ns: int) -> None:
        """Set time zero to `at_ns`, a time by `time.perf_counter_ns`.

        Presses before time zero are then ignored, except an escape.
        """
        self._zero_ns = at_ns

    def reset_on_flip(self, window: "LabWindow") -> None:
        """Set time zero at the window's next flip."""
        window.call_on_flip(self.reset)

    def discard_early_presses(self, keys: Collection[str], regions: Sequence[Region] = ()) -> int:
        """Discard presses before time zero, and return how many of these presses would have been responses.

        Presses between `clear` and time zero are counted. Call this method directly after the flip that sets time zero.
        No device is polled during a flip, so clicks, and key presses without psychtoolbox, get the time of the next
        poll. This method counts all of them that were made during the flip as presses before time zero.
        """
        self._listen()
        early = [each for each in self._heard if each.name != ESCAPE and self._is_early(each)]
        self._heard = [each for each in self._heard if each not in early]
        answers = [region for region in regions if region.name not in {ESCAPE, RULES}]
        return sum(
            each.name in keys if each.place_px is None else region_at(each.place_px, answers) is not None
            for each in early
            if not each.is_drag
        )

    def _is_early(self, each: _Stamped) -> bool:
        has_own_stamp = self.backend == "ptb" and each.input == "key"
        return not has_own_stamp or self._since_zero_ms(each.at_ns) < 0

    def poll_ms(self, n_polls: int) -> float:
        """Return the mean time between two polls of the keyboard. Presses during the measurement are discarded."""
        began_ns = time.perf_counter_ns()
        for _ in range(n_polls):
            self._listen()
            self._pause()
        self._heard.clear()
        return (time.perf_counter_ns() - began_ns) / n_polls / 1e6

    def wait(
        self, keys: Collection[str] | None = None, until_ms: float | None = None, regions: Sequence[Region] = ()
    ) -> Press | None:
        """Wait for a key or a click, and return the press; None after the time limit. Escape is always accepted.

        Parameters
        ----------
        keys
            The accepted keys; None for all keys.
        until_ms
            Time limit, in ms after time zero; None for no limit.
        regions
            Clickable regions.
        """
        return self._wait(self._listen, lambda each: keys is None or each.name in keys, until_ms, regions)

    def wait_for_typing(self, until_ms: float | None = None, regions: Sequence[Region] = ()) -> Press | None:
        """Wait for a typed character, an editing key (`EDITING_KEYS`) or a click, and return this press.

        With both backends, the window receives the keys. So characters follow the participant's keyboard layout, and
        come in the order in which they were typed.

        Parameters
        ----------
        until_ms
            Time limit, in ms after time zero; None for no limit.
        regions
            Clickable regions.
        """
        self._is_typing = True
        try:
            return self._wait(self._listen_to_typing, lambda _: True, until_ms, regions)
        finally:
            self._is_typing = False

    def _wait(
        self,
        listen: Callable[[], None],
        counts: Callable[[_Stamped], bool],
        until_ms: float | None,
        regions: Sequence[Region],
    ) -> Press | None:
        while True:
            asked_ns = time.perf_counter_ns()
            listen()
            while self._heard:
                press = self._taken(self._heard.pop(0), counts, until_ms, regions)
                if press is not None:
                    return press
            if until_ms is not None and self._since_zero_ms(asked_ns) >= until_ms:
                return None
            self._pause()

    def _taken(
        self,
        each: _Stamped,
        counts: Callable[[_Stamped], bool],
        until_ms: float | None,
        regions: Sequence[Region],
    ) -> Press | None:
        rt_ms = self._since_zero_ms(each.at_ns)
        if each.name == ESCAPE:
            return Press(each.name, rt_ms, each.input)
        if rt_ms < 0 or (until_ms is not None and rt_ms > until_ms):
            return None
        if each.place_px is not None:
            region = region_at(each.place_px, regions)
            has_effect = region is not None and (not each.is_drag or region.follows_drag)
            return Press(region.name, rt_ms, "mouse") if region and has_effect else None
        return Press(each.name, rt_ms, "key", each.text) if counts(each) else None

    def _since_zero_ms(self, at_ns: int) -> float:
        return (at_ns - self._zero_ns) / 1e6

    def _pause(self) -> None:
        if self.idle is not None:
            self.idle()
        if self.backend == "ptb":
            time.sleep(PTB_PAUSE_S)

    def _opened_keys(self, backend: Backend | None) -> Callable[[], list[_Stamped]]:
        try:
            return _PtbKeys()
        except OSError as error:
            if backend == "ptb":
                raise
            self.obstacle = f"psychtoolbox cannot open the keyboard ({error})"
            return _event_keys

    def _listen(self) -> None:
        self._hear([key for key in self._read_keys() if self._is_for_us(key)])

    def _listen_to_typing(self) -> None:
        keys = [each for each in _event_keys() if each.name in EDITING_KEYS]
        self._hear([*keys, *self._typed])

    def _hear(self, heard: list[_Stamped]) -> None:
        self._heard = sorted([*self._heard, *heard], key=lambda each: each.at_ns)
        self._typed.clear()

    def _clicked(self, x: int, y: int, button: int, _modifiers: int) -> None:
        if button == event.LEFT:
            place_px = self._window.place_px(x, y)
            self._heard.append(_Stamped(time.perf_counter_ns(), "", "mouse", place_px=place_px))

    def _dragged(self, x: int, y: int, _dx: int, _dy: int, buttons: int, _modifiers: int) -> None:
        if buttons & mouse.LEFT:
            if self._heard and self._heard[-1].is_drag:
                self._heard.pop()  # Only the last place counts.
            place_px = self._window.place_px(x, y)
            self._heard.append(_Stamped(time.perf_counter_ns(), "", "mouse", place_px=place_px, is_drag=True))

    def _has_typed(self, text: str) -> None:
        if text.isprintable():
            self._typed.append(_Stamped(time.perf_counter_ns(), text, "key", text))

    def _has_moved(self, motion: int) -> None:
        if motion in _MOTIONS:
            self._typed.append(_Stamped(time.perf_counter_ns(), _MOTIONS[motion], "key"))

    def _has_pressed(self, symbol: int, modifiers: int) -> bool:
        """Note Enter with the control key while a text is typed. PsychoPy would report it as Enter."""
        is_control = bool(modifiers & (key.MOD_CTRL | key.MOD_COMMAND))
        is_noted = self._is_typing and is_control and symbol in {key.RETURN, key.ENTER}
        if is_noted:
            self._typed.append(_Stamped(time.perf_counter_ns(), CONTROL_ENTER, "key"))
        return is_noted  # True: PsychoPy does not receive the key.

    def _lost_focus(self) -> None:
        self.n_focus_lost += 1
        self._away_since_ns = time.perf_counter_ns()

    def _has_focus(self) -> None:
        if self._away_since_ns is not None:
            self._was_away = (self._away_since_ns, time.perf_counter_ns())
            self._away_since_ns = None

    def _is_for_us(self, key: _Stamped) -> bool:
        """Return True if a key was pressed in this window. psychtoolbox also receives presses in other windows."""
        if self._away_since_ns is not None and key.at_ns >= self._away_since_ns:
            return False
        return not self._was_away[0] <= key.at_ns < self._was_away[1]

    def _closed(self) -> bool:
        """Record an escape if the window is closed. So the participant is asked before the session ends."""
        self._heard.append(_Stamped(time.perf_counter_ns(), ESCAPE, "mouse"))
        return True


def region_at(place_px: tuple[int, int], regions: Sequence[Region]) -> Region | None:
    """Return the region that contains a point."""
    x_px, y_px = place_px
    for region in regions:
        left_px, top_px, right_px, bottom_px = region.box_px
        if left_px <= x_px < right_px and top_px <= y_px < bottom_px:
            return region
    return None


def _event_keys() -> list[_Stamped]:
    """Return the key presses that the window has received, in order."""
    keys = event.getKeys(timeStamped=True)
    now_ns, now_s = time.perf_counter_ns(), psychopy.core.getTime()
    return [
        _Stamped(now_ns - round((now_s - at_s) * 1e9), KEYPAD_WITHOUT_NUM_LOCK.get(name, name), "key")
        for name, at_s in keys
    ]


class _PtbKeys:
    """A function that returns the key presses that psychtoolbox has received, in order.

    PsychoPy's `getKeys` is not used. It loses a press that ends before the next poll, such as a pulse of a response
    box.

    Raises
    ------
    OSError
        If the keyboard cannot be opened.
    """

    def __init__(self) -> None:
        from psychopy.hardware.exceptions import ManagedDeviceError  # noqa: PLC0415 - loads many modules
        from psychopy.hardware.keyboard import Keyboard  # noqa: PLC0415 - starts psychtoolbox

        try:
            self._device: Any = Keyboard(backend="ptb").device
        except (Exception, ManagedDeviceError) as error:  # ManagedDeviceError is not a subclass of Exception.
            raise OSError(str(error)) from error
        self._letters = letters_by_ptb_code()
        self._held: dict[int, Any] = {}

    def __call__(self) -> list[_Stamped]:
        event.getKeys()  # The window receives the same keys; this call empties its queue.
        self._device.dispatchMessages()
        responses, self._device.responses = self._device.responses, []
        now_ns, now_s = time.perf_counter_ns(), logging.defaultClock.getTime()
        # When a key is released, psychtoolbox delivers the object of the key press a second time.
        return [
            _Stamped(now_ns - round((now_s - response.tDown) * 1e9), self._name_of(response), "key")
            for response in responses
            if self._is_press(response)
        ]

    def _is_press(self, response: Any) -> bool:
        is_release = self._held.pop(id(response), None) is not None
        if not is_release:
            self._held[id(response)] = response
        return not is_release

    def _name_of(self, response: Any) -> str:
        """Return PsychoPy's name of a key. If a key has no name, return its code as a name."""
        if response.code in self._letters:
            return self._letters[response.code]
        return f"key_{response.code}" if response.name == "unknown" else str(response.name)
