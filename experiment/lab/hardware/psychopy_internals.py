"""Parts of PsychoPy and pyglet that are not public. Only this module uses them, and a test checks each of them.

A new version of PsychoPy may change these parts. `pyproject.toml` therefore limits the version of PsychoPy.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

from PIL import Image


def hear_held_keys_once(handle: Any) -> None:
    """Make the X server distinguish a key that is held down from a key that is pressed repeatedly.

    pyglet requests this distinction only for its first connection to the X server. Call this function on Linux only.
    """
    from pyglet.window.xlib import XkbSetDetectableAutoRepeat  # noqa: PLC0415 - not on other systems

    XkbSetDetectableAutoRepeat(handle._x_display, 1, None)


def x_event_handlers(handle: Any) -> tuple[dict[int, Callable[[Any], object]], ...]:
    """Return pyglet's tables of handlers, by the number of the X server's event. Call this function on Linux only."""
    return handle._event_handlers, handle._view_event_handlers


def drawn_image(window: Any) -> Image.Image:
    """Return the image that the next flip of PsychoPy's window will show."""
    frame: Image.Image = window._getFrame(buffer="back")
    return frame


def taken_responses(device: Any) -> list[Any]:
    """Return the presses and releases that psychtoolbox has received, and forget them.

    Each has the fields `name`, `code` and `tDown`. When a key is released, psychtoolbox delivers the object of the key
    press a second time.
    """
    device.dispatchMessages()
    responses: list[Any] = device.responses
    device.responses = []
    return responses


IOHUB_POLL_S = 0.1
"""Time in seconds after which a request looks again whether ioHub's process is alive."""


@contextmanager
def native_files_in(folder: Path) -> Iterator[None]:
    """Make ioHub, if it is started in the `with` block, write the native files of eye trackers to this folder.

    ioHub writes them to the folder of the program, which is the first argument of the program.
    """
    program = sys.argv[0]
    sys.argv[0] = str(folder / "program")
    try:
        yield
    finally:
        sys.argv[0] = program


def iohub_process(hub: Any) -> "Popen[bytes]":
    """Return the process of a connection to ioHub."""
    process: Popen[bytes] = hub._server_process
    return process


def receive_while_alive(hub: Any) -> None:
    """Make requests to ioHub end if ioHub's process ends. Without this function, they would wait for ever."""
    client, process = hub.udp_client, iohub_process(hub)
    receive = client.receive

    def receive_or_end() -> Any:
        reply = receive()
        while reply is None and process.poll() is None:
            reply = receive()
        return reply

    client.sock.settimeout(IOHUB_POLL_S)
    client.receive = receive_or_end
