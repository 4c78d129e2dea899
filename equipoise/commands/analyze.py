"""Analyze the trials in a study's store, or any other table, by an analysis plan."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten

import click
import pandas as pd

from analysis.any_table import analyze_table
from analysis.coding.coders import CodersCodes
from analysis.data.compact_columns import give_back_freed_arrays
from analysis.data.data_file_reader import is_export
from analysis.data.tidy_table import read_trials
from analysis.exclusions.by_researcher import exclusion_deviations
from analysis.preregistration.deviations import (
    RegisteredPlan,
    lock_that_counts,
    registration_of,
    with_exploratory_marked,
)
from analysis.preregistration.lock import Lock, read_locks
from analysis.report.planned_section import warnings_of_tests
from analysis.result import Analysis, TableAnalysis
from analysis.second_process import Drawer, second_process
from analysis.study import analyze_trials
from batteries.errors import InputError
from batteries.files.atomic_folder import MANIFEST
from batteries.files.file_reading import read_yaml
from equipoise.commands.coding.codes import codes_of_coding, withdrawn_answers
from equipoise.commands.coding.record import CodingFolder, record_path
from equipoise.commands.definition_changes import changes_since_sessions
from equipoise.commands.models.canary import canary_notes
from equipoise.commands.plan_check import check_study_plan
from equipoise.commands.plan_lock import lock_plan_file, lock_study, plan_lock_path, plan_subject, study_lock_path
from equipoise.commands.store_access import StudyFolder, loaded
from equipoise.commands.study_trials import (
    first_session_start,
    may_have_responses,
    no_responses,
    study_trials,
    trials_of_version,
    without_simulated_participants,
)
from equipoise.progress_bar import spinner
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.definition import Study
from experiment.study.planned_analyses import PlannedAnalyses
from server.locations import store_location
from server.settings import read_settings
from server.store.open import is_address

MOST_LISTED = 10
"""Maximum number of results in a list of the command: results without a value, and results with warnings."""
LONGEST_LINE = 300
"""Maximum number of characters of a line about a result."""


class ResultsNotComputedError(InputError):
    """Some results of the plan could not be computed. The other results were written."""

    def __init__(self, analysis: Analysis | TableAnalysis, output: Path) -> None:
        super().__init__("\n".join(not_computed_lines(analysis, output)))
        self.analysis = analysis


def not_computed_lines(analysis: Analysis | TableAnalysis, output: Path) -> list[str]:
    """Return a heading, and a line for each result of the plan that could not be computed, with the reason.

    A long list is shortened; the last line then names the file with the whole list. If every result was computed, the
    returned list is empty. `output` is the folder of the results.
    """
    missing = analysis.planned.not_computed
    heading = f"{len(missing):,} {'result' if len(missing) == 1 else 'results'} of the plan could not be computed:"
    return _list_of(missing, heading, f"`not_computed` in {output / MANIFEST}")


def warning_lines(analysis: Analysis | TableAnalysis) -> list[str]:
    """Return a heading, and the report's warnings about tests and models of the plan that have a fix.

    Notes without a fix, such as on sphericity, are only in the report. A long list is shortened. If there are no such
    warnings, the returned list is empty.
    """
    planned = analysis.planned
    lines = [f"test {line}" for line in warnings_of_tests(planned.tests, analysis.provenance.plan)]
    lines += [f"model {name}: {warning}" for name, fitted in planned.models.items() for warning in fitted.warnings]
    return _list_of([line for line in lines if "Fix:" in line], "Warnings about results of the plan:", "the report")


def _list_of(sentences: Sequence[str], heading: str, where: str) -> list[str]:
    """Return a heading and a list of sentences. The last line of a shortened list states where all sentences are."""
    lines = [f"- {shorten(sentence, LONGEST_LINE, placeholder=' ...')}" for sentence in sentences[:MOST_LISTED]]
    if len(sentences) > MOST_LISTED:
        lines.append(f"- and {len(sentences) - MOST_LISTED} more: see {where}.")
    return [heading, *lines] if sentences else []


def analyze(
    study: StudyFolder | None = None,
    output: Path | str | None = None,
    *,
    data: Path | str | None = None,
    plan: Path | str | None = None,
    lock: bool = False,
    study_version: str | None = None,
    without_simulated: bool = False,
    require_all: bool = False,
    store: str | None = None,
) -> Analysis | TableAnalysis | Lock:
    """Apply the preregistered exclusions and write tables, models, figures and `report.html` to a folder.

    Parameters
    ----------
    study
        The study or its folder. The analysis plan is the entry `analysis` in study.yaml.
    output
        Folder for the results.
    data, plan
        To analyze a table instead of a study, give both. `data` is a CSV file with one row per observation, and
        `plan` is the YAML file of the analysis plan.
    lock
        True to record the analysis plan with its digest and the time (a lock), before data are seen. Then nothing is
        analyzed.
    study_version
        Include only sessions of this version of the study. None to include the sessions of all versions.
    without_simulated
        True to exclude simulated participants.
    require_all
        True to raise an error if a result of the plan cannot be computed. The other results are written anyway.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Returns
    -------
    Analysis, TableAnalysis or Lock
        `Analysis` is the result for a study, and `TableAnalysis` for any other table. Their field
        `planned.not_computed` has a sentence for each result of the plan that could not be computed. `Lock` is returned
        if `lock` is True.

    Raises
    ------
    InputError
        If arguments are missing or contradict each other, if there are no responses yet, if a file cannot be read, or
        if the plan has a mistake. With `require_all`, also if a result of the plan cannot be computed.
    """
    with second_process() as drawer:
        return analyze_with(
            drawer, study, output, data=data, plan=plan, lock=lock, study_version=study_version,
            without_simulated=without_simulated, require_all=require_all, store=store,
        )  # fmt: skip


def analyze_with(
    drawer: Drawer,
    study: StudyFolder | None,
    output: Path | str | None,
    *,
    data: Path | str | None,
    plan: Path | str | None,
    lock: bool,
    study_version: str | None,
    without_simulated: bool,
    require_all: bool,
    store: str | None,
) -> Analysis | TableAnalysis | Lock:
    """Do the same as `analyze`, with a `Drawer` that the caller started, for example before this module is imported."""
    if (study is None) == (plan is None) or (study is not None and data is not None):
        raise InputError(
            "the command needs either a study, or a table and an analysis plan. Fix: give the folder of a study, or "
            "give --data and --plan."
        )
    if study is None and (store or study_version or without_simulated):
        raise InputError("--store, --study-version and --without-simulated need a study. Fix: leave these options out.")
    if lock:
        return lock_study(loaded(study), store) if study is not None else lock_plan_file(Path(str(plan)))
    if output is None:
        raise InputError("no folder for the results is named. Fix: name a folder with -o.")
    output = Path(output)
    analysis: Analysis | TableAnalysis
    if study is not None:
        analysis = _analyze_study(drawer, loaded(study), output, study_version, without_simulated, store)
    elif data is None:
        raise InputError("no table is named. Fix: name a CSV file with --data.")
    else:
        analysis = _analyze_file(drawer, Path(data), Path(str(plan)), output)
    if require_all and analysis.planned.not_computed:
        raise ResultsNotComputedError(analysis, output)
    return analysis


def _analyze_study(
    drawer: Drawer, study: Study, output: Path, study_version: str | None, without_simulated: bool, location: str | None
) -> Analysis:
    """Analyze the trials in a study's store by the plan in its `study.yaml`."""
    store = store_location(study, read_settings(store=location))
    if not may_have_responses(store):
        check_study_plan(study)
        raise no_responses(store, study)
    if not is_address(store) and output.resolve() == Path(store).parent.resolve():
        raise InputError(f"{output}: this folder contains the store. Fix: choose another folder for the results.")
    give_back_freed_arrays()
    with spinner("Analyzing"):
        trials, notes = study_trials(study, store), []
        check_study_plan(study, trials)
        if without_simulated:
            trials, note = without_simulated_participants(trials, store)
            notes.append(note)
        if study_version is not None:
            trials = trials_of_version(trials, study_version)
        notes += canary_notes(study, store, set(trials["run"].dropna()))
        locks, plan = read_locks(study_lock_path(study.folder)), study.definition.analysis
        versions, batteries = set(trials["study_version"]), set(trials["battery"])
        since = changes_since_sessions(
            study, store, versions, batteries, first_session_start(trials), is_locked=bool(locks)
        )
        title, subject = study.definition.title, plan_subject(study)
        for sentence in withdrawn_answers(study, trials):
            click.echo(sentence, err=True)
        return _analyze_trials(
            trials,
            plan,
            locks,
            output,
            title,
            registered=since.registered,
            subject=subject,
            notes=[*notes, *since.notes],
            codes=_codes_from_coders(study, trials),
            drawer=drawer,
        )


