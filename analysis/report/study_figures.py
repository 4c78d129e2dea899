"""The figures of a study's analysis, as tasks for a `Drawer`."""

from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd

from analysis.data.columns import PEOPLE, factor_columns
from analysis.exclusions.flow import Exclusions
from analysis.figures import (
    MOST_LEVELS,
    accuracy_bars,
    accuracy_figure,
    accuracy_panels,
    condition_by_subject,
    counterbalance_counts,
    counterbalance_matrix,
    difficulty_figure,
    exclusion_flow,
    forest_plot,
    item_scatter,
    response_times_figure,
    rt_distributions,
    timed_trials,
)
from analysis.figures.counterbalance import MOST_ROWS
from analysis.figures.drawing.subject_styles import Look, Subject
from analysis.measures.accuracy import FactorAccuracy, graded_trials, kept_trials, participant_accuracy
from analysis.measures.demands import DEMAND, participants_by_demand
from analysis.measures.models import accuracy_by_temperature, runs_by_temperature
from analysis.report.responses_section import ungraded_figures
from analysis.second_process import Task
from analysis.sentences import percent
from analysis.study_tables import AccuracyTables
from experiment.study.analysis_plan import OF_RUNS, AnalysisPlan


def figures_of_trials(exclusions: Exclusions, plan: AnalysisPlan) -> Iterator[Task]:
    """Yield the figures that need no table of the analysis, so that they can be drawn while the tables are computed.

    Parameters
    ----------
    exclusions : Exclusions
        The exclusions by the rules of the plan.
    plan : AnalysisPlan
        The plan.
    """
    trials = exclusions.trials
    timed = timed_trials(trials)
    yield partial(response_times_figure, timed, plan, "response_times")
    yield partial(rt_distributions, timed, None, "rt_distributions")
    of_items = [factor for factor in plan.by if factor not in OF_RUNS]
    counts = counterbalance_counts(trials, [*_row_factor(trials, plan), *of_items])
    yield partial(counterbalance_matrix, counts, "counterbalance")
    for kind in [kind for kind in PEOPLE if (exclusions.flow["kind"] == kind).any()]:
        yield partial(exclusion_flow, exclusions.flow, kind, f"exclusion_flow_{kind}")


def figures_of_accuracy(
    exclusions: Exclusions, plan: AnalysisPlan, accuracies: AccuracyTables, styles: Mapping[Subject, Look]
) -> list[Task]:
    """Return the figures of accuracy. They can be drawn while the other tables are computed.

    Parameters
    ----------
    exclusions : Exclusions
        The exclusions by the rules of the plan.
    plan : AnalysisPlan
        The plan. A factor with too many levels has no figure.
    accuracies : AccuracyTables
        The tables of accuracy.
    styles : dict
        The colour and marker of each subject, from `looks`.
    """
    if accuracies.overall.empty:
        return []
    marked, chance = exclusions.trials, _chance(exclusions)
    figures: list[Task] = [
        partial(
            accuracy_figure, accuracies.overall, None, chance, plan.confidence, "accuracy",
            participants=participant_accuracy(marked, []), styles=styles,
        )
    ]  # fmt: skip
    for one in accuracies.by_factor:
        if one.table[one.factor].nunique(dropna=False) <= MOST_LEVELS:
            figures += [
                partial(
                    accuracy_figure, one.table, one.factor, chance, plan.confidence, one.name,
                    participants=participant_accuracy(marked, [one.factor]), styles=styles,
                ),
                partial(
                    condition_by_subject, one.table, one.factor, f"{one.name}_cells", chance, plan.confidence,
                    styles=styles,
                ),
            ]  # fmt: skip
    kept = graded_trials(marked, plan.by)
    if len(plan.by) == 2 and all(kept[factor].nunique(dropna=False) <= MOST_LEVELS for factor in plan.by):
        figures.append(
            partial(
                accuracy_panels, accuracies.by_all_factors, plan.by[0], plan.by[1], chance, plan.confidence,
                "accuracy_panels", participants=participant_accuracy(marked, plan.by), styles=styles,
            )
        )  # fmt: skip
    temperatures = accuracy_by_temperature(accuracies.models)
    figures.append(
        partial(
            difficulty_figure, temperatures, "temperature", of="temperature", confidence=plan.confidence,
            chance=chance, participants=runs_by_temperature(marked), styles=styles,
        )
    )  # fmt: skip
    return figures


