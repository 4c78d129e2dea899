"""Event codes for EEG, eye trackers and similar devices. A code is sent at the flip that shows the event.

The researcher names the destination of the codes in one of these forms:

- `serial:/dev/ttyUSB0` or `serial:COM3`: a serial port, which receives one byte. The options `baud=115200` and
  `pulse_ms=10` can follow, separated by commas. `serial:loop://` returns the codes to this program, for tests.
- `parallel:0x0378` (Windows) or `parallel:/dev/parport0` (Linux): the data pins of a parallel port. The option
  `pulse_ms=10` can follow.
- `lsl:Equipoise`: an outlet of LabStreamingLayer with this name, of type `Markers`, with one channel of integers.
- `log:codes.csv`: a file, which receives one line for each code: the time of day and the code.

Serial and parallel ports keep a code until the next one. So the code 0 follows each code after `pulse_ms`, unless the
next code is sent sooner. The default of 10 ms is two samples at 200 Hz. With `pulse_ms=0`, the code 0 is not sent. Use
`pulse_ms=0` for a device that ends each pulse itself.

Serial and parallel ports send codes up to 255.
"""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TextIO

from batteries.errors import InputError
from batteries.files.private_files import open_private
from experiment.lab.hardware.clock import offset_s
from experiment.study.event_codes import HIGHEST_CODE

FORMS = (
    "serial:/dev/ttyUSB0, serial:COM3,baud=115200, parallel:0x0378, parallel:/dev/parport0, lsl:Equipoise or "
    "log:codes.csv"
)
BAUD = 115_200
PULSE_MS = 10.0
MAX_PULSE_MS = 1000.0
HIGHEST_CODE_OF_A_PORT = 255
"""Highest code that one byte can have. The lowest code is 1, because a port has the level 0 between codes."""


class Trigger(Protocol):
    """Destination of event codes."""

    highest_code: int
    """Highest code that the destination can receive."""

    def send(self, code: int, at_ns: int) -> None:
        """Send a code at once. Do not wait for the end of the pulse.

        `at_ns` is the time of the event by `time.perf_counter_ns`. LabStreamingLayer stores this time with the code.

        Raises
        ------
        InputError
            If the device no longer accepts codes, for instance because its cable was unplugged.
        """

    def close(self) -> None:
        """Release the device."""


@dataclass(frozen=True)
class TriggerText:
    """The parsed text that says where trigger codes are sent, such as a serial port."""

    kind: str
    address: str
    baud: int = BAUD
    pulse_ms: float = PULSE_MS


def read_trigger(text: str) -> TriggerText:
    """Parse the name of a destination. The docstring of this module lists the forms.

    Raises
    ------
    InputError
        If the text has none of the forms.
    """
    kind, colon, rest = text.strip().partition(":")
    address, *parts = [part.strip() for part in rest.split(",")]
    if kind not in _OPENERS or not colon or not address:
        raise InputError(f"Unknown trigger {text!r}. Fix: write {FORMS}.")
    options = dict(part.partition("=")[::2] for part in parts)
    unknown = options.keys() - set(_OPTIONS.get(kind, ()))
    if unknown or len(options) < len(parts):
        allowed = " and ".join(f"{name}=..." for name in _OPTIONS.get(kind, ())) or "nothing"
        raise InputError(f"The trigger {text!r} has unknown options. Fix: write only {allowed} after the address.")
    return TriggerText(
        kind,
        address,
        baud=int(_number(text, options, "baud", BAUD, most=10_000_000)),
        pulse_ms=_number(text, options, "pulse_ms", PULSE_MS, most=MAX_PULSE_MS),
    )


def open_trigger(text: str, highest_code: int) -> Trigger:
    """Open the destination of event codes with the name `text`.

    `highest_code` is the highest code of the study.

    Raises
    ------
    InputError
        If the text is invalid, the library or the device is missing, or the device cannot receive the highest code.
    """
    read = read_trigger(text)
    trigger = _OPENERS[read.kind](read)
    if highest_code > trigger.highest_code:
        trigger.close()
        raise InputError(
            f"The trigger {text!r} cannot send the code {highest_code}, because its codes are from 1 to "
            f"{trigger.highest_code}. Fix: lower the numbers under `event_codes` in study.yaml, or send the codes to "
            "LabStreamingLayer (lsl:NAME). `equipoise lab codes` lists the codes."
        )
    return trigger


class LevelTrigger:
    """A serial or parallel port, which keeps a code until the pulse ends or the next code is sent."""

    highest_code = HIGHEST_CODE_OF_A_PORT

    def __init__(
        self, name: str, set_level: Callable[[int], object], close: Callable[[], object], pulse_ms: float
    ) -> None:
        self._name = name
        self._set_level = set_level
        self._close = close
        self._pulse_s = pulse_ms / 1000
        self._lock = threading.Lock()
        self._n_sent = 0

    def send(self, code: int, at_ns: int) -> None:
        with self._lock:
            try:
                self._set_level(code)
            except OSError as error:
                raise InputError(
                    f"The trigger {self._name} no longer accepts codes ({error}). Fix: check the cable, and run the "
                    "same command again to resume the session."
                ) from None
            self._n_sent += 1
            n_sent = self._n_sent
        if self._pulse_s:
            ending = threading.Timer(self._pulse_s, self._end_pulse, (n_sent,))
            ending.daemon = True
            ending.start()

    def close(self) -> None:
        self._end_pulse(self._n_sent)
        with self._lock:
            self._n_sent += 1  # The port may be closed before a pulse ends.
            self._close()

    def _end_pulse(self, n_sent: int) -> None:
        with self._lock:
            if n_sent == self._n_sent and self._pulse_s:
                try:
                    self._set_level(0)
                except OSError:
                    return  # The next code reports the error.


