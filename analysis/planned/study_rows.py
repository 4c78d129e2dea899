"""The rows of a study for the tables, models and tests of the plan."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TypeVar

import pandas as pd

from analysis.coding.coded_trials import code_columns, with_code_columns
from analysis.data.columns import AFTER_FACTORS, BEFORE_FACTORS, is_graded
from analysis.measures.accuracy import kept_trials
from analysis.measures.demands import has_demand
from analysis.planned.named_columns import named_columns
from analysis.planned.results import Entry, RowsOf
from batteries.errors import InputError
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.answer_coding import CODE, CODED_AS, CODING_NAME, Coding
from experiment.study.planned_analyses import (
    Level,
    PlannedConfidence,
    PlannedModel,
    PlannedTable,
    PlannedTest,
    Where,
    Who,
)

Planned = TypeVar("Planned", PlannedTable, PlannedModel, PlannedTest, PlannedConfidence)


def plan_for(trials: pd.DataFrame, plan: AnalysisPlan) -> AnalysisPlan:
    """Return the plan. If the data have no people, simulated participants replace people in the plan.

    In a plan, people are the level `people` of the column `subject`, and the level `human` of the column `kind`. In a
    pilot without people, these two levels become `simulated participants` and `simulated`. The report states that the
    participants are simulated.
    """
    if (trials["kind"] == "human").any():
        return plan
    replacements = {("subject", "people"): "simulated participants", ("kind", "human"): "simulated"}

    def level(column: str, named: Level) -> Level:
        return replacements.get((column, str(named)), named)

    def in_pilot(planned: Planned) -> Planned:
        changes: dict[str, object] = {
            "where": {
                column: tuple(level(column, one) for one in asked) if isinstance(asked, tuple) else level(column, asked)
                for column, asked in planned.where.items()
            }
        }
        if isinstance(planned, PlannedModel):
            changes["reference"] = {column: level(column, named) for column, named in planned.reference.items()}
        if isinstance(planned, PlannedTest):
            changes["levels"] = tuple(level(planned.factor, named) for named in planned.levels)
        return planned.model_copy(update=changes)

    def marked(where: Where) -> Where:
        return {
            column: tuple(level(column, one) for one in asked) if isinstance(asked, tuple) else level(column, asked)
            for column, asked in where.items()
        }

    return plan.model_copy(
        update={
            "flags": {name: marked(where) for name, where in plan.flags.items()},
            "tables": {name: in_pilot(table) for name, table in plan.tables.items()},
            "models": {name: in_pilot(model) for name, model in plan.models.items()},
            "tests": {name: in_pilot(test) for name, test in plan.tests.items()},
            "confidence_ratings": {name: in_pilot(rated) for name, rated in plan.confidence_ratings.items()},
        }
    )


def _hashable(answer: object) -> object:
    return json.dumps(answer) if isinstance(answer, (dict, list)) else answer


_NOT_FOR_TABLES = ["content", "key", "excluded_by"]
ROW_COLUMNS = frozenset((*BEFORE_FACTORS, *AFTER_FACTORS, "counted_as")).difference(_NOT_FOR_TABLES)
"""The columns of the rows of every study. The rows also have the factors of the items."""


def demand_columns(demands: Sequence[str]) -> dict[str, str]:
    """Return the demand for each yes-no column. For instance, the column `has_beliefs` has the demand `beliefs`."""
    return {f"has_{demand}": demand for demand in demands}


def columns_of_codes(codings: Mapping[str, Coding]) -> list[str]:
    """Return the names of the columns that the rows of a study have because of the codings of its plan."""
    return [CODING_NAME, CODED_AS, *code_columns(codings)] if codings else []


def study_rows(
    trials: pd.DataFrame, demands: Sequence[str] = (), codings: Mapping[str, Coding] = MappingProxyType({})
) -> RowsOf:
    """Return a function for `run_planned` that returns the rows of people, of models, or of everyone.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`.
    demands : sequence of str
        The plan's `demands`. For each demand, the rows have a yes-no column, such as `has_beliefs`.
    codings : mapping of Coding
        The plan's `coding`. For each code, the rows have a yes-no column, such as `code_physical`.

    Notes
    -----
    The rows are the trials in the analysis, with the columns of the tidy table. `correct` is 1 or 0; for a missing
    response of a model, `correct` is 0. For an ungraded item, `correct` and `score` are missing. The rows include
    simulated participants only if there are no people.
    """
    kept_trials(trials.head(0))  # Refuses a table to which no exclusions were applied.
    people = "human" if (trials["kind"] == "human").any() else "simulated"
    of_kind: dict[Who, list[str]] = {"people": [people], "models": ["model"], "everyone": [people, "model"]}

    @cache
    def rows() -> pd.DataFrame:  # There are many rows, so they are computed only for a plan.
        kept = kept_trials(trials)
        rows = kept.drop(columns=_NOT_FOR_TABLES)
        texts = dict.fromkeys(
            rows.select_dtypes("category").columns, "str"
        )  # A plan may combine categories with other texts.
        made = demand_columns([demand for demand in demands if demand in rows])
        for column in (*made, *code_columns(codings)):
            if column in rows:
                raise InputError(
                    f"the items have a factor `{column}`, which is the name of the column for a demand or a code. Fix: "
                    "rename the factor."
                )
        if CODED_AS in rows:
            rows = with_code_columns(rows, codings)
        return rows.astype(texts).assign(
            response=kept["response"].map(_hashable),
            correct=kept["correct"].astype("Float64").fillna(0.0).astype("float64").where(is_graded(kept)),
            score=kept["score"].where((kept["kind"] != "model") | ~is_graded(kept), kept["score"].fillna(0.0)),
            **{column: has_demand(kept[demand]) for column, demand in made.items()},
        )

    def rows_of(who: Who) -> pd.DataFrame:
        chosen = rows()
        chosen = chosen[chosen["kind"].isin(of_kind[who])]
        if chosen.empty:
            missing = {"people": "trials of people", "models": "model runs", "everyone": "trials"}[who]
            raise InputError(
                f"the plan requests results of {who}, but the data contain no {missing}. Fix: collect {missing}."
            )
        return chosen.reset_index(drop=True)

    return rows_of


OF_GRADED = frozenset({"correct", "score", "chance", "counted_as"})
"""The columns that have values only for graded items."""
VALUE = "value"
"""The column that has values only for items with numeric responses."""


def rows_with_outcome(rows: pd.DataFrame, planned: Entry, flags: Mapping[str, Where]) -> pd.DataFrame:
    """Return the rows that an entry of the plan can use: of graded items for `correct`, and with numbers for `value`.

    An entry that uses codes of answers can use the rows with a code.

    Without this step, the levels of ungraded items would be levels without values, and a flag such as "wrong" would be
    false for them.

    Parameters
    ----------
    rows : DataFrame
        The rows of `study_rows`.
    planned : PlannedTable, PlannedModel, PlannedTest or PlannedConfidence
        The entry.
    flags : mapping
        The columns and levels of each flag that the entry uses.

    Raises
    ------
    InputError
        If no row remains.
    """

    def has(name: str) -> pd.Series:
        columns = {name, *flags.get(name, ())}
        found = pd.Series(data=True, index=rows.index)
        if columns & OF_GRADED:
            found &= rows["correct"].notna()
        if VALUE in columns:
            found &= rows["item_id"].isin(rows.loc[rows[VALUE].notna(), "item_id"].unique())
        for column in columns & of_codes:
            found &= rows[column].notna()
        return found

    is_coded = CODED_AS in rows
    of_codes = {str(name) for name in rows if name == CODED_AS or str(name).startswith(CODE)} if is_coded else set()
    named = set(named_columns(planned))
    used = {*named, *(column for flag in flags.values() for column in flag)}
    if not used & {*OF_GRADED, VALUE, *of_codes}:
        return rows
    averaged = planned.of if isinstance(planned, PlannedTable) else ()
    kept = pd.Series(data=not averaged, index=rows.index)
    for name in averaged:
        kept |= has(name)
    for name in named.difference(averaged):
        kept &= has(name)
    if not kept.any():
        if used & of_codes:
            raise InputError(
                f"`{min(used & of_codes)}` has no values, because no answer has a code. Fix: code the answers first, "
                "or remove this result from the plan."
            )
        raise InputError(
            "`value` has no values, because no response to these items is a number. Fix: remove this result from the "
            "plan."
            if VALUE in named
            else "`correct` has no values, because these items have no right answer (`key: null`). Fix: remove this "
            "result from the plan."
        )
    return rows[kept]
