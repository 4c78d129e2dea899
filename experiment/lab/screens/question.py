"""A question on the screen: the stimulus, the text, the prompt, and the answer in the form of the item's task."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from batteries.errors import InputError
from batteries.stimulus.parts import asset_parts
from batteries.tasks.free_text import FreeText
from batteries.tasks.multiple_choice import MultipleChoice
from batteries.tasks.number import NumberTask
from batteries.tasks.ranking import Ranking
from batteries.tasks.rating import Rating
from batteries.tasks.recall import Recall
from experiment.lab.screens import multiple_choice, ranking, rating, typed_answer
from experiment.lab.screens.layout.canvas import Canvas, draw_escape_hint
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import Colour, ItemSize, Sheet
from experiment.lab.screens.stimulus_parts import add_parts
from experiment.lab.screens.trial_header import TrialMoment, add_feedback, add_progress, add_time_hints

Content = dict[str, Any]


@dataclass(frozen=True)
class _Answer:
    """The part of a task's screen with which participants answer."""

    add: Callable[[ScreenColumn, Content, TrialMoment, ItemSize], None]
    help_on: Callable[[ScreenColumn, Content], str]


_ANSWERS = {
    MultipleChoice.name: _Answer(multiple_choice.add_options, multiple_choice.help_on),
    Rating.name: _Answer(rating.add_rating, rating.help_on),
    NumberTask.name: _Answer(typed_answer.add_number, typed_answer.help_on_number),
    FreeText.name: _Answer(typed_answer.add_text, typed_answer.help_on_text),
    Recall.name: _Answer(typed_answer.add_recall, typed_answer.help_on_recall),
    Ranking.name: _Answer(ranking.add_ranking, ranking.help_on),
}


def question(sheet: Sheet, task: str, content: Content, moment: TrialMoment) -> ScreenImage:
    """Draw a question in the largest sizes that fit.

    Raises
    ------
    InputError
        If the item does not fit the screen in the smallest readable sizes.
    """
    _, column = _fitting(sheet, task, content, moment)
    canvas = Canvas(sheet)
    column.draw(canvas, *_corner(column))
    draw_escape_hint(canvas)
    return canvas.picture()


def changed_question(
    sheet: Sheet, task: str, content: Content, moment: TrialMoment, before: tuple[TrialMoment, ScreenImage]
) -> ScreenImage:
    """Draw only what has changed since an earlier moment of the same trial. This is faster than `question`.

    Parameters
    ----------
    sheet, task, content, moment
        As for `question`.
    before
        The earlier moment, which may differ only in the state of the response, and its image.
    """
    moment_before, image_before = before
    size, column_before = _fitting(sheet, task, content, moment_before)
    column = _column(sheet, task, content, moment, size)
    canvas = Canvas(sheet, image_before.image)
    changed_px = column.draw_changes(canvas, *_corner(column), column_before)
    with canvas.only_recording():
        draw_escape_hint(canvas)
    return canvas.picture(changed_px)


def item_size(sheet: Sheet, task: str, content: Content, moment: TrialMoment) -> ItemSize:
    """Return the sizes in which a question is drawn. Raise the same errors as `question`."""
    return _fitting(sheet, task, content, moment)[0]


def _corner(column: ScreenColumn) -> tuple[int, int]:
    (side_px, above_px), (width_px, _) = column.sheet.margins_px, column.sheet.inside_px
    return side_px + (width_px - column.width_px) // 2, above_px


def _fitting(sheet: Sheet, task: str, content: Content, moment: TrialMoment) -> tuple[ItemSize, ScreenColumn]:
    # The response changes nothing about the sizes, so that nothing moves.
    at_first = moment if moment.feedback else replace(moment, response_state=TrialMoment().response_state)
    column_of = partial(_column, sheet, task, content, at_first)
    for size in sheet.item_sizes(moment.feedback is not None, _has_pictures(content)):
        if column_of(size).height_px <= sheet.inside_px[1]:
            return size, _column(sheet, task, content, moment, size)
    options = [option for option in content.get("options", ()) if isinstance(option, str)]
    n_characters = len(content["text"]) + len(content["prompt"]) + sum(map(len, options))
    pictures = " and its pictures" if _has_pictures(content) else ""
    raise InputError(
        f"the text of {n_characters:,} characters{pictures} does not fit a screen of {sheet.size_px[0]} x "
        f"{sheet.size_px[1]} px in easily readable letters. Fix: shorten `text` or the options."
    )


def _has_pictures(content: Content) -> bool:
    """Return True if the question itself has pictures or videos, not only the screens before it."""
    return any(asset_parts({name: value for name, value in content.items() if name != "screens"}))


def _column(sheet: Sheet, task: str, content: Content, moment: TrialMoment, size: ItemSize) -> ScreenColumn:
    column, size_px, answer = ScreenColumn(sheet, sheet.column_px), size.letters_px, _ANSWERS[task]
    add_progress(column, moment, size_px)
    add_parts(column, content.get("stimulus", ()), size)
    for text in re.split(r"\n\s*\n", content["text"]):
        if text.strip():
            column.text(text, size_px, round(0.6 * size_px))
    column.text(content["prompt"], size_px, round(0.6 * size_px), style="bold")
    add_time_hints(column, moment, size_px)
    answer.add(column, content, moment, size)
    if moment.feedback:
        add_feedback(column, moment.feedback, moment.actions, size_px)
    else:
        column.text(answer.help_on(column, content), round(0.9 * size_px), 0, Colour.INK_SOFT)
    return column
