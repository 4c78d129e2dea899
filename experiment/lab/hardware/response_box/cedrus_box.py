"""A response box of Cedrus (RB series, Riponda, Lumina), through Cedrus's library pyxid2.

PsychoPy's plugin for these boxes uses the same library. It converts the box's times with a difference of clocks that it
measures only once, so the box's drift would be part of response times.
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from batteries.errors import InputError
from experiment.lab.hardware.response_box.background_reader import BackgroundReader
from experiment.lab.hardware.stamped import Stamped

BUTTONS_PORT = 0
"""Number that the library gives to the buttons. Light sensors and voice keys have other numbers."""
MEMORY_NS = 30_000_000_000
"""Time for which a message of the box is used to compare clocks, in ns."""
PAUSE_S = 0.0005
"""Pause between two polls of the library. Each poll waits up to 2 ms for a message."""


class BoxClock:
    """Conversion of a box's times to times by `time.perf_counter_ns`.

    The box sends the time of each press and release by its own clock, in whole ms. A message is read after the press,
    so the difference (time of reading minus time by the box) is the difference of the clocks plus the delay of the
    message. The delay is never negative and varies by up to 10 ms. So the smallest difference in the last 30 s is the
    best estimate of the difference of the clocks. It is too large by the smallest delay in these 30 s. If the box's
    clock is slow, the estimate can also be too small, by its drift over 30 s: 1.5 ms for 50 parts per million.

    The result is never later than the time of reading. The first press after a pause of 30 s has the time of its
    reading.
    """

    def __init__(self) -> None:
        self._recent: deque[tuple[int, int]] = deque()
        """Time of reading, and difference of the clocks, of each recent message, both in ns."""

    def at_ns(self, box_ms: int, read_ns: int) -> int:
        """Return the time of a message by `time.perf_counter_ns`.

        Parameters
        ----------
        box_ms
            Time of the press or the release by the box.
        read_ns
            Time at which the message was read, by `time.perf_counter_ns`.
        """
        box_ns = box_ms * 1_000_000
        self._recent.append((read_ns, read_ns - box_ns))
        while read_ns - self._recent[0][0] > MEMORY_NS:
            self._recent.popleft()
        return box_ns + min(difference_ns for _, difference_ns in self._recent)


class CedrusBox:
    """A response box of Cedrus. Presses have the time of the box's clock (see `BoxClock`).

    A thread reads the messages of the box, because each call of the library can wait.

    Parameters
    ----------
    device
        A device of pyxid2.
    keys
        The key of the study for each button, by its number from 1. Other buttons are ignored.
    """

    timing = "times of the box's clock"

    def __init__(self, device: Any, keys: Mapping[str, str]) -> None:
        self._device = device
        self._keys = {int(button): key for button, key in keys.items()}
        self._clock = BoxClock()
        self._reader = BackgroundReader(self._read, "of Cedrus")

    def presses(self, keys: Sequence[Stamped]) -> list[Stamped]:
        return [*keys, *self._reader.taken()]

    def close(self) -> None:
        self._reader.stop()
        self._device.con.close()

    def _read(self) -> list[Stamped]:
        time.sleep(PAUSE_S)
        self._device.poll_for_response()
        read_ns = time.perf_counter_ns()
        heard = []
        while self._device.has_response():
            message = self._device.get_next_response()
            if message["port"] != BUTTONS_PORT:
                continue
            at_ns = self._clock.at_ns(int(message["time"]), read_ns)  # Releases improve the comparison of clocks too.
            key = self._keys.get(int(message["key"]) + 1)
            if message["pressed"] and key is not None:
                heard.append(Stamped(at_ns, key, "box", has_own_time=True))
        return heard


def open_cedrus_box(keys: Mapping[str, str]) -> CedrusBox:
    """Open the only response box of Cedrus at this machine. The library sets the box's clock to 0.

    Raises
    ------
    InputError
        If the library or its driver is missing, or if there is not exactly one box.
    """
    try:
        import pyxid2  # noqa: PLC0415 - optional, and it loads a driver
    except (ImportError, OSError) as error:  # The driver is a library of the system.
        raise InputError(
            f"the library of Cedrus cannot be loaded ({error}). Fix: run `pip install pyxid2`, and install the D2XX "
            "driver of FTDI."
        ) from None
    try:
        devices = [device for device in pyxid2.get_xid_devices() if device.is_response_device()]
    except Exception as error:  # The errors of the library's driver have no common class.
        raise InputError(
            f"the box cannot be opened ({error}). Fix: close other programs that use the box, and plug it in again."
        ) from None
    if len(devices) != 1:
        for device in devices:
            device.con.close()
        raise InputError(
            f"there are {len(devices)} response boxes of Cedrus. Fix: connect exactly one box, and switch it to the "
            "mode XID."
        )
    return CedrusBox(devices[0], keys)
