"""A message with a title, paragraphs, a field to type in and actions, for the escape key and for problems."""

from collections.abc import Sequence
from functools import partial

from batteries.errors import InputError
from experiment.lab.screens.layout.buttons import Action, add_buttons
from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn, first_that_fits
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.typed_field import add_typed_field


def message(
    sheet: Sheet, title: str, paragraphs: Sequence[str], actions: Sequence[Action] = (), typed: str | None = None
) -> ScreenImage:
    """Draw a message, vertically centred. With `typed`, a field with this typed text follows the paragraphs.

    Raises
    ------
    InputError
        If the message does not fit the screen.
    """
    (side_px, above_px), (width_px, height_px) = sheet.margins_px, sheet.inside_px
    fitting = first_that_fits(
        partial(_column, sheet, title, paragraphs, actions, typed), sheet.body_sizes_px, height_px
    )
    if fitting is None:
        raise InputError(f"the message {title!r} does not fit the screen. Fix: shorten the text of the message.")
    _, column = fitting
    canvas = Canvas(sheet)
    y = above_px + round(0.4 * (height_px - column.height_px))  # Slightly above the middle, where people look first.
    column.draw(canvas, side_px + (width_px - column.width_px) // 2, y)
    return canvas.picture()


def _column(
    sheet: Sheet, title: str, paragraphs: Sequence[str], actions: Sequence[Action], typed: str | None, size_px: int
) -> ScreenColumn:
    column = ScreenColumn(sheet, sheet.column_px)
    column.text(title, round(1.4 * size_px), round(0.7 * size_px), style="bold")
    for text in paragraphs:
        column.text(text, size_px, round(0.7 * size_px))
    if typed is not None:
        add_typed_field(column, typed, size_px)
    # More than two actions are drawn as a list.
    rows = [[action] for action in actions] if len(actions) > 2 else [actions]
    for row in rows:
        add_buttons(column, row, size_px, round(0.7 * size_px), has_main=row is rows[0])
    return column
