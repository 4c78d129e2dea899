"""`blackbox_predict` on the screen: the board, and a panel with the question, the board in words and the response."""

from functools import partial
from typing import Any

from batteries.blackbox import Port
from batteries.errors import InputError
from experiment.lab.screens.blackbox_board import Board
from experiment.lab.screens.layout.canvas import Canvas, draw_escape_hint
from experiment.lab.screens.layout.column import ScreenColumn, first_that_fits
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import Colour, Sheet
from experiment.lab.screens.text.paragraphs import Paragraph, paragraph
from experiment.lab.screens.trial_header import TrialMoment, add_feedback, add_progress, add_time_hints
from experiment.texts import Texts

_ANSWERS = ("absorbed", "reflected")


def blackbox_predict(sheet: Sheet, content: dict[str, Any], moment: TrialMoment) -> ScreenImage:
    """Draw a board and the possible responses.

    Raises
    ------
    InputError
        If the texts beside the board do not fit.
    """
    layout = _Layout(sheet, content, moment)
    _, panel = layout.fitting_panel()
    (side_px, above_px), (width_px, _) = sheet.margins_px, sheet.inside_px
    left = side_px + (width_px - layout.board_px - layout.gap_px - layout.panel_px) // 2
    is_ltr, top = sheet.direction == "ltr", above_px + layout.progress_px
    canvas = Canvas(sheet)
    layout.progress.draw(canvas, left if is_ltr else 2 * side_px - left, above_px)
    panel.draw(canvas, left + layout.board_px + layout.gap_px if is_ltr else left, top)
    board_left = left if is_ltr else left + layout.panel_px + layout.gap_px
    Board(canvas, content, moment, board_left, top, layout.cell_px).draw()
    draw_escape_hint(canvas)
    return canvas.picture()


def letters_px(sheet: Sheet, content: dict[str, Any], moment: TrialMoment) -> int:
    """Return the font size in pixels of the texts beside a board. Raise the same errors as `blackbox_predict`."""
    return _Layout(sheet, content, moment).fitting_panel()[0]


