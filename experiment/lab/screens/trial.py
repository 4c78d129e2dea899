"""The images of a trial: the blank screen before it, the fixation cross, and the item of any task."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from batteries.errors import InputError
from batteries.items import Item
from batteries.tasks.blackbox_predict import BlackboxPredict
from batteries.tasks.keypress import Keypress
from batteries.tasks.psychopy_trial import PsychoPyTask
from experiment.lab.input.key_bindings import check_task
from experiment.lab.screens import blackbox_predict
from experiment.lab.screens.keypress import keypress, keypress_size
from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import Colour, ItemSize, Sheet
from experiment.lab.screens.psychopy_trial import psychopy_trial
from experiment.lab.screens.question import changed_question, item_size, question
from experiment.lab.screens.screen_before import screen_size
from experiment.lab.screens.trial_header import TrialMoment


def blank(sheet: Sheet) -> ScreenImage:
    """Draw the screen between two trials, on which nothing is shown."""
    return Canvas(sheet).picture()


def fixation(sheet: Sheet) -> ScreenImage:
    """Draw a cross in the exact middle, without blurred edges."""
    canvas = Canvas(sheet)
    width, height = sheet.size_px
    # A bar is exactly in the middle if its thickness and the screen are both even, or both odd.
    across, down = (sheet.px(2) + (sheet.px(2) - side) % 2 for side in (width, height))
    for bar_width, bar_height in ((across, _arms(sheet, height)), (_arms(sheet, width), down)):
        left, top = (width - bar_width) // 2, (height - bar_height) // 2
        canvas.fill((left, top, left + bar_width, top + bar_height), Colour.INK)
    return canvas.picture()


def trial(
    sheet: Sheet,
    item_id: str,
    task: str,
    content: dict[str, Any],
    moment: TrialMoment,
    before: tuple[TrialMoment, ScreenImage] | None = None,
) -> ScreenImage:
    """Draw the screen of a trial at one moment.

    Parameters
    ----------
    sheet
        The sheet (sizes, fonts and texts of the screens).
    item_id, task, content
        The item. Its content includes the task's default values, as in a plan or a battery.
    moment
        Progress, time limits, current response and feedback to draw.
    before
        An earlier moment of the same trial, which may differ only in the current response, and its image. Only what
        has changed is then drawn. None to draw everything.

    Raises
    ------
    InputError
        If the laboratory cannot show the task, or the item does not fit the screen; the message names the item.
    """
    check_task(item_id, task)
    try:
        if task == PsychoPyTask.name:
            return psychopy_trial(sheet, moment)
        if task == BlackboxPredict.name:
            return blackbox_predict.blackbox_predict(sheet, content, moment)
        if task == Keypress.name:
            return keypress(sheet, content, moment)
        if before is None:
            return question(sheet, task, content, moment)
        return changed_question(sheet, task, content, moment, before)
    except InputError as error:
        raise InputError(f"item `{item_id}`: {error}") from None


def with_even_letters(sheet: Sheet, items: Iterable[Item], moment: TrialMoment) -> Sheet:
    """Return the sheet with the largest font size, and the largest height of pictures, with which every item fits.

    All items have these sizes. Otherwise long items would have smaller letters than short items, and length often
    correlates with condition.

    Parameters
    ----------
    sheet
        The sheet (sizes, fonts and texts of the screens).
    items
        The items.
    moment
        The test trial that needs most space: with the longest text about the progress, and with the texts about time.

    Raises
    ------
    InputError
        If the laboratory cannot show a task, or an item does not fit the screen; the message names the item.
    """
    for item in items:
        check_task(item.item_id, item.task)
        if item.task == PsychoPyTask.name:  # It has no text of Equipoise.
            continue
        try:
            content: dict[str, Any] = item.content
            for screen in content.get("screens", ()):
                sheet = _with_size(sheet, screen_size(sheet, screen))
            if item.task == BlackboxPredict.name:
                sheet = replace(sheet, item_px=blackbox_predict.letters_px(sheet, item.content, moment))
            elif item.task == Keypress.name:
                sheet = _with_size(sheet, keypress_size(sheet, item.content, moment))
            else:
                sheet = _with_size(sheet, item_size(sheet, item.task, item.content, moment))
        except InputError as error:
            raise InputError(f"item `{item.item_id}`: {error}") from None
    return sheet


def _with_size(sheet: Sheet, size: ItemSize) -> Sheet:
    return replace(sheet, item_px=size.letters_px, picture_px=size.picture_px)


def _arms(sheet: Sheet, side_px: int) -> int:
    length = sheet.px(28)
    return length + (length - side_px) % 2
