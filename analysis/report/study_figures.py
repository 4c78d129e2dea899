"""The figures of a study's analysis."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from analysis.data.columns import PEOPLE, factor_columns
from analysis.exclusions.flow import Exclusions
from analysis.figures import (
    MOST_LEVELS,
    Drawing,
    accuracy_bars,
    accuracy_figure,
    accuracy_panels,
    condition_by_subject,
    counterbalance_matrix,
    difficulty_figure,
    exclusion_flow,
    forest_plot,
    item_scatter,
    response_times_figure,
    rt_distributions,
)
from analysis.figures.counterbalance import MOST_ROWS
from analysis.figures.drawing.second_process import DrawAll, Task
from analysis.figures.drawing.subject_styles import Look, Subject
from analysis.measures.accuracy import FactorAccuracy, kept_trials, participant_accuracy
from analysis.measures.demands import DEMAND, participants_by_demand
from analysis.measures.models import accuracy_by_temperature, runs_by_temperature
from analysis.sentences import percent
from experiment.study.analysis_plan import OF_RUNS, AnalysisPlan


def study_figures(
    trials: pd.DataFrame,
    exclusions: Exclusions,
    plan: AnalysisPlan,
    tables: dict[str, pd.DataFrame],
    by_factor: list[FactorAccuracy],
    styles: Mapping[Subject, Look],
    draw_all: DrawAll,
) -> dict[str, Drawing]:
    """Return all figures. The keys are the names of the figures.

    Parameters
    ----------
    trials : DataFrame
        The tidy table.
    exclusions : Exclusions
        The exclusions by the rules of the plan.
    plan : AnalysisPlan
        The plan.
    tables : dict of DataFrame
        The tables of the analysis. The keys are the names of the tables.
    by_factor : list of FactorAccuracy
        The accuracy by each factor of the plan. A factor with too many levels has no figure.
    styles : dict
        The colour and marker of each subject, from `looks`.
    draw_all : function
        Function that draws all figures, in one process (`second_process.draw_all`) or in two.
    """
    kept = kept_trials(exclusions.trials, ["chance", *plan.by])
    chance = float(kept["chance"].mean())
    marked = exclusions.trials
    of_tables: list[Task] = [
        partial(
            accuracy_figure, tables["accuracy_overall"], None, chance, plan.confidence, "accuracy",
            participants=participant_accuracy(marked, []), styles=styles,
        )
    ]  # fmt: skip
    for one in by_factor:
        if one.table[one.factor].nunique(dropna=False) <= MOST_LEVELS:
            of_tables.append(
                partial(
                    accuracy_figure, one.table, one.factor, chance, plan.confidence, one.name,
                    participants=participant_accuracy(marked, [one.factor]), styles=styles,
                )
            )  # fmt: skip
            of_tables.append(
                partial(
                    condition_by_subject,
                    one.table,
                    one.factor,
                    f"{one.name}_cells",
                    chance,
                    plan.confidence,
                    styles=styles,
                )
            )
    if len(plan.by) == 2 and all(kept[factor].nunique(dropna=False) <= MOST_LEVELS for factor in plan.by):
        of_tables.append(
            partial(
                accuracy_panels, tables["accuracy"], plan.by[0], plan.by[1], chance, plan.confidence,
                "accuracy_panels", participants=participant_accuracy(marked, plan.by), styles=styles,
            )
        )  # fmt: skip
    of_tables += _demands(marked, tables, by_factor, chance, plan, styles)
    of_tables += _differences(tables["differences_overall"], plan, styles)
    if "items" in tables:
        of_tables.append(partial(item_scatter, tables["items"], "items", confidence=plan.confidence, styles=styles))
    of_tables.append(
        partial(
            difficulty_figure, accuracy_by_temperature(tables["models"]), "temperature", of="temperature",
            confidence=plan.confidence, chance=chance, participants=runs_by_temperature(marked), styles=styles,
        )
    )  # fmt: skip
    if plan.difficulty is not None and "difficulty" in tables:
        levels = tables["difficulty"].rename(columns={plan.difficulty: "level"}).dropna(subset="accuracy")
        of_tables.append(
            partial(
                difficulty_figure, levels, "difficulty", of=plan.difficulty.replace("_", " "),
                confidence=plan.confidence, chance=chance,
                participants=participant_accuracy(marked, [plan.difficulty]).rename(columns={plan.difficulty: "level"}),
                styles=styles,
            )
        )  # fmt: skip
    for kind in [kind for kind in PEOPLE if (exclusions.flow["kind"] == kind).any()]:
        of_tables.append(partial(exclusion_flow, exclusions.flow, kind, f"exclusion_flow_{kind}"))
    of_items = [factor for factor in plan.by if factor not in OF_RUNS]
    rows = [*_row_factor(marked, plan), *of_items]
    of_trials: list[Task] = [
        partial(response_times_figure, trials, plan, "response_times"),
        partial(rt_distributions, marked, None, "rt_distributions"),
        partial(counterbalance_matrix, marked, "counterbalance", rows),
    ]
    return {drawing.name: drawing for drawing in draw_all(of_tables, of_trials) if drawing is not None}


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
