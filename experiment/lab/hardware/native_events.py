"""The time and the physical key of the event that a window receives, as the X server reports them.

A program reads its window's events only from time to time, and not at all while it draws. The X server gives each event
the time at which it happened, in ms. pyglet passes neither this time nor the number of the key to its handlers, so this
module receives the X server's event before them. On Windows and macOS, neither is known.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

from experiment.lab.hardware.psychopy_internals import x_event_handlers

PROMPT_MS = 1.5
"""An event that is read within this time gets the time of the reading, which is finer than whole milliseconds."""
MAX_DELAY_MS = 10_000
"""Longest credible time from an event to its reading, in ms. A larger difference means that the clocks differ, as with
an X server on another machine.
"""
_X_TIMES_MS = 2**32
"""The X server's time begins again at 0 after this number of ms (50 days)."""


def time_of_event_ns(event_ms: int, now_ns: int) -> int:
    """Return the time of an event by `time.perf_counter_ns`.

    On Linux, the X server and `time.perf_counter_ns` read the same clock.

    Parameters
    ----------
    event_ms
        Time of the event by the X server, in whole ms modulo 2**32.
    now_ns
        Time of the reading, by `time.perf_counter_ns`.
    """
    delay_ms = (now_ns // 1_000_000 - event_ms) % _X_TIMES_MS
    if not PROMPT_MS < delay_ms <= MAX_DELAY_MS:
        return now_ns
    half_step_ns = 500_000  # The X server omits the fractions of a millisecond: half a millisecond on average.
    return (now_ns // 1_000_000 - delay_ms) * 1_000_000 + half_step_ns


class NativeEvents:
    """The event that a window is receiving at this moment.

    Parameters
    ----------
    handle
        pyglet's window.
    """

    def __init__(self, handle: Any) -> None:
        self._event_ms: int | None = None
        self.keycode: int | None = None
        """The X server's number of the key, which depends only on its place on the keyboard; None if it is unknown."""
        if sys.platform.startswith("linux"):
            self._follow(handle)

    @property
    def has_own_times(self) -> bool:
        """True if the current event has its own time. Otherwise `at_ns` is the time of the reading."""
        return self._event_ms is not None

    @property
    def at_ns(self) -> int:
        """Time of the current event, by `time.perf_counter_ns`."""
        now_ns = time.perf_counter_ns()
        return now_ns if self._event_ms is None else time_of_event_ns(self._event_ms, now_ns)

    def _follow(self, handle: Any) -> None:
        from pyglet.libs.x11 import xlib  # noqa: PLC0415 - not on other systems

        def following(handler: Callable[[Any], object], part: str) -> Callable[[Any], None]:
            def follow(x_event: Any) -> None:
                native = getattr(x_event, part)
                self._event_ms = int(native.time) % _X_TIMES_MS
                self.keycode = int(native.keycode) if part == "xkey" else None
                try:
                    handler(x_event)
                finally:
                    self._event_ms = self.keycode = None

            return follow

        parts = {xlib.KeyPress: "xkey", xlib.ButtonPress: "xbutton", xlib.MotionNotify: "xmotion"}
        for handlers in x_event_handlers(handle):
            for kind, part in parts.items():
                if kind in handlers:
                    handlers[kind] = following(handlers[kind], part)
