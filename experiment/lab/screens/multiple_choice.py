"""`multiple_choice` on the screen: a text, a question, and numbered options."""

import re
from functools import partial
from typing import Any

from batteries.errors import InputError
from experiment.lab.screens.layout.canvas import Canvas, draw_escape_hint
from experiment.lab.screens.layout.column import ScreenColumn, first_that_fits
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import (
    INK,
    INK_SOFT,
    LINE,
    LINE_STRONG,
    PAPER,
    RIGHT,
    RIGHT_SOFT,
    WRONG,
    WRONG_SOFT,
    Sheet,
)
from experiment.lab.screens.text.paragraphs import paragraph
from experiment.lab.screens.trial_header import TrialMoment, add_feedback, add_progress, add_time_hints


def multiple_choice(sheet: Sheet, content: dict[str, Any], moment: TrialMoment) -> ScreenImage:
    """Draw an item in the largest font size that fits.

    Raises
    ------
    InputError
        If the item does not fit the screen in the smallest readable font size.
    """
    _, column = _fitting(sheet, content, moment)
    (side_px, above_px), (width_px, _) = sheet.margins_px, sheet.inside_px
    canvas = Canvas(sheet)
    column.draw(canvas, side_px + (width_px - column.width_px) // 2, above_px)
    draw_escape_hint(canvas)
    return canvas.picture()


def letters_px(sheet: Sheet, content: dict[str, Any], moment: TrialMoment) -> int:
    """Return the font size in pixels in which an item is drawn. Raise the same errors as `multiple_choice`."""
    return _fitting(sheet, content, moment)[0]


def _fitting(sheet: Sheet, content: dict[str, Any], moment: TrialMoment) -> tuple[int, ScreenColumn]:
    sizes_px = sheet.item_sizes_px(moment.feedback is not None)
    fitting = first_that_fits(partial(_column, sheet, content, moment), sizes_px, sheet.inside_px[1])
    if fitting is None:
        n_characters = len(content["text"]) + len(content["prompt"]) + sum(map(len, content["options"]))
        raise InputError(
            f"the text of {n_characters:,} characters does not fit a screen of {sheet.size_px[0]} x "
            f"{sheet.size_px[1]} px in easily readable letters. Fix: shorten `text` or the options."
        )
    return fitting


def _column(sheet: Sheet, content: dict[str, Any], moment: TrialMoment, size_px: int) -> ScreenColumn:
    column = ScreenColumn(sheet, sheet.column_px)
    add_progress(column, moment, size_px)
    for text in re.split(r"\n\s*\n", content["text"]):
        if text.strip():
            column.text(text, size_px, round(0.6 * size_px))
    column.text(content["prompt"], size_px, round(0.6 * size_px), style="bold")
    add_time_hints(column, moment, size_px)
    for number, option in enumerate(content["options"], start=1):
        _add_option(column, number, option, moment, size_px)
    if moment.feedback:
        add_feedback(column, moment.feedback, moment.actions, size_px)
    else:
        column.text(sheet.words.say("multiple_choice_help"), round(0.9 * size_px), 0, INK_SOFT)
    return column


def _add_option(column: ScreenColumn, number: int, option: str, moment: TrialMoment, size_px: int) -> None:
    sheet, width_px = column.sheet, column.width_px
    pad_px, above_px, cap_px = round(0.6 * size_px), round(0.35 * size_px), round(1.5 * size_px)
    text_px = width_px - 3 * pad_px - cap_px
    text = paragraph(sheet, option, size_px, text_px)
    digit = paragraph(sheet, str(number), round(0.9 * size_px), cap_px, "bold")
    feedback = moment.feedback
    is_right = feedback is not None and feedback.solution == number
    is_wrong = feedback is not None and moment.response_state.response == number and not is_right
    words = sheet.words.say("right_answer" if is_right else "your_answer")
    mark = paragraph(sheet, words, size_px, text_px - 2 * size_px, "bold") if is_right or is_wrong else None
    inner_px = max(text.height_px, cap_px) + (mark.height_px if mark else 0)
    height_px = max(sheet.target_px, inner_px + 2 * above_px)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        box = (x, y, x + width_px, y + height_px)
        colour, fill = (RIGHT, RIGHT_SOFT) if is_right else (WRONG, WRONG_SOFT)
        if mark:
            canvas.box(box, fill, colour, sheet.px(3), sheet.px(6))
        else:
            canvas.box(box, PAPER, LINE if moment.is_reading else LINE_STRONG, sheet.px(1.5), sheet.px(6))
        if feedback is None:
            canvas.region(str(number), box)
        ink = INK_SOFT if moment.is_reading else INK
        is_ltr = sheet.direction == "ltr"
        cap_left = x + pad_px if is_ltr else x + width_px - pad_px - cap_px
        text_left = x + 2 * pad_px + cap_px if is_ltr else x + pad_px
        top = y + (height_px - inner_px) // 2
        cap = (cap_left, top, cap_left + cap_px, top + cap_px)
        if not moment.is_reading:
            canvas.box(cap, fill if mark else PAPER, LINE_STRONG, sheet.px(1), sheet.px(4))
        canvas.write(digit, cap_left, top + (cap_px - digit.line_px) // 2, cap_px, ink, "centre")
        text_top = top + max(0, (cap_px - text.line_px) // 2)
        canvas.write(text, text_left, text_top, text_px, ink)
        if mark:
            mark_top = top + inner_px - mark.height_px
            sign_left = text_left if is_ltr else text_left + text_px - size_px
            sign_top = mark_top + (mark.line_px - size_px) // 2
            sign = canvas.tick if is_right else canvas.cross
            sign((sign_left, sign_top, sign_left + size_px, sign_top + size_px), colour)
            words_px = text_px - round(1.5 * size_px)
            canvas.write(mark, text_left + text_px - words_px if is_ltr else text_left, mark_top, words_px, colour)

    column.add(height_px, draw, round(0.5 * size_px))