def _analyze_file(drawer: Drawer, data: Path, plan_path: Path, output: Path) -> Analysis | TableAnalysis:
    """Analyze a CSV file by a plan in a YAML file. The CSV file has a study's trials, or is any tidy table.

    Raises
    ------
    InputError
        If a file cannot be read, or if no result of the plan can be computed.
    """
    locks = read_locks(plan_lock_path(plan_path))
    give_back_freed_arrays()
    with spinner("Analyzing"):
        if is_export(data):
            plan, trials = read_yaml(plan_path, AnalysisPlan), read_trials(data)
            title = ", ".join(sorted(trials["study"].unique()))
            for name, coding in plan.coding.items():
                if not coding.is_by_rule:
                    raise InputError(
                        f"{plan_path}: the coding `{name}` is by coders, whose codes are in the folder of the study. "
                        "Fix: analyze the study instead of a table, or delete this coding."
                    )
            return _analyze_trials(
                trials, plan, locks, output, title, registered=None, subject={}, notes=[], codes={}, drawer=drawer
            )
        planned = read_yaml(plan_path, PlannedAnalyses)
        return analyze_table(
            data,
            with_exploratory_marked(planned, lock_that_counts(locks)),
            output,
            software_version=version("equipoise"),
            registration=registration_of(locks, None, planned, {}, None),
        )


