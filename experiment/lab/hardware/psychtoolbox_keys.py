"""Key presses from psychtoolbox, which reads the keyboard in a separate thread and records the time of each press."""

import time
from typing import Any

from psychopy import logging

from experiment.lab.hardware.keyboard_backends import letters_by_ptb_code
from experiment.lab.hardware.psychopy_internals import taken_responses
from experiment.lab.hardware.stamped import Stamped

COMMAND_KEYS = frozenset({"lctrl", "rctrl", "lalt", "ralt", "loption", "roption", "lcommand", "rcommand", "lwindows",
                          "rwindows"})  # fmt: skip
"""Names of the keys with which a digit is a command, not an answer."""
LONGEST_COMMAND_NS = 10_000_000_000
"""Time after which such a key no longer counts as held. So the keyboard still works if its release was lost."""


class PsychtoolboxKeys:
    """The key presses that psychtoolbox has received.

    PsychoPy's `getKeys` is not used. It loses a press that ends before the next poll, such as a pulse of a response
    box.

    Raises
    ------
    OSError
        If the keyboard cannot be opened.
    """

    def __init__(self) -> None:
        from psychopy.hardware.exceptions import ManagedDeviceError  # noqa: PLC0415 - loads many modules
        from psychopy.hardware.keyboard import Keyboard  # noqa: PLC0415 - starts psychtoolbox

        try:
            self._device: Any = Keyboard(backend="ptb").device
        except (Exception, ManagedDeviceError) as error:  # ManagedDeviceError is not a subclass of Exception.
            raise OSError(str(error)) from error
        self._letters = letters_by_ptb_code()
        self._held: dict[int, Any] = {}
        self._commands_ns: dict[str, int] = {}
        """Time of the press of each command key that is held down."""

    def taken(self) -> list[Stamped]:
        """Return the presses since the last call, in order, and forget them."""
        responses = taken_responses(self._device)
        now_ns, now_s = time.perf_counter_ns(), logging.defaultClock.getTime()
        taken = []
        for response in responses:
            name, at_ns = self._name_of(response), now_ns - round((now_s - response.tDown) * 1e9)
            if self._held.pop(id(response), None) is not None:
                self._commands_ns.pop(name, None)
                continue
            self._held[id(response)] = response
            is_command = any(at_ns - held_ns < LONGEST_COMMAND_NS for held_ns in self._commands_ns.values())
            taken.append(Stamped(at_ns, name, "key", is_command=is_command, has_own_time=True))
            if name in COMMAND_KEYS:
                self._commands_ns[name] = at_ns
        return taken

    def _name_of(self, response: Any) -> str:
        """Return PsychoPy's name of a key. If a key has no name, return its code as a name."""
        if response.code in self._letters:
            return self._letters[response.code]
        return f"key_{response.code}" if response.name == "unknown" else str(response.name)