class _Layout:
    """Sizes of the board and the panel, which are side by side below the line with the progress."""

    def __init__(self, sheet: Sheet, content: dict[str, Any], moment: TrialMoment) -> None:
        self._sheet, self._content, self._moment = sheet, content, moment
        width_px, height_px = sheet.inside_px
        self.progress = ScreenColumn(sheet, width_px)
        add_progress(self.progress, moment, sheet.body_px)
        self.progress_px = self.progress.height_px + round(0.5 * sheet.body_px) if self.progress.parts else 0
        n_cells = content["size"] + 2
        self.cell_px = min((height_px - self.progress_px) // n_cells, round(0.58 * width_px) // n_cells)
        self.board_px, self.gap_px = n_cells * self.cell_px, round(1.4 * sheet.body_px)
        self.panel_px = min(width_px - self.board_px - self.gap_px, round(0.62 * sheet.column_px))

    def fitting_panel(self) -> tuple[int, ScreenColumn]:
        """Return the largest font size in which the panel fits, and the panel in this font size."""
        sheet = self._sheet
        column_of = partial(_panel, sheet, self._content, self._moment, self.panel_px)
        sizes_px = sheet.item_sizes_px(self._moment.feedback is not None)
        fitting = first_that_fits(column_of, sizes_px, sheet.inside_px[1] - self.progress_px)
        if fitting is None:
            raise InputError(
                f"the words beside the board do not fit a screen of {sheet.size_px[0]} x {sheet.size_px[1]} px in "
                "easily readable letters. Fix: shorten your texts under `texts`, or use a wider screen."
            )
        return fitting


def _panel(sheet: Sheet, content: dict[str, Any], moment: TrialMoment, width_px: int, size_px: int) -> ScreenColumn:
    column, say = ScreenColumn(sheet, width_px), sheet.words.say
    column.text(say("blackbox_question"), round(1.15 * size_px), round(0.5 * size_px), style="bold")
    add_time_hints(column, moment, size_px)
    column.text(_ray_enters(sheet.words, content["entry"]), size_px, round(0.4 * size_px))
    column.text(_atoms_at(sheet.words, content["atoms"]), size_px, size_px)
    _add_answer_buttons(column, moment, size_px)
    _add_answer_line(column, content, moment, size_px)
    if moment.feedback:
        add_feedback(column, moment.feedback, moment.actions, size_px)
    else:
        _add_submit(column, moment, size_px)
        _add_keyboard_help(column, content["size"], round(0.85 * size_px))
    return column


def _add_answer_buttons(column: ScreenColumn, moment: TrialMoment, size_px: int) -> None:
    """Add the buttons `absorbed` and `reflected`, side by side."""
    sheet, gap_px = column.sheet, round(0.5 * size_px)
    width_px, pad_px = (column.width_px - gap_px) // 2, round(0.4 * size_px)
    mark_px = round(0.8 * size_px)
    text_px = width_px - 2 * pad_px
    labels = [paragraph(sheet, sheet.words.say(name), size_px, text_px - 2 * mark_px, "bold") for name in _ANSWERS]
    hints = [paragraph(sheet, sheet.words.say(f"{name}_hint"), round(0.85 * size_px), text_px) for name in _ANSWERS]
    inner_px = max(label.height_px for label in labels) + max(hint.height_px for hint in hints)
    height_px = max(sheet.target_px, inner_px + 2 * pad_px)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        for name, label, hint in zip(_ANSWERS, labels, hints, strict=True):
            comes_first = (name == _ANSWERS[0]) == (sheet.direction == "ltr")
            left = x if comes_first else x + column.width_px - width_px
            _draw_answer_button(canvas, name, label, hint, (left, y, left + width_px, y + height_px), moment)

    column.add(height_px, draw, round(0.5 * size_px))


def _draw_answer_button(
    canvas: Canvas, name: str, label: Paragraph, hint: Paragraph, box: tuple[int, int, int, int], moment: TrialMoment
) -> None:
    sheet, feedback = canvas.sheet, moment.feedback
    is_chosen = moment.response_state.chosen == name
    solution: Any = feedback.solution if feedback else None
    is_right = solution is not None and solution["outcome"] == name
    if is_right:
        canvas.box(box, Colour.RIGHT_SOFT, Colour.RIGHT, sheet.px(3), sheet.px(6))
    elif is_chosen:
        canvas.box(box, Colour.CHOICE_SOFT, Colour.CHOICE, sheet.px(3), sheet.px(6))
    else:
        border = Colour.LINE if moment.is_reading else Colour.LINE_STRONG
        canvas.box(box, Colour.PAPER, border, sheet.px(1.5), sheet.px(6))
    if feedback is None:
        canvas.region(name, box)
    left, top, right, bottom = box
    y = top + (bottom - top - label.height_px - hint.height_px) // 2
    canvas.write(label, left, y, right - left, Colour.INK_SOFT if moment.is_reading else Colour.INK, "centre")
    canvas.write(hint, left, y + label.height_px, right - left, Colour.INK_SOFT, "centre")
    mark_px = round(0.8 * label.size_px)
    free_px = (right - left - label.width_px) // 2
    mark_left = (
        left + free_px - round(1.4 * mark_px) if sheet.direction == "ltr" else right - free_px + round(0.4 * mark_px)
    )
    mark_top = y + (label.line_px - mark_px) // 2
    if is_right:
        canvas.tick((mark_left, mark_top, mark_left + mark_px, mark_top + mark_px), Colour.RIGHT)
    elif is_chosen:
        canvas.disc((mark_left + mark_px / 2, mark_top + mark_px / 2), 0.36 * mark_px, Colour.CHOICE)


def _add_answer_line(column: ScreenColumn, content: dict[str, Any], moment: TrialMoment, size_px: int) -> None:
    """Add the current choice in words.

    Space for the longest choice is reserved, so that the texts below do not move.
    """
    sheet, say = column.sheet, column.sheet.words.say
    answer = moment.response_state
    entry = _in_words(sheet.words, content["entry"], content["entry"])
    longest = paragraph(sheet, say("your_answer_is", answer=entry), size_px, column.width_px, "bold")
    if answer.typed_side is not None:
        words = say("your_answer_is", answer=f"{say(f'side_{answer.typed_side}')} …")
    elif answer.chosen is None:
        words = say("blackbox_no_answer")
    else:
        words = say("your_answer_is", answer=_in_words(sheet.words, str(answer.chosen), content["entry"]))
    is_empty = answer.chosen is None and answer.typed_side is None
    if is_empty and moment.feedback:
        words = ""  # The deadline passed before a choice.
    line = paragraph(sheet, words, size_px, column.width_px, "regular" if is_empty else "bold")

    def draw(canvas: Canvas, x: int, y: int) -> None:
        canvas.write(line, x, y, column.width_px, Colour.INK_SOFT if moment.is_reading else Colour.INK)

    column.add(max(longest.height_px, line.height_px), draw, round(0.5 * size_px))


def _add_submit(column: ScreenColumn, moment: TrialMoment, size_px: int) -> None:
    sheet = column.sheet
    label = paragraph(sheet, sheet.words.say("submit_answer"), size_px, column.width_px - 2 * size_px, "bold")
    height_px = max(sheet.target_px, label.height_px + round(0.6 * size_px))
    if moment.response_state.chosen is not None:
        ink, fill, border = Colour.ON_ACCENT, Colour.ACCENT, Colour.ACCENT
    else:
        ink, fill, border = Colour.INK_SOFT, Colour.PANEL, Colour.LINE

    def draw(canvas: Canvas, x: int, y: int) -> None:
        box = (x, y, x + column.width_px, y + height_px)
        canvas.box(box, fill, border, sheet.px(1.5), sheet.px(6))
        canvas.region("submit", box)
        top = y + (height_px - label.height_px) // 2
        canvas.write(label, x + size_px, top, column.width_px - 2 * size_px, ink, "centre")

    column.add(height_px, draw, round(0.7 * size_px))


def _add_keyboard_help(column: ScreenColumn, board_size: int, size_px: int) -> None:
    sheet, say = column.sheet, column.sheet.words.say
    rows = (
        (say("keyboard_places_keys", size=board_size), say("keyboard_places")),
        (say("keyboard_arrows_keys"), say("keyboard_arrows")),
        ("A", say("keyboard_absorbed")),
        ("R", say("keyboard_reflected")),
        ("Enter", say("keyboard_submit")),
    )
    gap_px = size_px
    most_px = round(0.55 * column.width_px)
    keys = [paragraph(sheet, names, size_px, most_px, "bold") for names, _ in rows]
    keys_px = max(lines.width_px for lines in keys)
    meanings_px = column.width_px - keys_px - gap_px
    for names, (_, meaning) in zip(keys, rows, strict=True):
        _add_row(column, names, paragraph(sheet, meaning, size_px, meanings_px), keys_px, meanings_px)


def _add_row(column: ScreenColumn, names: Paragraph, meaning: Paragraph, names_px: int, meaning_px: int) -> None:
    is_ltr = column.sheet.direction == "ltr"

    def draw(canvas: Canvas, x: int, y: int) -> None:
        end = x + column.width_px
        canvas.write(names, x if is_ltr else end - names_px, y, names_px, Colour.INK_SOFT)
        canvas.write(meaning, end - meaning_px if is_ltr else x, y, meaning_px, Colour.INK_SOFT)

    column.add(max(names.height_px, meaning.height_px), draw, 0)


def _ray_enters(words: Texts, entry: str) -> str:
    port = Port.parse(entry)
    return words.say(f"ray_enters_{port.side}", port=_port_name(words, port), position=port.position)


def _atoms_at(words: Texts, atoms: list[tuple[int, int]]) -> str:
    if not atoms:
        return words.say("no_atoms")
    cells = (words.say("cell", row=row, column=column) for row, column in sorted(map(tuple, atoms)))
    return words.say("atoms_at", cells=words.say("between_cells").join(cells))


def _in_words(words: Texts, answer: str, entry: str) -> str:
    if answer in _ANSWERS:
        return words.say(answer)
    name = _port_name(words, Port.parse(answer))
    return words.say("leaves_at_entry", port=name) if answer == entry else name


def _port_name(words: Texts, port: Port) -> str:
    return f"{words.say(f'side_{port.side}')} {port.position}"
