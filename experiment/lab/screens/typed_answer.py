"""`number` and `free_text` on the screen: a field with the typed text and a text cursor."""

from typing import Any

from batteries.errors import InputError
from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.sheet import Colour, ItemSize
from experiment.lab.screens.option_buttons import add_submit
from experiment.lab.screens.text.paragraphs import Paragraph, Span, paragraph, span_width
from experiment.lab.screens.trial_header import TrialMoment, isolated, number_in_words

MOST_LINES = 8
"""Largest height of the field, in lines. A longer text moves up in the field."""


def add_number(column: ScreenColumn, content: dict[str, Any], moment: TrialMoment, size: ItemSize) -> None:
    """Add the field for a number, with the unit after it."""
    problem = help_on_number(column, content)
    _add_field(column, 1, content["unit"], moment, size.letters_px, problem, "Enter")


def add_text(column: ScreenColumn, content: dict[str, Any], moment: TrialMoment, size: ItemSize) -> None:
    """Add the field for a text."""
    n_lines = min(content["lines"], MOST_LINES)
    problem = column.sheet.words.say("free_text_empty")
    _add_field(column, n_lines, "", moment, size.letters_px, problem, "Enter" if n_lines == 1 else "Ctrl + Enter")


def add_recall(column: ScreenColumn, content: dict[str, Any], moment: TrialMoment, size: ItemSize) -> None:
    """Add the entries so far, the field for the next entry, and the button that submits the list."""
    size_px, feedback, entries = size.letters_px, moment.feedback, _entries(moment.response_state.chosen)
    _add_entries(column, " · ".join(entries), min(4, 1 + content["most_entries"] // 5), entries, size_px)
    if feedback is None:
        _add_input(column, 1, "", moment, size_px)
        _add_problem(column, column.sheet.words.say("recall_empty"), moment.response_state.is_refused, size_px)
        add_submit(column, True, "Ctrl + Enter", size_px)
        return
    right = isolated(column.sheet, " · ".join(_entries(feedback.solution)))
    column.text(f"✓ {column.sheet.words.say('right_answer')}: {right}", size_px, round(0.6 * size_px), style="bold")


def help_on_recall(column: ScreenColumn, content: dict[str, Any]) -> str:  # noqa: ARG001 - as for the other tasks
    """Return the text about how to respond."""
    return column.sheet.words.say("lab_recall_help")


def help_on_number(column: ScreenColumn, content: dict[str, Any]) -> str:
    """Return the text about the accepted numbers."""
    low, high = (number_in_words(column.sheet, content[end]) for end in ("low", "high"))
    if content["decimals"] > 0:
        return column.sheet.words.say("number_help_decimals", low=low, high=high, decimals=content["decimals"])
    return column.sheet.words.say("number_help", low=low, high=high)


def help_on_text(column: ScreenColumn, content: dict[str, Any]) -> str:
    """Return the text about the accepted length."""
    return column.sheet.words.say("free_text_help", number=content["most_characters"])


def _entries(value: Any) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list) else []


def _add_entries(column: ScreenColumn, words: str, n_lines: int, look: list[str], size_px: int) -> None:
    """Add the entries so far. If they need more lines than there are, only the last lines are shown."""
    text = _paragraph(column, words, size_px, column.width_px)
    shown = text.part(max(0, len(text.lines) - n_lines), len(text.lines))

    def draw(canvas: Canvas, x: int, y: int) -> None:
        canvas.write(shown, x, y, column.width_px)

    column.add(n_lines * text.line_px, draw, round(0.4 * size_px), tuple(look))


def _add_field(
    column: ScreenColumn, n_lines: int, unit: str, moment: TrialMoment, size_px: int, problem: str, key: str
) -> None:
    """Add the field, the text about a refused entry, and the button that submits; or the solution."""
    _add_input(column, n_lines, unit, moment, size_px)
    if moment.feedback:
        say = column.sheet.words.say
        words = f"✓ {say('right_answer')}: {isolated(column.sheet, moment.feedback.solution)}"
        column.text(words, size_px, round(0.6 * size_px), style="bold")
        return
    _add_problem(column, problem, moment.response_state.is_refused, size_px)
    add_submit(column, True, key, size_px)


def _add_input(column: ScreenColumn, n_lines: int, unit: str, moment: TrialMoment, size_px: int) -> None:
    sheet, feedback, state = column.sheet, moment.feedback, moment.response_state
    pad_px, caret_px = round(0.5 * size_px), sheet.px(2)
    unit_lines = paragraph(sheet, unit, size_px, column.width_px // 3) if unit else None
    unit_px = unit_lines.width_px + pad_px if unit_lines else 0
    field_px = column.width_px - unit_px
    text_px = field_px - 2 * pad_px - caret_px
    typed = state.typed.text if feedback is None else str("" if state.response is None else state.response)
    text = _paragraph(column, typed, size_px, text_px)
    cursor = min(state.typed.cursor, len(typed))
    line_number = max(number for number, line in enumerate(text.lines) if line.start <= cursor or number == 0)
    first = max(0, line_number - n_lines + 1) if feedback is None else 0
    shown = text.part(first, first + n_lines)
    height_px = max(sheet.target_px, n_lines * text.line_px + 2 * pad_px)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        is_ltr = sheet.direction == "ltr"
        left = x if is_ltr else x + column.width_px - field_px
        border = Colour.LINE if moment.is_reading or feedback else Colour.WRONG if state.is_refused else Colour.INK
        canvas.box((left, y, left + field_px, y + height_px), Colour.PAPER, border, sheet.px(2), sheet.px(6))
        text_left = left + pad_px + (0 if is_ltr else caret_px)
        top = y + (height_px - n_lines * text.line_px) // 2
        canvas.write(shown, text_left, top, text_px)
        if unit_lines:
            unit_left = left + field_px + pad_px if is_ltr else left - unit_px
            canvas.write(unit_lines, unit_left, y + (height_px - unit_lines.line_px) // 2, unit_lines.width_px)
        if feedback is None and not moment.is_reading:
            line_px = text.lines[line_number].width_px
            before_px = _width_before(column, text, line_number, typed, cursor)
            at = before_px if text.direction == "ltr" else line_px - before_px - caret_px
            caret = text_left + min(max(at + (0 if is_ltr else text_px - line_px), -caret_px), text_px)
            caret_top = top + (line_number - first) * text.line_px
            canvas.fill((caret, caret_top, caret + caret_px, caret_top + text.line_px), Colour.INK)

    column.add(height_px, draw, round(0.4 * size_px), (state.typed, state.is_refused, moment.is_reading))


def _add_problem(column: ScreenColumn, problem: str, is_refused: bool, size_px: int) -> None:
    """Add the text about a refused entry. Its space is always reserved, so that nothing moves."""
    lines = paragraph(column.sheet, problem, size_px, column.width_px, "bold")

    def draw(canvas: Canvas, x: int, y: int) -> None:
        if is_refused:
            canvas.write(lines, x, y, column.width_px, Colour.WRONG)

    column.add(lines.height_px, draw, round(0.4 * size_px), is_refused)


def _paragraph(column: ScreenColumn, typed: str, size_px: int, width_px: int) -> Paragraph:
    try:
        return paragraph(column.sheet, typed, size_px, width_px)
    except InputError:  # This machine cannot join the letters. The typed text is kept.
        return paragraph(column.sheet, "•" * len(typed), size_px, width_px)


def _width_before(column: ScreenColumn, text: Paragraph, line_number: int, typed: str, cursor: int) -> int:
    """Return the width of the characters before the cursor in its line, including spaces at the end."""
    line = text.lines[line_number]
    before = typed[line.start : cursor]
    shown = before if line.text.startswith(before.rstrip()) else line.text[: len(before)]
    return round(span_width(column.sheet.typeface, Span(shown), text.size_px, text.direction))
