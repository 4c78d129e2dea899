"""A virtual display (Xvfb), programs on it, and real key presses and clicks (XTEST)."""

import importlib.util
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.experiment.lab.window_processes import Program, prefer, window_program
from tests.x_server import x_server

HELD_S = 0.06
"""Time for which a person holds a key."""


def missing() -> str | None:
    """Return what is missing for a virtual display, or None."""
    if not sys.platform.startswith("linux"):
        return "Xvfb, which is for Linux"
    if shutil.which("Xvfb") is None:
        return "Xvfb"
    return next((f"Python package {name}" for name in ("psychopy", "Xlib") if not importlib.util.find_spec(name)), None)


@dataclass(frozen=True)
class VirtualScreen:
    """An X server, and the process group of everything that runs on it."""

    display: str
    group: int
    home: Path

    def start(self, name: str, *arguments: object) -> AbstractContextManager[Program]:
        """Start one of `window_programs` on the screen; at the end it must end without an error."""
        return window_program(self.display, self.group, name, *arguments)


@contextmanager
def virtual_screen(
    home: Path, size_px: tuple[int, int] = (1280, 800), image_folder: Path | None = None
) -> Iterator[VirtualScreen]:
    """Start an X server; at the end, end it and everything that runs on it.

    The server keeps the image of its screen in a file in `image_folder`, if there is one.
    """
    with x_server(*size_px, image_folder) as server:
        prefer(server.pid)
        yield VirtualScreen(server.display, server.pid, home)


class Fingers:
    """Presses keys and mouse buttons on a screen, from another process than the program that receives them."""

    def __init__(self, display: str) -> None:
        from Xlib import XK, X
        from Xlib import display as xlib_display
        from Xlib.ext import xtest

        self._X, self._XK, self._xtest = X, XK, xtest
        self._display = xlib_display.Display(display)

    def press(self, key: str, held_s: float = HELD_S) -> int:
        """Press a key, by X's name such as `2`, `Escape` or `KP_1`; return the time, by `time.perf_counter_ns`."""
        code = self._display.keysym_to_keycode(self._XK.string_to_keysym(key))
        return self._tap(self._X.KeyPress, self._X.KeyRelease, code, held_s)

    def hold(self, key: str, is_down: bool) -> None:
        """Press a key and keep it down, or release it."""
        code = self._display.keysym_to_keycode(self._XK.string_to_keysym(key))
        self._xtest.fake_input(self._display, self._X.KeyPress if is_down else self._X.KeyRelease, code)
        self._display.sync()

    @property
    def root(self) -> Any:
        """The root window, whose image is the whole screen."""
        return self._display.screen().root

    def swap(self, one: str, other: str) -> None:
        """Change the keyboard's layout: exchange two keys."""
        keys = [self._display.keysym_to_keycode(self._XK.string_to_keysym(key)) for key in (one, other)]
        layouts = [self._display.get_keyboard_mapping(key, 1)[0] for key in keys]
        for key, layout in zip(keys, reversed(layouts), strict=True):
            self._display.change_keyboard_mapping(key, [layout])
        self._display.sync()
        self._display._update_keymap(min(keys), max(keys) - min(keys) + 1)

    def press_place(self, keycode: int) -> int:
        """Press the key at a place of the keyboard, by the X server's number, and return the time."""
        return self._tap(self._X.KeyPress, self._X.KeyRelease, keycode, HELD_S)

    def write_on_keys(self, first: int, characters: list[list[str]]) -> None:
        """Change the keyboard's layout: the X names of the characters of each key without and with Shift."""
        for group in ("latin2", "cyrillic"):
            self._XK.load_keysym_group(group)
        mapping = [[self._XK.string_to_keysym(name) for name in names] for names in characters]
        self._display.change_keyboard_mapping(first, mapping)
        self._display.sync()

    def click(self, x_px: int, y_px: int, button: int = 1) -> int:
        """Click on a point of the screen, and return the time of the press, by `time.perf_counter_ns`."""
        self._xtest.fake_input(self._display, self._X.MotionNotify, x=x_px, y=y_px)
        self._display.sync()
        return self._tap(self._X.ButtonPress, self._X.ButtonRelease, button, HELD_S)

    @contextmanager
    def in_another_window(self) -> Iterator[None]:
        """Give the keyboard focus to another window, and then back to the window that had it."""
        before = self._display.get_input_focus().focus
        window = self._display.screen().root.create_window(0, 0, 10, 10, 0, self._X.CopyFromParent)
        window.map()
        self._display.sync()
        window.set_input_focus(self._X.RevertToPointerRoot, self._X.CurrentTime)
        self._display.sync()
        yield
        self._display.set_input_focus(before, self._X.RevertToPointerRoot, self._X.CurrentTime)
        window.destroy()
        self._display.sync()

    def _tap(self, down: int, up: int, detail: int, held_s: float) -> int:
        at_ns = time.perf_counter_ns()
        self._xtest.fake_input(self._display, down, detail)
        self._display.sync()
        time.sleep(held_s)
        self._xtest.fake_input(self._display, up, detail)
        self._display.sync()
        return at_ns

    def close(self) -> None:
        self._display.close()
