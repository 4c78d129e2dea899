"""A video in a box of the window: frames that are decoded ahead, each drawn at its own time."""

import queue
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from experiment.lab.media.videos import VideoFrame, decoded_frames

if TYPE_CHECKING:
    from experiment.lab.hardware.window import LabWindow
    from experiment.lab.screens.layout.screen_image import Box

N_AHEAD = 8
"""Number of frames that are decoded ahead."""


class VideoPlayer:
    """A video that is ready to begin: its first frame is on the graphics card.

    Parameters
    ----------
    window
        The window.
    part, data
        The video of an item's content, and the content of its file.
    box_px
        Box of the window in which the video is shown.
    """

    def __init__(self, window: "LabWindow", part: Mapping[str, Any], data: bytes, box_px: "Box") -> None:
        self._window, self._box_px = window, box_px
        self._decoded: queue.Queue[VideoFrame | None] = queue.Queue(maxsize=N_AHEAD)
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._decode, args=(part, data), daemon=True)
        self._thread.start()
        self._next: VideoFrame | None = self._decoded.get()
        self._has_ended = self._next is None
        self._surface = window.surface(self._next.size_px if self._next else (1, 1))
        self.advance(0)

    def advance(self, elapsed_ms: float) -> bool:
        """Copy the frame of a time since the onset to the graphics card. Return True if it is a new frame."""
        newest = None
        while (frame := self._peek()) is not None and frame.at_ms <= elapsed_ms:
            newest, self._next = frame, None
        if newest is None:
            return False
        self._window.fill(self._surface, newest.pixels)
        return True

    def draw(self) -> None:
        """Draw the current frame."""
        self._window.draw_surface(self._surface, self._box_px)

    def close(self) -> None:
        """End the video."""
        if self._is_closed.is_set():
            return
        self._is_closed.set()
        while self._thread.is_alive():  # The thread may wait for space in the queue.
            while not self._decoded.empty():
                self._decoded.get_nowait()
            self._thread.join(0.005)
        self._window.discard(self._surface)

    def _peek(self) -> VideoFrame | None:
        """Return the next frame; None after the last frame, or if the next frame is not decoded yet."""
        if self._next is None and not self._has_ended:
            try:
                self._next = self._decoded.get_nowait()
                self._has_ended = self._next is None
            except queue.Empty:
                return None
        return self._next

    def _decode(self, part: Mapping[str, Any], data: bytes) -> None:
        for frame in decoded_frames(part, data):
            if self._is_closed.is_set():
                return
            self._decoded.put(frame)
        self._decoded.put(None)
