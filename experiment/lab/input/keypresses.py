"""Rules for fast responses with a key."""

from experiment.lab.input.response_state import Content, ResponseState, with_keypad

KEY = "key-"
"""First part of the name of a key's button on the screen; the second part is the name of the key."""


def keys_of_keypress(content: Content) -> tuple[str, ...]:
    """Return the response keys. A digit is also accepted on the keypad."""
    return with_keypad(content["keys"])


def after_keypress(content: Content, state: ResponseState, press: str) -> ResponseState:
    """Return the state of a response to `keypress` after a press. The first key gives the response."""
    name = content["keys"].get(press.removeprefix(KEY).removeprefix("num_").lower())
    return state if name is None else ResponseState(name, name)
