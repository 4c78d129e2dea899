"""The interface of all response boxes."""

from collections.abc import Sequence
from typing import Protocol

from batteries.errors import InputError
from experiment.lab.hardware.response_box.box_text import BoxText
from experiment.lab.hardware.response_box.cedrus_box import open_cedrus_box
from experiment.lab.hardware.response_box.key_box import KeyBox
from experiment.lab.hardware.response_box.serial_box import open_serial_box
from experiment.lab.hardware.stamped import Stamped


class ResponseBox(Protocol):
    """A response box, whose buttons are keys of the study."""

    timing: str
    """The source of the times of presses, in words."""

    def presses(self, keys: Sequence[Stamped]) -> list[Stamped]:
        """Return the presses of the keyboard and of the box since the last call.

        Parameters
        ----------
        keys
            The presses of the keyboard since the last call.

        Raises
        ------
        InputError
            If the box was disconnected. Only the first call after this raises the error.
        """

    def close(self) -> None:
        """Release the box."""


def open_box(text: BoxText) -> ResponseBox:
    """Open a response box.

    Raises
    ------
    InputError
        If a name of a key is unknown, or the library, the port or the box is missing.
    """
    try:
        match text.kind:
            case "keys":
                return KeyBox(text.keys)
            case "serial":
                return open_serial_box(text.port, text.baud, text.keys)
            case "cedrus":
                return open_cedrus_box(text.keys)
    except InputError as error:
        raise InputError(f"--box {text.text}: {error}") from None
