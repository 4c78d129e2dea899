"""The values that a planned test compares: one for each unit (such as a participant) and combination of levels."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.data.row_filters import ordered_levels
from analysis.planned.tables import numeric
from analysis.sentences import count
from analysis.statistics.factor_levels import level_text
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedTest

VALUE, AGAINST = "value", "against"
"""Columns of `unit_values`: the value of a unit, and the number with which a test `against` a value compares it."""

ALL_MISSING = "no row of {factor} = {levels} has a value. Fix: remove this level from the test."
ONE_ANSWER = (
    "a paired test of counts needs exactly one value in `{of}`, yes or no, for each unit and level. "
    "Fix: select such rows with `where`."
)


def rows_with_levels(
    rows: pd.DataFrame, planned: PlannedTest, what: str
) -> tuple[pd.DataFrame, dict[str, list[Any]], tuple[str, ...]]:
    """Return the rows to compare, the levels of each factor in order, and notes on rows without a level."""
    levels: dict[str, list[Any]] = {}
    notes = []
    for factor in planned.factors:
        levels[factor] = ordered_levels(rows, factor, planned.levels, what)
        _check_number_of_levels(factor, levels[factor], planned, what)
        n_without_level = int(rows[factor].isna().sum())
        if n_without_level:
            rows_were = "row without a level of `{}` was", "rows without a level of `{}` were"
            notes.append(f"{count(n_without_level, *(words.format(factor) for words in rows_were))} excluded.")
        rows = rows[rows[factor].isin(levels[factor])]
    return rows, levels, tuple(notes)


def _check_number_of_levels(factor: str, levels: Sequence[Any], planned: PlannedTest, what: str) -> None:
    if len(levels) < 2 or (planned.compares_two_levels and len(levels) != 2):
        raise InputError(
            f"{what}: the levels of `{factor}` in these rows are "
            f"{', '.join(map(level_text, levels)) or 'none'}, but the test compares two levels. Fix: "
            f"{'name two levels in `levels`' if len(levels) > 2 else 'correct `where`, so that two levels remain'}."
        )


def unit_values(
    rows: pd.DataFrame, levels: Mapping[str, Sequence[Any]], planned: PlannedTest
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the value of each unit at each combination of levels, and notes on rows that are left out.

    Parameters
    ----------
    rows
        Data with a level of each factor in each row.
    levels
        The compared levels of each factor.
    planned
        The test, as written in the plan.

    Returns
    -------
    DataFrame
        The column `VALUE`, and for a test against a value the column `AGAINST`. The index has the unit and the level of
        each factor. A combination without a value has no row.
    tuple of str
        Sentences on rows that are left out. If values are sums, also a sentence on units with different numbers of
        rows.

    Raises
    ------
    InputError
        If a level has no value, or if a unit has several responses in a paired test of counts.
    """
    values = numeric(rows, planned.of, "its outcome")
    missing = values.isna() | rows[planned.per].isna()
    if planned.against == "chance":
        rows = rows.assign(chance=numeric(rows, "chance", "its chance level"))
        missing |= rows["chance"].isna()
    notes = []
    if missing.any():
        or_unit = f" or no `{planned.per}`" if rows[planned.per].isna().any() else ""
        notes.append(f"{int(missing.sum())} of {len(rows)} rows have no value{or_unit} and were excluded.")
    kept = rows[~missing].assign(_value=values[~missing])
    for factor, asked in levels.items():
        gone = [level_text(level) for level in asked if level not in set(kept[factor])]
        if gone:
            raise InputError(ALL_MISSING.format(factor=factor, levels=", ".join(gone)))
    units = kept.groupby([planned.per, *levels], observed=True)
    n_rows = units.size()
    if planned.test == "chi_square" and (n_rows > 1).any():
        raise InputError(ONE_ANSWER.format(of=planned.of))
    if planned.summary == "sum" and n_rows.nunique() > 1:
        notes.append(
            f"A unit's value is the sum of its rows, and units have {n_rows.min()} to {n_rows.max()} rows. A unit with "
            "fewer rows has a smaller sum. A mean would not depend on the number of rows."
        )
    table = units["_value"].agg(planned.summary).to_frame(VALUE)
    if planned.against is not None:
        table[AGAINST] = units["chance"].agg(planned.summary) if planned.against == "chance" else planned.against
    return table, tuple(notes)


def incomplete_units_note(n_units: int) -> tuple[str, ...]:
    """Return a sentence with the number of units that lack a value at a level; empty if `n_units` is 0."""
    if not n_units:
        return ()
    lack = "unit that lacks a value at a level was" if n_units == 1 else "units that lack a value at a level were"
    return (f"{n_units:,} {lack} excluded.",)
