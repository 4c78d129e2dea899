"""`rating` on the screen: a scale with a button for each point, or a line with a mark."""

from functools import lru_cache
from itertools import pairwise
from typing import Any

from experiment.lab.input.ratings import POINT, has_digits, points
from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn, nothing
from experiment.lab.screens.layout.sheet import Colour, ItemSize
from experiment.lab.screens.option_buttons import ButtonLook, add_submit
from experiment.lab.screens.text.paragraphs import paragraph
from experiment.lab.screens.trial_header import TrialMoment, isolated


def add_rating(column: ScreenColumn, content: dict[str, Any], moment: TrialMoment, size: ItemSize) -> None:
    """Add the scale. A slider has a button that submits the rating."""
    size_px = size.letters_px
    if content["shown_as"] == "slider":
        _add_slider(column, content, moment, size_px)
        if moment.feedback is None:
            add_submit(column, moment.response_state.chosen is not None, "Enter", size_px)
        return
    labels, all_points = content["labels"], points(content)
    if len(labels) == len(all_points) and not _fit_side_by_side(column, labels, size_px):
        for index, label in enumerate(labels):
            _add_row(column, all_points, [(index, label)], 1, moment, size_px)
    else:
        has_words = len(labels) == len(all_points)
        row = [(index, labels[index] if has_words else "") for index in range(len(all_points))]
        _add_row(column, all_points, row, len(row), moment, size_px)
        if labels and not has_words:
            _add_ends(column, labels, size_px)
    column.add(0, nothing, round(0.3 * size_px))
    if moment.feedback:
        _add_solution(column, moment.response_state.chosen, moment.feedback.solution, size_px)


def help_on(column: ScreenColumn, content: dict[str, Any]) -> str:
    """Return the text about how to respond."""
    if content["shown_as"] == "slider":
        return column.sheet.words.say("rating_slider_help")
    return column.sheet.words.say("multiple_choice_help" if has_digits(content) else "lab_rating_help")


def _fit_side_by_side(column: ScreenColumn, labels: list[str], size_px: int) -> bool:
    """Return True if every word of the labels fits a button, when all buttons are in one row."""
    room_px = _cell_px(column, len(labels), size_px) - size_px
    sheet, words_px = column.sheet, round(0.85 * size_px)
    return all(
        paragraph(sheet, word, words_px, column.width_px).width_px <= room_px
        for label in labels
        for word in label.split()
    )


def _cell_px(column: ScreenColumn, n_cells: int, size_px: int) -> int:
    gap_px = round(0.35 * size_px)
    return (column.width_px - (n_cells - 1) * gap_px) // n_cells


def _add_row(
    column: ScreenColumn,
    all_points: list[int | float],
    row: list[tuple[int, str]],
    n_columns: int,
    moment: TrialMoment,
    size_px: int,
) -> None:
    """Add a row of buttons. Each button has the index of its point, and a label."""
    sheet, gap_px, above_px = column.sheet, round(0.35 * size_px), round(0.35 * size_px)
    cell_px = _cell_px(column, n_columns, size_px)
    looks = [_look(all_points[index], moment) for index, _ in row]
    inner_px = cell_px - size_px
    numbers = [
        paragraph(sheet, f"{look.note} {isolated(sheet, all_points[index])}".strip(), size_px, cell_px, "bold")
        for look, (index, _) in zip(looks, row, strict=True)
    ]
    words = [paragraph(sheet, label, round(0.85 * size_px), inner_px) if label else None for _, label in row]
    parts = [[each for each in cell if each] for cell in zip(numbers, words, strict=True)]
    height_px = max(sheet.target_px, max(sum(each.height_px for each in cell) for cell in parts) + 2 * above_px)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        for place, ((index, _), look) in enumerate(zip(row, looks, strict=True)):
            at = place * (cell_px + gap_px)
            left = x + at if sheet.direction == "ltr" else x + column.width_px - at - cell_px
            box = (left, y, left + cell_px, y + height_px)
            look.draw_box(canvas, box)
            if look.is_open:
                canvas.region(f"{POINT}{index}", box)
            top = y + (height_px - sum(each.height_px for each in parts[place])) // 2
            for each in parts[place]:
                canvas.write(each, left, top, cell_px, look.ink, "centre")
                top += each.height_px

    column.add(height_px, draw, gap_px, tuple(looks))


