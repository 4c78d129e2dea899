"""Changes of items between sessions.

Within one version of a study, a new wording of an item is allowed. For any other change, the analysis stops with an
error.
"""

import json
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.cell_text import cell_texts
from analysis.data.columns import factor_columns
from analysis.provenance.row_digest import sorted_json
from analysis.sentences import count
from batteries.errors import InputError
from batteries.tasks import task_named

VERSION = ["study", "study_version"]


def refuse_changed_items(trials: pd.DataFrame) -> None:
    """Raise InputError if two different items have the same item id, for instance after an edit of the battery.

    A new wording from `equipoise revise` is allowed.
    """
    texts = _item_texts(trials)
    substance = texts.drop(columns=["content", *VERSION]).drop_duplicates()["item_id"]
    changed = [*substance[substance.duplicated()], *(item_id for item_id, own in _reworded(texts) if not _is_one(own))]
    if changed:
        item_id = json.loads(changed[0])
        batteries = sorted(trials.loc[trials["phase"] == "test", "battery"].unique())
        versions = ", ".join(f"{battery[:12]}..." for battery in batteries)
        raise InputError(
            f"item `{item_id}` does not have the same text, answer key and levels in all data (batteries {versions}). "
            "Fix: analyze one version of the study at a time (--study-version), or exclude the simulated "
            "participants (--without-simulated). If the error remains with each of these options, copy the "
            "study's folder without `data`, and collect new data there."
        )


def notes_on_rewording(trials: pd.DataFrame) -> list[str]:
    """Return a note that lists the items with several wordings. Return an empty list if each item has one wording."""
    names = [json.loads(item_id) for item_id, _ in _reworded(_item_texts(trials))]
    if not names:
        return []
    return [
        f"{count(len(names), 'item was', 'items were')} reworded during data collection: "
        f"{', '.join(f'`{name}`' for name in names)}. All wordings of an item are analyzed together."
    ]


def _item_texts(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the different test items of each version of the study. Each cell is a JSON text."""
    names = ["item_id", "task", "content", "key", *VERSION]
    is_test = trials["phase"] == "test"
    if trials["battery"][is_test].nunique() > 1:  # An item with changed levels would be in two cells.
        names += factor_columns(trials)
    test = trials.loc[is_test, names]
    number = np.zeros(len(test), dtype="int64")
    for name in names:  # One column at a time, because the indices of all columns would fill the memory.
        own = _numbered(test[name])
        number = pd.factorize(number * (own.max(initial=0) + 2) + own)[0]
    first = test[~pd.Series(number, test.index).duplicated()]
    return pd.DataFrame({name: cell_texts(first[name], sorted_json) for name in names}).drop_duplicates()


def _reworded(texts: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the id and the rows of each item that has several contents (wordings)."""
    contents = texts[["item_id", "content"]].drop_duplicates()["item_id"]
    some = texts[texts["item_id"].isin(contents[contents.duplicated()])]
    return [(str(item_id), own) for item_id, own in some.groupby("item_id")]


def _is_one(own: pd.DataFrame) -> bool:
    """Return True if the contents with one item id differ only in the wording, and this difference is allowed.

    A new wording is allowed only within a version of the study. So any two versions must have at least one content in
    common.
    """
    of_versions = [set(contents) for _, contents in own.groupby(VERSION)["content"]]
    if any(one.isdisjoint(other) for one, other in combinations(of_versions, 2)):
        return False
    task, contents = task_named(json.loads(own["task"].iloc[0])), [json.loads(text) for text in own["content"].unique()]
    return all(task.is_reworded(contents[0], content) for content in contents[1:])


def _numbered(column: pd.Series) -> npt.NDArray[np.int64]:
    """Return an index from 0 for each cell, or -1 for a missing cell. Equal texts or numbers have the same index.

    In a column of other values, only the same object has the same index.
    """
    if column.dtype == object:
        return pd.factorize(np.fromiter(map(id, column.tolist()), dtype="int64", count=len(column)))[0]
    return pd.factorize(column)[0]
