"""Check of a response box: the experimenter presses each button."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from experiment.lab.hardware.machine_check import MachineFinding
from experiment.lab.hardware.response_box.box_text import BoxText
from experiment.lab.screens.layout.screen_image import ESCAPE
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.message import message
from experiment.lab.screens.text.fonts import font_for
from experiment.texts import ENGLISH

if TYPE_CHECKING:
    from experiment.lab.hardware.keys_and_clicks import InputDevices
    from experiment.lab.hardware.window import LabWindow

BOX_PATIENCE_S = 30


def check_response_box(
    window: "LabWindow", inputs: "InputDevices", box: BoxText, timing: str, inform: Callable[[str], None]
) -> MachineFinding:
    """Ask the experimenter to press each button once, and report the buttons that were received.

    Parameters
    ----------
    window, inputs
        The window, and its keys with the open response box.
    box
        The description of the box.
    timing
        The source of the times of presses, in words.
    inform
        Function that receives a sentence on each press.
    """
    asked = (
        f"Press each button of the response box once. Number of buttons: {len(box.keys)}.",
        f"The check ends after {BOX_PATIENCE_S} seconds, or when you press Escape.",
    )
    sheet = Sheet(window.size_px, font_for(asked), ENGLISH)

    def show(*sentences: str) -> int:
        return window.show(window.prepare(message(sheet, "Response box", [*asked, *sentences]).image))

    def inform_and_show(sentence: str) -> None:
        """Show the last press in the window too, because the window can cover the terminal."""
        inform(sentence)
        show(sentence)

    inputs.clear()
    inputs.reset(show())
    return finding_on_buttons(inputs, box, timing, inform_and_show)


def finding_on_buttons(
    inputs: "InputDevices", box: BoxText, timing: str, inform: Callable[[str], None]
) -> MachineFinding:
    """Wait until each key of the box was received, and return the finding."""
    awaited = dict.fromkeys(box.keys.values())
    while awaited:
        press = inputs.wait(until_ms=1000 * BOX_PATIENCE_S)
        if press is None or press.name == ESCAPE:
            break
        if press.input == "box":
            awaited.pop(press.name, None)
            inform(f"Response box: key `{press.name}` at {press.rt_ms:.1f} ms.")
        else:
            inform(f"Not a button of the box: key `{press.name}`.")
    if awaited:
        names = ", ".join(f"`{key}`" for key in awaited)
        advice = "press each button; if its name is not printed, check the cable, the mode of the box and `--box`."
        return MachineFinding("Response box", "bad", f"no press was received for the keys {names}", advice)
    names = ", ".join(f"`{key}`" for key in dict.fromkeys(box.keys.values()))
    return MachineFinding("Response box", "good", f"presses of the keys {names} were received; {timing}")
