"""Small studies for the tests of prompts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from batteries.items import Battery, Item
from experiment.load_study import load_study
from experiment.models.prompts.styles import styles_of
from experiment.study.definition import Study
from tests.paths import ROOT, STUDIES

PLUM: dict[str, Any] = {
    "text": "You put a plum on a table that leans to the window.\n\nNobody touches it.",
    "prompt": "Where does the plum go?",
    "options": ["It stays.", "It rolls to the window.", "It rolls to the door."],
}
BOARD: dict[str, Any] = {"size": 8, "atoms": [[5, 5], [2, 3]], "entry": "west-4"}
SAMPLES = {
    "blackbox_predict": load_study(STUDIES / "blackbox-predict"),
    "multiple_choice": load_study(STUDIES / "intuition-single"),
    **dict.fromkeys(("rating", "number", "free_text", "ranking"), load_study(ROOT / "tests" / "question_study")),
    **dict.fromkeys(("keypress", "recall"), load_study(ROOT / "tests" / "memory_study")),
}
STYLES = [(task, style) for task in SAMPLES for style in styles_of(task)]


def item(content: dict[str, Any], key: Any = None, item_id: str = "one", task: str | None = None) -> Item:
    """Return an item. Without `task`, the content decides between the two oldest tasks. The key is not checked."""
    task = task or ("blackbox_predict" if "atoms" in content else "multiple_choice")
    return Item(item_id=item_id, task=task, factors={"condition": "factor-of-item"}, content=content, key=key)


def study_with(items: list[Item], task: str, folder: Path | None = None) -> Study:
    """Return the sample study of a task with other test items, which the program did not check."""
    sample = SAMPLES[task]
    other = [sample.battery.by_id[name] for name in (*sample.definition.practice, *sample.definition.attention_checks)]
    header = sample.battery.model_dump(exclude={"items"})
    return replace(
        sample,
        folder=folder or sample.folder,
        battery=Battery(**header, items=(*other, *items)),
        groups={each.item_id: 1 for each in items},
    )
