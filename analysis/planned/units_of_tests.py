"""The units of the numbers in the table of tests: the unit of n, and the unit of the estimate."""

import pandas as pd

from experiment.study.planned_analyses import PlannedTest

SHARE = "share of yes"
"""Unit of a difference between shares of a yes-no column. The report shows such a difference in percentage points."""
_NAMES = {"item_id": "item"}


def is_in_ms(unit: object) -> bool:
    """Return True if the unit of an estimate is a column of times in ms, such as `rt_ms`."""
    return isinstance(unit, str) and unit.endswith("_ms")


def unit_of_n(rows: pd.DataFrame, planned: PlannedTest) -> str:
    """Return the unit that `n` counts: the unit in the plan, such as `participant`.

    A chi-square test between units counts rows.
    """
    if planned.per is None or (planned.test == "chi_square" and planned.within is None):
        return "row"
    if planned.per == "participant" and "kind" in rows:
        is_run = rows["kind"] == "model"
        return "run" if is_run.all() else "participant or run" if is_run.any() else "participant"
    return _NAMES.get(planned.per, planned.per)


def unit_of_estimate(rows: pd.DataFrame, planned: PlannedTest) -> str:
    """Return the unit of a test's estimate: `SHARE` for a mean of a yes-no column, otherwise the name of the column."""
    is_share = planned.summary == "mean" or planned.test == "chi_square"
    return SHARE if is_share and rows[planned.of].dropna().isin([0, 1]).all() else planned.of
