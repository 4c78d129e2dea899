"""Check of a laboratory machine: for each property, a verdict (good, warning or bad) and advice."""

import os
import statistics
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from batteries.errors import InputError
from experiment.lab.hardware.clock import intervals_ms
from experiment.lab.hardware.keyboard_backends import Backend, has_real_time_privileges
from experiment.lab.hardware.refresh_rate import Refresh, n_dropped
from experiment.lab.hardware.sound_output import SoundOutput
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.message import message
from experiment.lab.screens.text.fonts import font_for
from experiment.texts import ENGLISH

if TYPE_CHECKING:
    from experiment.lab.hardware.keys_and_clicks import InputDevices
    from experiment.lab.hardware.window import LabWindow

Verdict = Literal["good", "warning", "bad"]

LEAST_SIZE_PX = (1024, 768)
N_FLIPS = 300
N_POLLS = 500
N_CLOCK_STEPS = 200
KEY_PATIENCE_S = 15
MAX_JITTER_MS = 1.0
MAX_LATENCY_MS = 50.0
MAX_POLL_MS = 1.0
MAX_CLOCK_STEP_US = 100.0

LINUX_PRIVILEGES = (
    "give the experimenters real-time privileges. As root, write the lines `@psychopy - rtprio 50`, `@psychopy - "
    "nice -20` and `@psychopy - memlock unlimited` into /etc/security/limits.d/99-psychopy.conf, run `groupadd "
    "--force psychopy` and `usermod -a -G psychopy NAME`, and log in again."
)
MAC_PRIVILEGES = (
    "open System Settings, Privacy & Security, Input Monitoring. Switch on the program in which you run the "
    "command, such as Terminal, and run the command again."
)


@dataclass(frozen=True)
class MachineFinding:
    """A checked property of the machine."""

    what: str
    verdict: Verdict
    found: str
    advice: str = ""
    """Advice on a problem; empty if there is no problem."""


def check_machine(
    window: "LabWindow",
    inputs: "InputDevices",
    missing_glyphs: Collection[str] | None = None,
    least_size_px: tuple[int, int] = LEAST_SIZE_PX,
    has_sounds: bool = False,
) -> list[MachineFinding]:
    """Check a machine. The check shows 300 frames and waits for a key press.

    Parameters
    ----------
    window, inputs
        The window, and its keys and mouse, as in a session.
    missing_glyphs
        Characters of the battery that no installed font can draw; None if there is no battery.
    least_size_px
        Width and height in pixels of the smallest window in which the battery is readable.
    has_sounds
        True if the study plays sounds.
    """
    return [
        screen_finding(window.size_px, least_size_px, window.full_screen),
        synchronisation_finding(window.refresh),
        frames_finding(window.refresh, window.flip_intervals_ms([0.0] * N_FLIPS)),
        keyboard_finding(inputs.backend, inputs.obstacle, inputs.poll_ms(N_POLLS), _key_pressed(window, inputs)),
        clock_finding(_clock_steps_us()),
        privileges_finding(),
        *([] if missing_glyphs is None else [glyphs_finding(missing_glyphs)]),
        _sound_found() if has_sounds else MachineFinding("Sound", "good", "not needed"),
    ]


def verdict_of(findings: Sequence[MachineFinding]) -> Verdict:
    """Return the worst verdict of the findings."""
    verdicts = {finding.verdict for finding in findings}
    return "bad" if "bad" in verdicts else "warning" if "warning" in verdicts else "good"


def report(findings: Sequence[MachineFinding]) -> str:
    """Return findings as a text: the verdict, then the problems, then the other findings."""
    n_bad, n_warnings = (sum(each.verdict == verdict for each in findings) for verdict in ("bad", "warning"))
    summary = {
        "good": "This machine is ready for measuring.",
        "warning": f"This machine can be used, with {_counted(n_warnings, 'warning')}.",
        "bad": f"This machine is not ready for measuring: {_counted(n_bad, 'problem')} must be corrected.",
    }[verdict_of(findings)]
    order = ("bad", "warning", "good")
    return "\n".join([summary, "", *_lines(sorted(findings, key=lambda each: order.index(each.verdict)))])


