"""Rules for numbered options: one choice, several choices, and a ranking."""

from dataclasses import replace

from experiment.lab.input.response_state import (
    ENTER,
    SUBMIT,
    Content,
    ResponseState,
    digit_of,
    digits,
    with_keypad,
)

OPTION = "option-"
"""First part of the name of an option's button, if the study has keys for options; the second part is the number."""


def keys_of_choice(content: Content) -> tuple[str, ...]:
    """Return the keys of the options of `multiple_choice`, and Enter if participants choose several options."""
    if keys := content.get("option_keys"):
        return with_keypad(keys)
    return (*digits(len(content["options"])), *(ENTER if content.get("several") else ()))


def keys_of_ranking(content: Content) -> tuple[str, ...]:
    """Return the keys of the options of `ranking`, and Enter."""
    return (*digits(len(content["options"])), *ENTER)


def after_choice(content: Content, state: ResponseState, press: str) -> ResponseState:
    """Return the state of a response to `multiple_choice` after a press."""
    if content.get("several"):
        return _after_toggle(content, state, press)
    number = _chosen_number(content, press)
    if number is None or number > len(content["options"]):
        return state
    return ResponseState(number, number)


def _chosen_number(content: Content, press: str) -> int | None:
    keys: list[str] | None = content.get("option_keys")
    if keys is None:
        return digit_of(press)
    if press.startswith(OPTION):
        return int(press.removeprefix(OPTION))
    key = press.removeprefix("num_").lower()
    return keys.index(key) + 1 if key in keys else None


def after_ranking(content: Content, state: ResponseState, press: str) -> ResponseState:
    """Return the state of a response to `ranking` after a press.

    A chosen option comes after the options that were chosen before. If it was chosen before, this option and all
    options after it are taken back.
    """
    order = state.chosen if isinstance(state.chosen, list) else []
    number = digit_of(press)
    if press in {*ENTER, SUBMIT}:
        return replace(state, response=order) if len(order) == len(content["options"]) else state
    if number is None or number > len(content["options"]):
        return state
    return ResponseState(order[: order.index(number)] if number in order else [*order, number])


def is_complete(content: Content, state: ResponseState) -> bool:
    """Return True if the current choice can be submitted."""
    n_chosen = len(state.chosen) if isinstance(state.chosen, list) else 0
    if several := content.get("several"):
        return bool(several["at_least"] <= n_chosen <= several["at_most"])
    return n_chosen == len(content["options"])


def _after_toggle(content: Content, state: ResponseState, press: str) -> ResponseState:
    chosen = state.chosen if isinstance(state.chosen, list) else []
    number = digit_of(press)
    if press in {*ENTER, SUBMIT}:
        return replace(state, response=chosen) if is_complete(content, state) else state
    if number is None or number > len(content["options"]):
        return state
    kept = [each for each in chosen if each != number]
    return ResponseState(sorted(kept if number in chosen else [*kept, number]))  # type: ignore[type-var]
