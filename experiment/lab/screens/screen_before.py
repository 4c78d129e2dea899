"""A screen between the fixation and the question: its parts in the middle, and nothing else."""

from dataclasses import replace
from typing import Any

from batteries.errors import InputError
from batteries.stimulus.parts import asset_parts
from experiment.lab.input.response_state import ENTER
from experiment.lab.screens.layout.buttons import Action, ButtonRows
from experiment.lab.screens.layout.canvas import Canvas, draw_escape_hint
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import ItemSize, Sheet
from experiment.lab.screens.stimulus_parts import add_parts

CONTINUE_KEYS = ("space", *ENTER)
"""Keys that end a screen without a duration."""


def screen_before(sheet: Sheet, screen: dict[str, Any]) -> ScreenImage:
    """Draw a screen. If it has no duration, a button below its parts ends it.

    Raises
    ------
    InputError
        If the parts do not fit.
    """
    sheet = replace(sheet, rules_hint="")  # The rules can be opened only while a question is on the screen.
    _, column = _fitting(sheet, screen)
    canvas, (width_px, height_px) = Canvas(sheet), sheet.size_px
    column.draw(canvas, (width_px - column.width_px) // 2, round(height_px / 2 - column.middle_px))
    if screen["duration_ms"] is None:
        button = _button(sheet)
        left, top = (width_px - button.widest_row_px) // 2, height_px - sheet.margins_px[1] - button.height_px
        button.draw(canvas, left, top)
        draw_escape_hint(canvas)
    return canvas.picture()


def screen_size(sheet: Sheet, screen: dict[str, Any]) -> ItemSize:
    """Return the sizes in which a screen is drawn. Raise the same errors as `screen_before`."""
    return _fitting(sheet, screen)[0]


def _fitting(sheet: Sheet, screen: dict[str, Any]) -> tuple[ItemSize, ScreenColumn]:
    has_pictures = any(asset_parts({"stimulus": screen["parts"]}))
    # The parts are in the exact middle, so the button needs the same space above the parts.
    button_px = 2 * (_button(sheet).height_px + sheet.body_px) if screen["duration_ms"] is None else 0
    for size in sheet.item_sizes(has_feedback=False, has_pictures=has_pictures):
        column = ScreenColumn(sheet, sheet.column_px)
        add_parts(column, screen["parts"], size, is_centred=True)
        if column.height_px <= sheet.inside_px[1] - button_px:
            return size, column
    raise InputError("the parts of a screen do not fit. Fix: shorten the texts of `screens`, or use fewer pictures.")


def _button(sheet: Sheet) -> ButtonRows:
    action = Action("next", sheet.words.say("continue"), "␣")
    width_px = ButtonRows(sheet, [action], sheet.body_px, sheet.column_px).widest_row_px
    return ButtonRows(sheet, [action], sheet.body_px, width_px)
