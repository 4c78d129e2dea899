"""Compute the numbers of a study's analysis: all tables, and the statistical models and tests of the plan."""

from dataclasses import dataclass, replace

import pandas as pd

from analysis.exclusions.by_group import exclusions_by_group
from analysis.exclusions.flow import Exclusions
from analysis.measures.accuracy import FactorAccuracy, accuracy, accuracy_by_factor, file_names, graded_trials
from analysis.measures.comparisons import comparison
from analysis.measures.differences import differences
from analysis.measures.invalid_responses import invalid_responses, regraded, stored_scoring
from analysis.measures.models import models_table
from analysis.measures.people_and_models import people_and_models
from analysis.measures.response_shares import response_shares
from analysis.measures.study_measures import study_measures
from analysis.measures.timing import timing
from analysis.planned.results import PlannedResults, run_planned
from analysis.planned.sensitivity import sensitivity
from analysis.planned.study_rows import plan_for, rows_with_outcome, study_rows
from analysis.planned.value_means import value_means
from analysis.preregistration.deviations import Registration
from analysis.provenance.study_versions import has_several_versions, study_versions
from batteries.errors import collect_input_error
from experiment.study.analysis_plan import AnalysisPlan


@dataclass(frozen=True)
class StudyTables:
    """The numbers of a study, for its figures and its report."""

    tables: dict[str, pd.DataFrame]
    """All tables. The keys are file names without `.csv`."""
    planned: PlannedResults
    """The tables, models and tests that the plan requests, and a sentence for each result that cannot be computed."""


@dataclass(frozen=True)
class AccuracyTables:
    """The tables from which most figures are drawn. They are computed before all other tables."""

    overall: pd.DataFrame
    """The table of accuracy without factors."""
    by_all_factors: pd.DataFrame
    """The table of accuracy for each combination of the factors in `by` of the plan."""
    by_factor: list[FactorAccuracy]
    """The table of accuracy for each factor in `by` of the plan."""
    models: pd.DataFrame
    """The table of models."""


def accuracy_tables(exclusions: Exclusions, plan: AnalysisPlan) -> AccuracyTables:
    """Compute the tables of accuracy.

    Raises
    ------
    InputError
        If a factor of the plan's `by` is not in the data.
    """
    trials = exclusions.trials
    return AccuracyTables(
        accuracy(trials, [], plan), accuracy(trials, plan.by, plan), accuracy_by_factor(trials, plan),
        models_table(trials, plan),
    )  # fmt: skip


def study_tables(
    trials: pd.DataFrame,
    exclusions: Exclusions,
    plan: AnalysisPlan,
    accuracies: AccuracyTables,
    registration: Registration,
) -> StudyTables:
    """Compute every table that the plan and the data allow.

    Parameters
    ----------
    trials : DataFrame
        The tidy table before exclusions, from which the sensitivity to each exclusion rule is computed.
    exclusions : Exclusions
        The exclusions by the rules of the plan (`analysis.exclusions.flow.apply_exclusions`).
    plan : AnalysisPlan
        The analysis plan: factors, comparisons, measures, models and tests.
    accuracies : AccuracyTables
        The tables from `accuracy_tables`.
    registration : Registration
        The statement on the preregistration: the tests and exclusion rules of the locked or registered plan that
        changed.

    Raises
    ------
    InputError
        If a factor of the plan's `comparisons` is not in the data.
    """
    marked = exclusions.trials
    planned = run_planned(
        study_rows(marked, plan.demands, plan.coding),
        plan_for(marked, plan),
        registration.changed_tests,
        rows_with_outcome,
    )
    tables = _tables_of_every_study(exclusions, plan, accuracies) | sensitivity(trials, plan, exclusions, registration)
    groups = people_and_models(marked, [], plan)
    if len(groups):
        tables["people_and_models"] = people_and_models(marked, plan.by, plan)
        tables["people_and_models_overall"] = groups
    if has_several_versions(trials):
        tables["study_versions"] = study_versions(marked)
    not_computed: list[str] = []
    tables |= tables_of_ungraded(marked, plan, not_computed)
    if graded_trials(marked, ["kind"]).empty:
        not_computed += [
            f"{asked}: no test item has a right answer, so there is no accuracy. Fix: remove this entry from the plan."
            for asked in _about_accuracy(plan)
        ]
        return StudyTables(tables, replace(planned, not_computed=[*planned.not_computed, *not_computed]))
    tables |= study_measures(marked, plan, not_computed)
    for name, compared in plan.comparisons.items():
        tables[f"comparison_{name}"] = comparison(marked, compared, plan)
        if tables[f"comparison_{name}"].empty:
            not_computed.append(
                f"the comparison `{name}`: there is no item that both people and a model answered. Fix: collect "
                "responses of people and models to the same items."
            )
    if len(accuracies.by_factor) > 1:
        tables |= {of_factor.name: of_factor.table for of_factor in accuracies.by_factor}
    return StudyTables(tables, replace(planned, not_computed=[*planned.not_computed, *not_computed]))


def tables_of_ungraded(trials: pd.DataFrame, plan: AnalysisPlan, not_computed: list[str]) -> dict[str, pd.DataFrame]:
    """Return the tables of ungraded items: shares of responses, and means of numeric responses.

    The tables `responses_overall` and `values_overall` have no factors. For each factor in `by` of the plan, there is
    one more table, such as `responses_by_condition`. A table without rows is left out.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`.
    plan : AnalysisPlan
        The plan.
    not_computed : list of str
        A list; this function appends a sentence about each result that cannot be computed.
    """
    tables: dict[str, pd.DataFrame] = {}
    endings: dict[tuple[str, ...], str] = {(): "overall"}
    endings |= {(factor,): name.removeprefix("accuracy_") for factor, name in file_names(plan.by).items()}
    for by, ending in endings.items():
        for kind, compute in (("responses", response_shares), ("values", value_means)):
            with collect_input_error(not_computed):
                tables[f"{kind}_{ending}"] = compute(trials, by, plan)
    return {name: table for name, table in tables.items() if len(table)}


def _about_accuracy(plan: AnalysisPlan) -> list[str]:
    """Return the names of the entries of the plan that request accuracies, apart from tables, models and tests."""
    return [
        *(f"the comparison `{name}`" for name in plan.comparisons),
        *(f"the demand `{name}`" for name in plan.demands),
        *([f"the difficulty `{plan.difficulty}`"] if plan.difficulty is not None else []),
        *(f"the signal `{name}`" for name in plan.signals),
    ]


def _tables_of_every_study(
    exclusions: Exclusions, plan: AnalysisPlan, accuracies: AccuracyTables
) -> dict[str, pd.DataFrame]:
    trials = exclusions.trials
    return {
        "exclusions": exclusions.flow,
        "exclusions_by_group": exclusions_by_group(exclusions),
        "participants": exclusions.participants,
        "timing": timing(trials),
        "accuracy": accuracies.by_all_factors,
        "accuracy_overall": accuracies.overall,
        "differences": differences(trials, plan.by, plan),
        "differences_overall": differences(trials, [], plan),
        "models": accuracies.models,
        "invalid": invalid_responses(trials),
        "stored_scoring": stored_scoring(trials),
        "regraded": regraded(trials),
    }
