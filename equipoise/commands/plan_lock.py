"""Lock an analysis plan before data are seen: the plan of a study, or a plan in a YAML file."""

from importlib.metadata import version
from pathlib import Path

from analysis.preregistration.lock import Lock, add_lock
from batteries.files.file_reading import read_yaml
from equipoise.commands.plan_check import check_plan_file, check_study_plan
from equipoise.commands.study_trials import may_have_responses, stored_rows
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.definition import Study
from server.locations import store_location
from server.settings import read_settings


def lock_study(study: Study, location: str | None = None) -> Lock:
    """Lock the analysis plan of a study before data are seen: write the plan, its digest and the time to a file.

    Parameters
    ----------
    study
        The study.
    location
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.

    Raises
    ------
    InputError
        If the plan has a mistake, if this plan is locked already, or if the store cannot be read.
    """
    check_study_plan(study)
    store = store_location(study, read_settings(store=location))
    n_sessions = 0
    if may_have_responses(store):
        rows = stored_rows(study, store)
        n_sessions = rows["session"].nunique() if len(rows) else 0
    return add_lock(
        study_lock_path(study.folder),
        study.definition.analysis,
        of=plan_subject(study),
        n_sessions=n_sessions,
        software=_software(),
    )


def lock_plan_file(plan_path: Path) -> Lock:
    """Lock the plan in a YAML file before data are seen: write the plan, its digest and the time to another file.

    Raises
    ------
    InputError
        If the file cannot be read, if the plan has a mistake, or if this plan is locked already.
    """
    plan = read_yaml(plan_path, AnalysisPlan)
    check_plan_file(plan_path, plan)
    return add_lock(plan_lock_path(plan_path), plan, of={}, n_sessions=None, software=_software())


def study_lock_path(folder: Path) -> Path:
    """Return the path of the file that stores the locks of a study's plan. `folder` is the folder of the study."""
    return folder / "analysis.lock.json"


def plan_lock_path(plan_path: Path) -> Path:
    """Return the path of the file that stores the locks of a plan. `plan_path` is the YAML file of the plan."""
    return plan_path.with_suffix(".lock.json")


def plan_subject(study: Study) -> dict[str, str]:
    """Return the digest of the study's battery, which a lock records together with the analysis plan."""
    return {"battery": study.battery.digest}


def _software() -> str:
    return f"equipoise {version('equipoise')}"
