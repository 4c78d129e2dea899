"""Rules that turn key presses and clicks into a response. Each task has the same keys as on the web.

A press is PsychoPy's name of a key, such as `1`, `num_1`, `a`, `left` or `return`, or the name of the clicked region,
such as `2`, `west-5` or `submit`. A press without a meaning changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from batteries.blackbox import Port, Side, all_ports
from batteries.errors import InputError
from batteries.tasks.blackbox_predict import BlackboxPredict
from batteries.tasks.jspsych_plugin import JsPsychPlugin
from batteries.tasks.multiple_choice import MultipleChoice

ENTER = ("return", "num_enter")
_ARROWS = ("left", "right", "up", "down")
_SIDE_OF_KEY = {side.value[0]: side for side in Side}

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


NO_RESPONSE = ResponseState()


def keys_of(task: str, content: Content) -> tuple[str, ...]:
    """Return the names of the keys that a task accepts.

    Raises
    ------
    InputError
        If the laboratory cannot show the task.
    """
    return _of_task(task).keys(content)


def state_after(task: str, content: Content, state: ResponseState, press: str) -> ResponseState:
    """Return the state of a response after a press.

    Parameters
    ----------
    task
        Name of the item's task.
    content
        The item's content.
    state
        State before the press; a final response never changes.
    press
        Name of a key or of a region.

    Raises
    ------
    InputError
        If the laboratory cannot show the task.
    """
    answered = _of_task(task).state_after
    return state if state.response is not None else answered(content, state, press)


def check_task(item_id: str, task: str) -> None:
    """Raise an InputError if the laboratory cannot show an item, because the item's task needs a browser."""
    if task == JsPsychPlugin.name:
        raise InputError(
            f"the item `{item_id}` has the task jspsych, which only a browser can show. Fix: in the laboratory, use a "
            "study without this item."
        )
    _of_task(task)


@dataclass(frozen=True)
class _InputRules:
    """The keys that one task accepts, and the effect of each press."""

    keys: Callable[[Content], tuple[str, ...]]
    state_after: Callable[[Content, ResponseState, str], ResponseState]


def _of_task(task: str) -> _InputRules:
    try:
        return _INPUT_RULES[task]
    except KeyError:
        raise InputError(
            f"the task {task} cannot be shown in the laboratory. Fix: in the laboratory, use a study without this task."
        ) from None


def _digit(press: str) -> int | None:
    """Return the digit of a digit key, also on the keypad; None for any other key."""
    digit = press.removeprefix("num_")
    return int(digit) if digit in set("123456789") else None


def _digits(highest: int) -> tuple[str, ...]:
    return tuple(f"{block}{digit}" for digit in range(1, min(highest, 9) + 1) for block in ("", "num_"))


def _keys_of_choice(content: Content) -> tuple[str, ...]:
    return _digits(len(content["options"]))


def _after_choice(content: Content, state: ResponseState, press: str) -> ResponseState:
    number = _digit(press)
    if number is None or number > len(content["options"]):
        return state
    return ResponseState(number, number)


def _keys_of_prediction(content: Content) -> tuple[str, ...]:
    return ("a", "r", *_SIDE_OF_KEY, *_digits(content["size"]), *_ARROWS, *ENTER)


def _after_prediction(content: Content, state: ResponseState, press: str) -> ResponseState:
    key, size = press.lower(), content["size"]
    if key in {*ENTER, "submit"}:
        return state if state.chosen is None else ResponseState(state.chosen, state.chosen)
    if key in {"a", "absorbed"}:
        return ResponseState("absorbed")
    if key in {"r", "reflected"}:
        return ResponseState("reflected")
    if key in _ARROWS:
        start = state.chosen if state.chosen not in {None, "absorbed", "reflected"} else content["entry"]
        return ResponseState(str(_towards(Port.parse(str(start), size), key, size)))
    if key in _SIDE_OF_KEY:
        return ResponseState(typed_side=_SIDE_OF_KEY[key])  # The choice is empty until the number is typed.
    number = _digit(key)
    if number is not None and state.typed_side is not None and number <= size:
        return ResponseState(str(Port(state.typed_side, number)))
    if key in map(str, all_ports(size)):
        return ResponseState(key)
    return state


def _towards(port: Port, arrow: str, size: int) -> Port:
    """Return the port that an arrow key selects: the next port (possibly around a corner), or the opposite port."""
    side, forward = port.side, arrow in {"right", "down"}
    is_level = side in {Side.NORTH, Side.SOUTH}
    if is_level == (arrow in {"left", "right"}):
        position = port.position + (1 if forward else -1)
        if 1 <= position <= size:
            return Port(side, position)
        corner = 1 if side in {Side.NORTH, Side.WEST} else size
        if is_level:
            return Port(Side.EAST if forward else Side.WEST, corner)
        return Port(Side.SOUTH if forward else Side.NORTH, corner)
    if is_level:
        return Port(Side.SOUTH if forward else Side.NORTH, port.position)
    return Port(Side.EAST if forward else Side.WEST, port.position)


_INPUT_RULES = {
    MultipleChoice.name: _InputRules(_keys_of_choice, _after_choice),
    BlackboxPredict.name: _InputRules(_keys_of_prediction, _after_prediction),
}
