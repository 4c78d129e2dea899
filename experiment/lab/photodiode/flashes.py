"""Flashes for a photodiode, shown in the same way as the stimuli of trials."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from PIL import Image

from experiment.lab.hardware.clock import wait_until
from experiment.lab.hardware.triggers import Trigger
from experiment.lab.photodiode.flash_table import ShownFlash
from experiment.lab.playback import Playback
from experiment.lab.presentation import Step
from experiment.lab.screens.layout.screen_image import Box, ScreenImage
from experiment.lab.visit_events import ScreenName

if TYPE_CHECKING:
    from experiment.lab.hardware.keys_and_clicks import InputDevices
    from experiment.lab.hardware.window import AtFlip, LabWindow

Patch = Literal["full", "center", "top-left", "top-right", "bottom-left", "bottom-right"]
PATCHES: tuple[Patch, ...] = get_args(Patch)
PATCH_SHARE = 0.2
"""Width and height of a patch, as a share of the height of the window."""
JITTER_SHARE = 0.2
"""The black lasts up to this share longer, so that flashes can be recognised by the times between them."""
DARK_MS = 1000
"""Black after the last flash, in ms."""


@dataclass(frozen=True)
class FlashSeries:
    """A series of flashes."""

    n: int = 200
    """Number of flashes."""
    black_ms: int = 500
    """Shortest duration of the black before each flash, in ms. Each black lasts up to 20 % longer."""
    white_ms: int = 100
    """Duration of each flash, in ms. It is rounded to whole frames."""
    patch: Patch = "full"
    """Place of the white patch."""
    code: int = 1
    """Event code that is sent at each onset."""

    def all_black_ms(self) -> list[float]:
        """Return the duration of the black before each flash, in ms. It is the same in each run."""
        numbers = random.Random(1)
        return [self.black_ms * (1 + JITTER_SHARE * numbers.random()) for _ in range(self.n)]


def show_flashes(
    window: "LabWindow",
    inputs: "InputDevices",
    trigger: Trigger | None,
    series: FlashSeries,
    say: Callable[[int], object] = lambda _: None,
) -> list[ShownFlash]:
    """Show flashes, and return their timing. If the technician presses Escape, return the flashes so far.

    Each flash is a trial: the black is the fixation, the white patch is the stimulus with its duration, and black
    replaces the stimulus. The functions that present a participant's trials also present the flashes.

    Parameters
    ----------
    window
        An open window.
    inputs
        The keys of the window.
    trigger
        Destination of event codes; None for no codes.
    series
        The flashes.
    say
        Function that receives the number of flashes so far, after each flash.
    """
    black = Image.new("RGB", window.size_px)
    white = black.copy()
    white.paste((255, 255, 255), patch_box(series.patch, window.size_px))
    steps = [
        Step(ScreenImage(white, (), ()), "stimulus", series.white_ms),
        Step(ScreenImage(black, (), ()), "blank"),
    ]
    fixation = window.prepare(black)
    window.pointer_is_visible = False
    flashes: list[ShownFlash] = []
    for black_ms in series.all_black_ms():
        sent_ns: list[int] = []
        ended_ns: list[int] = []
        playback = Playback(window, None, None, [], steps, _at_flip(inputs, trigger, series.code, sent_ns, ended_ns))
        inputs.clear()
        onset = playback.present(fixation, black_ms, lambda *_: None)
        inputs.idle = playback.step
        press = inputs.wait((), series.white_ms + 2 * window.frame_ms)
        inputs.idle = None
        while not ended_ns:  # On a busy machine, or after Escape, the flash has not ended yet.
            playback.step()
        (ended,) = playback.stop().steps
        onset_us = window.anchor.us_until(onset.onset_ns)
        flashes.append(
            ShownFlash(
                flash=len(flashes) + 1,
                onset_s=onset_us / 1e6,
                offset_s=onset_us / 1e6 + ended.duration_ms / 1000,
                black_ms=onset.fixation_ms,
                black_frames=onset.fixation_frames,
                black_frames_intended=onset.fixation_frames_intended,
                white_ms=ended.duration_ms,
                white_frames=ended.frames,
                white_frames_intended=ended.frames_intended or 0,
                frames_dropped=onset.frames_dropped,
                code=series.code if sent_ns else None,
                code_s=window.anchor.us_until(sent_ns[0]) / 1e6 if sent_ns else None,
                frame_ms=window.frame_ms,
                pacing=window.pacing,
            )
        )
        say(len(flashes))
        if press is not None:
            break
    window.show(fixation)
    wait_until(time.perf_counter_ns() + DARK_MS * 1_000_000)
    return flashes


def _at_flip(
    inputs: "InputDevices", trigger: Trigger | None, code: int, sent_ns: list[int], ended_ns: list[int]
) -> Callable[[ScreenName], Sequence["AtFlip"]]:
    """Return the function that names the functions to call at each flip: send the code, then begin the response."""

    def send(flipped_ns: int) -> None:
        if trigger is not None:
            trigger.send(code, flipped_ns)
            sent_ns.append(time.perf_counter_ns())

    def at_flip(name: ScreenName) -> Sequence["AtFlip"]:
        return {"stimulus": [send, inputs.reset], "blank": [ended_ns.append]}.get(name, [])

    return at_flip


def patch_box(patch: Patch, size_px: tuple[int, int]) -> Box:
    """Return the box of the white patch in the window, in pixels."""
    width, height = size_px
    if patch == "full":
        return 0, 0, width, height
    side = round(PATCH_SHARE * height)
    if patch == "center":
        left, top = (width - side) // 2, (height - side) // 2
    else:
        left = 0 if patch.endswith("left") else width - side
        top = 0 if patch.startswith("top") else height - side
    return left, top, left + side, top + side