def _codes_from_coders(study: Study, trials: pd.DataFrame) -> dict[str, CodersCodes]:
    """Return the codes of each coding by coders. A coding without a coding study has no codes."""
    found = {}
    for name, coding in study.definition.analysis.coding.items():
        if not coding.is_by_rule:
            folder = CodingFolder(study, name)
            is_there = record_path(folder.path).exists()
            found[name] = codes_of_coding(folder, trials) if is_there else CodersCodes({}, {})
    return found


def _analyze_trials(
    trials: pd.DataFrame,
    plan: AnalysisPlan,
    locks: list[Lock],
    output: Path,
    title: str,
    *,
    registered: RegisteredPlan | None,
    subject: dict[str, str],
    notes: list[str],
    codes: dict[str, CodersCodes],
    drawer: Drawer,
) -> Analysis:
    """Analyze a tidy table by a plan.

    `locks` are the plan's locks, and `registered` is the plan in the study's store. `codes` are the codes from coders.
    """
    registration = registration_of(
        locks, registered, plan, subject, first_session_start(trials), exclusion_deviations(trials)
    )
    return analyze_trials(
        trials,
        with_exploratory_marked(plan, lock_that_counts(locks) or registered),
        output,
        title=title,
        software_version=version("equipoise"),
        registration=registration,
        notes=notes,
        codes=codes,
        drawer=drawer,
    )
