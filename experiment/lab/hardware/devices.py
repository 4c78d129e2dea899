"""The devices of a laboratory's machine, besides its screen, its keyboard and its mouse."""

from dataclasses import dataclass

from experiment.lab.hardware.eye_tracker import EyeTracker
from experiment.lab.hardware.response_box.box_text import BoxText
from experiment.lab.hardware.scanner import Scanner


@dataclass(frozen=True)
class Devices:
    """The devices that the experimenter chose; None for a device that the machine does not have."""

    trigger: str | None = None
    """Destination of event codes; see `experiment.lab.hardware.triggers`."""
    scanner: Scanner | None = None
    """The scanner whose pulse begins the trials of a visit."""
    box: BoxText | None = None
    """The response box."""
    eye_tracker: EyeTracker | None = None
    """The eye tracker, which is closed before the window."""
