"""Equipoise: one battery of questions for people and language models, and one analysis that compares them fairly.

The public Python API; the command line (`equipoise --help`) does the same. Names are loaded when first used, so that
a command starts fast and a server does not carry the statistics in its memory.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.any_table import analyze_data as analyze_data
    from analysis.audit import audit as audit
    from analysis.data.tidy_table import read_trials as read_trials
    from analysis.statistics.mixed_models.fit import fit_mixed_model as fit_mixed_model
    from analysis.study import analyze as analyze
    from batteries.errors import InputError as InputError
    from batteries.items import Battery as Battery
    from batteries.items import Item as Item
    from batteries.items import load_battery as load_battery
    from batteries.items import save_battery as save_battery
    from equipoise.battery_files import export_battery as export_battery
    from equipoise.battery_files import import_battery as import_battery
    from equipoise.battery_files import preview_battery as preview_battery
    from equipoise.vignettes import build_battery as build_battery
    from equipoise.vignettes import check_templates as check_templates
    from experiment.loading import load_study as load_study
    from experiment.models.baselines import run_baseline as run_baseline
    from experiment.models.stored_blackbox import read_stored_runs as read_stored_runs
    from experiment.plan import Plan as Plan
    from experiment.plan import Trial as Trial
    from experiment.plan import plan_session as plan_session
    from experiment.study import Study as Study
    from server.app import create_app as create_app
    from server.store import SqliteStore as SqliteStore

_HOMES = {
    "Battery": "batteries.items",
    "InputError": "batteries.errors",
    "Item": "batteries.items",
    "Plan": "experiment.plan",
    "SqliteStore": "server.store",
    "Study": "experiment.study",
    "Trial": "experiment.plan",
    "analyze": "analysis.study",
    "analyze_data": "analysis.any_table",
    "audit": "analysis.audit",
    "build_battery": "equipoise.vignettes",
    "check_templates": "equipoise.vignettes",
    "create_app": "server.app",
    "export_battery": "equipoise.battery_files",
    "fit_mixed_model": "analysis.statistics.mixed_models.fit",
    "import_battery": "equipoise.battery_files",
    "load_battery": "batteries.items",
    "load_study": "experiment.loading",
    "plan_session": "experiment.plan",
    "preview_battery": "equipoise.battery_files",
    "read_stored_runs": "experiment.models.stored_blackbox",
    "read_trials": "analysis.data.tidy_table",
    "run_baseline": "experiment.models.baselines",
    "save_battery": "batteries.items",
}

__version__ = version("equipoise")
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (the names are texts, only not literal ones)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
