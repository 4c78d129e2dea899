"""The units of the standard errors and intervals in a planned table: participants, items, runs or rows."""

import numpy as np
import pandas as pd

UNIT = "participant"
"""Column with the participant, or with the run of a model. Without this column, each row is a unit."""
OF_SEVERAL = ("participant", "run", "participant or run")
"""The values of `unit` for cells whose units are participants or runs, not items, clusters of items or rows."""


def units_of(rows: pd.DataFrame, cells: pd.Series, item_cluster: str | None) -> pd.DataFrame:
    """Return the unit of each row: its kind in the column `unit`, such as `participant`, and its number in `number`.

    Parameters
    ----------
    rows : DataFrame
        Rows with the column `participant`. Other columns are used if there are any: `kind`, `item_id` and `subject`.
    cells : Series
        The number of the table cell to which each row belongs.
    item_cluster : str, optional
        Column with the groups of related items.
    """
    units = pd.DataFrame({"unit": "participant", "number": pd.factorize(rows[UNIT])[0]}, index=rows.index)
    if "kind" not in rows:
        return units
    is_run = rows["kind"] == "model"
    n_rows_of_runs = is_run.groupby(cells).transform("sum")
    only_runs = n_rows_of_runs == is_run.groupby(cells).transform("size")
    units.loc[n_rows_of_runs > 0, "unit"] = "participant or run"
    units.loc[only_runs, "unit"] = "run"
    one_run = units["number"].groupby(cells).transform("nunique") == 1
    units = _replaced(units, only_runs & one_run, "row", pd.Series(np.arange(len(rows)), rows.index), cells)
    if "item_id" not in rows:
        return units
    one_subject = rows["subject"].groupby(cells).transform("nunique") == 1 if "subject" in rows else one_run
    items = pd.Series(pd.factorize(rows["item_id"])[0], rows.index)
    units = _replaced(units, only_runs & one_subject, "item", items, cells)
    if item_cluster is None or item_cluster not in rows:
        return units
    # An item without a level is a cluster of its own.
    levels = pd.Series(pd.factorize(rows[item_cluster])[0], rows.index)
    clusters = levels.where(levels >= 0, levels.max() + 1 + items)
    return _replaced(units, only_runs & one_subject, item_cluster, clusters, cells)


def _replaced(units: pd.DataFrame, chosen: pd.Series, name: str, numbers: pd.Series, cells: pd.Series) -> pd.DataFrame:
    """Return the units.

    Rows for which `chosen` is true get the units `numbers`, if their cell has several of these units.
    """
    several = chosen & (numbers.groupby(cells).transform("nunique") > 1)
    return units.assign(unit=units["unit"].where(~several, name), number=units["number"].where(~several, numbers))
