"""State of a response while the participant gives it, and names of keys."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from batteries.blackbox import Side
from experiment.lab.input.typed_text import NO_TEXT, TypedText

ENTER = ("return", "num_enter")
ARROWS = ("left", "right", "up", "down")
SUBMIT = "submit"
"""Name of the button that submits a response."""

Content = dict[str, Any]


@dataclass(frozen=True)
class ResponseState:
    """State of a response while the participant gives it."""

    chosen: JsonValue = None
    """The current choice, which may still be changed."""
    response: JsonValue = None
    """The response in the task's form, once it is final."""
    typed_side: Side | None = None
    """Side of the Black Box that the participant typed, until the number of the port is typed too; otherwise None."""
    typed: TypedText = NO_TEXT
    """The typed text, in tasks with a typed answer."""
    is_refused: bool = False
    """True if the typed text was submitted and is not a possible response."""


NO_RESPONSE = ResponseState()


def digit_of(press: str) -> int | None:
    """Return the digit of a digit key, also on the keypad; None for any other key."""
    digit = press.removeprefix("num_")
    return int(digit) if digit in set("123456789") else None


def with_keypad(keys: Collection[str]) -> tuple[str, ...]:
    """Return the names of keys, with each digit also on the keypad."""
    return (*keys, *(f"num_{key}" for key in keys if key.isdecimal()))


def digits(highest: int) -> tuple[str, ...]:
    """Return the names of the digit keys from 1 to a number, also on the keypad."""
    return tuple(f"{block}{digit}" for digit in range(1, min(highest, 9) + 1) for block in ("", "num_"))
