"""A virtual display: the X server Xvfb."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class XServer:
    """A running X server: the name of its display, and the id of its process and process group."""

    display: str
    pid: int


@contextmanager
def x_server(width_px: int, height_px: int, image_folder: Path | None = None) -> Iterator[XServer]:
    """Start an X server. At the end, kill it and all processes of its group.

    The server keeps the image of its screen in a file in `image_folder`, if there is one.
    """
    readable, writable = os.pipe()
    screen = ["-screen", "0", f"{width_px}x{height_px}x24"]
    if image_folder is not None:
        screen += ["-fbdir", str(image_folder)]
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writable), *screen, "-nolisten", "tcp", "-noreset"],
        pass_fds=[writable],
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    os.close(writable)
    try:
        with os.fdopen(readable) as pipe:
            number = pipe.readline().strip()
        if not number:
            raise RuntimeError("Xvfb did not start")
        yield XServer(f":{number}", server.pid)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
