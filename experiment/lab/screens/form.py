"""A question about the participant: a typed number or text, or a choice of numbered options."""

from collections.abc import Sequence
from functools import partial

from batteries.errors import InputError
from experiment.lab.input.form_input import FormState, n_pages, options_shown
from experiment.lab.screens.layout.buttons import Action, add_buttons
from experiment.lab.screens.layout.canvas import Canvas, draw_escape_hint
from experiment.lab.screens.layout.column import ScreenColumn, first_that_fits, nothing
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import Colour, Sheet
from experiment.lab.screens.text.paragraphs import paragraph
from experiment.lab.screens.typed_field import add_typed_field
from experiment.study.demographics import DemographicQuestion


def form(
    sheet: Sheet,
    question: DemographicQuestion,
    form_state: FormState,
    progress: str = "",
    actions: Sequence[Action] = (),
) -> ScreenImage:
    """Draw a question.

    Parameters
    ----------
    sheet
        The sheet (sizes, fonts and texts of the screens).
    question, form_state
        The question, and the state of the participant's answer.
    progress
        Position of the question, such as `1 / 3`.
    actions
        The actions, such as `continue`.

    Raises
    ------
    InputError
        If the question does not fit the screen.
    """
    (side_px, above_px), (width_px, height_px) = sheet.margins_px, sheet.inside_px
    column_of = partial(_column, sheet, question, form_state, progress, actions)
    fitting = first_that_fits(column_of, sheet.body_sizes_px, height_px)
    if fitting is None:
        raise InputError(
            f"the question `{question.name}` does not fit a screen of {sheet.size_px[0]} x {sheet.size_px[1]} px in "
            "easily readable letters. Fix: shorten `ask` or the options."
        )
    _, column = fitting
    canvas = Canvas(sheet)
    column.draw(canvas, side_px + (width_px - column.width_px) // 2, above_px)
    draw_escape_hint(canvas)
    return canvas.picture()


def _column(
    sheet: Sheet,
    question: DemographicQuestion,
    form_state: FormState,
    progress: str,
    actions: Sequence[Action],
    size_px: int,
) -> ScreenColumn:
    column, say = ScreenColumn(sheet, sheet.column_px), sheet.words.say
    column.text(progress, round(0.85 * size_px), round(0.6 * size_px), Colour.INK_SOFT)
    column.text(say("questions_title"), round(1.4 * size_px), round(0.5 * size_px), style="bold")
    column.text(say("questions_optional"), size_px, size_px, Colour.INK_SOFT)
    column.text(question.ask, size_px, round(0.6 * size_px), style="bold")
    if question.answer == "choice":
        for digit, option in enumerate(options_shown(question, form_state), start=1):
            _add_option(column, str(digit), option, form_state.chosen == option, size_px)
        _add_option(column, "0", say("question_not_said"), form_state.chosen == "", size_px)
        if n_pages(question) > 1:
            _add_turning(column, question, form_state, size_px)
    else:
        add_typed_field(column, form_state.typed, size_px)
        if form_state.is_refused:
            problem = say("question_number", low=question.low, high=question.high)
            column.text(problem, size_px, round(0.6 * size_px), Colour.WRONG, style="bold")
    column.add(0, nothing, round(0.4 * size_px))
    add_buttons(column, actions, size_px, 0)
    return column


def _add_option(column: ScreenColumn, digit: str, option: str, is_chosen: bool, size_px: int) -> None:
    sheet, width_px = column.sheet, column.width_px
    pad_px, cap_px = round(0.6 * size_px), round(1.5 * size_px)
    text_px = width_px - 4 * pad_px - cap_px - size_px
    text = paragraph(sheet, option, size_px, text_px)
    number = paragraph(sheet, digit, round(0.9 * size_px), cap_px, "bold")
    height_px = max(sheet.target_px, text.height_px + round(0.5 * size_px))

    def draw(canvas: Canvas, x: int, y: int) -> None:
        box, is_ltr = (x, y, x + width_px, y + height_px), sheet.direction == "ltr"
        if is_chosen:
            canvas.box(box, Colour.CHOICE_SOFT, Colour.CHOICE, sheet.px(3), sheet.px(6))
        else:
            canvas.box(box, Colour.PAPER, Colour.LINE_STRONG, sheet.px(1.5), sheet.px(6))
        canvas.region(digit, box)
        cap_left = x + pad_px if is_ltr else x + width_px - pad_px - cap_px
        top = y + (height_px - text.height_px) // 2
        cap_top = top + (text.line_px - cap_px) // 2
        canvas.box(
            (cap_left, cap_top, cap_left + cap_px, cap_top + cap_px),
            Colour.CHOICE_SOFT if is_chosen else Colour.PAPER,
            Colour.LINE_STRONG,
            sheet.px(1),
            sheet.px(4),
        )
        canvas.write(number, cap_left, cap_top + (cap_px - number.line_px) // 2, cap_px, Colour.INK, "centre")
        canvas.write(text, x + 2 * pad_px + cap_px if is_ltr else x + 2 * pad_px + size_px, top, text_px)
        if is_chosen:
            side = round(0.9 * size_px)
            left = x + width_px - pad_px - side if is_ltr else x + pad_px
            mark_top = y + (height_px - side) // 2
            canvas.tick((left, mark_top, left + side, mark_top + side), Colour.CHOICE)

    column.add(height_px, draw, round(0.35 * size_px))


def _add_turning(column: ScreenColumn, question: DemographicQuestion, form_state: FormState, size_px: int) -> None:
    """Add the page number, and the keys that show other pages of options."""
    say, number, pages = column.sheet.words.say, form_state.page + 1, n_pages(question)
    back_sign, onward_sign = "←→" if column.sheet.direction == "ltr" else "→←"
    turning = [Action("left", say("back"), back_sign)] if number > 1 else []
    turning += [Action("right", say("next"), onward_sign)] if number < pages else []
    column.text(say("page_of", page=number, pages=pages), round(0.85 * size_px), round(0.3 * size_px), Colour.INK_SOFT)
    add_buttons(column, turning, round(0.9 * size_px), round(0.6 * size_px), has_main=False)
