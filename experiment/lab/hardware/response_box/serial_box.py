"""A response box that sends a byte over a serial port for each press."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from batteries.errors import InputError
from experiment.lab.hardware.response_box.background_reader import BackgroundReader
from experiment.lab.hardware.stamped import Stamped

WAIT_S = 0.1
"""Longest wait for a byte, in seconds. A closed box stops its thread after this time."""


class SerialBox:
    """A response box at an open serial port.

    A thread waits for bytes, and records the time of each byte as soon as it has been read. This time includes the
    delay of the port: one byte takes 0.09 ms at 115,200 baud, and an adapter for USB can add up to 16 ms, unless its
    latency timer is set to 1 ms.

    Parameters
    ----------
    port
        An open port of pyserial with a time limit for reading.
    keys
        The key of the study for each byte, such as `0x61`. Other bytes, such as those of releases, are ignored.
    name
        Name of the port, for messages.
    """

    timing = "times at which the program read the bytes"

    def __init__(self, port: Any, keys: Mapping[str, str], name: str) -> None:
        self._port = port
        self._keys = {int(byte, 16): key for byte, key in keys.items()}
        self._reader = BackgroundReader(self._read, f"at {name}")

    def presses(self, keys: Sequence[Stamped]) -> list[Stamped]:
        return [*keys, *self._reader.taken()]

    def close(self) -> None:
        self._reader.stop()
        self._port.close()

    def _read(self) -> list[Stamped]:
        received = self._port.read(1)
        at_ns = time.perf_counter_ns()
        received += self._port.read(self._port.in_waiting)
        pressed = [self._keys[byte] for byte in received if byte in self._keys]
        return [Stamped(at_ns, key, "box", has_own_time=True) for key in pressed]


def open_serial_box(address: str, baud: int, keys: Mapping[str, str]) -> SerialBox:
    """Open the port of a response box, and discard the bytes that it has received before.

    Raises
    ------
    InputError
        If pyserial is missing, or the port cannot be opened.
    """
    try:
        import serial  # noqa: PLC0415 - comes with PsychoPy
    except ImportError:
        raise InputError("the Python package pyserial is not installed. Fix: run `pip install pyserial`.") from None
    try:
        port = serial.serial_for_url(address, baudrate=baud, timeout=WAIT_S)
        port.reset_input_buffer()
    except (OSError, ValueError) as error:  # pyserial's own errors are OSErrors.
        raise InputError(
            f"the serial port {address} cannot be opened ({error}). Fix: plug the box in, look up its port in the "
            "system's device list, and check that you may use the port (on Linux: join the group dialout)."
        ) from None
    return SerialBox(port, keys, address)
