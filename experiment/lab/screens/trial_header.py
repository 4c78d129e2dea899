"""Texts of a trial's screen besides the item: progress, time limits, and feedback in practice."""

from dataclasses import dataclass

from pydantic import JsonValue

from experiment.lab.input.response_state import NO_RESPONSE, ResponseState
from experiment.lab.screens.layout.buttons import Action, add_buttons
from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn, nothing
from experiment.lab.screens.layout.sheet import Colour, Sheet
from experiment.lab.screens.text.paragraphs import paragraph

_DECIMAL_COMMA = frozenset({"cs", "da", "de", "es", "fi", "fr", "it", "nb", "nl", "pl", "pt", "ru", "sv", "tr", "uk"})


@dataclass(frozen=True)
class ShownFeedback:
    """Feedback of a practice trial."""

    correct: bool
    message: str
    """The sentence with the right answer."""
    solution: JsonValue
    """The right answer, as `batteries.tasks` returns it."""
    note: str = ""
    """Text below the feedback."""
    explanation: tuple[str, ...] = ()
    """The reasons for the right answer, in order."""


@dataclass(frozen=True)
class TrialMoment:
    """State of a trial that its screen shows, such as the progress and the feedback."""

    progress: str = ""
    """Progress, such as `Question 3 of 24`."""
    reading_ms: int = 0
    """Time in ms after the onset of the stimulus during which no response is accepted."""
    deadline_ms: int | None = None
    """Time in ms after the onset when the trial ends without a response; None for no limit."""
    is_reading: bool = False
    """True until the reading time is over."""
    response_state: ResponseState = NO_RESPONSE
    feedback: ShownFeedback | None = None
    """Feedback after the response; None before the response, and for a trial without feedback."""
    actions: tuple[Action, ...] = ()
    """The actions below the feedback."""


def add_progress(column: ScreenColumn, moment: TrialMoment, size_px: int) -> None:
    """Add the text about the progress."""
    column.text(moment.progress, round(0.85 * size_px), round(0.6 * size_px), Colour.INK_SOFT)


def add_time_hints(column: ScreenColumn, moment: TrialMoment, size_px: int) -> None:
    """Add the texts about time. The space of a text that disappears stays empty, so that nothing moves."""
    say = column.sheet.words.say
    hints = []
    if moment.deadline_ms is not None:
        hints.append((say("time_limit", seconds=seconds(column.sheet, moment.deadline_ms)), True))
    if moment.reading_ms > 0:
        hints.append((say("reading_time", seconds=seconds(column.sheet, moment.reading_ms)), moment.is_reading))
    for hint, is_said in hints:
        gap_px = round(0.4 * size_px)
        if is_said and moment.feedback is None:
            column.text(hint, size_px, gap_px, Colour.INK_SOFT)
        else:
            room = paragraph(column.sheet, hint, size_px, column.width_px)
            column.add(room.height_px, nothing, gap_px)


def add_feedback(column: ScreenColumn, feedback: ShownFeedback, actions: tuple[Action, ...], size_px: int) -> None:
    """Add the panel with the feedback, in words and with a tick or a cross."""
    sheet = column.sheet
    pad_px, bar_px, mark_px = round(0.7 * size_px), sheet.px(5), size_px
    inner = ScreenColumn(sheet, column.width_px - 2 * pad_px - bar_px)
    verdict = paragraph(sheet, feedback.message, size_px, inner.width_px - round(1.5 * mark_px), "bold")
    colour = Colour.RIGHT if feedback.correct else Colour.WRONG

    def draw_verdict(canvas: Canvas, x: int, y: int) -> None:
        is_ltr = sheet.direction == "ltr"
        left = x if is_ltr else x + inner.width_px - mark_px
        top = y + (verdict.line_px - mark_px) // 2
        mark = canvas.tick if feedback.correct else canvas.cross
        mark((left, top, left + mark_px, top + mark_px), colour)
        text_px = inner.width_px - round(1.5 * mark_px)
        canvas.write(verdict, x + inner.width_px - text_px if is_ltr else x, y, text_px)

    inner.add(verdict.height_px, draw_verdict, round(0.5 * size_px))
    for number, reason in enumerate(feedback.explanation, start=1):
        inner.text(f"{number}. {reason}", size_px, round(0.3 * size_px))
    inner.text(feedback.note, size_px, round(0.5 * size_px))
    add_buttons(inner, actions, size_px, 0)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        bottom, right = y + inner.height_px + 2 * pad_px, x + column.width_px
        canvas.fill((x, y, right, bottom), Colour.PANEL)
        is_ltr = sheet.direction == "ltr"
        canvas.fill((x, y, x + bar_px, bottom) if is_ltr else (right - bar_px, y, right, bottom), colour)
        inner.draw(canvas, x + pad_px + (bar_px if is_ltr else 0), y + pad_px)

    column.add(inner.height_px + 2 * pad_px, draw, 0)


def seconds(sheet: Sheet, duration_ms: int) -> str:
    """Return a duration in seconds, with the decimal sign of the study's language."""
    return number_in_words(sheet, duration_ms / 1000)


def isolated(sheet: Sheet, text: object) -> str:
    """Return a text that has its own direction in a sentence that is read from right to left.

    Otherwise, the minus sign of -3 is at the right of the number.
    """
    return str(text) if sheet.direction == "ltr" else f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"


def number_in_words(sheet: Sheet, number: float) -> str:
    """Return a number with the decimal sign of the study's language."""
    text = str(int(number)) if float(number).is_integer() else f"{number:.12g}"
    return text.replace(".", ",") if sheet.words.language.partition("-")[0] in _DECIMAL_COMMA else text
