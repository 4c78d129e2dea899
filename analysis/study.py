"""The analysis of a study with a preregistered plan: tables, statistical models, figures and a report."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from analysis.coding.coded_trials import code_answers
from analysis.coding.coders import CodersCodes
from analysis.data.columns import factor_columns
from analysis.data.subjects import models_of_subjects
from analysis.exclusions.flow import apply_exclusions
from analysis.figures.drawing.subject_styles import looks, subjects_of
from analysis.measures.accuracy import check_factors, kept_trials
from analysis.measures.item_agreement import in_order
from analysis.output_files import analysis_files
from analysis.planned.figures import planned_figures
from analysis.preregistration.deviations import NOT_LOCKED, Registration
from analysis.provenance.changed_items import refuse_changed_items
from analysis.provenance.record import provenance_of
from analysis.report.notes import exclusion_steps_words, study_notes
from analysis.report.study_figures import figures_of_accuracy, figures_of_other_tables, figures_of_trials
from analysis.report.study_report import render_report
from analysis.result import Analysis
from analysis.second_process import Drawer
from analysis.study_tables import accuracy_tables, study_tables
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
    codes: Mapping[str, CodersCodes] = MappingProxyType({}),
    drawer: Drawer | None = None,
) -> Analysis:
    """Analyse a tidy table with an analysis plan.

    Write `tables/`, `models/`, `figures/`, `report.html` and `provenance.json` in the folder of the results. A result
    of the plan that cannot be computed does not stop the others. The report, `provenance.json` and the field
    `planned.not_computed` of the returned object list the results that are missing.

    Parameters
    ----------
    trials : DataFrame
        The tidy table (`analysis.data.tidy_table.read_trials`).
    plan : AnalysisPlan
        The analysis plan: exclusion rules, factors, tables, models, tests, confidence level and seed.
    out : Path
        The folder for the results. The function makes the folder if it does not exist. After a failure the folder is
        unchanged. The files of an earlier analysis in this folder are replaced. Other files in this folder are never
        overwritten or removed.
    title : str
        Title of the study, for the report.
    software_version : str
        Version of Equipoise.
    registration : Registration
        The statement on the preregistration of the plan, for the report
        (`analysis.preregistration.deviations.registration_of`). By default, the report says that no plan was locked.
    made_at : datetime, optional
        Time of the analysis; now by default.
    notes : sequence of str
        Further notes for the reader, in sentences. The report lists them first, and `provenance.json` contains them
        too.
    codes : mapping of CodersCodes
        The codes from coders, for each coding in the plan's `coding` that is not by rule.
    drawer : Drawer, optional
        Draws the figures in two processes (`analysis.second_process`). By default, this process draws all figures.

    Raises
    ------
    InputError
        If no trial remains after the exclusions, or if `out` cannot be used. Also if an item changed between sessions,
        or if a factor in `by`, `comparisons` or `item_cluster` of the plan is not in the data.
    """
    for factors in (plan.by, *(compared.by for compared in plan.comparisons.values())):
        check_factors(trials, factors)
    if plan.item_cluster is not None and plan.item_cluster not in factor_columns(trials):
        raise InputError(
            f"the plan's `item_cluster` is `{plan.item_cluster}`, but no item has a factor with this name. Fix: in the "
            "analysis plan, set `item_cluster` to a factor of the items."
        )
    refuse_changed_items(trials)
    coded, coding = code_answers(trials, plan.coding, codes, plan.confidence)
    exclusions = apply_exclusions(coded, plan)
    kept = kept_trials(exclusions.trials, ["kind", "subject"])
    if kept.empty:
        raise InputError(
            f"no trial remains for the analysis: {exclusion_steps_words(exclusions.flow)}. Fix: check the exclusion "
            "rules, or collect more responses."
        )
    drawer = drawer or Drawer()
    drawer.add(figures_of_trials(exclusions, plan))
    accuracies = accuracy_tables(exclusions, plan)
    subjects = subjects_of(in_order(kept.drop_duplicates(), "subject"))
    styles = looks(subjects, models_of_subjects(accuracies.models))
    drawer.add(figures_of_accuracy(exclusions, plan, accuracies, styles))
    numbers = study_tables(coded, exclusions, plan, accuracies, registration)
    drawer.add(figures_of_other_tables(exclusions, plan, accuracies, numbers.tables, styles))
    analysis = Analysis(
        out=out,
        exclusions=exclusions,
        tables=numbers.tables | {name: table for one in coding for name, table in one.tables.items()},
        planned=numbers.planned,
        figures_of_plan=planned_figures(numbers.planned, plan.confidence, styles),
        notes=[*notes, *exclusions.notes, *study_notes(exclusions, numbers.tables, plan)],
        provenance=provenance_of(trials, plan, software_version, made_at or datetime.now(UTC), notes, coding),
        registration=registration,
        coding=tuple(coding),
        # Last, so that the second process draws while this process computes the arguments above.
        figures={drawing.name: drawing for drawing in drawer.drawn() if drawing is not None},
    )
    report = render_report(title, analysis, accuracies.by_factor)
    manifest = {
        **analysis.provenance.as_json(),
        "preregistration": registration.as_json(),
        "not_computed": analysis.planned.not_computed,
    }
    write_together(out, {**analysis_files(analysis), "report.html": report.encode()}, manifest)
    return analysis
