"""The analysis of a study: from the tidy table and a preregistered plan to tables, models, figures and a report."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pandas as pd

from analysis.data.cell_text import ROWS_AT_ONCE
from analysis.exclusions.by_group import exclusions_by_group
from analysis.exclusions.flow import Exclusions, apply_exclusions
from analysis.measures.accuracy import accuracy, check_factors, kept_trials
from analysis.measures.comparisons import comparison
from analysis.measures.differences import differences
from analysis.measures.invalid_responses import invalid_responses, regraded, stored_scoring
from analysis.measures.study_measures import study_measures
from analysis.output_files import csv_bytes, drawing_files
from analysis.planned.figures import model_figures
from analysis.planned.results import run_planned
from analysis.planned.sensitivity import sensitivity
from analysis.planned.study_rows import plan_for, study_rows
from analysis.preregistration.deviations import NOT_LOCKED, Registration
from analysis.provenance.changed_items import refuse_changed_items
from analysis.provenance.record import provenance_of
from analysis.provenance.study_versions import has_several_versions, study_versions
from analysis.report.notes import study_notes, where_they_went
from analysis.report.study_figures import study_figures
from analysis.report.study_report import render_report
from analysis.result import Analysis
from batteries.errors import InputError
from batteries.files.atomic_folder import write_together
from experiment.study.analysis_plan import AnalysisPlan


def analyze_trials(
    trials: pd.DataFrame,
    plan: AnalysisPlan,
    out: Path,
    *,
    title: str,
    software_version: str,
    registration: Registration = NOT_LOCKED,
    made_at: datetime | None = None,
    notes: Sequence[str] = (),
) -> Analysis:
    """Analyse a tidy table by a plan; write `tables/`, `models/`, `figures/`, `report.html` and `provenance.json`.

    Parameters
    ----------
    trials : DataFrame
        The tidy table (`analysis.data.tidy_table.read_trials`).
    plan : AnalysisPlan
        Exclusion rules, factors, tables, models, tests, confidence, bootstrap.
    out : Path
        The folder; made if necessary. A failure leaves it as it was. An earlier analysis in it is replaced file by
        file; a file that does not belong to an analysis is never overwritten or removed.
    title : str
        Title of the study, for the report.
    software_version : str
        Version of Equipoise.
    registration : Registration
        The report's statement on the plan's preregistration (`analysis.preregistration.deviations.registration_of`).
    made_at : datetime, optional
        Time of the analysis, now by default.
    notes : sequence of str
        Notes of the caller, in sentences; they are the first notes of the report, and in `provenance.json`.

    Raises
    ------
    InputError
        If no trial is left to analyse, the plan names what the data do not have, something cannot be computed, an item
        changed between sessions, or `out` cannot be used.
    """
    for factors in (plan.by, *(compared.by for compared in plan.comparisons.values())):
        check_factors(trials, factors)
    refuse_changed_items(trials)
    exclusions = apply_exclusions(trials, plan)
    if kept_trials(exclusions.trials, ["kind"]).empty:
        raise InputError(
            f"no trial is left to analyse: {where_they_went(exclusions.flow)}. Fix: check the exclusion rules, or "
            "collect more."
        )
    planned = run_planned(study_rows(exclusions.trials), plan_for(exclusions.trials, plan), as_far_as_possible=True)
    by = list(plan.by)
    by_factor = {factor: accuracy(exclusions.trials, [factor], plan) for factor in by}
    names = {factor: f"accuracy_by_{_file_name(factor, by)}" for factor in by}
    tables = _tables(exclusions, plan) | sensitivity(trials, plan, exclusions)
    if has_several_versions(trials):
        tables["study_versions"] = study_versions(exclusions.trials)
    not_computed: list[str] = []
    tables |= study_measures(exclusions.trials, plan, not_computed)
    planned = replace(planned, not_computed=[*planned.not_computed, *not_computed])
    for name, compared in plan.comparisons.items():
        tables[f"comparison_{name}"] = comparison(exclusions.trials, compared, plan)
    if len(by) > 1:
        tables |= {names[factor]: table for factor, table in by_factor.items()}
    in_figures = {names[factor]: (factor, by_factor[factor]) for factor in by}
    figures = study_figures(trials, exclusions, plan, tables, in_figures)
    of_models = {name: model_figures(model, plan.confidence) for name, model in planned.models.items()}
    provenance = provenance_of(trials, plan, software_version, made_at or datetime.now(UTC), notes)
    all_notes = [*notes, *exclusions.notes, *study_notes(exclusions, tables, plan)]
    analysis = Analysis(out, exclusions, tables, planned, figures, of_models, all_notes, provenance, registration)
    report = render_report(title, analysis, by_factor, names)
    files: dict[str, bytes | Iterable[bytes]] = {
        f"tables/{name}.csv": csv_bytes(table) for name, table in tables.items()
    }
    files |= {"tables/trials.csv": _written_trials(exclusions.trials)}
    files |= {f"{name}.csv": csv_bytes(table) for name, table in planned.files().items()}
    for drawing in (*figures.values(), *chain.from_iterable(of_models.values())):
        files |= drawing_files(drawing)
    manifest = {**provenance.as_json(), "preregistration": registration.as_json()}
    write_together(out, {**files, "report.html": report.encode()}, manifest)
    return analysis


def _tables(exclusions: Exclusions, plan: AnalysisPlan) -> dict[str, pd.DataFrame]:
    trials = exclusions.trials
    return {
        "exclusions": exclusions.flow,
        "exclusions_by_group": exclusions_by_group(exclusions),
        "participants": exclusions.participants,
        "accuracy": accuracy(trials, plan.by, plan),
        "accuracy_overall": accuracy(trials, [], plan),
        "differences": differences(trials, plan.by, plan),
        "differences_overall": differences(trials, [], plan),
        "invalid": invalid_responses(trials),
        "stored_scoring": stored_scoring(trials),
        "regraded": regraded(trials),
    }


def _written_trials(trials: pd.DataFrame) -> Iterator[bytes]:
    """Return the tidy table as CSV, one portion of rows after another; together they would fill the memory.

    The rows are in order, without `content` (the battery has it), lists as JSON.
    """
    table = trials.drop(columns="content")
    by = ["kind", "participant", "session", "trial_index"]
    order = table[by].reset_index(drop=True).sort_values(by).index.to_numpy()
    for first in range(0, len(order), ROWS_AT_ONCE):
        rows = table.iloc[order[first : first + ROWS_AT_ONCE]]
        for column in ("key", "response"):
            cells = [json.dumps(value) if isinstance(value, (dict, list)) else value for value in rows[column].tolist()]
            rows = rows.assign(**{column: pd.Series(cells, index=rows.index, dtype=object)})
        yield csv_bytes(rows, heading=first == 0)


def _file_name(factor: str, factors: list[str]) -> str:
    """Return a factor as part of a file name, on any system; a number distinguishes two factors if necessary."""
    plain = [re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_").lower() or "factor" for name in factors]
    place = factors.index(factor)
    return plain[place] if plain.count(plain[place]) == 1 else f"{plain[place]}_{place + 1}"
