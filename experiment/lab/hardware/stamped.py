"""A press, a click or a typed text with its time, from any device."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Stamped:
    """A press of a key or of a button of a response box, a click or a typed text, with its time."""

    at_ns: int
    """Time by `time.perf_counter_ns`."""
    name: str
    """PsychoPy's name of the key, the typed text, or an empty text for a click."""
    input: Literal["key", "mouse", "box"]
    text: str = ""
    place_px: tuple[int, int] | None = None
    """Place of a click in px from the top left; None for a key."""
    is_drag: bool = False
    """True if the mouse has moved while its button was held down."""
    keycode: int | None = None
    """The X server's number of the key, which depends only on the key's place; None if it is unknown."""
    is_command: bool = False
    """True if a key such as Ctrl or Alt was held down."""
    has_own_time: bool = False
    """True if `at_ns` is the time of the event. False if it is the time at which this program read the event."""
