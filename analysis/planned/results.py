"""Compute all tables, statistical models and tests of a plan, from rows with any columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import pandas as pd

from analysis.data.row_filters import add_flags
from analysis.planned.confidence_ratings import ConfidenceRatings, confidence_ratings
from analysis.planned.models import FittedModel, fit_planned_model
from analysis.planned.named_columns import named_columns
from analysis.planned.tables import planned_table
from analysis.planned.tests import planned_tests
from batteries.errors import collect_input_error, input_error_about
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import (
    PlannedAnalyses,
    PlannedConfidence,
    PlannedModel,
    PlannedTable,
    PlannedTest,
    Where,
    Who,
)

Entry = PlannedTable | PlannedModel | PlannedTest | PlannedConfidence
RowsOf = Callable[[Who], pd.DataFrame]
"""Function that returns the rows of people, of language models, or of both."""
RowsOfEntry = Callable[[pd.DataFrame, Entry, Mapping[str, Where]], pd.DataFrame]
"""Function that returns the rows that an entry of the plan can use, given all rows, the entry and its flags."""


@dataclass(frozen=True)
class PlannedResults:
    """The tables, statistical models, tests and confidence ratings of a plan."""

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    models: dict[str, FittedModel] = field(default_factory=dict)
    tests: pd.DataFrame = field(default_factory=pd.DataFrame)
    """One row for each computed form of each test, such as Student's and Welch's t (see `planned_tests`); empty if the
    plan has no tests.
    """
    confidence_ratings: dict[str, ConfidenceRatings] = field(default_factory=dict)
    not_computed: list[str] = field(default_factory=list)
    """One sentence for each requested result that cannot be computed from the present data.

    The sentence begins with the name of the result.
    """

    def files(self) -> dict[str, pd.DataFrame]:
        """Return all tables. The keys are paths without `.csv`."""
        files = {f"tables/{name}": table for name, table in self.tables.items()}
        for model in self.models.values():
            files |= {f"models/{name}": table for name, table in model.tables().items()}
        for name, ratings in self.confidence_ratings.items():
            files |= {f"confidence_ratings/{name}": ratings.table, f"confidence_ratings/{name}_bins": ratings.bins}
        return files | ({} if self.tests.empty else {"tests": self.tests})


def run_planned(
    rows_of: RowsOf,
    plan: PlannedAnalyses,
    changed_tests: Mapping[str, PlannedTest] = MappingProxyType({}),
    rows_of_entry: RowsOfEntry = lambda rows, _entry, _flags: rows,
) -> PlannedResults:
    """Compute the tables, statistical models, tests and confidence ratings of a plan, as far as the rows allow.

    A result that cannot be computed does not stop the others. `not_computed` has a sentence for each such result.

    Parameters
    ----------
    rows_of
        Function that returns the rows of people, of language models, or of everyone.
    plan
        The plan. The flags that a result uses are added to its rows.
    changed_tests
        The confirmatory tests of the locked or registered plan that this plan changed or left out; see `planned_tests`.
    rows_of_entry
        Function that selects the rows of one result, and keeps their index. By default, all rows.
    """
    known: dict[tuple[Who, frozenset[str]], pd.DataFrame] = {}

    def rows(planned: Entry) -> pd.DataFrame:
        used = plan.flags.keys() & set(named_columns(planned))
        key, plain = (planned.who, frozenset(used)), (planned.who, frozenset[str]())
        flags = {name: where for name, where in plan.flags.items() if name in used}
        if plain not in known:
            known[plain] = rows_of(planned.who)
        chosen = rows_of_entry(known[plain], planned, flags)
        if key not in known:
            known[key] = add_flags(known[plain], flags)
        return known[key] if len(chosen) == len(known[key]) else known[key].loc[chosen.index].reset_index(drop=True)

    not_computed: list[str] = []
    item_cluster = plan.item_cluster if isinstance(plan, AnalysisPlan) else None
    tables: dict[str, pd.DataFrame] = {}
    for name, table in plan.tables.items():
        with collect_input_error(not_computed):
            with input_error_about(f"the table `{name}`"):
                data = rows(table)
            tables[name] = planned_table(data, name, table, plan.confidence, item_cluster=item_cluster)
    models: dict[str, FittedModel] = {}
    for name, model in plan.models.items():
        with collect_input_error(not_computed):
            with input_error_about(f"the model `{name}`"):
                data = rows(model)
            models[name] = fit_planned_model(data, name, model, plan.confidence)
    tests = planned_tests(rows, plan, not_computed, changed_tests)
    ratings: dict[str, ConfidenceRatings] = {}
    for name, rated in plan.confidence_ratings.items():
        with collect_input_error(not_computed):
            with input_error_about(f"the confidence ratings `{name}`"):
                data = rows(rated)
            ratings[name] = confidence_ratings(data, name, rated, plan, item_cluster)
    return PlannedResults(tables, models, tests, ratings, not_computed)
