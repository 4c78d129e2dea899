"""The analysis of a study's own store."""

from importlib.metadata import version
from pathlib import Path

from analysis.analyze import analyze
from analysis.data import read_trials
from batteries.errors import InputError
from equipoise.progress import spinner
from experiment.preregistration import AnalysisPlan
from experiment.records import Kind
from experiment.study import Study
from server.store import SqliteStore


def analyze_study(
    study: Study, output: Path, study_version: str | None = None, without_simulated: bool = False
) -> None:
    """Analyze what a study's store holds, by the plan in its `study.yaml`.

    Parameters
    ----------
    study
        The study.
    output
        Folder for the results.
    study_version
        Take only sessions of this version of the study; all if None.
    without_simulated
        Whether simulated participants are left out, as when people follow a pilot on another battery.

    Raises
    ------
    InputError
        If nothing has been answered yet, or the store cannot be read.
    """
    if not study.store_path.exists():
        raise InputError(
            f"{study.store_path}: nothing has been answered yet; collect answers with "
            f"`equipoise serve {study.folder}`, or try `equipoise simulate {study.folder} -n 40`."
        )
    if output.resolve() == study.store_path.parent.resolve():
        raise InputError(f"{output}: this folder holds the answers; name another for the results.")
    with spinner("Analyzing"):
        trials = read_trials(study.store_path)
        left_out = []
        if without_simulated:
            n_simulated = trials.loc[trials["kind"] == Kind.SIMULATED, "session"].nunique()
            left_out = [f"{n_simulated:,} sessions of simulated participants were left out (--without-simulated)."]
            trials = trials[trials["kind"] != Kind.SIMULATED].reset_index(drop=True)
            if trials.empty:
                raise InputError(f"{study.store_path}: there are only simulated participants; collect answers first.")
        if study_version is not None:
            versions = sorted(trials["study_version"].unique())
            if study_version not in versions:
                raise InputError(f"no session is of version {study_version}; the versions are {', '.join(versions)}.")
            trials = trials[trials["study_version"] == study_version].reset_index(drop=True)
        analyze(
            trials,
            study.definition.analysis,
            output,
            title=study.definition.title,
            software_version=version("equipoise"),
            notes=[
                *left_out,
                *_deviations_from_plan(study, set(trials["study_version"])),
                *_changed_battery(study, set(trials["battery"])),
            ],
        )


def _deviations_from_plan(study: Study, versions: set[str]) -> list[str]:
    """Return a sentence for each registered definition, of these versions, whose analysis was planned otherwise."""
    try:
        store = SqliteStore(study.store_path)
    except InputError:  # such as a read-only copy, which can still be analyzed
        return ["The plan that stood when the sessions began could not be read, so it was not compared with this one."]
    try:
        registered = store.registered_definitions()
    finally:
        store.close()
    notes = []
    for earlier in (one for one in registered if one.definition.version in versions):
        changed = [
            field
            for field in AnalysisPlan.model_fields
            if getattr(earlier.definition.analysis, field) != getattr(study.definition.analysis, field)
        ]
        if changed:
            notes.append(
                f"The analysis plan is not the one that stood when {earlier.n_sessions} of the sessions began (version "
                f"{earlier.definition.version}, registered {earlier.registered_at[:16].replace('T', ' ')} UTC): "
                f"{', '.join(changed)} changed since."
            )
    return notes


def _changed_battery(study: Study, answered: set[str]) -> list[str]:
    if study.battery.digest in answered:
        return []
    return [
        f"The battery in the study's folder ({study.definition.battery}) is not the one that was answered; answers are "
        "scored by the keys that stood when their sessions began."
    ]