def _look(point: float, moment: TrialMoment) -> ButtonLook:
    chosen, feedback = moment.response_state.chosen, moment.feedback
    if feedback is None:
        return ButtonLook("chosen" if point == chosen else "", is_reading=moment.is_reading)
    if point == feedback.solution:
        return ButtonLook("right", "✓", is_open=False)
    if point == chosen:
        return ButtonLook("wrong", "✗", is_open=False)
    return ButtonLook(is_open=False)


def _add_ends(column: ScreenColumn, labels: list[str], size_px: int) -> None:
    """Add labels below a scale, from its beginning to its end."""
    sheet = column.sheet
    width_px = column.width_px // len(labels) - round(0.5 * size_px)
    lines = [paragraph(sheet, label, round(0.9 * size_px), width_px) for label in labels]
    slot_px = column.width_px / max(1, len(labels) - 1)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        for place, each in enumerate(lines):
            # The first and the last label end with the scale; the labels between them are below their points.
            at = round(place * slot_px - each.width_px / 2)
            at = min(max(at, 0), column.width_px - each.width_px)
            left = x + at if sheet.direction == "ltr" else x + column.width_px - at - each.width_px
            canvas.write(each, left, y, each.width_px, Colour.INK_SOFT)

    column.add(max(each.height_px for each in lines), draw, round(0.6 * size_px))


def _add_slider(column: ScreenColumn, content: dict[str, Any], moment: TrialMoment, size_px: int) -> None:
    """Add the line. It has no mark before the participant sets one, so that no answer is suggested."""
    sheet, all_points, feedback = column.sheet, points(content), moment.feedback
    chosen: Any = moment.response_state.chosen
    radius_px, line_px = sheet.px(11), sheet.px(6)
    height_px = max(sheet.target_px, 2 * radius_px + sheet.px(4))
    length_px, is_ltr = column.width_px - 2 * radius_px, sheet.direction == "ltr"

    def draw(canvas: Canvas, x: int, y: int) -> None:
        middle = y + height_px // 2
        top = middle - line_px // 2
        colour = Colour.LINE_STRONG if not moment.is_reading else Colour.INK_SOFT
        canvas.box((x + radius_px, top, x + radius_px + length_px, top + line_px), colour, colour, 0, line_px // 2)
        if feedback is None:
            for index, (start, end) in enumerate(_slices(len(all_points), length_px, radius_px, is_ltr)):
                canvas.region(f"{POINT}{index}", (x + start, y, x + end, y + height_px), follows_drag=True)
        marks = [(chosen, Colour.CHOICE)]
        if feedback is not None:
            marks.append((feedback.solution, Colour.RIGHT))
        for point, fill in marks:
            if point in all_points:
                at = radius_px + length_px * all_points.index(point) / (len(all_points) - 1)
                centre = (x + at if is_ltr else x + column.width_px - at, middle)
                canvas.disc(centre, radius_px, Colour.PAPER)
                canvas.disc(centre, radius_px - sheet.px(1.5), fill)

    column.add(height_px, draw, round(0.2 * size_px), (chosen, moment.is_reading))
    _add_ends(column, content["labels"] or [isolated(sheet, content[end]) for end in ("low", "high")], size_px)
    if feedback:
        _add_solution(column, chosen, feedback.solution, size_px)


@lru_cache(maxsize=16)
def _slices(n_points: int, length_px: int, radius_px: int, is_ltr: bool) -> list[tuple[int, int]]:
    """Return the part of a slider that is nearer to each point than to the other points, from its left end."""
    width_px = length_px + 2 * radius_px
    edges = [radius_px + length_px * (index + 0.5) / (n_points - 1) for index in range(n_points - 1)]
    cuts = [0, *map(round, edges), width_px]
    slices = list(pairwise(cuts))
    return slices if is_ltr else [(width_px - end, width_px - start) for start, end in slices]


def _add_solution(column: ScreenColumn, chosen: Any, solution: Any, size_px: int) -> None:
    sheet, say = column.sheet, column.sheet.words.say
    words = [] if chosen is None else [say("your_answer_is", answer=isolated(sheet, chosen))]
    words.append(f"✓ {say('right_answer')}: {isolated(sheet, solution)}")
    column.text(" · ".join(words), size_px, round(0.6 * size_px), style="bold")
