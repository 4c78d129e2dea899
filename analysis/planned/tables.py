"""The tables of a plan: number of rows, mean, standard deviation and standard error for combinations of levels."""

from typing import Any

import numpy as np
import pandas as pd

from analysis.data.row_filters import chosen_rows, require_columns
from analysis.statistics.factor_levels import level_order, level_text
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedTable


def planned_table(data: pd.DataFrame, name: str, planned: PlannedTable) -> pd.DataFrame:
    """Return the table `name` of the plan.

    Parameters
    ----------
    data : DataFrame
        The rows to be summarized.
    name : str
        Name of the table in the plan, for error messages.
    planned : PlannedTable
        Factors, columns to be averaged, and order of the rows.

    Returns
    -------
    DataFrame
        The factors, `n` (number of rows), and three columns for each column in `of`: `<column>_mean`, `<column>_sd` and
        `<column>_se`. The standard deviation is computed with the divisor n - 1, and is missing if there is only one
        value. The standard error is the standard deviation divided by the square root of the number of values. If
        values are missing, `<column>_n` is the number of values that are not missing. The rows are in the natural order
        of the levels, or in the order of `order_by`.

    Raises
    ------
    InputError
        If a column is missing, or a column to be averaged contains text.
    """
    what = f"the table `{name}`"
    require_columns(data, [*planned.by, *planned.of], what)
    if len(set(planned.by)) < len(planned.by):
        raise InputError(f"{what}: duplicate factor in `by` ({', '.join(planned.by)}). Fix: write each factor once.")
    own = {"n", *(f"{column}_{measure}" for column in planned.of for measure in ("n", "mean", "sd", "se"))}
    for factor in planned.by:
        if factor in own:
            raise InputError(
                f"{what}: the factor `{factor}` has the same name as a computed column of the table. Fix: rename the "
                "factor."
            )
    rows = chosen_rows(data, planned.where, what)
    values = pd.DataFrame({column: numeric(rows, column, what) for column in planned.of})
    factors = rows[list(planned.by)]
    groups = values.groupby([factors[factor] for factor in planned.by], dropna=False, sort=False, observed=True)
    columns: dict[str, pd.Series] = {"n": groups.size()}
    for column in planned.of:
        one = groups[column]
        count = one.count()
        columns |= {f"{column}_n": count} if (count != columns["n"]).any() else {}
        columns |= {f"{column}_mean": one.mean(), f"{column}_sd": one.std(), f"{column}_se": one.std() / count**0.5}
    table = pd.DataFrame(columns).reset_index()
    order = sorted(table.index, key=lambda row: tuple(level_order(table.at[row, factor]) for factor in planned.by))
    table = _in_order(table.loc[order].reset_index(drop=True), planned, what)
    return table.head(planned.first) if planned.first else table


def numeric(rows: pd.DataFrame, column: str, what: str) -> pd.Series:
    """Return a column as numbers, with 1 for yes and 0 for no; refuse text."""
    values = rows[column]
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values):
        numbers = values.astype("Float64").astype("float64")
        if np.isinf(numbers).any():
            raise InputError(f"{what}: the column `{column}` has an infinite value. Fix: correct the data.")
        return numbers
    if values.isna().all():
        raise InputError(
            f"{what}: the column `{column}` has no values in these rows. Fix: use another column, or correct `where`."
        )
    text = values.dropna()
    shown = f", such as {text.iloc[0]!r}" if len(text) else ""
    raise InputError(f"{what}: the column `{column}` contains text{shown}. Fix: use a column of numbers.")


def _in_order(table: pd.DataFrame, planned: PlannedTable, what: str) -> pd.DataFrame:
    if not planned.order_by:
        return table
    names = [_column_of(table, name.removeprefix("-"), what) for name in planned.order_by]
    downwards = [name.startswith("-") for name in planned.order_by]
    by = pd.DataFrame({name: _rank(table[name]) if name in planned.by else table[name] for name in names})
    order = by.sort_values(names, ascending=[not down for down in downwards], kind="stable").index
    return table.loc[order].reset_index(drop=True)


def _rank(levels: pd.Series) -> pd.Series:
    """Return the position of each level in the natural order of levels."""
    in_order = sorted(levels.drop_duplicates().tolist(), key=level_order)
    places = {level_text(level): place for place, level in enumerate(in_order)}
    return levels.map(lambda level: places[level_text(level)])


def _column_of(table: pd.DataFrame, name: str, what: str) -> Any:
    for candidate in (name, f"{name}_mean"):
        if candidate in table.columns:
            return candidate
    raise InputError(
        f"{what}: `order_by` has `{name}`, which is not a column of the table. Fix: choose one of the columns "
        f"{', '.join(table.columns)}."
    )
