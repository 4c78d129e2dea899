"""The eye tracker that an experimenter chooses: the simulation by the mouse, or a device from a file for ioHub."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue, RootModel

from batteries.errors import InputError
from batteries.files.file_reading import read_yaml

MOUSE = "mouse"
MOUSE_DEVICE = "eyetracker.hw.mouse.EyeTracker"


@dataclass(frozen=True)
class EyeTrackerSettings:
    """An eye tracker, as ioHub names and describes it."""

    device: str
    """ioHub's name of the device, such as `eyetracker.hw.sr_research.eyelink.EyeTracker`."""
    settings: Mapping[str, JsonValue]
    """ioHub's settings of the device. ioHub adds its defaults."""

    @property
    def module(self) -> str:
        """Name of the Python module of the device."""
        return f"psychopy.iohub.devices.{self.device.rpartition('.')[0].lower()}"

    @property
    def plugin(self) -> str:
        """Name of PsychoPy's plugin for the maker of the device, such as `psychopy-eyetracker-sr-research`."""
        maker = self.device.lower().split(".")[2:3] or ["maker"]
        return f"psychopy-eyetracker-{maker[0].replace('_', '-')}"


class _File(RootModel[dict[str, JsonValue]]):
    """A YAML file with the device, or with all devices of an experiment under `monitor_devices`."""


def read_eye_tracker(text: str) -> EyeTrackerSettings:
    """Return the eye tracker that `text` names: `mouse`, or a YAML file with ioHub's settings of an eye tracker.

    Raises
    ------
    InputError
        If the file cannot be read, or does not describe exactly one eye tracker.
    """
    if text.strip() == MOUSE:
        return EyeTrackerSettings(MOUSE_DEVICE, {"runtime_settings": {"sampling_rate": 100}})
    path = Path(text)
    content = read_yaml(path, _File).root
    devices = content.get("monitor_devices", content)
    named = [each for each in (devices if isinstance(devices, list) else [devices]) if isinstance(each, dict)]
    found = [(name, settings or {}) for each in named for name, settings in each.items() if _is_eye_tracker(name)]
    if len(found) != 1:
        raise InputError(
            f"{path}: this file must describe 1 eye tracker, and describes {len(found)}. Fix: write ioHub's name of "
            f"one eye tracker, and its settings under the name, such as `{MOUSE_DEVICE}: {{}}`."
        )
    (name, settings) = found[0]
    if not isinstance(settings, dict):
        raise InputError(f"{path}: {name} has no settings. Fix: write `name: value` lines under {name}.")
    return EyeTrackerSettings(name, settings)


def _is_eye_tracker(name: str) -> bool:
    return name.lower().startswith("eyetracker.") and name.endswith(".EyeTracker")
