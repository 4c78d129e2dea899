"""The screens of this machine, and the refresh rates of their modes."""

import sys
from typing import Any

import pyglet

from batteries.errors import InputError

MIN_HZ = 10
"""Lowest credible refresh rate. An operating system that does not know the rate reports a lower number."""


def find_screen(number: int) -> Any:
    """Return pyglet's screen with this number. Screens are counted from 0.

    Raises
    ------
    InputError
        If the screen does not exist. PsychoPy would use another screen without an error.
    """
    screens = _x11_screens(number) if _is_x11() else list(pyglet.canvas.get_display().get_screens())
    if number >= len(screens):
        raise InputError(
            f"Screen {number} does not exist. Screens of this machine: {len(screens)}, counted from 0. Fix: choose "
            "another screen, or switch the screen on and run the command again."
        )
    return screens[number]


def nominal_hz(screen: Any) -> float | None:
    """Return the refresh rate of a screen's mode, or None if it is unknown."""
    hz = _hz_by_xrandr(screen) if _is_x11() else getattr(screen.get_mode(), "rate", None)
    return float(hz) if hz and hz >= MIN_HZ else None


def _is_x11() -> bool:
    return sys.platform.startswith("linux")


def _x11_screens(number: int) -> list[Any]:
    """Return the monitors of the first screen of the X server.

    If there is no monitor with this number, return one monitor for each screen of the X server from 0 to `number`. If
    the X server does not have these screens, return the monitors of its first screen.
    """
    from pyglet.canvas.xlib import NoSuchDisplayException  # noqa: PLC0415 - not on other systems

    parts = list(pyglet.canvas.Display(x_screen=0).get_screens())
    if number < len(parts):
        return parts
    try:
        further = [pyglet.canvas.Display(x_screen=n).get_screens()[0] for n in range(1, number + 1)]
    except NoSuchDisplayException:
        return parts
    return [parts[0], *further]


def _hz_by_xrandr(screen: Any) -> float | None:
    """Return a screen's refresh rate from the X server.

    On X, pyglet returns the pixel clock instead of the refresh rate.
    """
    from Xlib import display  # noqa: PLC0415 - not on other systems
    from Xlib.ext import randr  # noqa: PLC0415

    connection = display.Display()
    try:
        if not connection.has_extension("RANDR"):
            return None
        resources = randr.get_screen_resources(connection.screen().root)
        modes = {mode.id: mode for mode in resources.modes}
        for number in resources.crtcs:
            crtc = randr.get_crtc_info(connection, number, resources.config_timestamp)
            if (crtc.x, crtc.y, crtc.width, crtc.height) == (screen.x, screen.y, screen.width, screen.height):
                mode = modes[crtc.mode]
                n_pixels = mode.h_total * mode.v_total
                return mode.dot_clock / n_pixels if n_pixels else None
        return None
    finally:
        connection.close()
