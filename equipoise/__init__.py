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
    from equipoise.commands.battery import export_battery as export_battery
    from equipoise.commands.battery import import_battery as import_battery
    from equipoise.commands.battery import preview_battery as preview_battery
    from equipoise.commands.vignettes import build_battery as build_battery
    from equipoise.commands.vignettes import check_templates as check_templates
    from experiment.load_study import load_study as load_study
    from experiment.models.baselines import run_baseline as run_baseline
    from experiment.models.stored_blackbox import read_stored_runs as read_stored_runs
    from experiment.plan import Plan as Plan
    from experiment.plan import Trial as Trial
    from experiment.plan import plan_session as plan_session
    from experiment.study.definition import Study as Study
    from server.app import create_app as create_app
    from server.store import SqliteStore as SqliteStore

_HOMES = {
    "Battery": "batteries.items",
    "InputError": "batteries.errors",
    "Item": "batteries.items",
    "Plan": "experiment.plan",
    "SqliteStore": "server.store",
    "Study": "experiment.study.definition",
    "Trial": "experiment.plan",
    "analyze": "analysis.study",
    "analyze_data": "analysis.any_table",
    "audit": "analysis.audit",
    "build_battery": "equipoise.commands.vignettes",
    "check_templates": "equipoise.commands.vignettes",
    "create_app": "server.app",
    "export_battery": "equipoise.commands.battery",
    "fit_mixed_model": "analysis.statistics.mixed_models.fit",
    "import_battery": "equipoise.commands.battery",
    "load_battery": "batteries.items",
    "load_study": "experiment.load_study",
    "plan_session": "experiment.plan",
    "preview_battery": "equipoise.commands.battery",
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
