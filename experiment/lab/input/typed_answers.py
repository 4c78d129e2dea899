"""Rules for typed answers: numbers and texts."""

from dataclasses import replace

from pydantic import JsonValue

from batteries.tasks.recall import MOST_CHARACTERS
from experiment.lab.input.response_state import ENTER, SUBMIT, Content, ResponseState
from experiment.lab.input.typed_numbers import typed_number
from experiment.lab.input.typed_text import TypedText

CONTROL_ENTER = "ctrl_return"
"""Name of Enter with the control key, which submits a text of several lines."""
LONGEST_NUMBER = 30
"""Largest number of characters of a typed number."""


def keys_of_typing(_content: Content) -> tuple[str, ...]:
    """Return the keys that can submit a typed answer."""
    return ENTER


def keys_of_recall(_content: Content) -> tuple[str, ...]:
    """Return no key, because only Enter with the control key submits a list."""
    return ()


def after_number(content: Content, state: ResponseState, press: str) -> ResponseState:
    """Return the state of a response to `number` after a press."""
    if press in {*ENTER, CONTROL_ENTER, SUBMIT}:
        return _submitted(state, _number(content, state.typed.text))
    return _typed(state, press, LONGEST_NUMBER)


def after_text(content: Content, state: ResponseState, press: str) -> ResponseState:
    """Return the state of a response to `free_text` after a press. With several lines, Enter begins a new line."""
    has_lines = content["lines"] > 1
    if press in {CONTROL_ENTER, SUBMIT} or (press in ENTER and not has_lines):
        return _submitted(state, state.typed.text if state.typed.text.strip() else None)
    return _typed(state, press, content["most_characters"], has_lines)


def after_recall(content: Content, state: ResponseState, press: str) -> ResponseState:
    """Return the state of a response to `recall` after a press.

    Enter adds the typed entry to the list. Backspace in an empty field takes back the last entry. An empty list must be
    submitted twice, so that nobody submits it by accident.
    """
    entries = state.chosen if isinstance(state.chosen, list) else []
    entry = state.typed.text.strip()
    has_space = len(entries) < content["most_entries"]
    if press in {CONTROL_ENTER, SUBMIT}:
        response = [*entries, entry] if entry and has_space else entries
        if not response and not state.is_refused:
            return replace(state, is_refused=True)
        return ResponseState(response, response)
    if press in ENTER:
        return ResponseState([*entries, entry]) if entry and has_space else state
    if press == "backspace" and not state.typed.text and entries:
        last = str(entries[-1])
        return ResponseState(entries[:-1], typed=TypedText(last, len(last)))
    typed = state.typed.after(press, MOST_CHARACTERS)
    return state if typed == state.typed else replace(state, typed=typed, is_refused=False)


def _submitted(state: ResponseState, response: JsonValue) -> ResponseState:
    return replace(state, chosen=response, response=response, is_refused=response is None)


def _typed(state: ResponseState, press: str, most_characters: int, has_lines: bool = False) -> ResponseState:
    typed = state.typed.after(press, most_characters, has_lines)
    return state if typed == state.typed else ResponseState(typed=typed)


def _number(content: Content, text: str) -> int | float | None:
    number = typed_number(text)
    if number is None or number.n_decimals > content["decimals"]:
        return None
    return number.value if content["low"] <= number.value <= content["high"] else None
