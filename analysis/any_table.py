"""The analysis of any tidy file with a plan: a folder of tables, models, figures and a report."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.data.data_file_reader import columns_in_words, read_data_file
from analysis.figures.drawing.sheet import Drawing
from analysis.output_files import csv_bytes, drawing_files
from analysis.planned.figures import model_figures
from analysis.planned.results import PlannedResults, run_planned
from analysis.preregistration.deviations import NOT_LOCKED, Registration
from analysis.preregistration.lock import plan_content
from analysis.report.formatting import shown
from analysis.report.html import environment
from analysis.report.methods_section import methods_of_data
from analysis.report.planned_section import planned_section
from analysis.report.planned_sentences import in_short
from analysis.sentences import count
from batteries.errors import InputError
from batteries.files.atomic_folder import write_together
from experiment.study.planned_analyses import PlannedAnalyses


@dataclass(frozen=True)
class DataAnalysis:
    """Results of an analysis of a tidy file."""

    results: PlannedResults
    figures: dict[str, list[Drawing]]
    """Results of each model, by its name."""
    notes: list[str]
    """Notes for the reader, in sentences; they are in the report too."""


def analyze_table(
    path: Path,
    plan: PlannedAnalyses,
    out: Path,
    *,
    software_version: str,
    registration: Registration = NOT_LOCKED,
    made_at: datetime | None = None,
) -> DataAnalysis:
    """Analyse a tidy CSV file by a plan; write `tables/`, `models/`, `tests.csv`, `figures/`, `report.html`.

    Parameters
    ----------
    path : Path
        The file: a header, and one row per observation.
    plan : PlannedAnalyses
        Tables, models and tests; their `who` does not apply, because only a study distinguishes people from models.
    out : Path
        The folder; made if necessary. A failure leaves it as it was.
    registration : Registration
        The report's statement on the plan's preregistration.
    software_version : str
        Version of Equipoise.
    made_at : datetime, optional
        Time of the analysis, now by default.

    Raises
    ------
    InputError
        If the file cannot be read, lacks what the plan names, something cannot be computed, or `out` cannot be used.
    """
    if not (plan.tables or plan.models or plan.tests):
        raise InputError("the plan is empty. Fix: name `tables`, `models` or `tests` in it.")
    data = read_data_file(path)
    if plan.subject is not None and plan.subject not in data.columns:
        raise InputError(
            f"{path}: there is no column `{plan.subject}`, which the plan names as `subject`. Fix: name one of "
            f"{', '.join(data.columns)}."
        )
    results = run_planned(lambda _who: data, plan)
    figures = {name: model_figures(model, plan.confidence) for name, model in results.models.items()}
    notes = _notes(data)
    provenance = _provenance(path, plan, software_version, made_at or datetime.now(UTC), registration)
    report = _report(path, data, plan, results, figures, notes, provenance, registration, software_version)
    files = {f"{name}.csv": csv_bytes(table) for name, table in results.files().items()}
    for drawing in (one for drawings in figures.values() for one in drawings):
        files |= drawing_files(drawing)
    write_together(out, {**files, "report.html": report.encode()}, provenance)
    return DataAnalysis(results, figures, notes)


def _notes(data: pd.DataFrame) -> list[str]:
    n_doubled = int(data.duplicated().sum())
    if not n_doubled:
        return []
    return [
        f"{count(n_doubled, 'row is', 'rows are')} the same as an earlier one in every column; duplicate rows make "
        "standard errors too small."
    ]


def _provenance(
    path: Path, plan: PlannedAnalyses, software_version: str, made_at: datetime, registration: Registration
) -> dict[str, Any]:
    return {
        "data": path.name,
        "data_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "plan": plan_content(plan),
        "preregistration": registration.as_json(),
        "software": f"equipoise {software_version}",
        "made_at": made_at.astimezone(UTC).isoformat(timespec="seconds"),
    }


def _report(
    path: Path,
    data: pd.DataFrame,
    plan: PlannedAnalyses,
    results: PlannedResults,
    figures: dict[str, list[Drawing]],
    notes: Sequence[str],
    provenance: dict[str, Any],
    registration: Registration,
    software_version: str,
) -> str:
    made_at = str(provenance["made_at"])[:16].replace("T", " ") + " UTC"
    rows = [("Data", [provenance["data"]]), ("Data (SHA-256)", [provenance["data_sha256"]]),
            ("Software", [f"Equipoise {software_version}"]), ("Made", [made_at])]  # fmt: skip
    return (
        environment()
        .get_template("data_report.html")
        .render(
            title=path.stem.replace("_", " "),
            software_version=software_version,
            made_at=made_at,
            file=path.name,
            short=in_short(results, plan),
            data_words=f"{count(len(data), 'row')}, {count(len(data.columns), 'column')}, from {path.name}.",
            columns=shown(columns_in_words(data)),
            registration=registration,
            planned=planned_section(results, plan, figures),
            notes=notes,
            methods=methods_of_data(plan, results, software_version),
            rules=[],
            provenance_rows=rows,
        )
    )
