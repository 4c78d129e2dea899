"""The steps of a trial besides its question: the screens before the stimulus, and the mask after the stimulus."""

from typing import Any

from batteries.items import Item
from batteries.tasks.keypress import Keypress
from experiment.lab.presentation import Step
from experiment.lab.screens.keypress import keypress
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.screen_before import screen_before
from experiment.lab.screens.trial_header import TrialMoment


def steps_before(sheet: Sheet, content: dict[str, Any]) -> list[Step]:
    """Return the screens before the stimulus, in order."""
    return [
        Step(screen_before(sheet, screen), "screen", screen["duration_ms"], screen["parts"])
        for screen in content.get("screens", ())
    ]


def steps_after(sheet: Sheet, item: Item, moment: TrialMoment) -> list[Step]:
    """Return the steps that replace the stimulus of a `keypress` item: a mask, then nothing. Other items have none."""
    content: dict[str, Any] = item.content
    if item.task != Keypress.name or content["stimulus_ms"] is None:
        return []
    blank = Step(keypress(sheet, content, moment, ()), "blank")
    if not content["mask"]:
        return [blank]
    mask = Step(keypress(sheet, content, moment, content["mask"]), "mask", content["mask_ms"], content["mask"])
    return [mask] if content["mask_ms"] is None else [mask, blank]
