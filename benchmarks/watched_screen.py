"""A virtual screen (Xvfb) whose image another process watches, not the process that draws it.

Xvfb can keep its screen in a file in the format of xwd. A process that maps this file into its memory sees the change
of a pixel at once, without a request to the X server.
"""

import mmap
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.experiment.lab.xvfb import VirtualScreen, virtual_screen

_FIELDS = "header_size _1 _2 _3 width height _4 _5 _6 _7 _8 bits_per_pixel bytes_per_line _9 _10 _11 _12 _13 n_colors"
"""The first fields of the header of an xwd file: unsigned, 32 bits, the most significant byte first."""
POLL_S = 20e-6
PATIENCE_S = 10.0


class WatchedScreen:
    """A virtual screen whose middle can be watched.

    Parameters
    ----------
    screen
        The screen.
    image_folder
        The folder in which its X server keeps the image.
    """

    def __init__(self, screen: VirtualScreen, image_folder: Path) -> None:
        self.screen = screen
        with (image_folder / "Xvfb_screen0").open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        names = _FIELDS.split()
        header = dict(zip(names, struct.unpack_from(f">{len(names)}I", self._map), strict=True))
        begin = header["header_size"] + 12 * header["n_colors"]
        width, height = header["width"], header["height"]
        self._middle = begin + height // 2 * header["bytes_per_line"] + width // 2 * header["bits_per_pixel"] // 8

    def wait_for_colour(self, colour: tuple[int, int, int]) -> int:
        """Wait until the middle of the screen has a colour. Return the time, by `time.perf_counter_ns`."""
        red, green, blue = colour
        wanted, at = bytes((blue, green, red)), self._middle
        deadline_ns = time.perf_counter_ns() + round(PATIENCE_S * 1e9)
        while self._map[at : at + 3] != wanted:
            time.sleep(POLL_S)
            if time.perf_counter_ns() > deadline_ns:
                raise TimeoutError(f"the screen does not become {colour}; it is {tuple(self._map[at : at + 3])}")
        return time.perf_counter_ns()


@contextmanager
def watched_screen(home: Path, size_px: tuple[int, int]) -> Iterator[WatchedScreen]:
    """Start an X server whose image is in the memory; at the end, end it and everything that runs on it."""
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as folder,
        virtual_screen(home, size_px, Path(folder)) as screen,
    ):
        yield WatchedScreen(screen, Path(folder))
