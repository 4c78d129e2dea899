"""Conditions for an import of PsychoPy. They are checked first, because a failed import shows only a traceback."""

import ctypes
import platform
import sys
from importlib.util import find_spec

from batteries.errors import InputError, how_to_install

OLDEST_MACOS = 14
"""Oldest usable version of macOS.

At each flip, PsychoPy waits for a call (`displayLinkWithTarget:selector:`) that older versions never make.
"""


def require_psychopy() -> None:
    """Check that PsychoPy is installed and that there is a display. Call this before importing `window` or `inputs`.

    On Windows, this function also makes the program use physical pixels, even if Windows enlarges the display.

    Raises
    ------
    InputError
        If a condition does not hold. The message contains a fix.
    """
    if find_spec("psychopy") is None:
        raise InputError(f"PsychoPy is not installed, and the laboratory needs it. Fix: {_how_to_install()}")
    if sys.platform == "darwin" and int(platform.mac_ver()[0].partition(".")[0]) < OLDEST_MACOS:
        raise InputError(
            f"This is macOS {platform.mac_ver()[0]}, and PsychoPy's window freezes on versions before macOS "
            f"{OLDEST_MACOS}. Fix: update macOS."
        )
    if sys.platform == "win32":
        _count_real_pixels()
    try:
        import psychopy  # noqa: F401, PLC0415 - the import itself has effects
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
        return "install Equipoise with its extra `lab` under Python 3.11 or 3.12. PsychoPy runs only on these versions."
    if sys.platform == "win32" and sys.version_info >= (3, 12):
        return (
            "install Equipoise with its extra `lab` under Python 3.11. On Windows, a library of PsychoPy has no "
            "packages for later versions."
        )
    return how_to_install("lab")


def _count_real_pixels() -> None:
    """Prevent Windows from enlarging the window on a scaled screen, which blurs letters and makes flips longer."""
    per_monitor = 2  # PROCESS_PER_MONITOR_DPI_AWARE
    ctypes.WinDLL("shcore").SetProcessDpiAwareness(per_monitor)  # type: ignore[attr-defined, unused-ignore]


def _x_answers() -> bool:
    from pyglet.canvas.xlib import NoSuchDisplayException, XlibDisplay  # noqa: PLC0415 - comes with PsychoPy

    try:
        XlibDisplay()  # The connection closes when it is no longer referenced.
    except NoSuchDisplayException:
        return False
    return True
