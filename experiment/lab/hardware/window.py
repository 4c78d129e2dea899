"""The laboratory's window, which measures the screen's refresh and shows prepared images without scaling.

`LabWindow.prepare` copies an image to the graphics card before it is needed. To show the image, the window draws it and
flips. Times of flips are from `time.perf_counter_ns`. PsychoPy's clock is not used, because with psychtoolbox it is the
time of day, which the system can change during a session.
"""

import ctypes
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from types import TracebackType
from typing import Literal, Self

import pyglet
from PIL import Image, ImageColor
from psychopy import logging, monitors
from psychopy.visual.window import Window
from pyglet import gl

from batteries.errors import InputError
from experiment.lab.hardware.clock import Anchor, intervals_ms, wait_until
from experiment.lab.hardware.monitors import find_screen, nominal_hz
from experiment.lab.hardware.native_events import NativeEvents
from experiment.lab.hardware.psychopy_internals import drawn_image, hear_held_keys_once
from experiment.lab.hardware.refresh_rate import BUSY_SHARES, N_BUSY_FLIPS, N_PLAIN_FLIPS, RESTS, Refresh, judge_refresh
from experiment.lab.screens.layout.screen_image import Box
from experiment.study.palette import PALETTES

N_WARM_UP_FLIPS = 20
MOST_MEASUREMENTS = 3

LENT_SETTINGS = ("units", "blendMode", "viewPos", "viewScale", "viewOri")
"""Settings of PsychoPy's window that last only while the window is lent."""
WindowSize = tuple[int, int] | Literal["windowed"] | None
"""Width and height of a window in pixels; `windowed` for the usual size; None for the full screen."""
USUAL_SIZE_PX = (1280, 800)
"""Size of a window that has the usual size, on a screen that is large enough."""
LARGEST_SHARE = 0.9
"""Largest share of the screen's width and height that a window of the usual size has."""

AtFlip = Callable[[int], object]
"""Function that is called at a flip. Its argument is the time of the flip, by `time.perf_counter_ns`."""


class Prepared:
    """An image on the graphics card. When Python no longer refers to this object, the window reuses its memory."""

    def __init__(self, texture: int, spare: list[int], draw_over: Callable[[], None] | None = None) -> None:
        self.texture = texture
        self._spare = spare
        self.draw_over = draw_over
        """Function that draws over the image in the same frame; None if there is none."""

    def __del__(self) -> None:
        self._spare.append(self.texture)


@dataclass(frozen=True)
class Surface:
    """Space on the graphics card for the frames of a video."""

    texture: int
    size_px: tuple[int, int]


