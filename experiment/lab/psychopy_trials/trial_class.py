"""`PsychoPyTrial`, from which a laboratory's class inherits to draw and answer items of its own kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import JsonValue

if TYPE_CHECKING:
    from psychopy.visual import Window


@dataclass(frozen=True)
class TrialPress:
    """A key press or a click during a trial."""

    rt_ms: float
    """Time from the onset of the stimulus to the press, in ms."""
    key: str | None = None
    """PsychoPy's name of the key, as in `keys`; None for a click."""
    position_px: tuple[float, float] | None = None
    """Place of a click in PsychoPy's unit `pix`: from the middle of the window, to the right and up; None for a key."""


class PsychoPyTrial:
    """A trial of a laboratory's own kind. Write a class that inherits from this class, with a method `draw`.

    Equipoise makes a new object for each attempt at a trial, before the fixation. It shows the fixation, calls `draw`
    before each frame, takes the time of each press, and stores the response. An exception in the class ends the
    session; all earlier responses stay stored.

    Parameters
    ----------
    window
        PsychoPy's window. Its units are `pix`. Build the stimuli here, so that `draw` is fast. Do not flip the window.
    parameters
        The `parameters` of the item. A path of a file in `assets` is replaced by the complete path of the file.
    """

    keys: Mapping[str, JsonValue] = {}
    """The keys that participants can press, by PsychoPy's names, and the response that each key gives.

    A key with None gives no response by itself, such as a key that moves something. A class can also set `self.keys` in
    `__init__`.
    """
    takes_clicks: bool = False
    """True if `response` receives the clicks with the left mouse button."""

    def __init__(self, window: "Window", parameters: dict[str, JsonValue]) -> None:
        self.window = window
        self.parameters = parameters

    def draw(self, t_ms: float) -> None:
        """Draw one frame. Equipoise has drawn the background, and flips the window afterwards.

        This method is called before each frame, and must only draw: the first frame is also drawn once before the
        fixation, so that the graphics card has loaded everything.

        Parameters
        ----------
        t_ms
            Time from the onset of the stimulus to the onset of this frame, in ms: 0 for the first frame, and then a
            whole number of frames.
        """
        raise NotImplementedError

    def response(self, press: TrialPress) -> JsonValue:
        """Return the response that a press gives, or None if the trial continues.

        By default, this is the response in `keys`. A response is a text, a number or another JSON value. If the item
        lists `answers`, the response must be one of them.
        """
        return None if press.key is None else self.keys[press.key]
