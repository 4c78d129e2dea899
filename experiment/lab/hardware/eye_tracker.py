"""An eye tracker, which PsychoPy's ioHub reads in a process of its own.

ioHub writes gaze and messages to an HDF5 file. It has its own clock, PsychoPy's. This clock can jump on some systems,
so the time of each event on ioHub's clock is computed when the event happens.

A request to ioHub takes about 0.3 ms, but sometimes several ms. Requests therefore run in a thread, and the program of
the session never waits for the answer to a message.
"""

import io
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Any

from batteries.errors import InputError
from batteries.files.private_files import PRIVATE_FILE
from experiment.lab.hardware.clock import offset_s
from experiment.lab.hardware.eye_tracker_settings import MOUSE_DEVICE, EyeTrackerSettings
from experiment.lab.hardware.iohub_guard import start_guard
from experiment.lab.hardware.psychopy_internals import iohub_process, native_files_in, receive_while_alive

NAME = "tracker"
"""Name under which ioHub finds the device."""
CATEGORY = "equipoise"
"""Category of the messages in ioHub's file."""
LONGEST_MESSAGE = 128
"""Most characters of a message in ioHub's file."""

EYELINK = "sr_research.eyelink"
NATIVE_NAME, SAME_NAME = "default_native_data_file_name", "EXPFILE"
"""ioHub's setting for the name of an EyeLink's own file, and the value for the same name as that of ioHub's file."""
UNCONNECTED = "enable_interface_without_connection"
"""ioHub's setting for work without an EyeLink. ioHub changes it itself if there is no connection."""

ERROR = 201
"""The result of a calibration that failed: ioHub's `EyeTrackerConstants.EYETRACKER_ERROR`."""

PATIENCE_S = 10.0
"""Longest time in seconds for which ioHub may leave a message unanswered."""
CLOSING_S = 300.0
"""Longest time in seconds for which ioHub may copy the data of an eye tracker at the end."""
POLL_S = 0.02
N_CLOCK_READINGS = 3
"""Number of readings of ioHub's clock for each message. More readings would take too long directly after a flip."""


