"""The analysis of a study's own store, and of any tidy file; the locking of a plan before data are seen."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from analysis.any_table import analyze_table
from analysis.data.tidy_csv import is_export
from analysis.data.tidy_table import read_trials, tidy_trials
from analysis.data.trials_reader import give_back_freed_arrays
from analysis.exclusions.by_researcher import exclusion_deviations
from analysis.preregistration.deviations import registration_of, with_exploratory_marked
from analysis.preregistration.lock import Lock, add_lock, read_locks
from analysis.study import analyze_trials
from batteries.errors import InputError
from batteries.files.file_reading import read_yaml
from equipoise.commands.store_access import StudyFolder, loaded, warn_of_changes
from equipoise.progress_bar import spinner
from experiment.records import Kind
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.definition import Study, StudyDefinition
from experiment.study.planned_analyses import PlannedAnalyses
from experiment.study.revision import entries, listed
from server.locations import store_location, without_password
from server.settings import read_settings
from server.store import StoreUnavailable
from server.store.open import is_address, opened_store
from server.store.sqlite.file import refuse_missing


def analyze(
    study: StudyFolder | None = None,
    output: Path | str | None = None,
    *,
    data: Path | str | None = None,
    plan: Path | str | None = None,
    lock: bool = False,
    study_version: str | None = None,
    without_simulated: bool = False,
    store: str | None = None,
) -> Lock | None:
    """Apply the preregistered exclusions and write tables, models, figures and `report.html` to a folder.

    Parameters
    ----------
    study
        The study or its folder; its plan is `analysis:` in study.yaml.
    output
        Folder for the results.
    data, plan
        Instead of a study: a CSV file with one row per observation, and its plan (YAML).
    lock
        True to lock the plan before data are seen, and analyze nothing.
    study_version
        Include only sessions of this version of the study; all if None.
    without_simulated
        True to exclude simulated participants.
    store
        The store of the study; by default the store in the settings.

    Returns
    -------
    Lock or None
        The lock, if `lock` is set.

    Raises
    ------
    InputError
        If the arguments do not fit each other, there are no responses yet, or a file cannot be read.
    """
    if (study is None) == (plan is None) or (study is not None and data is not None):
        raise InputError(
            "neither a study nor a table is named, or both are. Fix: name a study's folder, or a table and its "
            "plan with --data and --plan."
        )
    if study is None and (store or study_version or without_simulated):
        raise InputError("--store, --study-version and --without-simulated go with a study. Fix: leave them out.")
    if lock:
        return _lock_study(loaded(study), store) if study is not None else _lock_file(Path(str(plan)))
    if output is None:
        raise InputError("no folder for the results. Fix: name one with -o.")
    if study is not None:
        _analyze_study(loaded(study), Path(output), study_version, without_simulated, store)
    elif data is None:
        raise InputError("no table is named. Fix: name it with --data.")
    else:
        _analyze_file(Path(data), Path(str(plan)), Path(output))
    return None


def _analyze_study(
    study: Study,
    output: Path,
    study_version: str | None = None,
    without_simulated: bool = False,
    location: str | None = None,
) -> None:
    """Analyze a study's store by the plan in its `study.yaml`.

    Parameters
    ----------
    study
        The study.
    output
        Folder for the results.
    study_version
        Include only sessions of this version of the study; all if None.
    without_simulated
        True to exclude simulated participants, for instance if people follow a pilot on another battery.
    location
        The store, a file or the address of a database; by default the store in the settings.

    Raises
    ------
    InputError
        If there are no responses yet, or the store cannot be read.
    """
    store = store_location(study, read_settings(store=location))
    if not _may_exist(store):
        raise InputError(
            f"{store}: there are no responses yet. Fix: collect responses with `equipoise serve {study.folder}`, or "
            f"try `equipoise simulate {study.folder} -n 40`."
        )
    if not is_address(store) and output.resolve() == Path(store).parent.resolve():
        raise InputError(f"{output}: this folder holds the responses. Fix: name another for the results.")
    give_back_freed_arrays()
    with spinner("Analyzing"):
        trials = _trials(study, store)
        left_out = []
        if without_simulated:
            n_simulated = trials.loc[trials["kind"] == Kind.SIMULATED, "session"].nunique()
            left_out = [f"{n_simulated:,} sessions of simulated participants were excluded (--without-simulated)."]
            trials = trials[trials["kind"] != Kind.SIMULATED].reset_index(drop=True)
            if trials.empty:
                raise InputError(
                    f"{without_password(store)}: there are only simulated participants. Fix: collect responses first."
                )
        if study_version is not None:
            versions = sorted(trials["study_version"].unique())
            if study_version not in versions:
                raise InputError(f"no session is of version {study_version}. Fix: name one of {', '.join(versions)}.")
            trials = trials[trials["study_version"] == study_version].reset_index(drop=True)
        locks, plan = read_locks(lock_path(study.folder)), study.definition.analysis
        analyze_trials(
            trials,
            with_exploratory_marked(plan, locks),
            output,
            title=study.definition.title,
            software_version=version("equipoise"),
            registration=registration_of(locks, plan, _asked(study), _first_at(trials), exclusion_deviations(trials)),
            notes=[
                *left_out,
                *_deviations_from_plan(study, store, set(trials["study_version"])),
                *_changed_battery(study, set(trials["battery"])),
            ],
        )


def _may_exist(store: str) -> bool:
    """Return True if there may be responses at a store's address; a missing file whose log exists is refused."""
    if is_address(store):
        return True
    refuse_missing(Path(store), must_exist=False)
    return Path(store).exists()


