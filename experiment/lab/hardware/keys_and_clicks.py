"""Key presses, presses of a response box and clicks, with their times by `time.perf_counter_ns`.

If psychtoolbox works, it reads the keyboard in a separate thread and records the time of each press. Otherwise this
program polls the window's events without a pause. On Linux, the X server records the time of each event, so a press
while the program draws has the right time, to 1 ms. A response box has the times that its class describes
(`experiment.lab.hardware.response_box`).
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from experiment.lab.hardware.key_names import name_by_place
from experiment.lab.hardware.keyboard_backends import Backend, ptb_obstacle
from experiment.lab.hardware.psychtoolbox_keys import PsychtoolboxKeys
from experiment.lab.hardware.stamped import Stamped
from experiment.lab.hardware.window_events import EDITING_KEYS, WindowEvents
from experiment.lab.input.typed_answers import CONTROL_ENTER
from experiment.lab.screens.layout.screen_image import ESCAPE, RULES, Region

if TYPE_CHECKING:
    from experiment.lab.hardware.response_box.box import ResponseBox
    from experiment.lab.hardware.window import LabWindow

PTB_PAUSE_S = 0.0005
"""Pause between two polls of psychtoolbox, in seconds. The time of a click can be too late by up to this pause."""

DOUBLE_PRESS_MS = 400
"""Longest time between the two presses of a double press. After a new screen, the second press does not count."""
REACTION_MS = 100
"""A press sooner after the onset of a stimulus is not a reaction to it. A later press always counts."""


@dataclass(frozen=True)
class Press:
    """A key press, a press of a button of a response box, or a click."""

    name: str
    """PsychoPy's name of the key, such as `1`, `num_1`, `return` or `left`, or the name of the clicked region."""
    rt_ms: float
    """Time in ms since time zero, which `InputDevices.reset` sets.

    It is negative only for an escape before time zero.
    """
    input: Literal["key", "mouse", "box"]
    text: str = ""
    """The typed text in the participant's keyboard layout. Only `InputDevices.wait_for_typing` sets this field."""
    place_px: tuple[int, int] | None = None
    """Place of a click in px from the top left of the window; None for a key."""

    @property
    def key(self) -> str | None:
        """PsychoPy's name of the key; None for a click."""
        return None if self.input == "mouse" else self.name


