"""The screens of this machine, and the refresh rates that the operating system reports for them."""

import sys
from typing import Any

import pyglet
from psychopy import monitors

from batteries.errors import InputError
from experiment.lab.screens.layout.sheet import Viewing

MIN_HZ = 10
"""Lowest credible refresh rate, in Hz. An operating system that does not know the rate reports a lower number."""


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
    """Return the refresh rate of a screen in Hz, as the operating system reports it, or None if it is unknown."""
    hz = _hz_by_xrandr(screen) if _is_x11() else getattr(screen.get_mode(), "rate", None)
    return float(hz) if hz and hz >= MIN_HZ else None


def viewing_of(monitor: str) -> Viewing | None:
    """Return the measures of a monitor in PsychoPy's Monitor Center; None if they are not defined there."""
    known = monitors.Monitor(monitor)
    width_cm, distance_cm, size_px = known.getWidth(), known.getDistance(), known.getSizePix()
    if not (width_cm and distance_cm and size_px is not None and size_px[0]):
        return None
    return Viewing(float(size_px[0]) / float(width_cm), float(distance_cm))


def _is_x11() -> bool:
    return sys.platform.startswith("linux")


def _x11_screens(number: int) -> list[Any]:
    """Return the monitors among which `number` selects one.

    These are the monitors of the X server's first screen. If they are too few, but the X server has screens 0 to
    `number`, return the first monitor of each of these screens.
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

    On X, pyglet returns the pixel clock instead of the refresh rate, so this function runs the program `xrandr`.
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
