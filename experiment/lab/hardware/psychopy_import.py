"""Conditions of an import of PsychoPy, which otherwise fails with a traceback."""

import ctypes
import platform
import sys
from importlib.util import find_spec

from batteries.errors import InputError

OLDEST_MACOS = 14
"""At each flip PsychoPy waits for `displayLinkWithTarget:selector:`, which older versions of macOS never call."""


def require_psychopy() -> None:
    """Check that PsychoPy is installed and that there is a display. Call this before importing `window` or `inputs`.

    On Windows, this call also makes the program count in physical pixels of the screen.

    Raises
    ------
    InputError
        If a condition does not hold; the message has a fix.
    """
    if find_spec("psychopy") is None:
        raise InputError(f"PsychoPy is not installed, and the laboratory needs it. Fix: {_how_to_install()}")
    if sys.platform == "darwin" and int(platform.mac_ver()[0].partition(".")[0]) < OLDEST_MACOS:
        raise InputError(
            f"This is macOS {platform.mac_ver()[0]}, and PsychoPy's window would freeze before macOS "
            f"{OLDEST_MACOS}. Fix: update macOS."
        )
    if sys.platform == "win32":
        _count_real_pixels()
    try:
        import psychopy  # noqa: F401, PLC0415 - for what its import does
    except Exception as error:  # The import writes to the home folder, and loads system libraries.
        raise InputError(
            f"PsychoPy cannot be loaded ({type(error).__name__}: {error}). Fix: make sure that your home "
            "folder is writable, and that `python -c 'import psychopy'` works."
        ) from None
    if sys.platform.startswith("linux") and not _x_answers():
        raise InputError(
            "There is no display. Fix: log in at the machine itself, with a desktop that runs X or XWayland, "
            "and run the command there."
        )


def _how_to_install() -> str:
    if sys.version_info >= (3, 13):
        return (
            "PsychoPy runs on Python 3.11 and 3.12: install Equipoise with its extra `lab` under one of these versions."
        )
    if sys.platform == "win32" and sys.version_info >= (3, 12):
        return (
            "on Windows one of its libraries has packages up to Python 3.11 only: install Equipoise with its extra "
            "`lab` under Python 3.11."
        )
    return "install it with: pip install 'equipoise[lab]'"


def _count_real_pixels() -> None:
    """Prevent Windows from enlarging the window on a scaled screen: letters would blur, and flips would take longer."""
    per_monitor = 2  # PROCESS_PER_MONITOR_DPI_AWARE
    ctypes.WinDLL("shcore").SetProcessDpiAwareness(per_monitor)  # type: ignore[attr-defined, unused-ignore]


def _x_answers() -> bool:
    from pyglet.canvas.xlib import NoSuchDisplayException, XlibDisplay  # noqa: PLC0415 - comes with PsychoPy

    try:
        XlibDisplay()  # The connection closes when it is no longer referenced.
    except NoSuchDisplayException:
        return False
    return True
