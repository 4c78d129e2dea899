"""The text that describes a response box: its kind, its port, and the key of the study for each of its buttons.

The researcher writes one of these forms:

- `keys:a=1,b=2`: a box that types keys as a keyboard does. Its key `a` counts as the key `1` of the study.
- `serial:/dev/ttyUSB0,a=1,b=2` or `serial:COM3,...`: a box that sends one byte for each press. The byte `a` is a press
  of the key `1`. A byte can also be a number, such as `0x01=1`. The option `baud=19200` can follow the port.
- `cedrus,1=f,2=j`: a box of Cedrus, with the numbers of its buttons from 1.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from batteries.errors import InputError

BAUD = 115_200
MAX_BAUD = 10_000_000
MOST_CEDRUS_BUTTONS = 8
FORMS = "keys:a=1,b=2, serial:/dev/ttyUSB0,a=1,b=2, serial:COM3,baud=19200,a=1,b=2 or cedrus,1=f,2=j"


@dataclass(frozen=True)
class BoxText:
    """The parsed description of a response box."""

    text: str
    """The description as the researcher wrote it."""
    kind: Literal["keys", "serial", "cedrus"]
    keys: Mapping[str, str]
    """The key of the study for each button. Buttons are names of keys, bytes such as `0x61`, or numbers."""
    port: str = ""
    baud: int = BAUD


def read_box(text: str) -> BoxText:
    """Parse the description of a response box. The docstring of this module lists the forms.

    Raises
    ------
    InputError
        If the text has none of the forms, or names a button twice.
    """
    text = text.strip()
    if text.startswith("keys:"):
        return BoxText(text, "keys", _keys(text, _parts(text.removeprefix("keys:")), str.lower))
    if text.startswith("serial:"):
        port, *parts = _parts(text.removeprefix("serial:"))
        baud = [part for part in parts if part.startswith("baud=")]
        bytes_ = [part for part in parts if part not in baud]
        if not port or "=" in port or len(baud) > 1:
            raise _invalid(text)
        if not bytes_:
            raise _without_buttons(text, "a=1,b=2")
        return BoxText(text, "serial", _keys(text, bytes_, _byte), port, _baud(text, baud[0]) if baud else BAUD)
    kind, *parts = _parts(text)
    if kind != "cedrus":
        raise _invalid(text)
    if not parts:
        raise _without_buttons(text, "1=f,2=j")
    return BoxText(text, "cedrus", _keys(text, parts, _cedrus_button))


def check_box_keys(box: BoxText, item_keys: Collection[str], page_keys: Collection[str]) -> None:
    """Check that each button is a key that the study uses, and that no key of an item becomes unreachable.

    Parameters
    ----------
    box
        The box.
    item_keys
        The keys with which participants respond to the study's items.
    page_keys
        Other keys that a button may be, such as the keys that turn pages.

    Raises
    ------
    InputError
        If a button is not a key of the study, or if a key of an item would mean another key only.
    """
    named = ", ".join(sorted(key for key in item_keys if not key.startswith("num_")))
    for button, key in box.keys.items():
        if key not in {*item_keys, *page_keys}:
            raise InputError(
                f"--box {box.text}: `{button}={key}` names the key `{key}`, which this study does not use. Fix: write "
                f"a key of the study: {named or 'it has no response keys'}."
            )
    for button in box.keys if box.kind == "keys" else ():
        if button in item_keys and button not in box.keys.values():
            raise InputError(
                f"--box {box.text}: the study uses the key `{button}` itself, and nobody could press it. Fix: set the "
                "box to other keys, or choose other keys in the study."
            )


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _keys(text: str, parts: list[str], button_of: Callable[[str], str | None]) -> dict[str, str]:
    keys: dict[str, str] = {}
    for part in parts:
        name, equals, key = (each.strip() for each in part.partition("="))
        button = button_of(name)
        if not (equals and button and key):
            raise _invalid(text)
        if button in keys:
            raise InputError(f"--box {text}: the button `{name}` has two keys. Fix: give each button one key.")
        keys[button] = key.lower()
    return keys


def _byte(name: str) -> str | None:
    """Return a byte as text, such as `0x61` for `a`; None if the name is not a byte."""
    if name.lower().startswith("0x"):
        try:
            number = int(name, 16)
        except ValueError:
            return None
        return f"0x{number:02x}" if number <= 0xFF else None
    return f"0x{ord(name):02x}" if len(name) == 1 and name.isascii() and name.isprintable() else None


def _cedrus_button(name: str) -> str | None:
    is_button = name.isascii() and name.isdigit() and 1 <= int(name) <= MOST_CEDRUS_BUTTONS
    return str(int(name)) if is_button else None


def _baud(text: str, part: str) -> int:
    number = part.removeprefix("baud=").strip()
    if not (number.isascii() and number.isdigit() and 1 <= int(number) <= MAX_BAUD):
        raise InputError(f"--box {text}: `{part}` is not a baud rate. Fix: write a whole number, such as baud=19200.")
    return int(number)


def _without_buttons(text: str, example: str) -> InputError:
    return InputError(
        f"--box {text}: the buttons are missing. Fix: add each button with its key of the study, such as "
        f"{text},{example}."
    )


def _invalid(text: str) -> InputError:
    return InputError(f"--box {text}: this is not a response box. Fix: write {FORMS}.")
