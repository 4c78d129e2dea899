"""The programs that can read the keyboard (keyboard backends), and the one that works on this machine."""

import ctypes
import os
import sys
from typing import Literal

Backend = Literal["ptb", "event"]
"""`ptb`: psychtoolbox times key presses in a separate thread. `event`: PsychoPy reads the window's events."""


def ptb_obstacle() -> str | None:
    """Return the reason why psychtoolbox cannot read the keyboard; None if psychtoolbox can read the keyboard.

    Call this function after a window is open. It first checks the conditions in which psychtoolbox crashes, because
    Python cannot catch such a crash.
    """
    if sys.platform.startswith("linux"):
        if not has_real_time_privileges():
            return "without real-time privileges psychtoolbox may crash on Linux"
        if not os.environ.get("DISPLAY"):
            return "without an X display psychtoolbox crashes on Linux"
    if sys.platform == "darwin" and not _may_monitor_input():
        return "macOS does not let this program read the keyboard"
    try:
        from psychtoolbox import hid  # noqa: PLC0415 - may be missing, or lack one of its libraries

        n_keyboards = len(hid.get_keyboard_indices()[0])
    except (ImportError, OSError) as error:
        return f"psychtoolbox cannot be used ({error})"
    return None if n_keyboards else "psychtoolbox finds no keyboard"


def has_real_time_privileges() -> bool:
    """Return True if this process may raise its priority, which psychtoolbox needs.

    Call this function on Linux only.
    """
    import resource  # noqa: PLC0415 - not on Windows

    return os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] != 0


def _may_monitor_input() -> bool:
    """Return True if macOS lets this program read the keyboard. Otherwise psychtoolbox may receive no keys."""
    listen_to_events, granted = 1, 0  # kIOHIDRequestTypeListenEvent, kIOHIDAccessTypeGranted
    iokit = ctypes.CDLL("/System/Library/Frameworks/IOKit.framework/IOKit")
    return bool(iokit.IOHIDCheckAccess(listen_to_events) == granted)


def letters_by_ptb_code() -> dict[int, str]:
    """Return a dictionary from psychtoolbox's key codes to the letters of this machine's keyboard layout.

    With psychtoolbox, PsychoPy uses the key names of an American keyboard. The key `a` of a French keyboard then has
    the name `q`. On Linux, this function returns the letters of the actual layout. On Windows, it returns an empty
    dictionary, because psychtoolbox's key codes already follow the layout. On macOS, the dictionary is empty because
    the layout is unknown.
    """
    if not sys.platform.startswith("linux"):
        return {}
    from Xlib.display import Display  # noqa: PLC0415 - comes with PsychoPy, on Linux only

    connection = Display()
    try:
        keysyms = {keycode: connection.keycode_to_keysym(keycode, 0) for keycode in range(8, 256)}
    finally:
        connection.close()
    return {keycode + 1: chr(keysym) for keycode, keysym in keysyms.items() if ord("a") <= keysym <= ord("z")}
