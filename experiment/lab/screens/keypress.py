"""`keypress` on the screen: text and prompt at the top, the stimulus in the middle, and the keys at the bottom."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from batteries.errors import InputError
from batteries.stimulus.parts import asset_parts
from experiment.lab.input.keypresses import KEY
from experiment.lab.screens.layout.buttons import Action, ButtonRows, key_sign
from experiment.lab.screens.layout.canvas import Canvas, draw_escape_hint
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import ItemSize, Sheet
from experiment.lab.screens.stimulus_parts import add_parts
from experiment.lab.screens.trial_header import TrialMoment, add_feedback, add_progress


def keypress(
    sheet: Sheet, content: dict[str, Any], moment: TrialMoment, parts: Sequence[Mapping[str, Any]] | None = None
) -> ScreenImage:
    """Draw an item with other parts in place of the stimulus, such as the mask; None for the stimulus.

    Raises
    ------
    InputError
        If the item does not fit the screen.
    """
    size = keypress_size(sheet, content, moment)
    canvas, (width_px, height_px) = Canvas(sheet), sheet.size_px
    left, above_px = (width_px - sheet.column_px) // 2, sheet.margins_px[1]
    header = _header(sheet, content, moment, size)
    header.draw(canvas, left, above_px)
    middle = _middle(sheet, content.get("stimulus", ()) if parts is None else parts, size)
    if moment.feedback is None:
        middle.draw(canvas, left, round(height_px / 2 - middle.middle_px))
        keys = _keys(sheet, content)
        keys.draw(canvas, (width_px - keys.widest_row_px) // 2, height_px - above_px - keys.height_px)
    else:
        middle.draw(canvas, left, above_px + header.height_px + size.letters_px)
        panel = ScreenColumn(sheet, sheet.column_px)
        add_feedback(panel, moment.feedback, moment.actions, size.letters_px)
        panel.draw(canvas, left, height_px - above_px - panel.height_px)
    draw_escape_hint(canvas)
    return canvas.picture()


def keypress_size(sheet: Sheet, content: dict[str, Any], moment: TrialMoment) -> ItemSize:
    """Return the sizes in which an item is drawn. Raise the same errors as `keypress`."""
    all_px, keys_px = sheet.size_px[1], _keys(sheet, content).height_px
    for size in sheet.item_sizes(moment.feedback is not None, any(asset_parts(content))):
        above_px = sheet.margins_px[1] + _header(sheet, content, moment, size).height_px + size.letters_px
        middle_px = max(
            _middle(sheet, parts, size).height_px for parts in (content.get("stimulus", ()), content["mask"])
        )
        below_px = sheet.margins_px[1] + keys_px + size.letters_px
        if moment.feedback is not None:
            panel = ScreenColumn(sheet, sheet.column_px)
            add_feedback(panel, moment.feedback, moment.actions, size.letters_px)
            if above_px + middle_px + panel.height_px + below_px - keys_px <= all_px:
                return size
        elif max(above_px, below_px) + middle_px / 2 <= all_px / 2:
            return size
    raise InputError("the item does not fit the screen. Fix: shorten `text` or the texts of `stimulus` and `mask`.")


def _header(sheet: Sheet, content: dict[str, Any], moment: TrialMoment, size: ItemSize) -> ScreenColumn:
    column, size_px = ScreenColumn(sheet, sheet.column_px), size.letters_px
    add_progress(column, moment, size_px)
    for text in re.split(r"\n\s*\n", content["text"]):
        if text.strip():
            column.text(text, size_px, round(0.6 * size_px))
    column.text(content["prompt"], size_px, round(0.6 * size_px), style="bold")
    return column


def _middle(sheet: Sheet, parts: Sequence[Mapping[str, Any]], size: ItemSize) -> ScreenColumn:
    column = ScreenColumn(sheet, sheet.column_px)
    add_parts(column, parts, size, is_centred=True)
    return column


def _keys(sheet: Sheet, content: dict[str, Any]) -> ButtonRows:
    actions = [Action(f"{KEY}{key}", name, key_sign(key)) for key, name in content["keys"].items()]
    size_px = round(0.9 * sheet.body_px)
    width_px = ButtonRows(sheet, actions, size_px, sheet.column_px, has_main=False).widest_row_px
    # The order of the keys on the keyboard, in all languages.
    return ButtonRows(sheet, actions, size_px, width_px, has_main=False, is_ltr=True)
