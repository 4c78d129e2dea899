"""Differences between two states of a study, to check a revision: a change of wording during data collection.

A revision keeps the study's version, groups and quotas. So a revision must not change which items a participant sees,
when an item is shown, which response is correct, or what is recorded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batteries.canonical_json import same_json
from batteries.errors import InputError
from batteries.files.file_reading import parse_yaml
from batteries.items import Item
from batteries.stimulus.parts import option_words
from batteries.tasks import task_named
from experiment.study.definition import Study, StudyDefinition, served_entries
from experiment.study.demographics import Questionnaire

WORDING = ("title", "completion_code", "timeline.consent_version", "battery")
"""Entries of `study.yaml` that a revision may change, besides `texts`. `battery` is the name of the battery's file.
"""
LABELS = (
    "absorbed", "reflected", "leaves_at_entry", "side_", "port_spoken_", "ray_enters_", "blackbox_", "mark_", "cell",
    "keyboard_absorbed", "keyboard_reflected", "keyboard_places",
)  # fmt: skip
"""First parts of the names of texts that label responses, or positions on the board.

A change of one of these texts can change the meaning of responses.
"""
MOST_NAMES = 8
"""Largest number of changes that a message lists."""


@dataclass(frozen=True)
class Content:
    """The content of a study that participants see, from the study's folder or from a store."""

    definition: StudyDefinition
    texts: Mapping[str, str]
    """The participants' pages, the questions about the participant, and plugins, by file name."""
    items: Mapping[str, Item]
    """The battery's items by id."""
    battery_digest: str

    @classmethod
    def of(cls, study: Study) -> "Content":
        """Return the content of a study that was read from its folder."""
        return cls(study.definition, study.texts, study.battery.by_id, study.battery.digest)


@dataclass(frozen=True)
class Changes:
    """Names of the parts in which two contents of a study differ, such as ``` `timing.fixation_ms` ```."""

    wording: tuple[str, ...]
    """Differences that a revision may make."""
    substance: tuple[str, ...]
    """Differences that need a new version of the study."""
    options: tuple[str, ...] = ()
    """Each option with a changed wording, before and after, such as ``item `q17`, option 1: “yes” -> “Yes”``."""


def changes(before: Content, after: Content) -> Changes:
    """Return the differences between two contents of a study.

    Parameters
    ----------
    before, after
        The two contents. Both have passed the checks of `experiment.load_study`.
    """
    wording: list[str] = []
    substance: list[str] = []
    options: list[str] = []
    for name in _different_entries(before.definition, after.definition):
        (wording if name in WORDING or _is_plain_text(name) else substance).append(f"`{name}`")
    for name in sorted(before.texts.keys() | after.texts.keys()):
        if before.texts.get(name) != after.texts.get(name):
            (wording if _is_reworded_file(name, before, after) else substance).append(_file_words(name, after))
    n_before_items = len(wording) + len(substance)
    for item_id in sorted(before.items.keys() | after.items.keys()):
        was, now = before.items.get(item_id), after.items.get(item_id)
        if was is None or now is None:
            substance.append(f"item `{item_id}` ({'added' if was is None else 'removed'})")
        elif parts := _changed_parts(was, now):
            substance.append(f"item `{item_id}` ({', '.join(parts)})")
        elif not same_json(was.content, now.content):
            wording.append(f"item `{item_id}`")
            options += [f"item `{item_id}`, {words}" for words in _changed_options(was, now)]
    if before.battery_digest != after.battery_digest and len(wording) + len(substance) == n_before_items:
        wording.append("the name, version or noise-free texts of the battery")
    return Changes(tuple(wording), tuple(substance), tuple(options))


def listed(names: Iterable[str]) -> str:
    """Return names as a list for a sentence. After `MOST_NAMES` names, the list ends with the number of other names.

    Examples
    --------
    >>> listed(["`title`", "page `consent.md`", "item `q17`"])
    '`title`, page `consent.md` and item `q17`'
    """
    shown = list(names)
    if len(shown) > MOST_NAMES:
        shown = [*shown[:MOST_NAMES], f"{len(shown) - MOST_NAMES:,} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def entries(part: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the entries of a definition by name, such as `timing.fixation_ms`."""
    found: dict[str, Any] = {}
    for name, value in part.items():
        found |= entries(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found


def _different_entries(before: StudyDefinition, after: StudyDefinition) -> list[str]:
    was, now = entries(served_entries(before)), entries(served_entries(after))
    return sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))


def _is_plain_text(name: str) -> bool:
    """Return True if an entry is a text of the study that labels neither a response nor a position on the board."""
    return name.startswith("texts.") and not name.removeprefix("texts.").startswith(LABELS)


def _is_reworded_file(name: str, before: Content, after: Content) -> bool:
    """Return True if only the wording of a page, or of questions about the participant, changed."""
    if name not in before.texts or name not in after.texts:
        return False
    if name in after.definition.code_files:
        return False
    if name != after.definition.timeline.demographics:
        return True
    return _questions(name, before) == _questions(name, after)


def _questions(name: str, content: Content) -> list[dict[str, Any]]:
    """Return the questions about the participant without their wording.

    The options are kept, because a changed option would change the answers.
    """
    try:
        found = parse_yaml(content.texts[name], Path(name), Questionnaire).questions
    except InputError:  # An earlier version of Equipoise may have accepted this file.
        return [{"text": content.texts[name]}]
    return [question.model_dump(exclude={"ask"}) for question in found]


def _file_words(name: str, content: Content) -> str:
    return f"the consent `{name}`" if name == content.definition.timeline.consent else f"`{name}`"


def _changed_parts(was: Item, now: Item) -> list[str]:
    """Return the parts of an item that changed, although a revision must not change them."""
    parts = [part for part in ("task", "factors", "key") if not same_json(getattr(was, part), getattr(now, part))]
    if parts:
        return parts
    return [] if task_named(now.task).is_reworded(was.content, now.content) else ["the content, apart from its wording"]


def _changed_options(was: Item, now: Item) -> list[str]:
    """Return a text for each changed option of a reworded item, with its wording before and after."""
    if "options" not in was.content or "options" not in now.content:
        return []
    pairs = enumerate(zip(option_words(was.content), option_words(now.content), strict=True), start=1)
    return [f"option {number}: “{old}” -> “{new}”" for number, (old, new) in pairs if old != new]
