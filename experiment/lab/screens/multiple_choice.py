"""`multiple_choice` on the screen: numbered options, which are texts or pictures."""

from dataclasses import replace
from math import ceil
from typing import Any

from experiment.lab.input.choices import OPTION, is_complete
from experiment.lab.screens.layout.buttons import key_sign
from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn, nothing
from experiment.lab.screens.layout.sheet import Colour, ItemSize
from experiment.lab.screens.option_buttons import ButtonLook, OptionKey, add_option_button, add_submit
from experiment.lab.screens.stimulus_parts import picture, shown_px
from experiment.lab.screens.text.paragraphs import paragraph
from experiment.lab.screens.trial_header import TrialMoment

_MOST_IN_ROW = 4
"""Largest number of pictures in a row."""


def add_options(column: ScreenColumn, content: dict[str, Any], moment: TrialMoment, size: ItemSize) -> None:
    """Add the options, and the button that submits several choices."""
    options, several, keys = content["options"], content.get("several"), _keys(content)
    looks = [_look(column, number, moment) for number in range(1, len(options) + 1)]
    if all(isinstance(option, str) for option in options):
        for key, option, look in zip(keys, options, looks, strict=True):
            ticked = replace(look, end="✓" if several and look.mark == "chosen" else "")
            add_option_button(column, key, option, ticked, size.letters_px, "✓" if several else "")
    else:
        _add_grid(column, options, keys, looks, size)
    if several and moment.feedback is None:
        column.add(0, nothing, round(0.3 * size.letters_px))
        add_submit(column, is_complete(content, moment.response_state), "Enter", size.letters_px)


def help_on(column: ScreenColumn, content: dict[str, Any]) -> str:
    """Return the text about how to respond."""
    say, several = column.sheet.words.say, content.get("several")
    if not several:
        return say("option_keys_help" if "option_keys" in content else "multiple_choice_help")
    if several["at_least"] == several["at_most"]:
        return say("choose_exactly", number=several["at_least"])
    return say("choose_several", **several)


def _keys(content: dict[str, Any]) -> list[OptionKey]:
    numbers = range(1, len(content["options"]) + 1)
    keys = content.get("option_keys")
    if keys is None:
        return [OptionKey.of_number(number) for number in numbers]
    return [OptionKey(f"{OPTION}{number}", key_sign(key)) for number, key in zip(numbers, keys, strict=True)]


def _look(column: ScreenColumn, number: int, moment: TrialMoment) -> ButtonLook:
    say, feedback, chosen = column.sheet.words.say, moment.feedback, _numbers(moment.response_state.chosen)
    if feedback is None:
        return ButtonLook("chosen" if number in chosen else "", is_reading=moment.is_reading)
    if number in _numbers(feedback.solution):
        return ButtonLook("right", say("right_answer"), is_open=False)
    if number in chosen:
        return ButtonLook("wrong", say("your_answer"), is_open=False)
    return ButtonLook(is_open=False)


def _numbers(value: Any) -> list[int]:
    return value if isinstance(value, list) else [value]


def _add_grid(
    column: ScreenColumn, options: list[Any], keys: list[OptionKey], looks: list[ButtonLook], size: ItemSize
) -> None:
    """Add options with pictures, in one or more rows of equal width."""
    n_rows = ceil(len(options) / _MOST_IN_ROW)
    n_columns = ceil(len(options) / n_rows)
    buttons = list(zip(keys, options, looks, strict=True))
    for start in range(0, len(options), n_columns):
        _add_row(
            column, buttons[start : start + n_columns], n_columns, ItemSize(size.letters_px, size.picture_px // n_rows)
        )


def _add_row(
    column: ScreenColumn, row: list[tuple[OptionKey, Any, ButtonLook]], n_columns: int, size: ItemSize
) -> None:
    sheet, size_px = column.sheet, size.letters_px
    gap_px, pad_px, key_px = round(0.5 * size_px), round(0.5 * size_px), round(1.5 * size_px)
    cell_px = (column.width_px - (n_columns - 1) * gap_px) // n_columns
    inner_px = cell_px - 3 * pad_px - key_px
    texts = {key: paragraph(sheet, option, size_px, inner_px) for key, option, _ in row if isinstance(option, str)}
    pictures = {
        key: shown_px(sheet, option, (inner_px, size.picture_px))
        for key, option, _ in row
        if not isinstance(option, str)
    }
    notes = {
        key: paragraph(sheet, look.note, size_px, cell_px - 2 * pad_px - round(1.3 * size_px), "bold")
        for key, _, look in row
        if look.note
    }
    heights = [text.height_px for text in texts.values()] + [height for _, height in pictures.values()]
    note_px = max((note.height_px for note in notes.values()), default=0)
    content_px = max(key_px, *heights)
    height_px = max(sheet.target_px, content_px + note_px + 2 * pad_px)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        is_ltr = sheet.direction == "ltr"
        for place, (key, option, look) in enumerate(row):
            left = (
                x + place * (cell_px + gap_px) if is_ltr else x + column.width_px - place * (cell_px + gap_px) - cell_px
            )
            box = (left, y, left + cell_px, y + height_px)
            look.draw_box(canvas, box)
            if look.is_open:
                canvas.region(key.region, box)
            digit = paragraph(sheet, key.sign, round(0.9 * size_px), key_px, "bold")
            look.draw_key(
                canvas, digit, left + pad_px if is_ltr else left + cell_px - pad_px - key_px, y + pad_px, key_px
            )
            inner_left = left + 2 * pad_px + key_px if is_ltr else left + pad_px
            if key in texts:
                top = y + pad_px + (content_px - texts[key].height_px) // 2
                canvas.write(texts[key], inner_left, top, inner_px, look.ink)
            else:
                width, height = pictures[key]
                shown = picture(sheet, option, (width, height))
                canvas.paste(shown, inner_left + (inner_px - width) // 2, y + pad_px + (content_px - height) // 2)
            if key in notes:
                look.draw_note(canvas, notes[key], left + pad_px, y + pad_px + content_px, cell_px - 2 * pad_px)
            elif look.mark == "chosen":
                side = round(0.9 * size_px)
                tick_left = (
                    left + pad_px + (key_px - side) // 2 if is_ltr else left + cell_px - pad_px - (key_px + side) // 2
                )
                tick_top = y + pad_px + key_px + pad_px // 2
                if tick_top + side <= y + height_px:
                    canvas.tick((tick_left, tick_top, tick_left + side, tick_top + side), Colour.CHOICE)

    column.add(height_px, draw, gap_px, tuple(look for *_, look in row))
