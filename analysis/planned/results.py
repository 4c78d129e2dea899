"""Compute all tables, statistical models and tests of a plan, from rows with any columns."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd

from analysis.data.row_filters import add_flags
from analysis.planned.models import FittedModel, fit_planned_model
from analysis.planned.tables import planned_table
from analysis.planned.tests import planned_tests
from batteries.errors import collect_input_error
from experiment.study.planned_analyses import PlannedAnalyses, PlannedModel, PlannedTable, PlannedTest, Who

RowsOf = Callable[[Who], pd.DataFrame]
"""Function that returns the rows of people, of language models, or of both."""


@dataclass(frozen=True)
class PlannedResults:
    """The tables, statistical models and tests of a plan."""

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    models: dict[str, FittedModel] = field(default_factory=dict)
    tests: pd.DataFrame = field(default_factory=pd.DataFrame)
    """One row for each form of each test (see `planned_tests`); empty if the plan has no tests."""
    not_computed: list[str] = field(default_factory=list)
    """One sentence for each requested result that cannot be computed from the present data."""

    def files(self) -> dict[str, pd.DataFrame]:
        """Return all tables. The keys are paths without `.csv`."""
        files = {f"tables/{name}": table for name, table in self.tables.items()}
        for model in self.models.values():
            files |= {f"models/{name}": table for name, table in model.tables().items()}
        return files | ({} if self.tests.empty else {"tests": self.tests})


def run_planned(rows_of: RowsOf, plan: PlannedAnalyses, *, as_far_as_possible: bool = False) -> PlannedResults:
    """Compute the tables, statistical models and tests of a plan.

    Parameters
    ----------
    rows_of
        Function that returns the rows of people, of language models, or of everyone.
    plan
        The plan. Its flags are added to the rows.
    as_far_as_possible
        True to omit results that cannot be computed, for instance during data collection. `not_computed` then has a
        sentence for each omitted result.

    Raises
    ------
    InputError
        If the rows lack a column or level of the plan, or if a result cannot be computed. With `as_far_as_possible`,
        this error is never raised.
    """
    known: dict[Who, pd.DataFrame] = {}

    def rows(planned: PlannedTable | PlannedModel | PlannedTest) -> pd.DataFrame:
        if planned.who not in known:
            known[planned.who] = add_flags(rows_of(planned.who), plan.flags)
        return known[planned.who]

    not_computed: list[str] | None = [] if as_far_as_possible else None
    tables: dict[str, pd.DataFrame] = {}
    for name, table in plan.tables.items():
        with collect_input_error(not_computed):
            tables[name] = planned_table(rows(table), name, table, plan.confidence)
    models: dict[str, FittedModel] = {}
    for name, model in plan.models.items():
        with collect_input_error(not_computed):
            models[name] = fit_planned_model(rows(model), name, model, plan.confidence)
    tests = planned_tests(rows, plan, not_computed)
    return PlannedResults(tables, models, tests, not_computed or [])
