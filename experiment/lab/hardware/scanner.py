"""The pulses of an MRI scanner, which reach the program as presses of a key."""

from dataclasses import dataclass

from batteries.errors import InputError

MOST_DISCARDED = 1000


@dataclass(frozen=True)
class Scanner:
    """A scanner that presses a key at the start of each volume."""

    key: str
    """PsychoPy's name of the key, such as `5` or `t`."""
    n_discarded: int = 0
    """Number of pulses before the pulse with which the trials begin."""


def read_scanner(text: str) -> Scanner:
    """Parse the name of the scanner's key, such as `5`, or `5,discard=4` to discard the first 4 pulses.

    Raises
    ------
    InputError
        If the text has another form.
    """
    key, _, option = (part.strip() for part in text.partition(","))
    name, _, number = option.partition("=")
    if key and not option:
        return Scanner(key.lower())
    if key and name == "discard" and number.isascii() and number.isdigit() and int(number) <= MOST_DISCARDED:
        return Scanner(key.lower(), int(number))
    raise InputError(
        f"The scanner {text!r} is not valid. Fix: write the key that the scanner presses, such as 5, and if necessary "
        "the number of pulses to discard, such as 5,discard=4."
    )
