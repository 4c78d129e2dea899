"""Rules that turn key presses and clicks into a response. Each task has the same keys as on the web.

A press is PsychoPy's name of a key, such as `1`, `num_1`, `a`, `left` or `return`, or the name of the clicked region,
such as `2`, `west-5` or `submit`. A press without a meaning changes nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

from batteries.blackbox import Port, Side, all_ports
from batteries.errors import InputError
from batteries.tasks.blackbox_play import BlackboxPlay
from batteries.tasks.blackbox_predict import BlackboxPredict
from batteries.tasks.free_text import FreeText
from batteries.tasks.jspsych_plugin import JsPsychPlugin
from batteries.tasks.keypress import Keypress
from batteries.tasks.multiple_choice import MultipleChoice
from batteries.tasks.number import NumberTask
from batteries.tasks.psychopy_trial import PsychoPyTask
from batteries.tasks.ranking import Ranking
from batteries.tasks.rating import Rating
from batteries.tasks.recall import Recall
from experiment.lab.input import choices, keypresses, ratings, typed_answers
from experiment.lab.input.response_state import ARROWS, ENTER, Content, ResponseState, digit_of, digits

_SIDE_OF_KEY = {side.value[0]: side for side in Side}


def keys_of(task: str, content: Content) -> tuple[str, ...]:
    """Return the names of the keys that a task accepts.

    Raises
    ------
    InputError
        If the laboratory cannot show the task.
    """
    return _of_task(task).keys(content)


def is_typed(task: str) -> bool:
    """Return True if participants type the answers of a task."""
    return _of_task(task).is_typed


def state_after(task: str, content: Content, state: ResponseState, press: str, is_rtl: bool = False) -> ResponseState:
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
    is_rtl
        True if the study's script is read from right to left.

    Raises
    ------
    InputError
        If the laboratory cannot show the task.
    """
    rules = _of_task(task)
    if is_rtl and rules.has_reading_direction:
        press = {"left": "right", "right": "left"}.get(press, press)
    return state if state.response is not None else rules.state_after(content, state, press)


def check_task(item_id: str, task: str) -> None:
    """Raise an InputError if the laboratory cannot show an item, because the item's task needs a browser.

    A class of the study draws the items of the task `psychopy`, and turns presses into responses.
    """
    if task == PsychoPyTask.name:
        return
    if task in {JsPsychPlugin.name, BlackboxPlay.name}:
        raise InputError(
            f"the item `{item_id}` has the task {task}, which only a browser can show. Fix: in the laboratory, use a "
            "study without this item."
        )
    _of_task(task)


@dataclass(frozen=True)
class _InputRules:
    """The keys that one task accepts, and the effect of each press."""

    keys: Callable[[Content], tuple[str, ...]]
    state_after: Callable[[Content, ResponseState, str], ResponseState]
    is_typed: bool = False
    has_reading_direction: bool = False
    """True if the right arrow key means the next choice in a script that is read from left to right."""


def _of_task(task: str) -> _InputRules:
    try:
        return _INPUT_RULES[task]
    except KeyError:
        raise InputError(
            f"the task {task} cannot be shown in the laboratory. Fix: in the laboratory, use a study without this task."
        ) from None


def _keys_of_prediction(content: Content) -> tuple[str, ...]:
    return ("a", "r", *_SIDE_OF_KEY, *digits(content["size"]), *ARROWS, *ENTER)


def _after_prediction(content: Content, state: ResponseState, press: str) -> ResponseState:
    key, size = press.lower(), content["size"]
    if key in {*ENTER, "submit"}:
        return state if state.chosen is None else ResponseState(state.chosen, state.chosen)
    if key in {"a", "absorbed"}:
        return ResponseState("absorbed")
    if key in {"r", "reflected"}:
        return ResponseState("reflected")
    if key in ARROWS:
        start = state.chosen if state.chosen not in {None, "absorbed", "reflected"} else content["entry"]
        return ResponseState(str(_towards(Port.parse(str(start), size), key, size)))
    if key in _SIDE_OF_KEY:
        return ResponseState(typed_side=_SIDE_OF_KEY[key])  # The choice is empty until the number is typed.
    number = digit_of(key)
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
    MultipleChoice.name: _InputRules(choices.keys_of_choice, choices.after_choice),
    Ranking.name: _InputRules(choices.keys_of_ranking, choices.after_ranking),
    Rating.name: _InputRules(ratings.keys_of_rating, ratings.after_rating, has_reading_direction=True),
    NumberTask.name: _InputRules(typed_answers.keys_of_typing, typed_answers.after_number, is_typed=True),
    Keypress.name: _InputRules(keypresses.keys_of_keypress, keypresses.after_keypress),
    Recall.name: _InputRules(typed_answers.keys_of_recall, typed_answers.after_recall, is_typed=True),
    FreeText.name: _InputRules(typed_answers.keys_of_typing, typed_answers.after_text, is_typed=True),
    BlackboxPredict.name: _InputRules(_keys_of_prediction, _after_prediction),
}