def figures_of_other_tables(
    exclusions: Exclusions,
    plan: AnalysisPlan,
    accuracies: AccuracyTables,
    tables: dict[str, pd.DataFrame],
    styles: Mapping[Subject, Look],
) -> list[Task]:
    """Return the figures of all other tables.

    Parameters
    ----------
    exclusions, plan, accuracies, styles
        See `figures_of_accuracy`.
    tables : dict of DataFrame
        The tables of the analysis. The keys are the names of the tables.
    """
    marked = exclusions.trials
    figures = ungraded_figures(marked, plan, tables, styles)
    if accuracies.overall.empty:
        return figures
    chance = _chance(exclusions)
    figures += _demands(marked, tables, accuracies.by_factor, chance, plan, styles)
    figures += _differences(tables["differences_overall"], plan, styles)
    if "items" in tables:
        figures.append(partial(item_scatter, tables["items"], "items", confidence=plan.confidence, styles=styles))
    if plan.difficulty is not None and "difficulty" in tables:
        levels = tables["difficulty"].rename(columns={plan.difficulty: "level"}).dropna(subset="accuracy")
        figures.append(
            partial(
                difficulty_figure, levels, "difficulty", of=plan.difficulty.replace("_", " "),
                confidence=plan.confidence, chance=chance,
                participants=participant_accuracy(marked, [plan.difficulty]).rename(columns={plan.difficulty: "level"}),
                styles=styles,
            )
        )  # fmt: skip
    return figures


def _chance(exclusions: Exclusions) -> float:
    """Return the mean chance level of the graded trials in the analysis."""
    return float(graded_trials(exclusions.trials, ["chance"])["chance"].mean())


def _demands(
    trials: pd.DataFrame, tables: dict[str, pd.DataFrame], by_factor: list[FactorAccuracy], chance: float,
    plan: AnalysisPlan, styles: Mapping[Subject, Look],
) -> list[Task]:  # fmt: skip
    """Return the figures of accuracy by demand (a kind of inference): bars, and one for each factor of the plan."""
    if "demands" not in tables:
        return []
    demands = tables["demands"][DEMAND].drop_duplicates().tolist()
    figures: list[Task] = [
        partial(
            accuracy_bars, tables["demands"], DEMAND, demands, chance, plan.confidence, "demands",
            participants=participants_by_demand(trials, demands, []), styles=styles,
        )
    ]  # fmt: skip
    for one in by_factor:
        name = one.name.replace("accuracy", "demands", 1)
        if tables[name][one.factor].nunique(dropna=False) <= MOST_LEVELS:
            figures.append(
                partial(
                    accuracy_panels, tables[name], one.factor, DEMAND, chance, plan.confidence, name, demands,
                    participants=participants_by_demand(trials, demands, [one.factor]), styles=styles,
                )
            )  # fmt: skip
    return figures


def _row_factor(trials: pd.DataFrame, plan: AnalysisPlan) -> list[str]:
    """Return a list with the counterbalanced factor, such as the scenario, or an empty list.

    Every group has all levels of a counterbalanced factor. Of several such factors, return the one with the most
    levels.
    """
    found = {}
    for factor in factor_columns(trials):
        kept = kept_trials(trials, ["kind", "group", factor])
        people = kept.loc[kept["kind"] != "model", ["group", factor]]
        n_groups, n_levels = people["group"].nunique(), people[factor].nunique()
        crossed = people.drop_duplicates().dropna()
        if factor not in plan.by and 2 < n_levels <= MOST_ROWS and len(crossed) == n_levels * n_groups:
            found[factor] = n_levels
    return [max(found, key=lambda factor: found[factor])] if found else []


def _differences(differences: pd.DataFrame, plan: AnalysisPlan, styles: Mapping[Subject, Look]) -> list[Task]:
    """Return the figure of people's accuracy minus the accuracy of each model, if there are such differences."""
    if differences.empty:
        return []
    several = differences["people"].nunique() > 1
    return [
        partial(
            forest_plot,
            differences,
            "differences",
            label="model",
            estimate="difference",
            ci_low="ci_low",
            ci_high="ci_high",
            x_label=f"participants' accuracy minus model's accuracy (points), with {percent(plan.confidence, 0)} CI",
            scale=100,
            group="people" if several else None,
            styles=styles,
        )
    ]
