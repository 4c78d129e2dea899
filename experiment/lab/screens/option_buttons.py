"""Numbered buttons for the options of a question, and the button that submits a response."""

from dataclasses import dataclass, replace
from typing import Literal, Self

from experiment.lab.input.response_state import SUBMIT
from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.screen_image import Box
from experiment.lab.screens.layout.sheet import Colour
from experiment.lab.screens.text.paragraphs import Paragraph, paragraph

_COLOURS: dict[str, tuple[Colour, Colour]] = {
    "chosen": (Colour.CHOICE, Colour.CHOICE_SOFT),
    "right": (Colour.RIGHT, Colour.RIGHT_SOFT),
    "wrong": (Colour.WRONG, Colour.WRONG_SOFT),
}
"""Colour of the border, and colour of the inside."""


@dataclass(frozen=True)
class ButtonLook:
    """Look of an option's button, which depends on the response."""

    mark: Literal["", "chosen", "right", "wrong"] = ""
    note: str = ""
    """Words below the option, such as `right answer`."""
    end: str = ""
    """Words at the end of the button, such as the place in a ranking."""
    is_reading: bool = False
    """True while no response is accepted."""
    is_open: bool = True
    """True if a click on the button has an effect."""

    @property
    def ink(self) -> Colour:
        """Colour of the words."""
        return Colour.INK_SOFT if self.is_reading else Colour.INK

    def draw_box(self, canvas: Canvas, box: Box) -> None:
        """Draw the box of a button."""
        border, fill = _COLOURS.get(self.mark, (Colour.LINE if self.is_reading else Colour.LINE_STRONG, Colour.PAPER))
        canvas.box(box, fill, border, canvas.sheet.px(3 if self.mark else 1.5), canvas.sheet.px(6))

    def draw_key(self, canvas: Canvas, digit: Paragraph, left: int, top: int, side_px: int) -> None:
        """Draw the key of a button: its digit in a small box."""
        sheet = canvas.sheet
        if not self.is_reading:
            fill = _COLOURS[self.mark][1] if self.mark else Colour.PAPER
            canvas.box((left, top, left + side_px, top + side_px), fill, Colour.LINE_STRONG, sheet.px(1), sheet.px(4))
        canvas.write(digit, left, top + (side_px - digit.line_px) // 2, side_px, self.ink, "centre")

    def draw_note(self, canvas: Canvas, note: Paragraph, x: int, y: int, width_px: int) -> None:
        """Draw the words below the option, after a tick or a cross."""
        size_px, is_ltr = note.size_px, canvas.sheet.direction == "ltr"
        side_px = round(0.8 * size_px)
        left = x if is_ltr else x + width_px - side_px
        top = y + (note.line_px - side_px) // 2
        mark = canvas.tick if self.mark == "right" else canvas.cross
        mark((left, top, left + side_px, top + side_px), Colour.RIGHT if self.mark == "right" else Colour.WRONG)
        canvas.write(note, x + round(1.3 * size_px) if is_ltr else x, y, width_px - round(1.3 * size_px))


@dataclass(frozen=True)
class OptionKey:
    """The key of an option."""

    region: str
    """Name of the region of the option's button."""
    sign: str
    """The key's sign on the button."""

    @classmethod
    def of_number(cls, number: int) -> Self:
        """Return the digit key of an option."""
        return cls(str(number), str(number))


def add_option_button(
    column: ScreenColumn, key: OptionKey, option: str, look: ButtonLook, size_px: int, longest_end: str = ""
) -> None:
    """Add a button with a key and a text.

    Parameters
    ----------
    column
        The column.
    key, option
        The key of the option, and its text.
    look
        The current look.
    size_px
        Font size.
    longest_end
        The longest words that `look.end` can have, so that there is always space for them. A tick needs the text `✓`.
    """
    sheet, width_px = column.sheet, column.width_px
    pad_px, above_px, key_px = round(0.6 * size_px), round(0.35 * size_px), round(1.5 * size_px)
    end_px = paragraph(sheet, longest_end, size_px, width_px, "bold").width_px + pad_px if longest_end else 0
    text_px = width_px - 3 * pad_px - key_px - end_px
    text = paragraph(sheet, option, size_px, text_px)
    digit = paragraph(sheet, key.sign, round(0.9 * size_px), key_px, "bold")
    note = paragraph(sheet, look.note, size_px, text_px - 2 * size_px, "bold") if look.note else None
    end = paragraph(sheet, look.end, size_px, end_px, "bold") if look.end else None
    inner_px = max(text.height_px, key_px) + (note.height_px if note else 0)
    height_px = max(sheet.target_px, inner_px + 2 * above_px)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        box, is_ltr = (x, y, x + width_px, y + height_px), sheet.direction == "ltr"
        look.draw_box(canvas, box)
        if look.is_open:
            canvas.region(key.region, box)
        key_left = x + pad_px if is_ltr else x + width_px - pad_px - key_px
        text_left = x + 2 * pad_px + key_px if is_ltr else x + pad_px + end_px
        top = y + (height_px - inner_px) // 2
        look.draw_key(canvas, digit, key_left, top, key_px)
        canvas.write(text, text_left, top + max(0, (key_px - text.line_px) // 2), text_px, look.ink)
        if note:
            look.draw_note(canvas, note, text_left, top + max(text.height_px, key_px), text_px)
        if end:
            end_left = x + width_px - pad_px - end.width_px if is_ltr else x + pad_px
            canvas.write(end, end_left, y + (height_px - end.height_px) // 2, end.width_px, Colour.CHOICE)

    column.add(height_px, draw, round(0.35 * size_px), replace(look, note=""))


def add_submit(column: ScreenColumn, can_submit: bool, key: str, size_px: int) -> None:
    """Add the button that submits a response, with the name of its key."""
    sheet, pad_px = column.sheet, round(0.8 * size_px)
    label = paragraph(sheet, sheet.words.say("submit_answer"), size_px, column.width_px // 2, "bold")
    name = paragraph(sheet, key, round(0.85 * size_px), column.width_px // 3)
    name_px = name.width_px + pad_px
    width_px = label.width_px + name_px + 3 * pad_px
    height_px = max(sheet.target_px, label.height_px + round(0.6 * size_px))

    def draw(canvas: Canvas, x: int, y: int) -> None:
        is_ltr = sheet.direction == "ltr"
        left = x if is_ltr else x + column.width_px - width_px
        box = (left, y, left + width_px, y + height_px)
        ink, fill = (Colour.ON_ACCENT, Colour.ACCENT) if can_submit else (Colour.INK_SOFT, Colour.PANEL)
        canvas.box(box, fill, Colour.ACCENT if can_submit else Colour.LINE, sheet.px(1.5), sheet.px(6))
        canvas.region(SUBMIT, box)
        label_left = left + pad_px if is_ltr else left + 2 * pad_px + name_px
        canvas.write(label, label_left, y + (height_px - label.height_px) // 2, label.width_px, ink)
        name_left = left + 2 * pad_px + label.width_px if is_ltr else left + pad_px
        name_top = y + (height_px - name.height_px) // 2
        name_box = (name_left, name_top, name_left + name_px, name_top + name.height_px)
        canvas.box(name_box, fill, ink, sheet.px(1), sheet.px(4))
        canvas.write(name, name_left, name_top, name_px, ink, "centre")

    column.add(height_px, draw, round(0.5 * size_px), can_submit)
