"""The field with a typed text, for questions about the participant and for a word that must be typed."""

from batteries.errors import InputError
from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.sheet import Colour
from experiment.lab.screens.text.paragraphs import paragraph

_LINES_IN_SIGHT = 4
"""Largest number of lines of the typed text on the screen.

If the text has more lines, only the last lines are shown.
"""


def add_typed_field(column: ScreenColumn, typed: str, size_px: int) -> None:
    """Add the field with the typed text, and a text cursor after the text."""
    sheet, pad_px = column.sheet, round(0.5 * size_px)
    text_px = column.width_px - 2 * pad_px - sheet.px(4)
    try:
        text = paragraph(sheet, typed, size_px, text_px)
    except InputError:  # This machine cannot join the letters. The typed text is kept.
        text = paragraph(sheet, "•" * len(typed), size_px, text_px)
    shown = text.part(max(0, len(text.lines) - _LINES_IN_SIGHT), len(text.lines))
    height_px = max(sheet.target_px, shown.height_px + 2 * pad_px)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        canvas.box((x, y, x + column.width_px, y + height_px), Colour.PAPER, Colour.INK, sheet.px(2), sheet.px(6))
        left, top = x + pad_px, y + (height_px - shown.height_px) // 2
        canvas.write(shown, left + (0 if sheet.direction == "ltr" else sheet.px(4)), top, text_px)
        behind = shown.lines[-1].width_px + sheet.px(2)
        caret = left + behind if sheet.direction == "ltr" else left + text_px + sheet.px(4) - behind - sheet.px(2)
        caret_top = top + shown.height_px - shown.line_px
        canvas.fill((caret, caret_top, caret + sheet.px(2), caret_top + shown.line_px), Colour.INK)

    column.add(height_px, draw, round(0.6 * size_px))
