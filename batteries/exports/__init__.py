"""Exports of a multiple-choice battery: `gorilla` writes spreadsheets for Gorilla, `jspsych` writes a web page.

Both modules return the exported files as a mapping from file name to text. This file contains the functions that
`gorilla` and `jspsych` share.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from batteries.errors import InputError
from batteries.files.csv_files import is_formula, write_rows
from batteries.files.file_reading import describe
from batteries.items import Battery, Item
from batteries.stimulus.parts import needs_newer_form
from batteries.tasks.multiple_choice import MultipleChoice

KEYS_FILE = "keys.csv"
"""File with the right answers. Participants never load this file."""

Phase = Literal["practice", "test", "attention_check"]


@dataclass(frozen=True)
class ExportedTrial:
    """An item and its phase (practice, test or attention check)."""

    phase: Phase
    item: Item
    content: Mapping[str, Any]
    """The item's `text`, `prompt` and `options`, with default values filled in."""


def trials_by_group(
    battery: Battery, groups: Mapping[str, int], practice: Sequence[str], attention_checks: Sequence[str]
) -> dict[int, list[ExportedTrial]]:
    """Return the trials of each group: first practice trials, then test trials, then attention checks.

    Practice trials are in the order of `practice`. Test trials and attention checks are sorted by item id.

    Parameters
    ----------
    battery
        The battery; all its items must be multiple choice.
    groups
        The group (from 1) of each test item, by item id, as `assign_groups` returns it. If empty, all items are in
        group 1.
    practice, attention_checks
        Ids of the items that every group sees.

    Raises
    ------
    InputError
        If an item is not a valid multiple-choice question or has no group, or if an id is unknown or listed twice.
    """
    roles = _roles(battery, groups, practice, attention_checks)
    trials = {item.item_id: _trial(item, roles[item.item_id]) for item in battery.items}
    test = sorted(item_id for item_id, phase in roles.items() if phase == "test")
    if not test:
        raise InputError(
            "every item of the battery is a practice item or an attention check. Fix: add test items to the battery."
        )
    if missing := [item_id for item_id in test if groups and item_id not in groups]:
        raise InputError(
            f"the item `{missing[0]}` is in no group (items without a group: {len(missing)}). Fix: assign the item "
            "to a group, or list the item as a practice item or an attention check."
        )
    shown = {group: [*practice] for group in sorted(set(groups.values()) or {1})}
    for item_id in test:
        shown[groups.get(item_id, 1)].append(item_id)
    return {
        group: [trials[item_id] for item_id in (*item_ids, *sorted(attention_checks))]
        for group, item_ids in shown.items()
    }


def group_names(groups: Iterable[int]) -> dict[int, str]:
    """Return each group's number as a text with leading zeros. All texts have the same length, at least two digits."""
    groups = list(groups)
    width = max(2, len(str(max(groups))))
    return {group: f"{group:0{width}}" for group in groups}


def keys_csv(trials: Mapping[int, Sequence[ExportedTrial]]) -> str:
    """Return the right answer, phase, group and factors of every item as CSV, one row per item.

    The cell `group` is empty for items that every group sees.
    """
    rows: dict[str, dict[str, object]] = {}
    for group, in_group in trials.items():
        for trial in in_group:
            rows[trial.item.item_id] = {
                "item_id": trial.item.item_id,
                "phase": trial.phase,
                "group": group if trial.phase == "test" else "",
                "key": trial.item.key if trial.item.is_graded else "",
                **trial.item.factors,
            }
    # Every row has the first four columns; items of a battery may have different factors.
    columns = dict.fromkeys(column for row in rows.values() for column in row)
    return csv_text(list(columns), rows.values())


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return `rows` as CSV (RFC 4180). Every row must have an `item_id`.

    A spreadsheet program reads a cell that begins with one of = + - @ as a formula, and can save the result instead of
    the text (https://owasp.org/www-community/attacks/CSV_Injection). The usual protection is an apostrophe before the
    sign. But participants would see the apostrophe, so this function refuses a text that begins with one of these
    signs.

    Raises
    ------
    InputError
        If a spreadsheet program could read a text as a formula.
    """
    rows = list(rows)
    for row in rows:
        for column, cell in row.items():
            if isinstance(cell, str) and _is_formula(cell):
                raise InputError(
                    f"the item `{row['item_id']}`: the text of {column} begins with {cell.strip()[0]!r}, which "
                    "spreadsheet programs read as a formula. Fix: begin the text with a word, or with another "
                    "character, such as – (a dash) instead of a hyphen."
                )
    text = io.StringIO()
    write_rows(text, [columns, *([row.get(column, "") for column in columns] for row in rows)], cell_of=str)
    return text.getvalue()


def provenance(battery: Battery) -> str:
    """Return a text with the name, version and digest of the battery. Use the text only in files for researchers."""
    canary = f" Canary: {battery.canary}." if battery.canary else ""
    return f"Battery `{battery.battery}`, version {battery.version}, digest {battery.digest}.{canary}"


def _roles(
    battery: Battery, groups: Mapping[str, int], practice: Sequence[str], attention_checks: Sequence[str]
) -> dict[str, Phase]:
    roles: dict[str, Phase] = dict.fromkeys(battery.by_id, "test")
    for item_id, count in Counter([*practice, *attention_checks, *groups]).items():
        if item_id not in roles:
            raise InputError(f"there is no item `{item_id}` in the battery `{battery.battery}`. Fix: correct the id.")
        if count > 1:
            raise InputError(
                f"the item `{item_id}` is listed {count} times among practice items, attention checks and test items. "
                "Fix: list the item once."
            )
    roles |= dict.fromkeys(practice, "practice")
    roles |= dict.fromkeys(attention_checks, "attention_check")
    return roles


def _trial(item: Item, phase: Phase) -> ExportedTrial:
    task = MultipleChoice()
    if item.task != task.name:
        raise InputError(
            f"the item `{item.item_id}` has the task `{item.task}`, but only items of the task `{task.name}` can be "
            "exported. Fix: remove the item from the battery."
        )
    if needs_newer_form(item.content):
        raise InputError(
            f"the item `{item.item_id}` has a stimulus, pictures or several answers, which this export cannot contain. "
            "Fix: remove the item from the battery, or run the study with `equipoise serve`."
        )
    try:
        return ExportedTrial(phase, item, task.checked_content(item.content, item.key))
    except ValidationError as error:
        raise InputError(f"the item `{item.item_id}`: {describe(error, task.content_model)}") from None
    except InputError as error:
        raise InputError(f"the item `{item.item_id}`: {error}") from None


def _is_formula(cell: str) -> bool:
    start = cell.strip()
    return is_formula(start) and not re.fullmatch(r"[-+]\d[\d.,]*", start)  # A number is not a formula.