def screen_finding(size_px: tuple[int, int], least_px: tuple[int, int], full_screen: bool) -> MachineFinding:
    """Judge whether the drawing area is large enough."""
    found = f"{size_px[0]} x {size_px[1]} px" + ("" if full_screen else ", in a window")
    if size_px[0] < least_px[0] or size_px[1] < least_px[1]:
        return MachineFinding(
            "Screen",
            "bad",
            found,
            f"use a screen of at least {least_px[0]} x {least_px[1]} px, or set a larger resolution.",
        )
    if not full_screen:
        return MachineFinding(
            "Screen",
            "warning",
            found,
            "use the full screen, because flips are less regular in a smaller window.",
        )
    return MachineFinding("Screen", "good", found)


def synchronisation_finding(refresh: Refresh) -> MachineFinding:
    """Judge whether flips wait for the screen."""
    nominal = "not known" if refresh.nominal_hz is None else f"{refresh.nominal_hz:.2f} Hz"
    found = f"nominal {nominal}, measured {refresh.measured_hz:.2f} Hz; {refresh.reason}"
    if refresh.is_synchronised:
        return MachineFinding("Refresh", "good", found)
    return MachineFinding(
        "Refresh",
        "bad",
        found,
        "switch on vertical synchronisation (vsync) for this program in the graphics driver, use the "
        "manufacturer's driver, switch off triple buffering, variable refresh and desktop effects, use one screen "
        "only, and use no remote desktop. As long as flips do not wait for the screen, the clock times the fixations, "
        "and a fixation may be wrong by one frame.",
    )


def frames_finding(refresh: Refresh, frames_ms: Sequence[float]) -> MachineFinding:
    """Judge whether frames are regular, without dropped frames."""
    if not refresh.is_synchronised:
        return MachineFinding("Frames", "warning", "cannot be counted, because flips do not wait for the screen")
    frame_ms = refresh.frame_ms
    dropped = n_dropped(frames_ms, frame_ms)
    jitter_ms = statistics.pstdev([each for each in frames_ms if each <= 1.5 * frame_ms] or [0.0])
    found = f"{dropped} of {len(frames_ms)} dropped, jitter {jitter_ms:.2f} ms (standard deviation)"
    if dropped == 0 and jitter_ms <= MAX_JITTER_MS:
        return MachineFinding("Frames", "good", found)
    return MachineFinding(
        "Frames",
        "warning" if dropped <= len(frames_ms) // 100 else "bad",
        found,
        "close other programs, stop updates and backups, and switch off power saving. The data record the dropped "
        "frames of each trial, so that you can exclude trials with dropped frames.",
    )


def keyboard_finding(backend: Backend, obstacle: str | None, poll_ms: float, key: str | None) -> MachineFinding:
    """Judge the keyboard backend. `key` is the key of the press that the program received, or None without a press."""
    found = (
        f"the window's events, because {obstacle or 'they were requested'}; the time of a press is the time at which "
        "the operating system delivers the press"
    )
    if backend == "ptb":
        found = "psychtoolbox, which records the time of presses in a separate thread"
    found += f", polled every {poll_ms:.2f} ms"
    if key is None:
        again = "run the check again and press a key when asked. If you pressed a key, check that the keyboard is "
        return MachineFinding(
            "Keyboard",
            "bad",
            f"{found}; no key was received in {KEY_PATIENCE_S} s",
            f"{again}plugged in{'; then ' + MAC_PRIVILEGES if sys.platform == 'darwin' else '.'}",
        )
    found += f"; received the key `{key}`"
    if backend == "ptb":
        return MachineFinding("Keyboard", "good", found)
    return MachineFinding("Keyboard", "warning" if poll_ms <= MAX_POLL_MS else "bad", found, _keyboard_advice())


