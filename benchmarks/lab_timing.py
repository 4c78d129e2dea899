"""The laboratory's timing against an independent process: onsets, response times, fixations, and the cost of images.

    python benchmarks/lab_timing.py
    python benchmarks/lab_timing.py --trials 30

A window on a virtual display (Xvfb) shows a fixation of 200 ms and a stimulus. A second process watches the pixels of
the display, and presses a key by XTEST 100 to 300 ms after the onset. Both processes use the system's monotonic clock.
No time of the second process comes from the window. The error of a response time is the recorded time minus the time
from the watched onset to the press.

A virtual display has no refresh, so the clock paces the fixations. At 60 and 144 Hz, the flips wait for an imitated
screen, whose frames begin at multiples of the frame duration on the monotonic clock. So a change of the pixels counts
from the next of these times. Each condition is measured on a quiet machine and with one busy core. The script then
measures the cost of preparing and showing an image at three sizes, with software rendering.

Needs Linux, root, Xvfb and PsychoPy. Prints tables, and one JSON line last.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from PIL import ImageColor

from benchmarks.busy_core import busy_core
from benchmarks.watched_screen import WatchedScreen, watched_screen
from tests.experiment.lab.xvfb import Fingers, VirtualScreen, missing, virtual_screen

FIXATION_MS = 200.0
SIZES_PX = ((1024, 768), (1920, 1080), (3840, 2160))
SCREENS_HZ = (None, 60, 144)
PRESS_AFTER_S = (0.1, 0.3)
KEY = "2"
FIXATION, STIMULI = "navy", ("teal", "olive")
"""Colours of the fixation, and of the stimuli in turn. The window is white before."""


@dataclass(frozen=True)
class Timing:
    """Accuracy of trials' timing with one keyboard backend."""

    backend: str
    screen: str
    """The imitated screen, such as `60 Hz`, or `none` if the clock times the fixations."""
    machine: str
    pacing: str
    n_trials: int
    onset_error_ms: float
    """Mean of recorded minus watched onset of the stimulus."""
    onset_error_sd_ms: float
    rt_error_ms: float
    """Mean of recorded minus injected response time."""
    rt_error_sd_ms: float
    rt_error_least_ms: float
    rt_error_most_ms: float
    fixation_error_ms: float
    """Mean of watched minus intended duration, which is a whole number of frames of an imitated screen."""
    fixation_error_sd_ms: float
    fixation_error_most_ms: float
    within_a_frame: float
    """Share of fixations within one frame of the intended duration."""


@dataclass(frozen=True)
class Cost:
    """Cost of an image in ms; medians."""

    size_px: tuple[int, int]
    prepare_ms: float
    draw_ms: float
    flip_ms: float


def measure_trials(
    watched: WatchedScreen, backend: str, n_trials: int, seed: int = 1, hz: int | None = None, is_busy: bool = False
) -> Timing:
    """Run trials in a window and inject key presses from another process.

    Parameters
    ----------
    watched, backend, n_trials, seed
        The virtual screen, what reads the keyboard, and the number and the seed of the trials.
    hz
        Refresh rate of the imitated screen; None for no refresh.
    is_busy
        True to keep one core busy.
    """
    delays = random.Random(seed)
    rt_errors_ms: list[float] = []
    onset_errors_ms: list[float] = []
    errors_ms: list[float] = []
    frame_ns = round(1e9 / hz) if hz else 1
    intended_ms = FIXATION_MS if hz is None else round(FIXATION_MS / 1000 * hz) * frame_ns / 1e6
    with (
        busy_core(is_busy),
        watched.screen.start("trials", backend, str(n_trials), str(hz or "")) as program,
        closing(Fingers(watched.screen.display)) as fingers,
    ):
        opened = program.reply()
        for n in range(n_trials):
            fixation_ns, onset_ns = (
                _next_frame(watched.wait_for_colour(ImageColor.getrgb(colour)), frame_ns)
                for colour in (FIXATION, STIMULI[n % 2])
            )
            onset = program.reply()
            time.sleep(delays.uniform(*PRESS_AFTER_S))
            pressed_ns = fingers.press(KEY)
            press = program.reply()
            assert press["name"] == KEY, press
            onset_errors_ms.append((onset["onset_ns"] - onset_ns) / 1e6)
            rt_errors_ms.append(press["rt_ms"] - (pressed_ns - onset_ns) / 1e6)
            errors_ms.append((onset_ns - fixation_ns) / 1e6 - intended_ms)
    return Timing(
        backend=opened["backend"],
        screen="none" if hz is None else f"{hz} Hz",
        machine="one core busy" if is_busy else "quiet",
        pacing=opened["pacing"],
        n_trials=n_trials,
        onset_error_ms=statistics.fmean(onset_errors_ms),
        onset_error_sd_ms=statistics.stdev(onset_errors_ms),
        rt_error_ms=statistics.fmean(rt_errors_ms),
        rt_error_sd_ms=statistics.stdev(rt_errors_ms),
        rt_error_least_ms=min(rt_errors_ms),
        rt_error_most_ms=max(rt_errors_ms),
        fixation_error_ms=statistics.fmean(errors_ms),
        fixation_error_sd_ms=statistics.stdev(errors_ms),
        fixation_error_most_ms=max(errors_ms, key=abs),
        within_a_frame=sum(abs(error_ms) <= opened["frame_ms"] for error_ms in errors_ms) / n_trials,
    )


def _next_frame(changed_ns: int, frame_ns: int) -> int:
    """Return the time at which an imitated screen shows pixels that were changed at a time."""
    return changed_ns if frame_ns == 1 else (changed_ns // frame_ns + 1) * frame_ns


def measure_cost(screen: VirtualScreen) -> Cost:
    """Measure the cost of preparing an image, drawing it and flipping the window."""
    with screen.start("cost") as program:
        cost = program.reply()
    return Cost(tuple(cost["size_px"]), cost["prepare_ms"], cost["draw_ms"], cost["flip_ms"])


def main() -> None:
    """Measure all, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100, help="in each condition (default: 100)")
    n_trials = parser.parse_args().trials
    if lacking := missing():
        parser.exit(1, f"This needs {lacking}.\n")
    timings, costs = [], []
    with tempfile.TemporaryDirectory() as home:
        with watched_screen(Path(home), SIZES_PX[0]) as watched:
            for is_busy, hz, backend in product((False, True), SCREENS_HZ, ("ptb", "event")):
                timings.append(measure_trials(watched, backend, n_trials, hz=hz, is_busy=is_busy))
        print(_table(timings))  # noqa: T201
        for size_px in SIZES_PX:
            with virtual_screen(Path(home), size_px) as screen:
                costs.append(measure_cost(screen))
        print(_table(costs))  # noqa: T201
    print(json.dumps({"timings": [asdict(each) for each in timings], "costs": [asdict(each) for each in costs]}))  # noqa: T201


def _table(rows: Sequence[Timing] | Sequence[Cost]) -> str:
    head = " ".join(f"{name:>22}" for name in asdict(rows[0]))
    body = [" ".join(f"{_cell(value):>22}" for value in asdict(row).values()) for row in rows]
    return "\n".join([head, *body, ""])


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        return " x ".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
