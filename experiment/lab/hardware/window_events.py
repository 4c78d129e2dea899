"""Key presses, clicks, typed text and losses of the focus, as a window receives them from the operating system."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pyglet.window import key, mouse

from experiment.lab.hardware.key_names import name_of
from experiment.lab.hardware.native_events import NativeEvents
from experiment.lab.hardware.stamped import Stamped
from experiment.lab.input.typed_answers import CONTROL_ENTER
from experiment.lab.screens.layout.screen_image import ESCAPE, RULES

if TYPE_CHECKING:
    from experiment.lab.hardware.window import LabWindow

EDITING_KEYS = frozenset({ESCAPE, RULES, CONTROL_ENTER, "return", "num_enter", "tab"})
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
_COMMANDS = key.MOD_CTRL | key.MOD_ALT | key.MOD_OPTION | key.MOD_COMMAND | key.MOD_WINDOWS
_ENTER = (key.RETURN, key.NUM_ENTER)


class WindowEvents:
    """The events of a window.

    Parameters
    ----------
    window
        An open window.
    """

    n_focus_lost = 0
    """Number of times the window has lost the focus. The caller may set it back to 0."""

    def __init__(self, window: "LabWindow") -> None:
        self._window = window
        self._native: NativeEvents = window.native_events
        self._keys: list[Stamped] = []
        self._texts: list[Stamped] = []
        self._clicks: list[Stamped] = []
        self._away_since_ns: int | None = None
        self._was_away = (0, 0)
        window.listen(on_mouse_press=self._has_clicked, on_mouse_drag=self._has_dragged, on_close=self._has_closed)
        window.listen(on_mouse_motion=self._has_moved_pointer)
        window.listen(on_text=self._has_typed, on_text_motion=self._has_moved, on_key_press=self._has_pressed)
        window.listen(on_deactivate=self._has_lost_focus, on_activate=self._has_focus)

    def receive(self) -> None:
        """Receive the events that the operating system has for the window."""
        self._window.dispatch_events()

    def taken_keys(self) -> list[Stamped]:
        """Return the keys pressed since the last call, and forget them and the typed texts."""
        self._texts.clear()
        return _taken(self._keys)

    def taken_typing(self) -> list[Stamped]:
        """Return the editing keys and typed texts since the last call, and forget all keys."""
        return [each for each in _taken(self._keys) if each.name in EDITING_KEYS] + _taken(self._texts)

    def taken_clicks(self) -> list[Stamped]:
        """Return the clicks since the last call, and forget them."""
        return _taken(self._clicks)

    def was_away(self, at_ns: int) -> bool:
        """Return True if another window had the focus at a time."""
        if self._away_since_ns is not None and at_ns >= self._away_since_ns:
            return True
        return self._was_away[0] <= at_ns < self._was_away[1]

    def _stamped(self, name: str, text: str = "") -> Stamped:
        return Stamped(self._native.at_ns, name, "key", text, has_own_time=self._native.has_own_times)

    def _has_pressed(self, symbol: int, modifiers: int) -> bool:
        is_enter_with_control = symbol in _ENTER and bool(modifiers & (key.MOD_CTRL | key.MOD_COMMAND))
        name = CONTROL_ENTER if is_enter_with_control else name_of(symbol) or ""
        is_command = bool(modifiers & _COMMANDS)
        self._keys.append(replace(self._stamped(name), keycode=self._native.keycode, is_command=is_command))
        return True  # PsychoPy does not receive the key.

    def _has_typed(self, text: str) -> None:
        if self._keys and not self._keys[-1].name:  # A key without a name, such as é, has the name of its character.
            self._keys[-1] = replace(self._keys[-1], name=text.lower())
        if text.isprintable():
            self._texts.append(self._stamped(text, text))

    def _has_moved(self, motion: int) -> None:
        if motion in _MOTIONS:
            self._texts.append(self._stamped(_MOTIONS[motion]))

    def _has_moved_pointer(self, _x: int, _y: int, _dx: int, _dy: int) -> None:
        self._window.pointer_is_visible = True

    def _has_clicked(self, x: int, y: int, button: int, _modifiers: int) -> None:
        if button == mouse.LEFT:
            self._clicks.append(self._click(x, y))

    def _has_dragged(self, x: int, y: int, _dx: int, _dy: int, buttons: int, _modifiers: int) -> None:
        if buttons & mouse.LEFT:
            if self._clicks and self._clicks[-1].is_drag:
                self._clicks.pop()  # Only the last place counts.
            self._clicks.append(replace(self._click(x, y), is_drag=True))

    def _click(self, x: int, y: int) -> Stamped:
        return replace(self._stamped(""), input="mouse", place_px=self._window.place_px(x, y))

    def _has_lost_focus(self) -> None:
        self.n_focus_lost += 1
        self._away_since_ns = time.perf_counter_ns()

    def _has_focus(self) -> None:
        if self._away_since_ns is not None:
            self._was_away = (self._away_since_ns, time.perf_counter_ns())
            self._away_since_ns = None

    def _has_closed(self) -> bool:
        """Record an escape if the window is closed. So the participant is asked before the session ends."""
        self._clicks.append(Stamped(time.perf_counter_ns(), ESCAPE, "mouse"))
        return True


def _taken(stamped: list[Stamped]) -> list[Stamped]:
    taken = list(stamped)
    stamped.clear()
    return taken
