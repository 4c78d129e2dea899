"""A screen without a screen (Xvfb), programs on it, and real key presses and clicks there (XTEST)."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.paths import ROOT

WINDOW_PROGRAMS = Path(__file__).with_name("window_programs.py")
HELD_S = 0.06
"""How long a person holds a key."""
PATIENCE_S = 30
"""With a program that tells nothing."""


def missing() -> str | None:
    """Return what is missing for a window without a screen, or None."""
    if not sys.platform.startswith("linux"):
        return "Xvfb, which is for Linux"
    if shutil.which("Xvfb") is None:
        return "Xvfb"
    return next((f"Python package {name}" for name in ("psychopy", "Xlib") if not importlib.util.find_spec(name)), None)


@dataclass(frozen=True)
class Program:
    """A program with a window, in a process of its own, which tells what it finds in JSON lines."""

    process: "subprocess.Popen[str]"

    def told(self) -> Any:
        """Return what it tells next. PsychoPy prints on the same stream, hence the search."""
        assert self.process.stdout is not None
        patience = threading.Timer(PATIENCE_S, self.process.kill)
        patience.start()
        try:
            for line in self.process.stdout:
                if line[0] in "{[" or line == "null\n":
                    return json.loads(line)
        finally:
            patience.cancel()
        raise RuntimeError(f"the program ended with {self.process.wait()} and told nothing")

    def ask(self, **command: object) -> None:
        """Send it a command."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")


@dataclass(frozen=True)
class VirtualScreen:
    """An X server, with the process group to which all that runs on it belongs."""

    display: str
    group: int
    home: Path

    @contextmanager
    def start(self, *arguments: str) -> Iterator[Program]:
        """Start one of `window_programs` on the screen; at the end it must end well."""
        surroundings = {"DISPLAY": self.display, "HOME": str(self.home), "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(
            [sys.executable, str(WINDOW_PROGRAMS), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            cwd=ROOT,
            env=os.environ | surroundings,
            process_group=self.group,
        ) as process:
            try:
                yield Program(process)
                process.communicate(timeout=PATIENCE_S)
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise RuntimeError(f"the program ended with {process.returncode}")


@contextmanager
def virtual_screen(home: Path, size_px: tuple[int, int] = (1280, 800)) -> Iterator[VirtualScreen]:
    """Start an X server of its own; at the end nothing is left that ran on it."""
    width_px, height_px = size_px
    told, tell = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(tell), "-screen", "0", f"{width_px}x{height_px}x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=[tell],
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    os.close(tell)
    try:
        with os.fdopen(told) as pipe:
            number = pipe.readline().strip()
        if not number:
            raise RuntimeError("Xvfb did not start")
        yield VirtualScreen(f":{number}", server.pid, home)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


class Fingers:
    """Presses keys and the mouse's button on a screen, from outside the program that hears them."""

    def __init__(self, display: str) -> None:
        from Xlib import XK, X
        from Xlib import display as xlib_display
        from Xlib.ext import xtest

        self._X, self._XK, self._xtest = X, XK, xtest
        self._display = xlib_display.Display(display)

    def press(self, key: str, held_s: float = HELD_S) -> int:
        """Press a key, by X's name such as `2`, `Escape`, `KP_1`, and return when, by `time.perf_counter_ns`."""
        code = self._display.keysym_to_keycode(self._XK.string_to_keysym(key))
        return self._tap(self._X.KeyPress, self._X.KeyRelease, code, held_s)

    def swap(self, one: str, other: str) -> None:
        """Change the keyboard's layout: two keys change places."""
        keys = [self._display.keysym_to_keycode(self._XK.string_to_keysym(key)) for key in (one, other)]
        layouts = [self._display.get_keyboard_mapping(key, 1)[0] for key in keys]
        for key, layout in zip(keys, reversed(layouts), strict=True):
            self._display.change_keyboard_mapping(key, [layout])
        self._display.sync()
        self._display._update_keymap(min(keys), max(keys) - min(keys) + 1)

    def click(self, x_px: int, y_px: int, button: int = 1) -> int:
        """Click at a place of the screen, and return when, by `time.perf_counter_ns`."""
        self._xtest.fake_input(self._display, self._X.MotionNotify, x=x_px, y=y_px)
        self._display.sync()
        return self._tap(self._X.ButtonPress, self._X.ButtonRelease, button, HELD_S)

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Give the keyboard to another window, and then back to where it was."""
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
