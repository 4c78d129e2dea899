"""The image of a trial, for any task."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from batteries.errors import InputError
from batteries.items import Item
from batteries.tasks.blackbox_predict import BlackboxPredict
from batteries.tasks.multiple_choice import MultipleChoice
from experiment.lab.input.key_bindings import check_task
from experiment.lab.screens import blackbox_predict, multiple_choice
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.trial_header import TrialMoment

_DRAW = {
    MultipleChoice.name: multiple_choice.multiple_choice,
    BlackboxPredict.name: blackbox_predict.blackbox_predict,
}
_LETTERS_PX = {
    MultipleChoice.name: multiple_choice.letters_px,
    BlackboxPredict.name: blackbox_predict.letters_px,
}


def trial(sheet: Sheet, item_id: str, task: str, content: dict[str, Any], moment: TrialMoment) -> ScreenImage:
    """Draw a moment of a trial.

    Parameters
    ----------
    sheet
        The sheet.
    item_id, task, content
        The item with the defaults of its task, as in a plan or a battery.
    moment
        The moment.

    Raises
    ------
    InputError
        If the laboratory cannot show the task, or the item does not fit the screen; the message names the item.
    """
    check_task(item_id, task)
    try:
        return _DRAW[task](sheet, content, moment)
    except InputError as error:
        raise InputError(f"item `{item_id}`: {error}") from None


def with_even_letters(sheet: Sheet, items: Iterable[Item], moment: TrialMoment) -> Sheet:
    """Return the sheet with the largest letters in which every item fits, one size for all items.

    Otherwise long items would have smaller letters than short ones, and length often goes with condition. Nothing is
    drawn here; afterwards it is known that all items fit.

    Parameters
    ----------
    sheet
        The sheet for drawing.
    items
        The items.
    moment
        A test trial with its longest texts: progress, and the time limit.

    Raises
    ------
    InputError
        If the laboratory cannot show a task, or an item does not fit the screen; the message names the item.
    """
    for item in items:
        check_task(item.item_id, item.task)
        try:
            sheet = replace(sheet, item_px=_LETTERS_PX[item.task](sheet, item.content, moment))
        except InputError as error:
            raise InputError(f"item `{item.item_id}`: {error}") from None
    return sheet
