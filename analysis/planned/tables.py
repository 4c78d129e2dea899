"""The tables of a plan: means with standard errors and confidence intervals for combinations of levels."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from analysis.data.row_filters import chosen_rows, require_columns
from analysis.planned.table_units import OF_SEVERAL, UNIT, units_of
from analysis.statistics.factor_levels import level_order, level_text
from analysis.statistics.intervals import weighted_accuracy
from analysis.statistics.participant_intervals import proportion_interval
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedTable


def planned_table(
    data: pd.DataFrame,
    name: str,
    planned: PlannedTable,
    confidence: float = 0.95,
    *,
    item_cluster: str | None = None,
) -> pd.DataFrame:
    r"""Return the table `name` of the plan.

    Parameters
    ----------
    data : DataFrame
        The rows to be summarized.
    name : str
        Name of the table in the plan, for error messages.
    planned : PlannedTable
        The entry of the plan: the factors, the columns to be averaged, and the order of the rows.
    confidence : float
        Confidence level of the intervals, such as 0.95.
    item_cluster : str, optional
        Column with the groups of related items, as in the analysis plan of a study.

    Returns
    -------
    DataFrame
        The factors, `n` (number of rows), and five columns for each column in `of`: `<column>_mean`, `<column>_sd`,
        `<column>_se`, `<column>_ci_low` and `<column>_ci_high`. If the data have the column `participant`, and this
        column is not a factor of the table, there are three more columns. `n_participants` and `n_runs` are numbers of
        participants and of models' runs. `unit` is the unit of the standard errors in the cell. The standard deviation
        is computed over rows, with the divisor n - 1. It is missing if there is only one value. The standard error and
        the interval are missing if there is only one unit. If values are missing, `<column>_n` is the number of values
        that are not missing. `<column>_n_participants` and `<column>_n_runs` are the numbers of participants and runs
        with such values. The rows are in the natural order of the levels, or in the order of `order_by`.

    Notes
    -----
    The units of the standard errors are the participants (`unit` is `participant`). For models, the units are the same
    as for the accuracy. In a cell with one model under one condition, the units are the items, or the groups of items
    in `item_cluster`. In a cell with several models, the units are the runs. If the data have no items, the rows of a
    single run are the units, because one run has no standard error.

    The mean of :math:`N` values of :math:`G` units is a ratio of two sums over units: the sum of the values, and the
    number of values. Its standard error is that of a ratio estimator (Cochran, 1977, section 6.4; the same as a
    cluster-robust standard error of the mean), where :math:`e_g` is the sum of the deviations of unit :math:`g` from
    the mean:

    .. math:: SE = \frac{1}{N} \sqrt{\frac{G}{G - 1} \sum_g e_g^2}

    If the units are the rows, the standard error is the standard deviation divided by :math:`\sqrt{N}`. The interval
    is the mean, plus and minus the standard error times the quantile of t with G - 1 degrees of freedom. A yes-no
    column has the intervals of the accuracy instead, which never leave the range from 0 to 1. Such intervals come from
    `participant_intervals.proportion_interval` for participants and runs, and from `intervals.weighted_accuracy` for
    items and rows.

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
    own = {
        "n",
        "n_participants",
        "n_runs",
        "unit",
        *(f"{column}_{measure}" for column in planned.of for measure in MEASURES),
    }
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
    index = columns["n"].index
    units = None
    if UNIT in rows and UNIT not in planned.by:
        if n_missing := int(rows[UNIT].isna().sum()):
            raise InputError(
                f"{what}: {n_missing:,} of {len(rows):,} rows have no `{UNIT}`. Fix: fill this column, because the "
                "standard errors are computed from participants."
            )
        units = units_of(rows, cells, None if item_cluster in planned.by else item_cluster)
        columns |= {n_name: counts.set_axis(index) for n_name, counts in _n_units(rows, cells).items()}
        columns["unit"] = units["unit"].groupby(cells).first().set_axis(index)
    for column in planned.of:
        one = groups[column]
        count, mean = one.count(), one.mean()
        there = values[column].notna()
        if (count != columns["n"]).any():
            columns[f"{column}_n"] = count
            if units is not None:
                n_there = _n_units(rows, cells, there)
                columns |= {f"{column}_{n_name}": counts.set_axis(index) for n_name, counts in n_there.items()}
        n_units, se = _standard_errors(values.loc[there, column], cells[there], units, len(count))
        half = se * scipy.stats.t.ppf(0.5 + confidence / 2, np.maximum(n_units - 1, 1))
        low, high = mean - half, mean + half
        if values.loc[there, column].isin([0, 1]).all():
            bounds = _share_intervals(values.loc[there, column], cells[there], units, len(count), confidence)
            low, high = (pd.Series(bound, index).where(n_units > 1) for bound in bounds)
        columns |= {f"{column}_mean": mean, f"{column}_sd": one.std(), f"{column}_se": pd.Series(se, count.index),
                    f"{column}_ci_low": low, f"{column}_ci_high": high}  # fmt: skip
    table = pd.DataFrame(columns).reset_index()
    order = sorted(table.index, key=lambda row: tuple(level_order(table.at[row, factor]) for factor in planned.by))
    table = _in_order(table.loc[order].reset_index(drop=True), planned, what)
    return table.head(planned.first) if planned.first else table


