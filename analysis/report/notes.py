"""The notes of a study's report, in sentences."""

from typing import Any

import pandas as pd

from analysis.data.columns import PEOPLE, factor_columns, is_graded
from analysis.data.subjects import shared_template
from analysis.exclusions.by_group import notes_on_several_groups
from analysis.exclusions.flow import Exclusions, is_invalid_of_model
from analysis.figures import MOST_LEVELS
from analysis.figures.drawing.lines import MOST_LINES
from analysis.figures.item_scatter import MOST_SCATTERS
from analysis.measures.accuracy import kept_trials
from analysis.measures.timing import timing_notes
from analysis.planned.named_columns import named_columns
from analysis.provenance.changed_items import notes_on_rewording
from analysis.provenance.study_versions import notes_on_revisions, notes_on_versions
from analysis.report.responses_section import ungraded_words
from analysis.sentences import count, invalid_words
from analysis.statistics.factor_levels import level_order
from experiment.study.analysis_plan import OF_RUNS, AnalysisPlan
from experiment.study.planned_analyses import PlannedConfidence, PlannedModel, PlannedTable, PlannedTest


def exclusion_steps_words(flow: pd.DataFrame) -> str:
    """Return the steps that excluded participants, as words for the error message if no trial remains."""
    rows: list[dict[str, Any]] = flow[flow["n_participants"] > 0].to_dict("records")  # type: ignore[assignment]
    parts = [
        f"{row['n_participants']} of kind {row['kind']} excluded at `{row['step']}` ({row['criterion']})"
        for row in rows
    ]
    return "; ".join(parts) or "there are no test trials"


def study_notes(exclusions: Exclusions, tables: dict[str, pd.DataFrame], plan: AnalysisPlan) -> list[str]:
    """Return the notes on the trials in the analysis, the exclusions and the tables."""
    trials, notes = exclusions.trials, []
    kept = kept_trials(trials, ["kind", "subject", "item_id", "correct", "key", *plan.by])
    notes += [words] if (words := ungraded_words(trials)) else []
    reworded = notes_on_rewording(trials)
    if trials["battery"].nunique() > 1 and not reworded:
        notes.append(
            "The sessions used more than one version of the battery. A test item that is in several of these versions "
            "has the same content in all of them."
        )
    notes += notes_on_versions(trials)
    notes += notes_on_revisions(trials)
    notes += reworded
    notes += notes_on_several_groups(exclusions)
    notes += timing_notes(tables["timing"])
    for kind, name in PEOPLE.items():
        if (trials["kind"] == kind).any() and not (kept["kind"] == kind).any():
            notes.append(f"No {name} are in the analysis. Fix: check the exclusion rules.")
    left_out = exclusions.participants.query("kind == 'model' and disposition != 'included'")
    notes += [f"The run {run} is not in the tables. Reason: {why.replace('_', ' ')}."
              for run, why in left_out[["run", "disposition"]].itertuples(index=False)]  # fmt: skip
    template = shared_template(trials["run"].dropna().unique())
    if template is not None:
        notes.append(f"All model runs with a known template have the template {template}.")
    for row in tables["invalid"].to_dict("records"):
        if row["n_invalid"] or row["n_unanswered"]:
            notes.append(
                f"Of {count(row['n_trials'], 'trial')} of {row['subject']}, "
                f"{count(row['n_invalid'], 'invalid response')} and "
                f"{count(row['n_unanswered'], 'unanswered trial')} {invalid_words(plan)}."
                f"{_ungraded_invalid(trials, row['subject'])}"
            )
    if plan.invalid == "chance" and (plan.models or plan.tests) and tables["invalid"]["n_invalid"].any():
        notes.append(
            "In statistical models and tests, invalid and missing responses of models count as not correct, because an "
            "outcome is 0 or 1."
        )
    notes += _notes_on_missing_settings(kept, plan)
    for factor in (name for name in plan.by if name not in OF_RUNS and kept[name].isna().any()):
        without = kept[kept[factor].isna()]
        notes.append(
            f"{count(without['item_id'].nunique(), 'test item does', 'test items do')} not have the factor {factor}. "
            "In the tables, these items have an empty level."
        )
    notes += [f"The factor {factor} has more than {MOST_LEVELS} levels, so there is a table, but no figure."
              for factor in plan.by if kept[factor].nunique(dropna=False) > MOST_LEVELS]  # fmt: skip
    notes += _notes_on_many_subjects(tables, plan)
    notes += _notes_on_people(kept[is_graded(kept)], tables)
    for row in tables["differences_overall"].to_dict("records"):
        only = [count(row[column], one, many) for column, one, many in _only(plan) if row[column]]
        if only:
            notes.append(f"The comparison of {row['people']} with {row['model']} excludes {' and '.join(only)}.")
    used = _used_columns(plan)
    extra = [name for name in factor_columns(trials) if name not in used]
    if extra:
        notes.append(f"Item factors that the plan does not use: {', '.join(extra)}.")
    return notes