class LabWindow:
    """A context manager: a window that shows images of exactly the size of the window.

    Parameters
    ----------
    size_px
        Width and height of the window; see `WindowSize`.
    screen
        Number of the screen, from 0.
    monitor
        Name of a monitor in PsychoPy's Monitor Center, whose calibration is used.
    background
        Colour of PsychoPy's window, as `#rrggbb`. Eye trackers calibrate on it, and code of a study may use it.

    Raises
    ------
    InputError
        If the screen or the monitor does not exist, or no window can be opened. `__enter__` raises this error.
    """

    size_px: tuple[int, int]
    """Width and height of the drawing area, in pixels."""
    refresh: Refresh
    native_events: NativeEvents
    """Time and physical key of the event that the window is receiving."""
    flip_ms: float
    """Duration of the first flip after a rest, in ms.

        If presentations are timed by the clock, each flip begins earlier by this duration.
    """
    anchor: Anchor
    """The moment by which the times of this window's flips are converted to UTC."""

    def __init__(
        self,
        size_px: WindowSize = None,
        *,
        screen: int = 0,
        monitor: str | None = None,
        background: str = PALETTES["light"].paper,
    ) -> None:
        self.full_screen = size_px is None
        self.screen = screen
        self.monitor = monitor
        self.anchor = Anchor.now()
        self._wanted_px = size_px
        self._background = background
        self._at_flip: list[AtFlip] = []
        self._flipped_ns = 0
        self._spare: list[int] = []

    def __enter__(self) -> Self:
        _require_monitor(self.monitor)
        logging.console.setLevel(logging.ERROR)
        screen = find_screen(self.screen)
        all_px = screen.width, screen.height
        if self._wanted_px == "windowed":
            width_px, height_px = map(min, USUAL_SIZE_PX, (round(LARGEST_SHARE * side) for side in all_px))
            size_px = width_px, height_px
        else:
            size_px = self._wanted_px or all_px
        if size_px[0] > screen.width or size_px[1] > screen.height:
            raise InputError(
                f"A window of {size_px[0]} x {size_px[1]} px does not fit on screen {self.screen}, which has "
                f"{screen.width} x {screen.height}. Fix: choose a smaller window."
            )
        try:
            self._window = Window(
                size=size_px,
                fullscr=self.full_screen,
                screen=self.screen,
                monitor=self.monitor,
                winType="pyglet",
                units="pix",
                color=ImageColor.getrgb(self._background),
                colorSpace="rgb255",
                allowGUI=not self.full_screen,
                waitBlanking=True,
                checkTiming=False,
                gammaErrorPolicy="warn",
                title="Equipoise",
                autoLog=False,
            )
        except (pyglet.window.WindowException, pyglet.gl.ContextException, RuntimeError) as error:
            raise InputError(
                f"No window can be opened on screen {self.screen} ({error}). Fix: update the graphics driver, or "
                "log in at the machine itself instead of remotely."
            ) from None
        try:
            self._begin(nominal_hz(screen))
        except BaseException:
            self._window.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._window.close()

    @property
    def pacing(self) -> Literal["frames", "clock"]:
        """Unit in which presentations are timed: `frames` if flips wait for the screen, otherwise `clock`."""
        return "frames" if self.refresh.is_synchronised else "clock"

    @property
    def frame_ms(self) -> float:
        """Duration of a frame, in ms; see `Refresh.frame_ms`."""
        return self.refresh.frame_ms

    def prepare(self, image: Image.Image, draw_over: Callable[[], None] | None = None) -> Prepared:
        """Copy an image to the graphics card, so that the image can be shown without delay.

        Parameters
        ----------
        image
            An image of the exact size of the window.
        draw_over
            Function that draws over the image, each time the image is drawn.
        """
        if image.size != self.size_px:
            raise ValueError(
                f"an image of {image.size} px does not fit a window of {self.size_px} px. Fix: draw the image in "
                "the size of the window."
            )
        texture = self._spare.pop() if self._spare else self._make_texture(self.size_px)
        prepared = Prepared(texture, self._spare, draw_over)
        self.update(prepared, image, (0, 0, *self.size_px))
        return prepared

    def update(self, prepared: Prepared, image: Image.Image, box_px: Box) -> None:
        """Copy a box of an image to the graphics card, because only this box differs from the prepared image."""
        left, top, right, bottom = box_px
        part = image if image.size == (right - left, bottom - top) else image.crop(box_px)
        pixels = (part if part.mode == "RGB" else part.convert("RGB")).tobytes("raw", "RGBX")
        self._copy(prepared.texture, (left, top), part.size, pixels)

    def draw(self, prepared: Prepared) -> None:
        """Draw the image that the next flip will show, and wait until the drawing is complete."""
        self._draw(prepared.texture, self.size_px, (0, 0, *self.size_px))
        if prepared.draw_over is not None:
            prepared.draw_over()

    @contextmanager
    def lent(self) -> Iterator[Window]:
        """Lend PsychoPy's window to code of a study. Afterwards the window and OpenGL have their settings from before.

        The code cannot flip the window.
        """
        before = {name: getattr(self._window, name) for name in LENT_SETTINGS}
        gl.glPushAttrib(gl.GL_ALL_ATTRIB_BITS)
        gl.glPushClientAttrib(gl.GL_CLIENT_ALL_ATTRIB_BITS)
        self._window.flip = _refuse_flip
        try:
            yield self._window
        finally:
            del self._window.flip
            for name, value in before.items():
                if getattr(self._window, name) is not value:
                    setattr(self._window, name, value)
            gl.glUseProgram(0)
            gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, 0)
            gl.glPopClientAttrib()
            gl.glPopAttrib()
            gl.glFinish()

    def surface(self, size_px: tuple[int, int]) -> Surface:
        """Reserve space on the graphics card for the frames of a video."""
        return Surface(self._make_texture(size_px), size_px)

    def fill(self, surface: Surface, pixels: bytes) -> None:
        """Copy a frame to the graphics card: four bytes for each pixel, row by row from the top."""
        self._copy(surface.texture, (0, 0), surface.size_px, pixels)

    def draw_surface(self, surface: Surface, box_px: Box) -> None:
        """Draw the current frame of a video into a box of the image that the next flip will show."""
        self._draw(surface.texture, surface.size_px, box_px)

    def discard(self, surface: Surface) -> None:
        """Return the space of a video's frames to the graphics card."""
        gl.glDeleteTextures(1, ctypes.byref(gl.GLuint(surface.texture)))

    def _draw(self, texture: int, size_px: tuple[int, int], box_px: Box) -> None:
        left, top, right, bottom = box_px
        height_px = self.size_px[1]
        is_scaled = size_px != (right - left, bottom - top)
        gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, self._framebuffer)
        gl.glFramebufferTexture2D(gl.GL_READ_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0, gl.GL_TEXTURE_2D, texture, 0)
        # The first row of an image is at the top, but OpenGL's first row is at the bottom. Draw the image upside down.
        target = (left, height_px - top, right, height_px - bottom)
        smoothing = gl.GL_LINEAR if is_scaled else gl.GL_NEAREST
        gl.glBlitFramebuffer(0, 0, *size_px, *target, gl.GL_COLOR_BUFFER_BIT, smoothing)
        gl.glBindFramebuffer(gl.GL_READ_FRAMEBUFFER, 0)
        gl.glFinish()

    def _copy(self, texture: int, corner_px: tuple[int, int], size_px: tuple[int, int], pixels: bytes) -> None:
        gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
        gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 4)
        gl.glTexSubImage2D(gl.GL_TEXTURE_2D, 0, *corner_px, *size_px, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, pixels)
        gl.glBindTexture(gl.GL_TEXTURE_2D, 0)
        gl.glFinish()

    def call_on_flip(self, function: AtFlip) -> None:
        """Call a function at the next flip, with the time of the flip by `time.perf_counter_ns`."""
        self._at_flip.append(function)

    def flip(self) -> int:
        """Flip, and return the time of the flip, by `time.perf_counter_ns`."""
        self._window.callOnFlip(self._flipped)
        self._window.flip()
        return self._flipped_ns

    def show(self, prepared: Prepared) -> int:
        """Draw an image and flip. Return the time of the flip, by `time.perf_counter_ns`."""
        self.draw(prepared)
        return self.flip()

    def drawn(self) -> Image.Image:
        """Return the image that the next flip will show. Call this method before the flip."""
        return drawn_image(self._window).convert("RGB")

    @property
    def psychopy_window(self) -> Window:
        """The window of PsychoPy, for other parts of PsychoPy."""
        return self._window

    def activate(self) -> None:
        """Take the keyboard focus, after another program's window had it."""
        self._handle.activate()

    @property
    def pointer_is_visible(self) -> bool:
        """True if the mouse pointer is visible."""
        return bool(self._window.mouseVisible)

    @pointer_is_visible.setter
    def pointer_is_visible(self, is_visible: bool) -> None:
        if is_visible != self.pointer_is_visible:
            self._window.mouseVisible = is_visible

    def flip_intervals_ms(self, busy_ms: list[float]) -> list[float]:
        """For each duration in `busy_ms`, work for this duration and then flip. Return the intervals between flips."""
        stamps_ns = [self.flip()]
        for each_ms in busy_ms:
            wait_until(time.perf_counter_ns() + round(each_ms * 1e6))
            stamps_ns.append(self.flip())
        return intervals_ms(stamps_ns)

    def rested_flips_ms(self, rests_ms: list[float]) -> tuple[list[float], list[float]]:
        """Flip twice after each rest.

        Returns
        -------
        tuple
            For each rest, the duration of the first flip in ms; and for each rest, the interval between the two flips.
        """
        durations, intervals = [], []
        for rest_ms in rests_ms:
            wait_until(time.perf_counter_ns() + round(rest_ms * 1e6))
            stamps_ns = [time.perf_counter_ns(), self.flip(), self.flip()]
            duration_ms, interval_ms = intervals_ms(stamps_ns)
            durations.append(duration_ms)
            intervals.append(interval_ms)
            self.flip()  # The next rest begins after a flip that waited.
        return durations, intervals

    def dispatch_events(self) -> None:
        """Process the operating system's events for the window: clicks, keys, closing."""
        self._handle.dispatch_events()

    def listen(self, **handlers: Callable[..., object]) -> None:
        """Add handlers of pyglet's events, such as `on_mouse_press`. They are called before PsychoPy's handlers."""
        self._handle.push_handlers(**handlers)

    def place_px(self, x: int, y: int) -> tuple[int, int]:
        """Convert a point in the operating system's coordinates to pixels from the top left of the window."""
        width, height = self._handle.get_size()
        return round(x * self.size_px[0] / width), round((height - 1 - y) * self.size_px[1] / height)

    def _flipped(self) -> None:
        self._flipped_ns = time.perf_counter_ns()
        functions, self._at_flip = self._at_flip, []
        for function in functions:
            function(self._flipped_ns)

    def _make_texture(self, size_px: tuple[int, int]) -> int:
        texture = gl.GLuint()
        gl.glGenTextures(1, ctypes.byref(texture))
        gl.glBindTexture(gl.GL_TEXTURE_2D, texture)
        for parameter, value in (
            (gl.GL_TEXTURE_MIN_FILTER, gl.GL_NEAREST),
            (gl.GL_TEXTURE_MAG_FILTER, gl.GL_NEAREST),
            (gl.GL_TEXTURE_MAX_LEVEL, 0),
        ):
            gl.glTexParameteri(gl.GL_TEXTURE_2D, parameter, value)
        gl.glTexImage2D(gl.GL_TEXTURE_2D, 0, gl.GL_RGBA8, *size_px, 0, gl.GL_RGBA, gl.GL_UNSIGNED_BYTE, None)
        return int(texture.value)

    def _begin(self, nominal: float | None) -> None:
        if not (gl.gl_info.have_version(3, 0) or gl.gl_info.have_extension("GL_ARB_framebuffer_object")):
            raise InputError(
                f"The graphics driver has OpenGL {gl.gl_info.get_version()}, but 3.0 is needed. Fix: update the driver."
            )
        self._handle = self._window.winHandle
        if sys.platform.startswith("linux"):
            hear_held_keys_once(self._handle)
        self.native_events = NativeEvents(self._handle)
        self.pointer_is_visible = False
        self.activate()
        self.size_px = (int(self._window.size[0]), int(self._window.size[1]))
        self._framebuffer = gl.GLuint()
        gl.glGenFramebuffers(1, ctypes.byref(self._framebuffer))
        self._measure(nominal)

    def _measure(self, nominal: float | None) -> None:
        """Measure the refresh rate, and judge whether flips wait for the screen.

        If they seem not to wait, measure again, because the machine may have been busy.
        """
        for _ in range(MOST_MEASUREMENTS):
            self.flip_intervals_ms([0.0] * N_WARM_UP_FLIPS)
            plain_ms = self.flip_intervals_ms([0.0] * N_PLAIN_FLIPS)
            frame_ms = statistics.median(plain_ms)
            shares = islice(cycle(BUSY_SHARES), N_BUSY_FLIPS)
            busy_ms = self.flip_intervals_ms([share * frame_ms for share in shares])
            first_ms, rested_ms = self.rested_flips_ms([rest * frame_ms for rest in RESTS])
            self.refresh = judge_refresh(plain_ms, busy_ms, rested_ms, nominal)
            self.flip_ms = min(statistics.median(first_ms), self.frame_ms / 2)
            if self.refresh.is_synchronised:
                return


def _refuse_flip(*_: object, **__: object) -> None:
    raise RuntimeError("Equipoise flips the window; delete the call of flip()")


def _require_monitor(name: str | None) -> None:
    known = sorted(monitors.getAllMonitors())
    if name is not None and name not in known:
        raise InputError(
            f"PsychoPy does not know the monitor {name!r}. Known monitors: {', '.join(known) or 'none'}. Fix: choose a "
            'known monitor, or save the measures of yours as in "Save the measures of the screen" in '
            "docs/how-to/run-in-the-laboratory.md."
        )
