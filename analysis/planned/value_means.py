"""The means of numeric responses to ungraded items, such as ratings: one row for each subject and condition."""

from collections.abc import Sequence

import pandas as pd

from analysis.data.columns import is_graded, subject_order
from analysis.measures.accuracy import check_factors, cluster_columns, kept_trials
from analysis.planned.tables import planned_table
from analysis.statistics.factor_levels import level_order
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedTable

_NEEDED = ("kind", "subject", "participant", "run", "item_id", "task", "key", "value")
_COLUMNS = ("kind", "subject", "task")


def value_means(trials: pd.DataFrame, by: Sequence[str], plan: AnalysisPlan) -> pd.DataFrame:
    """Return the mean of `value` for each subject, task and combination of the factors' levels, over ungraded items.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    by : sequence of str
        Factors of the items, or settings of models' runs. Without factors, all items of a task are pooled.
    plan : AnalysisPlan
        The plan states the confidence level and the clusters of items.

    Returns
    -------
    DataFrame
        `kind, subject, task, <by...>`, `n` (the number of numeric responses), the number of items, and the columns of
        `planned_table` for `value`: `value_mean`, `value_sd`, `value_se`, `value_ci_low` and `value_ci_high`. Responses
        without a number, such as invalid replies of a model, are left out. The table is empty if there are no numbers.
    """
    check_factors(trials, by)
    kept = kept_trials(trials, [*_NEEDED, *cluster_columns(plan), *by])
    rows = kept[~is_graded(kept) & kept["value"].notna()]
    if rows.empty:
        return pd.DataFrame(columns=[*_COLUMNS, *by, "n", "n_items", "value_mean"])
    rows = rows.astype(dict.fromkeys(rows.select_dtypes("category").columns, "str")).reset_index(drop=True)
    cells = [*_COLUMNS, *by]
    planned = PlannedTable(by=tuple(cells), of=("value",))
    table = planned_table(rows, "values", planned, plan.confidence, item_cluster=plan.item_cluster)
    n_items = rows.groupby(cells, dropna=False)["item_id"].nunique().rename("n_items").reset_index()
    table = table.merge(n_items, on=cells, how="left")
    table.insert(len(cells) + 1, "n_items", table.pop("n_items"))
    order = sorted(
        table.index,
        key=lambda row: (
            str(table.at[row, "task"]),
            subject_order(table.at[row, "kind"], table.at[row, "subject"]),
            *(level_order(table.at[row, factor]) for factor in by),
        ),
    )
    return table.loc[order].reset_index(drop=True)
