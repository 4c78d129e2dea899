"""A response box that acts as a keyboard and types other keys than those of the study."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from batteries.errors import InputError
from experiment.lab.hardware.key_names import is_key_name, name_by_place
from experiment.lab.hardware.stamped import Stamped


class KeyBox:
    """A response box that types keys. All its presses have the times that presses of the keyboard have.

    The program cannot distinguish the box from the keyboard. So the same keys of the keyboard count as buttons, too.

    Parameters
    ----------
    keys
        The key of the study for each key of the box, by PsychoPy's names.

    Raises
    ------
    InputError
        If no key has the name of a key of the box.
    """

    timing = "times of the keyboard"

    def __init__(self, keys: Mapping[str, str]) -> None:
        for name in keys:
            if not is_key_name(name):
                raise InputError(
                    f"no key has the name `{name}`. Fix: write the name that `equipoise lab check` prints when you "
                    "press the button."
                )
        self._keys = keys

    def presses(self, keys: Sequence[Stamped]) -> list[Stamped]:
        return [self._as_button(each) for each in keys]

    def _as_button(self, each: Stamped) -> Stamped:
        name = each.name if each.name in self._keys else name_by_place(each.name, each.keycode)
        if name is None or name not in self._keys:
            return each
        # Without its place, because the press must not count as the key at this place.
        return replace(each, name=self._keys[name], input="box", keycode=None)

    def close(self) -> None:
        """Do nothing: the window and psychtoolbox read the keys."""