def lock_path(folder: Path) -> Path:
    """Return the path of a study's locked plans."""
    return folder / "analysis.lock.json"


def _lock_study(study: Study, location: str | None = None) -> Lock:
    """Lock the analysis plan of a study with a digest and the time, before data are seen.

    Raises
    ------
    InputError
        If this plan is locked already, or the store cannot be read.
    """
    store = store_location(study, read_settings(store=location))
    n_sessions = 0
    if _may_exist(store):
        trials = _rows(study, store)
        n_sessions = trials["session"].nunique() if len(trials) else 0
    return add_lock(
        lock_path(study.folder),
        study.definition.analysis,
        of=_asked(study),
        n_sessions=n_sessions,
        software=f"equipoise {version('equipoise')}",
    )


def _asked(study: Study) -> dict[str, str]:
    """Return the subject of the plan."""
    return {"battery": study.battery.digest}


def _first_at(trials: pd.DataFrame) -> str | None:
    """Return the start of the first person's session, or of the first simulated participant if there are no people."""
    for kind in (Kind.HUMAN, Kind.SIMULATED):
        times = pd.to_datetime(
            trials.loc[trials["kind"] == kind, "started_at"].dropna(), utc=True, format="ISO8601", errors="coerce"
        )
        if times.notna().any():
            return str(times.min().isoformat(timespec="seconds"))
    return None


def _analyze_file(data: Path, plan_path: Path, output: Path) -> None:
    """Analyze a CSV file by a plan in a YAML file: any tidy table, or an export of a store's view `trials`.

    Raises
    ------
    InputError
        If one of the files cannot be read, or the plan names what the data do not have.
    """
    locks, software = read_locks(_lock_beside(plan_path)), version("equipoise")
    give_back_freed_arrays()
    with spinner("Analyzing"):
        if is_export(data):
            plan, trials = read_yaml(plan_path, AnalysisPlan), read_trials(data)
            analyze_trials(
                trials,
                with_exploratory_marked(plan, locks),
                output,
                title=", ".join(sorted(trials["study"].unique())),
                software_version=software,
                registration=registration_of(locks, plan, {}, _first_at(trials), exclusion_deviations(trials)),
            )
        else:
            planned = read_yaml(plan_path, PlannedAnalyses)
            analyze_table(
                data,
                with_exploratory_marked(planned, locks),
                output,
                software_version=software,
                registration=registration_of(locks, planned, {}, None),
            )


