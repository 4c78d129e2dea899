"""The preview page: the items that it shows, and the values for the HTML template."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from batteries.errors import InputError
from batteries.files.atomic_write import atomic_write
from batteries.items import Battery, Item
from batteries.tasks import READING_WORDS_PER_MINUTE
from batteries.vignettes.preview.balance import balance_facts, group_rows
from batteries.vignettes.preview.counts import position_table, word_rows
from batteries.vignettes.preview.factors import distinct_levels, level_sort_key, page_sort_key
from batteries.vignettes.preview.matrix import counterbalance_matrix
from batteries.vignettes.preview.pictures import small_pictures
from batteries.vignettes.preview.side_by_side import scenarios_side_by_side
from batteries.vignettes.preview.texts import ItemTexts
from batteries.vignettes.preview.wording import kind_words, number_with_noun, reading_span, reading_time, span

_MOST_LISTED = 200
"""Maximum number of items of one plain list on the page."""
_LEVEL_MEANING = {0: "explained", 1: "hinted", 2: "nothing added", 3: "irrelevant text"}
_HEAD_FACTORS = (
    "scenario",
    "version",
    "template_id",
    "capability_type",
    "condition",
    "inference_level",
    "pov",
    "variant",
)


def write_preview(battery: Battery, groups: Mapping[str, int] | None, path: Path, folder: Path | None = None) -> None:
    """Write a battery as one HTML page that needs no network and no JavaScript.

    Parameters
    ----------
    battery
        A battery of multiple-choice items. Items with the factor `scenario` are shown side by side, by condition and
        level. All other items are shown in a plain list.
    groups
        Counterbalance group (from 1) of every test item, by item id. None if the battery is shown without a study.
    path
        The HTML file. The same battery and groups always give the same bytes.
    folder
        The folder of the battery, which contains its pictures. Without it, the page has only their descriptions.

    Raises
    ------
    InputError
        If an item does not have the task `multiple_choice`, if the battery has none of the items in `groups`, or if the
        page cannot be written.
    """
    page = render_preview(battery, groups, folder)
    with atomic_write(path) as file:
        file.write(page)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("batteries.vignettes.preview", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"kind": kind_words, "reading": reading_time, "span": span, "reading_span": reading_span}
    environment.globals |= {"number_with_noun": number_with_noun, "level_meaning": _LEVEL_MEANING}
    return environment


def render_preview(battery: Battery, groups: Mapping[str, int] | None, folder: Path | None = None) -> str:
    """Return the page that `write_preview` writes."""
    tested = _tested(battery, groups)
    ids = {item.item_id for item in tested}
    stories = [item for item in tested if "scenario" in item.factors]
    return (
        _environment()
        .get_template("preview.html")
        .render(
            battery=battery,
            tested=tested,
            words_per_minute=READING_WORDS_PER_MINUTE,
            levels={name: distinct_levels(tested, name) for name in _HEAD_FACTORS},
            n_perturbed=sum(item.clean is not None for item in tested),
            words=word_rows(tested),
            positions=position_table(tested, groups),
            n_ungraded=sum(not item.is_graded for item in tested),
            groups=None if groups is None else group_rows(tested, groups),
            facts=[] if groups is None else balance_facts(battery, groups),
            matrix=None if groups is None or not stories else counterbalance_matrix(stories, groups),
            conditions=distinct_levels(stories, "condition"),
            scenarios=scenarios_side_by_side(stories, groups or {}),
            listed=_listed((item for item in tested if "scenario" not in item.factors), folder),
            others=_listed((item for item in battery.items if item.item_id not in ids), folder),
        )
    )


def _tested(battery: Battery, groups: Mapping[str, int] | None) -> list[Item]:
    """Return the test items in the order of the page.

    Without groups, return the items with a scenario, or all items if no item has a scenario.
    """
    for item in battery.items:
        if item.task != "multiple_choice":
            raise InputError(
                f"the item `{item.item_id}` has the task {item.task}, but the preview shows "
                "only multiple-choice items. Fix: choose another battery."
            )
    if groups is None:
        tested = [item for item in battery.items if "scenario" in item.factors] or list(battery.items)
    else:
        tested = [item for item in battery.items if item.item_id in groups]
    if not tested:
        raise InputError(
            f"the battery `{battery.battery}` has no item of the study. Fix: use the battery of the study."
        )
    return sorted(tested, key=page_sort_key)


def _listed(items: Iterable[Item], folder: Path | None) -> dict[str, Any]:
    """Return the first items, for a plain list on the page.

    The result also has the number of all items and their words.
    """
    items = sorted(items, key=lambda item: level_sort_key(item.item_id))
    shown = [
        {
            "item_id": item.item_id,
            "texts": (texts := ItemTexts.of(item.content)),
            "options": texts.options_with_right(item.key),
            "factors": item.factors,
            "pictures": small_pictures(item.content, folder),
        }
        for item in items[:_MOST_LISTED]
    ]
    words = sum(ItemTexts.of(item.content).n_words for item in items)
    return {"shown": shown, "n_items": len(items), "n_words": words}
