"""Fast reading of the raw columns of a store's view `trials`.

An SQLite aggregate function receives the rows. The aggregate function is faster than fetching the rows. Values that
are the same for all trials of a session or of an item are read only once. See `benchmarks/accuracy_pipeline.py`.
"""

import sqlite3
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.columns import VIEW_COLUMNS
from analysis.data.compact_columns import RawColumns, categories

OF_SESSION = ("study", "study_version", "battery", "participant", "kind", "source", "status", "group", "seed",
              "started_at", "completed_at", "model", "model_version", "temperature", "run", "prompt_digest",
              "session_number", "study_revision", "excluded_at", "excluded_reason", "run_parameters")  # fmt: skip
"""Columns whose value is the same for all trials of a session."""
OF_ITEM = ("task", "factors", "content", "key")
"""Columns whose value is the same for all trials of an item of a battery."""
OF_VISIT = ("device",)
"""Columns whose value is the same for all trials of a visit."""
OF_TRIAL = tuple(column for column in VIEW_COLUMNS if column not in {*OF_SESSION, *OF_ITEM, *OF_VISIT})


def read_columns(store: sqlite3.Connection, names: dict[str, str], where: str) -> dict[str, pd.Series]:
    """Return the raw columns of a store's view `trials`, with `NOTES` instead of `jspsych`.

    Parameters
    ----------
    store : sqlite3.Connection
        The opened store. The caller begins a transaction first, so that all queries read one state of the store.
    names : dict
        The SQL expression of each column in `VIEW_COLUMNS`.
    where : str
        The name of the store in error messages.

    Raises
    ------
    InputError
        If a cell of `jspsych` is not a JSON object.
    """
    trials = _AggregateColumns(OF_TRIAL)
    # An aggregate function receives a row's cells in half the time of fetching them, which locks for each cell.
    store.create_aggregate("collect_cells", len(OF_TRIAL), lambda: trials)
    store.execute(f"SELECT collect_cells({', '.join(names[column] for column in OF_TRIAL)}) FROM trials").fetchall()  # noqa: S608
    rows = trials.series(where)
    session = rows["session"].cat.codes.to_numpy()
    rows |= _looked_up(store, {column: names[column] for column in OF_SESSION}, rows, session)
    visit = session.astype("int64") * (len(rows["visit"].cat.categories) + 1) + rows["visit"].cat.codes.to_numpy()
    rows |= _looked_up(store, {column: names[column] for column in OF_VISIT}, rows, visit)
    battery_of_item = rows["battery"].cat.codes.to_numpy(dtype="int64") * (len(rows["item_id"].cat.categories) + 1)
    item = battery_of_item + rows["item_id"].cat.codes.to_numpy()
    rows |= _looked_up(store, {column: names[column] for column in OF_ITEM}, rows, item)
    return rows


class _AggregateColumns(RawColumns):
    """Columns that an SQLite aggregate function fills through `step`."""

    def finalize(self) -> int:
        """End the aggregate function, as SQLite requires. The rows remain in the columns."""
        return 0


def _looked_up(
    store: sqlite3.Connection, names: dict[str, str], rows: dict[str, pd.Series], group: npt.NDArray[Any]
) -> dict[str, pd.Series]:
    """Return columns whose values are equal within each group. Read the values from the first row of the group."""
    number, _ = pd.factorize(group)
    first = np.unique(number, return_index=True)[1]
    trials = zip(rows["session"].iloc[first], rows["trial_index"].iloc[first], strict=True)
    one_row = f"SELECT {', '.join(names.values())} FROM trials WHERE session IS ? AND trial_index IS ?"  # noqa: S608
    found = [store.execute(one_row, trial).fetchone() for trial in trials]
    return {column: categories([row[place] for row in found], number) for place, column in enumerate(names)}
