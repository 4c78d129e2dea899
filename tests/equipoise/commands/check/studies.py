"""Studies with one change, for the points of the checklist."""

from dataclasses import replace
from typing import Any

from batteries.items import Battery, Item
from experiment.study.definition import Study
from experiment.study.recruitment import Recruitment

CONTACT = "Anna Bauer, Department of Psychology, anna.bauer@university.example"


def with_entries(study: Study, **entries: Any) -> Study:
    """Return a study with other entries in study.yaml."""
    return replace(study, definition=study.definition.model_copy(update=entries))


def with_timeline(study: Study, **pages: Any) -> Study:
    """Return a study with other pages in its timeline."""
    return with_entries(study, timeline=study.definition.timeline.model_copy(update=pages))


def with_texts(study: Study, **texts: str) -> Study:
    """Return a study with other texts of pages: `contact` is the text of contact.md."""
    return replace(study, texts={**study.texts, **{f"{name}.md": text for name, text in texts.items()}})


def with_recruitment(study: Study, **fields: Any) -> Study:
    """Return a study with these rules of recruitment, after a check of the rules."""
    return with_entries(study, recruitment=Recruitment.model_validate(fields))


def with_items(study: Study, items: list[Item], groups: dict[str, int]) -> Study:
    """Return a study with other test items, and with their groups."""
    apart = [item for item in study.battery.items if item.item_id not in study.groups]
    battery = Battery(battery="short", version="1", items=(*apart, *items))
    n_groups = max(groups.values())
    design = study.definition.design.model_copy(update={"groups": n_groups})
    return replace(with_entries(study, design=design), battery=battery, groups=groups)


def choice(item_id: str, key: int, n_options: int = 4, text: str = "A ball lies on the table.", **factors: Any) -> Item:
    """Return a multiple-choice item."""
    options = tuple(f"Option {number}" for number in range(1, n_options + 1))
    content = {"text": text, "prompt": f"What is true in {item_id}?", "options": list(options)}
    return Item(item_id=item_id, task="multiple_choice", factors={"outcome": "x"} | factors, content=content, key=key)
