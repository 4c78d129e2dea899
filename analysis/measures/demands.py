"""Accuracy by demand: a kind of inference that an item needs. An item can have several demands at once."""

from collections.abc import Sequence

import pandas as pd

from analysis.data.columns import subject_order
from analysis.measures.accuracy import accuracy, check_factors, file_names, graded_trials, participant_accuracy
from batteries.errors import InputError, collect_input_error
from experiment.study.analysis_plan import AnalysisPlan

DEMAND = "demand"
"""The column of a result table with the name of the demand."""


def demand_tables(trials: pd.DataFrame, plan: AnalysisPlan, not_computed: list[str]) -> dict[str, pd.DataFrame]:
    """Return the table of accuracy by demand, and one table by demand and factor for each factor in `by` of the plan.

    The keys are file names.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    plan : AnalysisPlan
        The plan. Each factor in its `demands` counts how often an item has one demand.
    not_computed : list of str
        A list; this function appends a sentence about each demand that no trial in the analysis has.
    """
    demands = []
    for demand in plan.demands:
        with collect_input_error(not_computed):
            check_factors(trials, [demand])
            if not has_demand(graded_trials(trials, [demand])[demand]).any():
                raise InputError(
                    f"the demand `{demand}`: the factor `{demand}` is 0 or missing in all trials of the analysis. Fix: "
                    f"remove `{demand}` from `demands`."
                )
            demands.append(demand)
    if not demands:
        return {}
    return {"demands": accuracy_by_demand(trials, demands, [], plan)} | {
        name.replace("accuracy", "demands", 1): accuracy_by_demand(trials, demands, [factor], plan)
        for factor, name in file_names(plan.by).items()
    }


def accuracy_by_demand(
    trials: pd.DataFrame, demands: Sequence[str], by: Sequence[str], plan: AnalysisPlan
) -> pd.DataFrame:
    """Return the table of `accuracy`, computed separately for the items with each demand.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`, from `apply_exclusions`.
    demands : sequence of str
        Factors, one for each demand. An item has a demand if the factor is at least 1, or true.
    by : sequence of str
        Further factors. If there are no further factors, the table has one row for each subject and demand.
    plan : AnalysisPlan
        The plan states the confidence level.

    Returns
    -------
    DataFrame
        `kind, subject, demand, <by...>` and the measures of `accuracy`. The demands have the order of `demands`. An
        item with several demands is in several rows, so the rows of a subject overlap.

    Raises
    ------
    InputError
        If a demand is not a factor of the items, or contains text.
    """
    if DEMAND in by:
        raise InputError(f"the factor `{DEMAND}` has the name of a column of this table. Fix: rename the factor.")
    check_factors(trials, demands)
    parts = []
    for demand in demands:
        part = accuracy(trials[has_demand(trials[demand])], by, plan)
        part.insert(2, DEMAND, demand)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    order = sorted(table.index, key=lambda row: subject_order(table.at[row, "kind"], table.at[row, "subject"]))
    return table.loc[order].reset_index(drop=True)


def participants_by_demand(trials: pd.DataFrame, demands: Sequence[str], by: Sequence[str]) -> pd.DataFrame:
    """Return the table of `participant_accuracy`, computed separately for the items with each demand."""
    return pd.concat(
        [participant_accuracy(trials[has_demand(trials[name])], by).assign(**{DEMAND: name}) for name in demands]
    )


def has_demand(counts: pd.Series) -> pd.Series:
    """Return True for each row whose item has the demand. `counts` is the column of the demand's factor."""
    if not (pd.api.types.is_bool_dtype(counts) or pd.api.types.is_numeric_dtype(counts)):
        raise InputError(
            f"the demand `{counts.name}` has levels that are text, but it must have numbers, or true and false. Fix: "
            "choose a factor that counts the demands of an item."
        )
    return counts.astype("Float64").ge(1).fillna(False).astype(bool)