class LslTrigger:
    """An outlet of LabStreamingLayer. Each code is a marker with the time of its event, not a pulse."""

    highest_code = HIGHEST_CODE

    def __init__(self, outlet: Any, clock_s: Callable[[], float]) -> None:
        self._outlet = outlet
        self.clock_offset_s = offset_s(clock_s)
        """Difference between LabStreamingLayer's clock and `time.perf_counter_ns`, in s. Both clocks never jump."""

    def send(self, code: int, at_ns: int) -> None:
        self._outlet.push_sample([code], at_ns / 1e9 + self.clock_offset_s)

    def close(self) -> None:
        del self._outlet


class LogTrigger:
    """A file with one line for each code."""

    highest_code = HIGHEST_CODE

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def send(self, code: int, at_ns: int) -> None:
        ago = timedelta(microseconds=(time.perf_counter_ns() - at_ns) / 1000)
        try:
            self._file.write(f"{(datetime.now(UTC) - ago).isoformat(timespec='microseconds')},{code}\n")
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"{self._file.name}: event codes cannot be written to this file ({error.strerror}). Fix: free space on "
                "the disk, and run the same command again to resume the session."
            ) from None

    def close(self) -> None:
        with suppress(OSError):  # The last code has been written.
            self._file.close()


def _open_serial(read: TriggerText) -> Trigger:
    try:
        import serial  # noqa: PLC0415 - comes with PsychoPy
    except ImportError:
        raise _missing("pyserial") from None
    try:
        port = serial.serial_for_url(read.address, baudrate=read.baud, write_timeout=0.1)
    except (OSError, ValueError) as error:  # pyserial's own errors are OSErrors.
        raise InputError(
            f"The serial port {read.address} cannot be opened ({error}). Fix: plug the device in, look up its port "
            "in the system's device list, and check that you may use the port (on Linux: join the group dialout)."
        ) from None
    return LevelTrigger(f"serial:{read.address}", lambda level: port.write(bytes([level])), port.close, read.pulse_ms)


def _open_parallel(read: TriggerText) -> Trigger:
    try:
        from psychopy.parallel import ParallelPort  # noqa: PLC0415 - only where there is such a port

        port = ParallelPort(_parallel_address(read.address))
        port.setData(0)
    except Exception as error:  # The drivers of the systems raise different errors.
        raise InputError(
            f"The parallel port {read.address} cannot be used ({type(error).__name__}: {error}). Fix: on Windows "
            "install the inpout driver, and use the address from the device manager, such as parallel:0x0378. On "
            "Linux install pyparallel, load ppdev instead of lp, and name the device, such as "
            "parallel:/dev/parport0."
        ) from None
    return LevelTrigger(f"parallel:{read.address}", port.setData, lambda: None, read.pulse_ms)


def _open_lsl(read: TriggerText) -> Trigger:
    try:
        import pylsl  # noqa: PLC0415 - installed by those who need it
    except (ImportError, RuntimeError):  # RuntimeError: the native library is missing.
        raise _missing("pylsl") from None
    stream = pylsl.StreamInfo(
        name=read.address,
        type="Markers",
        channel_count=1,
        nominal_srate=pylsl.IRREGULAR_RATE,
        channel_format=pylsl.cf_int32,
        source_id=f"equipoise-{read.address}",
    )
    return LslTrigger(pylsl.StreamOutlet(stream), pylsl.local_clock)


def _open_log(read: TriggerText) -> Trigger:
    path = Path(read.address)
    is_new = not path.exists()
    try:
        file = open(path, "a", encoding="utf-8", newline="", opener=open_private)  # noqa: SIM115 - `close` closes it
        if is_new:
            file.write("at,code\n")
    except OSError as error:
        raise InputError(
            f"{path}: event codes cannot be written to this file ({error.strerror}). Fix: name a file in a folder that "
            "exists and in which you may write."
        ) from None
    return LogTrigger(file)


_OPENERS: Mapping[str, Callable[[TriggerText], Trigger]] = {
    "serial": _open_serial,
    "parallel": _open_parallel,
    "lsl": _open_lsl,
    "log": _open_log,
}
_OPTIONS: Mapping[str, tuple[str, ...]] = {"serial": ("baud", "pulse_ms"), "parallel": ("pulse_ms",)}


def _number(text: str, options: Mapping[str, str], name: str, default: float, most: float) -> float:
    try:
        number = float(options.get(name, default))
    except ValueError:
        number = -1
    if not 0 <= number <= most or (name == "baud" and number < 1):
        raise InputError(f"The trigger {text!r} has an invalid {name}. Fix: write a number up to {most:g}.")
    return number


def _parallel_address(address: str) -> int | str:
    try:
        return int(address, 0)
    except ValueError:
        return address


def _missing(package: str) -> InputError:
    return InputError(
        f"The Python package {package} is missing or broken. Fix: install the package with: pip install {package}"
    )