class EyeTracker:
    """An eye tracker, with the file of its data.

    Parameters
    ----------
    settings
        The device.
    monitor
        Name of a monitor with its measures in PsychoPy's Monitor Center.
    screen
        Number of the screen, from 0.
    """

    def __init__(self, settings: EyeTrackerSettings, monitor: str, screen: int = 0) -> None:
        self._settings = settings
        self._monitor, self._screen = monitor, screen
        self._hub: Any = None
        self._pending: deque[tuple[int, Future[None]]] = deque()
        self.problem: str | None = None
        """A sentence for the experimenter if ioHub's file may be incomplete; None if it is complete."""

    def check(self) -> None:
        """Check that ioHub can use the eye tracker. Nothing is stored.

        Raises
        ------
        InputError
            If a library or the eye tracker is missing, or ioHub refuses the settings.
        """
        self._require_library()
        self._start(None, "")
        self.close()

    def open(self, file: Path, session: str) -> None:
        """Start ioHub with a file for the data of a visit. The eye tracker does not record yet.

        `session` is the session's name in the store, which ioHub writes to the file.

        Raises
        ------
        InputError
            If ioHub cannot be started, or the eye tracker is not connected.
        """
        self._start(file, session)
        with suppress(OSError):  # The folder is private too.
            file.chmod(PRIVATE_FILE)

    @property
    def is_open(self) -> bool:
        """True if ioHub is running."""
        return self._hub is not None

    def calibrate(self, window: Any, idle: Callable[[], object]) -> None:
        """Show ioHub's calibration, then record. Return when the experimenter has ended the calibration.

        Parameters
        ----------
        window
            The window of PsychoPy, whose background the calibration has. ioHub shows the calibration in a window of its
            own.
        idle
            Function that is called again and again during the calibration.

        Raises
        ------
        InputError
            If ioHub reports an error.
        """
        future = self._worker.submit(self._calibrate, self._calibration(window))
        while not future.done():
            wait([future], POLL_S)
            idle()
        self._require_answers()
        result = future.exception() or future.result()
        # A text is the name of an error in ioHub.
        if isinstance(result, Exception | str) or result == ERROR:
            raise InputError(
                f"The calibration of the eye tracker {self._settings.device} failed ({result}). Fix: read "
                "ioHub's messages above, and run the same command again to resume the session."
            )

    def send(self, text: str, at_ns: int) -> float | None:
        """Send a message about an event at `at_ns`, a time by `time.perf_counter_ns`. Do not wait for the answer.

        Return the time of the event on ioHub's clock, in seconds; None if ioHub is not running.

        Raises
        ------
        InputError
            If ioHub or the eye tracker has stopped. The next call returns None.
        """
        if self._hub is None:
            return None
        self._require_answers()
        at_s = at_ns / 1e9 + offset_s(self._clock_s, N_CLOCK_READINGS)
        message = text.encode("ascii", "replace").decode()[:LONGEST_MESSAGE]
        self._pending.append((time.perf_counter_ns(), self._worker.submit(self._transmit, self._hub, message, at_s)))
        return at_s

    def close(self) -> None:
        """End the recording and ioHub's process. This method has no effect if ioHub is not running."""
        hub, self._hub = self._hub, None
        if hub is None:
            return
        if self._process.poll() is None and self._device is not None:
            wait([self._worker.submit(self._device.setRecordingState, False)], PATIENCE_S)
        killing = Timer(CLOSING_S, self._kill)
        killing.start()
        with redirect_stdout(io.StringIO()):  # ioHub prints the exit code of its process.
            hub.shutdown()
        killing.cancel()
        self._worker.shutdown(wait=False)
        self._pending.clear()
        self._guard.kill()
        self._guard.communicate()

    def _start(self, file: Path | None, session: str) -> None:
        from psychopy.iohub.client import ioHubConnection  # noqa: PLC0415 - takes a second to load
        from psychopy.iohub.devices import Computer  # noqa: PLC0415

        try:
            with native_files_in(file.resolve().parent) if file else nullcontext():
                hub = ioHubConnection(self._configuration(file, session))
        except BaseException as error:
            if Computer.iohub_process is not None:
                Computer.iohub_process.kill()
            if isinstance(error, Exception):
                raise self._unusable(str(error)) from None
            raise
        receive_while_alive(hub)
        _separate_from_windows()
        self._clock_s, self._file = Computer.getTime, file
        self._process = iohub_process(hub)
        self._guard = start_guard(self._process.pid)
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._device = hub.getDevice(NAME)
        self._hub = hub
        if obstacle := self._obstacle():
            self.close()
            raise self._unusable(obstacle)

    def _configuration(self, file: Path | None, session: str) -> dict[str, Any]:
        """Return ioHub's configuration. ioHub stores no keys and no mouse, because keys can be a typed text."""
        unstored = {"save_events": False, "stream_events": False}
        display = {
            "reporting_unit_type": "pix",
            "color_space": "rgb255",
            "device_number": self._screen,
            "psychopy_monitor_name": self._monitor,
        }
        devices: list[dict[str, Any]] = [{"Display": display}, {"Experiment": {}}, {"Keyboard": dict(unstored)}]
        if self._settings.device == MOUSE_DEVICE:
            devices.append({"Mouse": dict(unstored)})
        fixed = {"name": NAME, "enable": True}
        if EYELINK in self._settings.device.lower():
            fixed[NATIVE_NAME] = SAME_NAME
        devices.append({self._settings.device: {**self._settings.settings, **fixed}})
        configuration: dict[str, Any] = {"monitor_devices": devices, "udp_port": _free_port()}
        if file is not None:
            configuration["data_store"] = {
                "enable": True,
                "parent_dir": str(file.resolve().parent),
                "filename": file.stem,
                "experiment_info": {"code": CATEGORY},
                "session_info": {"code": session},
            }
        return configuration

    def _require_library(self) -> None:
        device = self._settings.device
        try:
            module = import_module(self._settings.module)
        except ImportError:
            raise InputError(
                f"ioHub has no eye tracker {device}. Fix: write a name from ioHub's documentation, such as "
                f"{MOUSE_DEVICE}."
            ) from None
        if not hasattr(module, "EyeTracker"):
            plugin = self._settings.plugin
            raise InputError(
                f"The eye tracker {device} needs PsychoPy's plugin {plugin}. Fix: install it, and the library of the "
                f"eye tracker's maker, with: {sys.executable} -m pip install {plugin}"
            )

    def _obstacle(self) -> str | None:
        """Return the reason why the eye tracker cannot be used; None if it can."""
        try:
            is_connected = self._device.isConnected() or self._device.setConnectionState(True)
            is_imitated = self._device.getConfiguration().get(UNCONNECTED, False)
        except AttributeError:  # ioHub has left out a device with wrong settings.
            return "ioHub cannot load it"
        if not is_connected or (is_imitated and not self._settings.settings.get(UNCONNECTED)):
            return "it is not connected"
        return None

    def _unusable(self, why: str) -> InputError:
        return InputError(
            f"The eye tracker {self._settings.device} cannot be used ({why}). Fix: switch the eye tracker on, check "
            "its cable and its settings, read ioHub's messages above, and run the same command again."
        )

    def _calibration(self, window: Any) -> dict[str, Any]:
        """Return the arguments of the calibration. The file's settings have precedence over PsychoPy's defaults."""
        from psychopy.hardware.eyetracker import EyetrackerCalibration  # noqa: PLC0415
        from psychopy.visual.target import TargetStim  # noqa: PLC0415

        height_px = float(window.size[1])
        target = TargetStim(
            window,
            radius=height_px / 40,
            innerRadius=height_px / 200,
            units="pix",
            fillColor=(-1, -1, -1),
            borderColor=(-1, -1, -1),
            colorSpace="rgb",
            autoLog=False,
        )
        usual = dict(EyetrackerCalibration(window, self._device, target, units="pix", colorSpace="rgb255"))
        own = self._settings.settings.get("calibration")
        chosen = own if isinstance(own, dict) else {}
        return usual | {name: value for name, value in chosen.items() if name != "target_attributes"}

    def _calibrate(self, arguments: dict[str, Any]) -> object:
        self._device.setRecordingState(False)
        result = self._device.runSetupProcedure(arguments)
        self._device.setRecordingState(True)
        return result

    def _transmit(self, hub: Any, message: str, at_s: float) -> None:
        hub.sendMessageEvent(message, CATEGORY, sec_time=at_s)
        self._device.sendMessage(message)

    def _require_answers(self) -> None:
        """Raise an InputError if ioHub has ended, reports an error, or leaves a message unanswered for too long."""
        has_failed = self._process.poll() is not None
        while self._pending and self._pending[0][1].done():
            has_failed |= self._pending.popleft()[1].exception() is not None
        is_late = bool(self._pending) and time.perf_counter_ns() - self._pending[0][0] > PATIENCE_S * 1e9
        if has_failed or is_late:
            self._kill()
            self.close()
            raise InputError(
                f"The eye tracker {self._settings.device} no longer answers. Fix: check the eye tracker and its cable, "
                "and run the same command again to resume the session."
            )

    def _kill(self) -> None:
        self._process.kill()
        if self._file is not None:
            self.problem = f"{self._file}: the data of the eye tracker may be incomplete, because ioHub was stopped."


def _free_port() -> int:
    """Return a port that no program of this machine uses, because another session may run."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _separate_from_windows() -> None:
    """Make windows of this program send nothing to ioHub. They would do so while the thread waits for an answer."""
    from psychopy.visual import window  # noqa: PLC0415

    window.IOHUB_ACTIVE = False
    for reference in window.openWindows:
        reference().backend.onMoveCallback = None
