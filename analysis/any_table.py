"""Analyze any tidy CSV file with an analysis plan, and write a folder with the results and a report."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from analysis.data.data_file_reader import read_data_file
from analysis.output_files import table_analysis_files
from analysis.planned.figures import planned_figures
from analysis.planned.results import run_planned
from analysis.preregistration.deviations import NOT_LOCKED, Registration
from analysis.provenance.data_file import data_file_provenance
from analysis.report.table_report import render_table_report
from analysis.result import TableAnalysis
from analysis.sentences import count
from batteries.errors import InputError
from batteries.files.atomic_folder import write_together
from experiment.study.planned_analyses import PlannedAnalyses


def analyze_table(
    path: Path,
    plan: PlannedAnalyses,
    out: Path,
    *,
    software_version: str,
    registration: Registration = NOT_LOCKED,
    made_at: datetime | None = None,
) -> TableAnalysis:
    """Analyse a tidy CSV file with an analysis plan.

    Write `tables/`, `models/`, `confidence_ratings/`, `tests.csv`, `figures/`, `report.html` and `provenance.json` in
    the folder of the results. A result that cannot be computed does not stop the others. The report, `provenance.json`
    and the field `planned.not_computed` of the returned object list the results that are missing.

    Parameters
    ----------
    path : Path
        The file. It has a header, and one row per observation.
    plan : PlannedAnalyses
        The tables, statistical models, tests and confidence ratings to compute. The field `who` of the plan has no
        effect here, because the file does not state which rows are from people.
    out : Path
        The folder for the results. The function makes the folder if it does not exist. After a failure the folder is
        unchanged.
    software_version : str
        Version of Equipoise.
    registration : Registration
        The statement on the preregistration of the plan, for the report. By default, the report says that no plan was
        locked.
    made_at : datetime, optional
        Time of the analysis; now by default.

    Raises
    ------
    InputError
        If the file cannot be read, if no result of the plan can be computed, or if `out` cannot be used.
    """
    if not (plan.tables or plan.models or plan.tests or plan.confidence_ratings):
        raise InputError("the plan is empty. Fix: add `tables`, `models` or `tests` to the plan.")
    data = read_data_file(path)
    if plan.subject is not None and plan.subject not in data.columns:
        raise InputError(
            f"{path}: the plan has `subject: {plan.subject}`, but the file has no column with this name. Fix: choose "
            f"one of the columns {', '.join(data.columns)}."
        )
    results = run_planned(lambda _who: data, plan, registration.changed_tests)
    if not (results.tables or results.models or len(results.tests) or results.confidence_ratings):
        raise InputError("\n".join(results.not_computed))
    analysis = TableAnalysis(
        data=data,
        planned=results,
        figures_of_plan=planned_figures(results, plan.confidence),
        notes=_notes(data),
        provenance=data_file_provenance(path, plan, software_version, made_at or datetime.now(UTC)),
        registration=registration,
    )
    report = render_table_report(path.stem.replace("_", " "), analysis)
    manifest = {
        **analysis.provenance.as_json(),
        "preregistration": registration.as_json(),
        "not_computed": results.not_computed,
    }
    write_together(out, {**table_analysis_files(analysis), "report.html": report.encode()}, manifest)
    return analysis


def _notes(data: pd.DataFrame) -> list[str]:
    n_duplicates = int(data.duplicated().sum())
    if not n_duplicates:
        return []
    return [
        f"{count(n_duplicates, 'row is a duplicate of an earlier row', 'rows are duplicates of earlier rows')}; "
        "duplicate rows make standard errors too small."
    ]
