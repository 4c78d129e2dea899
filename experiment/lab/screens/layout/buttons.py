"""Buttons: the actions on a screen, triggered by a click or by the key on the button."""

from collections.abc import Sequence
from dataclasses import dataclass

from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.sheet import Colour, Sheet
from experiment.lab.screens.text.paragraphs import Paragraph, paragraph

_SIGNS = {"space": "␣", "left": "←", "right": "→", "up": "↑", "down": "↓"}


def key_sign(key: str) -> str:
    """Return the sign of a response key, as it is shown on a button."""
    return _SIGNS.get(key, key.upper())


@dataclass(frozen=True)
class Action:
    """An action on a screen."""

    name: str
    """Name of the action's region, such as `next`."""
    label: str
    key: str = ""
    """Name of the key for this action, such as `Enter`. The button shows this name beside the label."""


@dataclass(frozen=True)
class _Button:
    action: Action
    label: Paragraph
    key: Paragraph | None
    width_px: int
    height_px: int


class ButtonRows:
    """Buttons beside each other, in several rows if one row is too short.

    Parameters
    ----------
    sheet
        The sheet (sizes, fonts and texts of the screens).
    actions
        The actions. If `has_main` is True, the first one is the main action.
    size_px
        Font size of the labels.
    width_px
        Largest width of a row.
    has_main
        True to draw the first button as the main action.
    is_ltr
        True if the first button of a row is at the left; None for the direction of the study's language.
    """

    def __init__(
        self,
        sheet: Sheet,
        actions: Sequence[Action],
        size_px: int,
        width_px: int,
        has_main: bool = True,
        is_ltr: bool | None = None,
    ) -> None:
        self._sheet, self._width_px = sheet, width_px
        self._is_ltr = sheet.direction == "ltr" if is_ltr is None else is_ltr
        self._pad_px, self._gap_px = round(0.8 * size_px), round(0.7 * size_px)
        self._main = actions[0] if actions and has_main else None
        self._rows: list[list[_Button]] = []
        for action in actions:
            button = self._button(action, size_px)
            if self._rows and self._row_width(self._rows[-1]) + self._gap_px + button.width_px <= width_px:
                self._rows[-1].append(button)
            else:
                self._rows.append([button])

    @property
    def height_px(self) -> int:
        """Height of all rows together, in pixels."""
        heights = [max(button.height_px for button in row) for row in self._rows]
        return sum(heights) + self._gap_px * max(0, len(heights) - 1)

    @property
    def widest_row_px(self) -> int:
        """Width of the widest row in pixels."""
        return max(map(self._row_width, self._rows), default=0)

    @property
    def last_row_width_px(self) -> int:
        """Width of the last row in pixels. It may be shorter than the other rows."""
        return self._row_width(self._rows[-1]) if self._rows else 0

    def draw(self, canvas: Canvas, x: int, y: int) -> None:
        """Draw the buttons."""
        for row in self._rows:
            at = 0
            for button in row:
                left = x + (at if self._is_ltr else self._width_px - at - button.width_px)
                self._draw_button(canvas, button, left, y)
                at += button.width_px + self._gap_px
            y += max(button.height_px for button in row) + self._gap_px

    def _row_width(self, row: list[_Button]) -> int:
        return sum(button.width_px for button in row) + self._gap_px * (len(row) - 1)

    def _button(self, action: Action, size_px: int) -> _Button:
        sheet = self._sheet
        key = paragraph(sheet, action.key, round(0.85 * size_px), self._width_px) if action.key else None
        key_px = key.width_px + 2 * self._pad_px if key else 0
        label = paragraph(sheet, action.label, size_px, self._width_px - 2 * self._pad_px - key_px, "bold")
        width_px = max(sheet.target_px, label.width_px + key_px + 2 * self._pad_px)
        return _Button(action, label, key, width_px, max(sheet.target_px, label.height_px + self._pad_px))

    def _draw_button(self, canvas: Canvas, button: _Button, left: int, top: int) -> None:
        sheet = self._sheet
        is_main = button.action is self._main
        box = (left, top, left + button.width_px, top + button.height_px)
        ink, fill = (Colour.ON_ACCENT, Colour.ACCENT) if is_main else (Colour.INK, Colour.PAPER)
        canvas.box(box, fill, Colour.ACCENT if is_main else Colour.LINE_STRONG, sheet.px(1.5), sheet.px(6))
        canvas.region(button.action.name, box)
        inner_px = button.width_px - 2 * self._pad_px
        key_px = button.key.width_px + self._pad_px if button.key else 0
        label_px = inner_px - (key_px + self._pad_px if button.key else 0)
        is_ltr = sheet.direction == "ltr"
        label_left = left + self._pad_px + (0 if is_ltr else inner_px - label_px)
        label_top = top + (button.height_px - button.label.height_px) // 2
        canvas.write(button.label, label_left, label_top, label_px, ink, "centre")
        if button.key:
            height_px = button.key.height_px
            key_left = left + self._pad_px + (inner_px - key_px if is_ltr else 0)
            key_top = top + (button.height_px - height_px) // 2
            canvas.box((key_left, key_top, key_left + key_px, key_top + height_px), fill, ink, sheet.px(1), sheet.px(4))
            canvas.write(button.key, key_left, key_top, key_px, ink, "centre")


def add_buttons(
    column: ScreenColumn, actions: Sequence[Action], size_px: int, gap_px: int, has_main: bool = True
) -> None:
    """Add buttons to a column, if there are actions."""
    if actions:
        rows = ButtonRows(column.sheet, actions, size_px, column.width_px, has_main)
        column.add(rows.height_px, rows.draw, gap_px)