def _ungraded_invalid(trials: pd.DataFrame, subject: str) -> str:
    """Return a sentence on a model's invalid and missing responses to ungraded items, with a space before it."""
    own = trials[(trials["subject"] == subject) & (trials["phase"] == "test") & ~is_graded(trials)]
    n = int((is_invalid_of_model(own) & (own["excluded_by"].isna() | (own["excluded_by"] == "unanswered"))).sum())
    return f" Among them, trials of ungraded items, which are left out: {n:,}." if n else ""


def _only(plan: AnalysisPlan) -> list[tuple[str, str, str]]:
    """Return the columns with numbers of items that a comparison excludes, with words for one and for several items."""
    model = "without a valid reply of the model" if plan.invalid == "left_out" else "that the model was not asked"
    people = "without a response of these participants in the analysis"
    return [
        ("n_items_only_model", f"item {people}", f"items {people}"),
        ("n_items_only_people", f"item {model}", f"items {model}"),
    ]


def _notes_on_missing_settings(kept: pd.DataFrame, plan: AnalysisPlan) -> list[str]:
    """Return notes on settings of models' runs in `by` of the plan, if values of a setting are missing."""
    notes = []
    for setting in (name for name in plan.by if name in OF_RUNS):
        without = kept[kept[setting].isna()]
        unrecorded = sorted(without.loc[without["kind"] == "model", "subject"].unique(), key=level_order)
        if unrecorded:
            notes.append(
                f"These models have runs without a recorded {setting}, which have an empty level in the tables: "
                f"{'; '.join(unrecorded)}."
            )
        participants = [name for kind, name in PEOPLE.items() if (without["kind"] == kind).any()]
        if participants:
            names = " and ".join(participants)
            notes.append(
                f"{names[:1].upper()}{names[1:]} have no {setting}. In the tables of accuracy, they have one row with "
                "an empty level, which is “(not set)” in the report. In the tables of differences, they are compared "
                "with the runs at each level."
            )
    return notes


def _used_columns(plan: AnalysisPlan) -> set[str]:
    """Return the columns that the plan uses, except those in its exclusion rules."""
    used = {*plan.by, *plan.demands, *(name for name in (plan.item_cluster, plan.difficulty) if name)}
    for where in plan.flags.values():
        used |= set(where)
    for signal in plan.signals.values():
        used |= {*signal.signal, *signal.noise}
    for compared in plan.comparisons.values():
        used |= set(compared.by)
    entries: list[PlannedTable | PlannedModel | PlannedTest | PlannedConfidence] = [
        *plan.tables.values(), *plan.models.values(), *plan.tests.values(), *plan.confidence_ratings.values(),
    ]  # fmt: skip
    for planned in entries:
        used |= set(named_columns(planned))
    return used


def _notes_on_many_subjects(tables: dict[str, pd.DataFrame], plan: AnalysisPlan) -> list[str]:
    """Return notes on figures that are left out or show only some models, because there are too many subjects."""
    notes, n_subjects = [], len(tables["accuracy_overall"])
    left_out = [f"{plan.by[0]} and {plan.by[1]}"] if len(plan.by) == 2 else []
    left_out += [plan.difficulty] if plan.difficulty is not None else []
    if n_subjects > MOST_LINES:
        notes += [
            f"The accuracy by {factors} has a table, but no figure with a line for each subject, because {n_subjects} "
            "subjects could not be distinguished."
            for factors in left_out
        ]
    if "items" in tables:
        n_pairs = len(tables["items"][["people", "model"]].drop_duplicates())
        if n_pairs > MOST_SCATTERS:
            notes.append(
                f"The figure of items shows the first {MOST_SCATTERS} of {n_pairs} models. The table items.csv has all "
                "models."
            )
    return notes


def _notes_on_people(kept: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> list[str]:
    notes = []
    for row in tables["accuracy_overall"].query("kind != 'model'").to_dict("records"):
        own = kept[kept["kind"] == row["kind"]]
        per_item = own.groupby("item_id")["correct"].agg(["size", "mean"])
        cells = tables["accuracy"].query("kind == @row['kind']")["n_participants"]
        if cells.min() < 10:
            notes.append(
                f"Some confidence intervals of {row['subject']} are based on fewer than 10 participants (minimum: "
                f"{cells.min()}). Near 0 % and 100 %, such intervals are too narrow if participants differ very much."
            )
        balanced, pooled = f"{100 * per_item['mean'].mean():.1f} %", f"{100 * row['accuracy']:.1f} %"
        if balanced != pooled:
            note = (
                f"Each item has {per_item['size'].min()} to {per_item['size'].max()} responses of {row['subject']}. "
                f"Accuracy: {pooled} over all responses, {balanced} with equal weights of all items."
            )
            of_models = kept[kept["kind"] == "model"]
            if len(of_models):
                n_trials = of_models.groupby(["subject", "item_id"], observed=True).size()
                is_equal = (n_trials.groupby("subject", observed=True).nunique() == 1).all()
                weights = (
                    "all items have equal weights"
                    if is_equal
                    else "the weight of an item is the number of the model's trials in the analysis"
                )
                note += (
                    f" In the tables of accuracy of models, {weights}. To compare participants with a model, use "
                    "the differences, in which an item has the same weight for participants and for the model."
                )
            notes.append(note)
    return notes