class InputDevices:
    """Key presses and clicks of a participant in a window.

    Parameters
    ----------
    window
        An open window.
    backend
        Program that reads the keyboard (`ptb` or `event`); None for the best one that works on this machine.
    pulse_key
        Key that a scanner presses with each pulse; None without a scanner. A participant cannot use this key.
    on_pulse
        Function that is called with the time of each pulse, by `time.perf_counter_ns`.
    box
        An open response box; None without a box. Its presses count as presses of the keys of the study.

    Raises
    ------
    OSError
        If psychtoolbox is requested and cannot open the keyboard.
    """

    backend: Backend
    obstacle: str | None
    """Reason why psychtoolbox cannot read the keys on this machine.

    None if psychtoolbox reads the keys, or if the caller chose a backend.
    """

    def __init__(
        self,
        window: "LabWindow",
        backend: Backend | None = None,
        pulse_key: str | None = None,
        on_pulse: Callable[[int], object] = lambda _: None,
        box: "ResponseBox | None" = None,
    ) -> None:
        self._box = box
        self._pulse_keys = () if pulse_key is None else (pulse_key, f"num_{pulse_key}")
        self._on_pulse = on_pulse
        self._zero_ns = time.perf_counter_ns()
        self._heard: list[Stamped] = []
        self._last: Stamped | None = None
        self._double: Stamped | None = None
        """The press that ended the screen before; None on the first screen."""
        self._double_until_ns = 0
        self.idle: Callable[[], object] | None = None
        """Function that is called again and again while the program waits for a press, such as for a video."""
        self.obstacle = None if backend else ptb_obstacle()
        self._events = WindowEvents(window)
        self._psychtoolbox = None if backend == "event" or self.obstacle else self._opened_psychtoolbox(backend)
        self.backend = "event" if self._psychtoolbox is None else "ptb"

    @property
    def n_focus_lost(self) -> int:
        """Number of times the window has lost the focus since `clear`."""
        return self._events.n_focus_lost

    def clear(self) -> None:
        """Discard all presses so far except an escape, and set `n_focus_lost` to 0. A new screen begins."""
        self.ignore_double_press()
        self._listen()
        self._heard = [each for each in self._heard if each.name == ESCAPE]
        self._events.n_focus_lost = 0

    def forget(self) -> None:
        """Discard all presses so far, also an escape. They were meant for another program's window."""
        self._listen()
        self._heard.clear()
        self._events.n_focus_lost = 0

    def reset(self, at_ns: int) -> None:
        """Set time zero to `at_ns`, a time by `time.perf_counter_ns`.

        Presses before time zero are then ignored, except an escape.
        """
        self._zero_ns = at_ns
        self._double_until_ns = min(self._double_until_ns, at_ns + REACTION_MS * 1_000_000)

    def ignore_double_press(self) -> None:
        """Begin a new screen: the second press of a double press on the screen before does not count."""
        self._double = self._last
        self._double_until_ns = 0 if self._last is None else self._last.at_ns + DOUBLE_PRESS_MS * 1_000_000

    def reset_on_flip(self, window: "LabWindow") -> None:
        """Set time zero at the window's next flip."""
        window.call_on_flip(self.reset)

    def discard_early_presses(self, keys: Collection[str], regions: Sequence[Region] = ()) -> int:
        """Discard presses before time zero, and return how many of these presses would have been responses.

        Presses between `clear` and time zero are counted. Call this method directly after the flip that sets time zero.
        No device is polled during a flip. So without psychtoolbox and without the X server, presses get the time of the
        next poll. This method counts all of them that were made during the flip as presses before time zero.
        """
        self._listen()
        early = [each for each in self._heard if each.name != ESCAPE and self._is_early(each)]
        self._heard = [each for each in self._heard if each not in early]
        answers = [region for region in regions if region.name not in {ESCAPE, RULES}]
        chosen = [
            _accepted_name(each, keys) if each.place_px is None else region_at(each.place_px, answers)
            for each in early
            if not each.is_drag
        ]
        return sum(bool(each) for each in chosen)

    def _is_early(self, each: Stamped) -> bool:
        return not each.has_own_time or self._since_zero_ms(each.at_ns) < 0

    def poll_ms(self, n_polls: int) -> float:
        """Return the mean time between two polls of the keyboard. Presses during the measurement are discarded."""
        began_ns = time.perf_counter_ns()
        for _ in range(n_polls):
            self._listen()
            self._pause()
        self._heard.clear()
        return (time.perf_counter_ns() - began_ns) / n_polls / 1e6

    def wait(
        self, keys: Collection[str] | None = None, until_ms: float | None = None, regions: Sequence[Region] = ()
    ) -> Press | None:
        """Wait for a key or a click, and return the press; None after the time limit. Escape is always accepted.

        Parameters
        ----------
        keys
            The accepted keys; None for all keys.
        until_ms
            Time limit, in ms after time zero; None for no limit.
        regions
            Clickable regions.
        """
        return self._wait(self._listen, keys, until_ms, regions)

    def wait_for_typing(self, until_ms: float | None = None, regions: Sequence[Region] = ()) -> Press | None:
        """Wait for a typed character, an editing key (`EDITING_KEYS`) or a click, and return this press.

        With both backends, the window receives the keys. So characters follow the participant's keyboard layout, and
        come in the order in which they were typed.

        Parameters
        ----------
        until_ms
            Time limit, in ms after time zero; None for no limit.
        regions
            Clickable regions.
        """
        return self._wait(self._listen_to_typing, None, until_ms, regions)

    def _wait(
        self,
        listen: Callable[[], None],
        keys: Collection[str] | None,
        until_ms: float | None,
        regions: Sequence[Region],
    ) -> Press | None:
        while True:
            asked_ns = time.perf_counter_ns()
            listen()
            while self._heard:
                stamped = self._heard.pop(0)
                press = self._taken(stamped, keys, until_ms, regions)
                if press is not None:
                    self._last = stamped
                    return press
            if until_ms is not None and self._since_zero_ms(asked_ns) >= until_ms:
                return None
            self._pause()

    def _taken(
        self,
        each: Stamped,
        keys: Collection[str] | None,
        until_ms: float | None,
        regions: Sequence[Region],
    ) -> Press | None:
        rt_ms = self._since_zero_ms(each.at_ns)
        if each.name == ESCAPE:
            return Press(each.name, rt_ms, each.input)
        if rt_ms < 0 or (until_ms is not None and rt_ms > until_ms) or self._is_double(each):
            return None
        if each.place_px is not None:
            region = region_at(each.place_px, regions)
            has_effect = region is not None and (not each.is_drag or region.follows_drag)
            return Press(region.name, rt_ms, "mouse", place_px=each.place_px) if region and has_effect else None
        name = _accepted_name(each, keys)
        return Press(name, rt_ms, each.input, each.text) if name else None

    def _is_double(self, each: Stamped) -> bool:
        is_same = self._double is not None and (each.name, each.input) == (self._double.name, self._double.input)
        return is_same and each.at_ns < self._double_until_ns

    def _since_zero_ms(self, at_ns: int) -> float:
        return (at_ns - self._zero_ns) / 1e6

    def _pause(self) -> None:
        if self.idle is not None:
            self.idle()
        if self.backend == "ptb":
            time.sleep(PTB_PAUSE_S)

    def _opened_psychtoolbox(self, backend: Backend | None) -> PsychtoolboxKeys | None:
        try:
            return PsychtoolboxKeys()
        except OSError as error:
            if backend == "ptb":
                raise
            self.obstacle = f"psychtoolbox cannot open the keyboard ({error})"
            return None

    def _listen(self) -> None:
        self._events.receive()
        keys = self._events.taken_keys()  # The window receives the keys too if psychtoolbox reads them.
        if self._psychtoolbox is not None:
            # psychtoolbox also receives presses in other windows.
            keys = [each for each in self._psychtoolbox.taken() if not self._events.was_away(each.at_ns)]
        self._hear(keys if self._box is None else self._box.presses(keys))

    def _listen_to_typing(self) -> None:
        self._events.receive()
        # A box that types keys has no effect here, because its keys cannot be distinguished from typed characters.
        pressed = [] if self._box is None else self._box.presses([])
        self._hear([*self._events.taken_typing(), *(each for each in pressed if not self._types_nothing(each))])

    def _types_nothing(self, each: Stamped) -> bool:
        """Return True for a button of a box that has no effect on a typed answer. Buttons type no characters."""
        return each.name not in EDITING_KEYS and _accepted_name(each, self._pulse_keys) is None

    def _hear(self, heard: list[Stamped]) -> None:
        for pulse in [each for each in heard if _accepted_name(each, self._pulse_keys)]:
            heard.remove(pulse)
            self._on_pulse(pulse.at_ns)
        self._heard = sorted([*self._heard, *heard, *self._events.taken_clicks()], key=lambda each: each.at_ns)


def region_at(place_px: tuple[int, int], regions: Sequence[Region]) -> Region | None:
    """Return the region that contains a point."""
    x_px, y_px = place_px
    for region in regions:
        left_px, top_px, right_px, bottom_px = region.box_px
        if left_px <= x_px < right_px and top_px <= y_px < bottom_px:
            return region
    return None


def _accepted_name(each: Stamped, keys: Collection[str] | None) -> str | None:
    """Return the name under which a key is accepted; None if it is not accepted."""
    if each.is_command and each.name != CONTROL_ENTER:
        return None
    if keys is None or each.name in keys:
        return each.name
    by_place = name_by_place(each.name, each.keycode)
    return by_place if by_place in keys else None
