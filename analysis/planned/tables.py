"""The tables of a plan: means with standard errors and confidence intervals for combinations of levels."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from analysis.data.row_filters import chosen_rows, require_columns
from analysis.statistics.factor_levels import level_order, level_text
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedTable

UNIT = "participant"
"""Column of the units of a standard error. Without this column, the rows are the units."""


def planned_table(data: pd.DataFrame, name: str, planned: PlannedTable, confidence: float = 0.95) -> pd.DataFrame:
    r"""Return the table `name` of the plan.

    Parameters
    ----------
    data : DataFrame
        The rows to be summarized.
    name : str
        Name of the table in the plan, for error messages.
    planned : PlannedTable
        Factors, columns to be averaged, and order of the rows.
    confidence : float
        Coverage of the confidence intervals.

    Returns
    -------
    DataFrame
        The factors, `n` (number of rows), `n_participants` (if the participants are the units), and five columns for
        each column in `of`: `<column>_mean`, `<column>_sd`, `<column>_se`, `<column>_ci_low` and `<column>_ci_high`.
        The standard deviation is that of the rows. It is computed with the divisor n - 1, and is missing if there is
        only one value. The standard error is missing if there is only one unit. If values are missing, `<column>_n` is
        the number of values that are not missing, and `<column>_n_participants` is the number of their participants.
        The rows are in the natural order of the levels, or in the order of `order_by`.

    Notes
    -----
    The units of the standard errors are the participants, if the data have the column `participant`, and this column
    is not a factor of the table. Otherwise the rows are the units. In a cell with one run of a language model, the rows
    are the units too, because one run has no standard error.

    The mean of :math:`N` values of :math:`G` units is the ratio of the units' sums of values to their numbers of
    values. Its standard error is that of a ratio estimator (Cochran, 1977, section 6.4; the same as a cluster-robust
    standard error of the mean), where :math:`e_g` is the sum of the deviations of unit :math:`g` from the mean:

    .. math:: SE = \frac{1}{N} \sqrt{\frac{G}{G - 1} \sum_g e_g^2}

    If the units are the rows, this is the standard deviation divided by :math:`\sqrt{N}`. The interval is the mean,
    plus and minus the standard error times the quantile of t with G - 1 degrees of freedom.

    References
    ----------
    Cochran, W. G. (1977). Sampling techniques (3rd ed.). Wiley.

    Raises
    ------
    InputError
        If a column is missing, if a column to be averaged contains text, or if a row has no participant.
    """
    what = f"the table `{name}`"
    require_columns(data, [*planned.by, *planned.of], what)
    if len(set(planned.by)) < len(planned.by):
        raise InputError(f"{what}: duplicate factor in `by` ({', '.join(planned.by)}). Fix: write each factor once.")
    own = {"n", "n_participants", *(f"{column}_{measure}" for column in planned.of for measure in MEASURES)}
    for factor in planned.by:
        if factor in own:
            raise InputError(
                f"{what}: the factor `{factor}` has the same name as a computed column of the table. Fix: rename the "
                "factor."
            )
    rows = chosen_rows(data, planned.where, what).reset_index(drop=True)
    values = pd.DataFrame({column: numeric(rows, column, what) for column in planned.of})
    factors = rows[list(planned.by)]
    groups = values.groupby([factors[factor] for factor in planned.by], dropna=False, sort=False, observed=True)
    columns: dict[str, pd.Series] = {"n": groups.size()}
    cells = groups.ngroup()
    units = None
    if UNIT in rows and UNIT not in planned.by:
        columns["n_participants"] = rows[UNIT].groupby(cells).nunique().set_axis(columns["n"].index)
        units = _units(rows, cells, what)
    for column in planned.of:
        one = groups[column]
        count, mean = one.count(), one.mean()
        there = values[column].notna()
        if (count != columns["n"]).any():
            columns[f"{column}_n"] = count
            if units is not None:
                n_there = rows.loc[there, UNIT].groupby(cells[there]).nunique().reindex(range(len(count)), fill_value=0)
                columns[f"{column}_n_participants"] = n_there.set_axis(count.index)
        n_units, se = _standard_errors(values.loc[there, column], cells[there], units, len(count))
        half = se * stats.t.ppf(0.5 + confidence / 2, np.maximum(n_units - 1, 1))
        columns |= {f"{column}_mean": mean, f"{column}_sd": one.std(), f"{column}_se": pd.Series(se, count.index),
                    f"{column}_ci_low": mean - half, f"{column}_ci_high": mean + half}  # fmt: skip
    table = pd.DataFrame(columns).reset_index()
    order = sorted(table.index, key=lambda row: tuple(level_order(table.at[row, factor]) for factor in planned.by))
    table = _in_order(table.loc[order].reset_index(drop=True), planned, what)
    return table.head(planned.first) if planned.first else table


MEASURES = ("n", "n_participants", "mean", "sd", "se", "ci_low", "ci_high")


def _units(rows: pd.DataFrame, cells: pd.Series, what: str) -> pd.Series:
    """Return the number of each row's unit: its participant, or the row itself in a cell with one run of a model."""
    if n_missing := int(rows[UNIT].isna().sum()):
        raise InputError(
            f"{what}: {n_missing:,} of {len(rows):,} rows have no `{UNIT}`. Fix: fill this column, because the "
            "standard errors are computed from participants."
        )
    units = pd.Series(pd.factorize(rows[UNIT])[0], rows.index)
    if "kind" not in rows:
        return units
    is_one_run = (units.groupby(cells).transform("nunique") == 1) & (rows["kind"] == "model")
    return units.where(~is_one_run, len(rows) + np.arange(len(rows)))


def _standard_errors(
    values: pd.Series, cells: pd.Series, units: pd.Series | None, n_cells: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the number of units in each cell, and the standard error of the mean of each cell."""
    from_mean = values - values.groupby(cells).transform("mean")
    of_units = from_mean if units is None else from_mean.groupby([cells, units[values.index]]).sum()
    cell_of_unit = cells if units is None else of_units.index.get_level_values(0)
    n_units = np.bincount(cell_of_unit, minlength=n_cells)
    squares = np.bincount(cell_of_unit, weights=of_units**2, minlength=n_cells)
    n_values = np.bincount(cells, minlength=n_cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        return n_units, np.where(n_units > 1, np.sqrt(n_units / (n_units - 1) * squares) / n_values, np.nan)


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
