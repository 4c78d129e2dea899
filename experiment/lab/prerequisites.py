"""What must be there before PsychoPy is imported, since its import fails with a traceback where it is not."""

import sys
from importlib.util import find_spec

from batteries.errors import InputError


def require_psychopy() -> None:
    """See that PsychoPy is installed and that there is a display. Call this before importing `window` or `inputs`.

    Raises
    ------
    InputError
        If not; it says how to mend it.
    """
    if find_spec("psychopy") is None:
        raise InputError(
            "PsychoPy is not installed here, and a laboratory needs it; install it with: pip install 'equipoise[lab]'"
        )
    try:
        import psychopy  # noqa: F401, PLC0415 - for what its import does
    except Exception as error:  # it writes into the home folder, and loads libraries of the system
        raise InputError(
            f"PsychoPy cannot be loaded here ({type(error).__name__}: {error}); see that your home folder may be "
            "written to, and that `python -c 'import psychopy'` works."
        ) from None
    if sys.platform.startswith("linux") and not _x_answers():
        raise InputError(
            "There is no display here; log in at the machine itself, with a desktop that runs X or XWayland, and begin "
            "there."
        )


def _x_answers() -> bool:
    from pyglet.canvas.xlib import NoSuchDisplayException, XlibDisplay  # noqa: PLC0415 - comes with PsychoPy

    try:
        XlibDisplay()  # closes itself when nobody holds it
    except NoSuchDisplayException:
        return False
    return True