MEASURES = ("n", "n_participants", "n_runs", "mean", "sd", "se", "ci_low", "ci_high")


def _n_units(rows: pd.DataFrame, cells: pd.Series, there: pd.Series | None = None) -> dict[str, pd.Series]:
    """Return the numbers of participants and of runs in each cell.

    If the rows have no participants or no runs, leave them out.
    """
    is_run = rows["kind"] == "model" if "kind" in rows else pd.Series(data=False, index=rows.index)
    found = {}
    for name, chosen in (("n_participants", ~is_run), ("n_runs", is_run)):
        if chosen.any():
            counted = chosen if there is None else chosen & there
            n = rows.loc[counted, UNIT].groupby(cells[counted]).nunique()
            found[name] = n.reindex(range(int(cells.max()) + 1), fill_value=0)
    return found


def _standard_errors(
    values: pd.Series, cells: pd.Series, units: pd.DataFrame | None, n_cells: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the number of units in each cell, and the standard error of the mean of each cell."""
    from_mean = values - values.groupby(cells).transform("mean")
    of_units = from_mean if units is None else from_mean.groupby([cells, units.loc[values.index, "number"]]).sum()
    cell_of_unit = cells if units is None else of_units.index.get_level_values(0)
    n_units = np.bincount(cell_of_unit, minlength=n_cells)
    squares = np.bincount(cell_of_unit, weights=of_units**2, minlength=n_cells)
    n_values = np.bincount(cells, minlength=n_cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        return n_units, np.where(n_units > 1, np.sqrt(n_units / (n_units - 1) * squares) / n_values, np.nan)


def _share_intervals(
    values: pd.Series, cells: pd.Series, units: pd.DataFrame | None, n_cells: int, confidence: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the bounds of the confidence interval for the share of `yes` in each cell."""
    bounds = np.full((2, n_cells), np.nan)
    for cell, own in values.groupby(cells):
        of_cell = None if units is None else units.loc[own.index]
        counts = own.groupby(own.index if of_cell is None else of_cell["number"]).agg(["sum", "size"])
        n_yes, n_rows = counts["sum"].to_numpy(dtype="int64"), counts["size"].to_numpy(dtype="int64")
        if of_cell is not None and of_cell["unit"].iloc[0] in OF_SEVERAL:
            bounds[:, int(cell)] = proportion_interval(n_yes, n_rows, confidence)
        else:
            bounds[:, int(cell)] = weighted_accuracy(n_yes, n_rows, n_rows, confidence=confidence)[1]
    return bounds[0], bounds[1]


def numeric(rows: pd.DataFrame, column: str, what: str) -> pd.Series:
    """Return a column as numbers, with 1 for yes and 0 for no. Raise InputError if the column contains text."""
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