def clock_finding(steps_us: Sequence[float]) -> MachineFinding:
    """Judge whether the steps of the clock are small enough."""
    step_us = max(steps_us)
    found = f"steps of {step_us:.1f} µs at most"
    if step_us <= MAX_CLOCK_STEP_US:
        return MachineFinding("Clock", "good", found)
    return MachineFinding(
        "Clock", "bad", found, "do not measure in a virtual machine. On a real machine, ask a technician for help."
    )


def privileges_finding() -> MachineFinding:
    """Judge whether the program may raise its priority."""
    if not sys.platform.startswith("linux"):
        return MachineFinding("Priority", "good", "this system needs no privilege")
    if not has_real_time_privileges():
        return MachineFinding("Priority", "warning", "no real-time privileges", LINUX_PRIVILEGES)
    return MachineFinding("Priority", "good", "root" if os.geteuid() == 0 else "real-time privileges")


def glyphs_finding(missing: Collection[str]) -> MachineFinding:
    """Judge whether the battery's characters can be drawn."""
    if not missing:
        return MachineFinding("Fonts", "good", "every character of the study can be drawn")
    characters = " ".join(sorted(set("".join(missing))))
    return MachineFinding(
        "Fonts",
        "bad",
        f"no font has all of: {characters}",
        "install one font that has these characters and the study's other characters.",
    )


def sound_finding(latency_ms: float | None, problem: str = "") -> MachineFinding:
    """Judge whether the machine plays sounds soon enough.

    Parameters
    ----------
    latency_ms
        Latency of the sound output; None if the output cannot be opened.
    problem
        Reason why the output cannot be opened.
    """
    if latency_ms is None:
        advice = "connect loudspeakers or headphones, and close other programs that play sounds."
        return MachineFinding("Sound", "bad", problem.rstrip("."), advice)
    found = f"latency of {latency_ms:.0f} ms, which the program compensates"
    if latency_ms <= MAX_LATENCY_MS:
        return MachineFinding("Sound", "good", found)
    advice = "use wired loudspeakers or headphones, and the manufacturer's driver; on Windows, prefer WASAPI or ASIO."
    return MachineFinding("Sound", "warning", found, advice)


def _keyboard_advice() -> str:
    if sys.platform.startswith("linux"):
        return LINUX_PRIVILEGES
    if sys.platform == "darwin":
        return MAC_PRIVILEGES
    return "install psychtoolbox with: pip install psychtoolbox"


def _key_pressed(window: "LabWindow", inputs: "InputDevices") -> str | None:
    """Ask for a key press, which shows that the backend receives keys.

    Return the key's name, or None without a press.
    """
    asked = (
        "Press a key on the keyboard or the response box that participants use.",
        f"The check continues after {KEY_PATIENCE_S} seconds.",
    )
    picture = message(Sheet(window.size_px, font_for(asked), ENGLISH), "Laboratory check", asked)
    inputs.clear()
    inputs.reset(window.show(window.prepare(picture.image)))
    press = inputs.wait(until_ms=1000 * KEY_PATIENCE_S)
    return press.name if press else None


def _clock_steps_us() -> list[float]:
    stamps_ns: set[int] = set()
    while len(stamps_ns) < N_CLOCK_STEPS:
        stamps_ns.add(time.perf_counter_ns())
    steps_us = sorted(1000 * step_ms for step_ms in intervals_ms(sorted(stamps_ns)))
    return steps_us[: int(0.99 * len(steps_us))]  # Longer steps are interruptions of the program.


def _sound_found() -> MachineFinding:
    try:
        with closing(SoundOutput()) as output:
            return sound_finding(output.latency_ms)
    except InputError as error:
        return sound_finding(None, str(error).partition(" Fix: ")[0])


def _lines(findings: Sequence[MachineFinding]) -> Iterator[str]:
    for each in findings:
        yield f"{each.verdict:8} {each.what}: {each.found}."
        if each.advice:
            yield f"{'':8} What to do: {each.advice}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