def _lock_file(plan_path: Path) -> Lock:
    """Lock the plan in a YAML file with a digest and the time, before data are seen."""
    return add_lock(
        _lock_beside(plan_path),
        read_yaml(plan_path, AnalysisPlan),
        of={},
        n_sessions=None,
        software=f"equipoise {version('equipoise')}",
    )


def _lock_beside(plan_path: Path) -> Path:
    return plan_path.with_suffix(".lock.json")


def _trials(study: Study, store: str) -> pd.DataFrame:
    """Return the tidy table of this study's sessions."""
    if is_address(store):
        return tidy_trials(_rows(study, store), without_password(store))
    trials = read_trials(Path(store))
    here = trials["study"] == study.name
    if not here.any():
        raise InputError(
            f"{store}: no session is of the study `{study.name}`; the store has sessions of "
            f"{', '.join(set(trials['study']))}. Fix: name another store with --store."
        )
    return trials if here.all() else trials[here].reset_index(drop=True)


def _rows(study: Study, store: str) -> pd.DataFrame:
    """Return the rows of this study in a store, as stored."""
    try:
        with opened_store(store, must_exist=True) as opened:
            return pd.DataFrame.from_records(opened.trials(study))
    except StoreUnavailable as error:
        raise InputError(
            f"{without_password(store)}: the store cannot be read now ({error}). Fix: try again."
        ) from None


def _deviations_from_plan(study: Study, location: str, versions: set[str]) -> list[str]:
    """Return a sentence for each registered definition, of these versions, with another analysis plan."""
    try:
        with opened_store(location, must_exist=True) as store:
            warn_of_changes(study, store)
            registered, revisions = store.registered_definitions(study), store.revisions(study)
    except (InputError, StoreUnavailable):  # For instance a read-only copy, which can still be analyzed.
        return ["The plan at the start of the sessions could not be read, so it was not compared with this one."]
    notes = []
    answered = [one for one in registered if one.definition.version in versions]
    for earlier in answered:
        changed = [
            field
            for field in AnalysisPlan.model_fields
            if getattr(earlier.definition.analysis, field) != getattr(study.definition.analysis, field)
        ]
        if changed:
            notes.append(
                f"The analysis plan differs from the plan registered with version {earlier.definition.version} of "
                f"the study ({_minute(earlier.registered_at)}), before its {earlier.n_sessions} sessions began: "
                f"{', '.join(changed)} changed since."
            )
    notes += [
        f"Version {one.version} was reworded on {_minute(one.at)}: {listed(one.changed)}. Reason: “{one.reason}”."
        for one in revisions
        if one.version in versions
    ]
    return notes + _differences_of_versions([one.definition for one in answered])


def _minute(time: str) -> str:
    return f"{time[:16].replace('T', ' ')} UTC"


def _differences_of_versions(definitions: Sequence[StudyDefinition]) -> list[str]:
    """Return the entries of `study.yaml` in which the answered versions differ."""
    if len(definitions) < 2:
        return []
    entries_of = [entries(one.model_dump(mode="json", exclude={"version"})) for one in definitions]
    names = sorted(set().union(*entries_of))
    different = [name for name in names if any(one.get(name) != entries_of[0].get(name) for one in entries_of[1:])]
    versions = " and ".join(one.version for one in definitions)
    if not different:
        return [f"The definitions of versions {versions} differ in no entry; the files that they name may."]
    return [f"The definitions of versions {versions} differ in {', '.join(f'`{name}`' for name in different)}."]


def _changed_battery(study: Study, answered: set[str]) -> list[str]:
    if study.battery.digest in answered:
        return []
    return [
        f"The battery in the study's folder ({study.definition.battery}) is not the answered one; responses are "
        "scored by the keys of the battery with which their sessions began."
    ]
