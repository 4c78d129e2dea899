"""Paraphrases of items, from a CSV file that the researcher writes."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from batteries.errors import InputError
from batteries.files.csv_files import is_index, parse_csv, refuse_duplicate_columns, unguarded
from batteries.files.file_reading import describe, read_text
from batteries.items import Item
from batteries.stimulus.parts import option_words
from batteries.tasks import task_named
from batteries.tasks.multiple_choice import MultipleChoice
from batteries.variants import ITEM_VARIANT, PARAPHRASE

_OPTION = re.compile(r"option_([1-9])")
_COLUMNS = "`item_id`, `text`, `prompt`, `option_1` to `option_9`"


def read_paraphrases(path: Path, items: Mapping[str, Item]) -> dict[str, list[Item]]:
    """Return the paraphrased versions of items, by the id of the original item.

    Parameters
    ----------
    path
        A CSV file with the column `item_id`, and one or more of `text`, `prompt`, `option_1`, `option_2`, and so on. A
        row is one paraphrase. An empty cell keeps the wording of the item. The options stay in the order of the item.
    items
        The test items, by their ids.

    Raises
    ------
    InputError
        If the file is not such a table, or if a paraphrase does not fit its item. The message has one sentence for each
        row with a mistake.
    """
    table = parse_csv(read_text(path, newline=""), path)
    refuse_duplicate_columns(table.header, path)
    known = _known_columns(path, table.header, table.rows)
    paraphrases: dict[str, list[Item]] = {}
    problems = []
    for row, line in zip(table.rows, table.lines, strict=True):
        cells = {name: unguarded(row[place]) for name, place in known.items()} if row else {}
        if not any(cell.strip() for cell in cells.values()):
            continue
        item_id = cells.pop("item_id").strip()
        try:
            versions = paraphrases.setdefault(item_id, [])
            versions.append(_paraphrase(items, item_id, cells, versions))
        except InputError as error:
            problems.append(f"{path}, line {line}, item `{item_id}`: {error}")
    if problems:
        raise InputError("\n".join(problems))
    return paraphrases


def _known_columns(path: Path, header: list[str], rows: list[list[str]]) -> dict[str, int]:
    """Return the position of each column. Columns of row numbers are left out."""
    places = {}
    for place, name in enumerate(header):
        if name in {"item_id", "text", "prompt"} or _OPTION.fullmatch(name):
            places[name] = place
        elif not is_index(name, (row[place] for row in rows if row)):
            raise InputError(
                f"{path}, line 1: unknown column `{name}`. Fix: delete this column, or name it one of {_COLUMNS}."
            )
    if "item_id" not in places:
        raise InputError(f"{path}, line 1: there is no column `item_id`. Fix: add a column with the ids of the items.")
    return places


def _paraphrase(items: Mapping[str, Item], item_id: str, cells: Mapping[str, str], others: list[Item]) -> Item:
    """Return the paraphrase of one row. `others` are the earlier paraphrases of the same item."""
    item = items.get(item_id)
    if item is None:
        raise InputError("the battery has no test item with this id. Fix: correct the id, or delete this row.")
    if item.task != MultipleChoice.name:
        raise InputError(f"the task of this item is `{item.task}`, not `multiple_choice`. Fix: delete this row.")
    if item.clean is not None:
        raise InputError(
            "this item has a perturbation (deliberate errors in the text). Fix: delete this row, or paraphrase the "
            "item that has the same question without a perturbation."
        )
    content = dict(item.content) | {name: cells[name] for name in ("text", "prompt") if cells.get(name, "").strip()}
    content["options"] = list(_options(item, cells))
    if any(content == version.content for version in (item, *others)):
        raise InputError("the item, or an earlier row, has the same wording. Fix: change the wording.")
    task = task_named(item.task)
    try:
        content = task.checked_content(content, item.key)
    except ValidationError as error:
        raise InputError(describe(error, task.content_model)) from None
    number = len(others) + 1
    factors = {**item.factors, ITEM_VARIANT: f"{PARAPHRASE} {number}"}
    new_id = f"{item.item_id}-{PARAPHRASE}{number}"
    return item.model_copy(update={"item_id": new_id, "factors": factors, "content": content})


def _options(item: Item, cells: Mapping[str, str]) -> Iterator[Any]:
    """Yield the options of the paraphrase. A cell for a picture rewords its description."""
    entries: Any = item.content["options"]
    options = option_words(item.content)
    for name, cell in cells.items():
        found = _OPTION.fullmatch(name)
        if found and cell.strip() and int(found[1]) > len(options):
            raise InputError(
                f"`{name}` has a text, but the item has {len(options)} options. Fix: delete the text of `{name}`."
            )
    for number, (entry, option) in enumerate(zip(entries, options, strict=True), start=1):
        cell = cells.get(f"option_{number}", "")
        if cell in options and cell != option:
            raise InputError(
                f"`option_{number}` has the text of option {options.index(cell) + 1} of the item. The answer key is "
                "the number of an option, so a new order would change the right answer. Fix: write the options in "
                "the order of the item."
            )
        if not cell.strip():
            yield entry
        else:
            yield cell if isinstance(entry, str) else {**entry, "alt": cell}
