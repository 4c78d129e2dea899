"""Equipoise: one battery of questions for people and language models, and one analysis that compares them fairly.

This module is the public Python API. Each command of the command line is a function with the same name, parameters and
result: `equipoise store verify my-study` is `eq.store_verify("my-study")`. Only `equipoise import` has another name,
`eq.import_data`, because `import` is a word of Python. The other public names, such as `load_study`, are functions and
classes that the commands use. Each name is imported when it is first used, so that commands and servers start fast.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis.any_table import analyze_table as analyze_table
    from analysis.audit import audit_table as audit_table
    from analysis.data.tidy_table import read_trials as read_trials
    from analysis.statistics.mixed_models.fit import fit_mixed_model as fit_mixed_model
    from analysis.study import analyze_trials as analyze_trials
    from batteries.errors import InputError as InputError
    from batteries.items import Battery as Battery
    from batteries.items import Item as Item
    from batteries.items import load_battery as load_battery
    from batteries.items import save_battery as save_battery
    from equipoise.commands.analyze import analyze as analyze
    from equipoise.commands.audit import audit as audit
    from equipoise.commands.battery import battery_build as battery_build
    from equipoise.commands.battery import battery_check as battery_check
    from equipoise.commands.battery import battery_export as battery_export
    from equipoise.commands.battery import battery_import as battery_import
    from equipoise.commands.battery import battery_preview as battery_preview
    from equipoise.commands.battery import battery_variants as battery_variants
    from equipoise.commands.check.check import check as check
    from equipoise.commands.coding.agreement import coding_agreement as coding_agreement
    from equipoise.commands.coding.new import coding_new as coding_new
    from equipoise.commands.coding.refresh import coding_refresh as coding_refresh
    from equipoise.commands.demo import demo as demo
    from equipoise.commands.export.export import export as export
    from equipoise.commands.import_data import import_data as import_data
    from equipoise.commands.jspsych_plugins import jspsych_plugins as jspsych_plugins
    from equipoise.commands.lab.check import Setup as Setup
    from equipoise.commands.lab.check import lab_check as lab_check
    from equipoise.commands.lab.codes import lab_codes as lab_codes
    from equipoise.commands.lab.photodiode import lab_flashes as lab_flashes
    from equipoise.commands.lab.photodiode import lab_photodiode as lab_photodiode
    from equipoise.commands.lab.run import lab_run as lab_run
    from equipoise.commands.lab.upload import lab_upload as lab_upload
    from equipoise.commands.models.imports import models_import as models_import
    from equipoise.commands.models.listing import models_list as models_list
    from equipoise.commands.models.prompts import models_prompts as models_prompts
    from equipoise.commands.models.run import models_run as models_run
    from equipoise.commands.new import new as new
    from equipoise.commands.new import schema as schema
    from equipoise.commands.power.power import power as power
    from equipoise.commands.recruit.bonus import recruit_bonus as recruit_bonus
    from equipoise.commands.recruit.prolific import recruit_prolific as recruit_prolific
    from equipoise.commands.recruit.reconcile import recruit_reconcile as recruit_reconcile
    from equipoise.commands.recruit.review import recruit_approve as recruit_approve
    from equipoise.commands.recruit.review import recruit_reject as recruit_reject
    from equipoise.commands.server_process import serve as serve
    from equipoise.commands.server_process import simulate as simulate
    from equipoise.commands.store.assignment import assignment_close as assignment_close
    from equipoise.commands.store.assignment import assignment_extend as assignment_extend
    from equipoise.commands.store.assignment import assignment_log as assignment_log
    from equipoise.commands.store.assignment import assignment_open as assignment_open
    from equipoise.commands.store.assignment import assignment_release as assignment_release
    from equipoise.commands.store.assignment import assignment_show as assignment_show
    from equipoise.commands.store.identities import identities_delete as identities_delete
    from equipoise.commands.store.identities import identities_export as identities_export
    from equipoise.commands.store.identities import links as links
    from equipoise.commands.store.researchers import researchers_add as researchers_add
    from equipoise.commands.store.researchers import researchers_disable as researchers_disable
    from equipoise.commands.store.researchers import researchers_enable as researchers_enable
    from equipoise.commands.store.researchers import researchers_list as researchers_list
    from equipoise.commands.store.researchers import researchers_password as researchers_password
    from equipoise.commands.store.researchers import researchers_remove as researchers_remove
    from equipoise.commands.store.researchers import researchers_role as researchers_role
    from equipoise.commands.store.researchers import researchers_second_factor as researchers_second_factor
    from equipoise.commands.store.store import store_backup as store_backup
    from equipoise.commands.store.store import store_copy as store_copy
    from equipoise.commands.store.store import store_sessions as store_sessions
    from equipoise.commands.store.store import store_verify as store_verify
    from equipoise.commands.store.study_changes import exclude as exclude
    from equipoise.commands.store.study_changes import revise as revise
    from equipoise.commands.store.withdraw import withdraw as withdraw
    from experiment.lab.photodiode.flashes import FlashSeries as FlashSeries
    from experiment.lab.psychopy_trials.trial_class import PsychoPyTrial as PsychoPyTrial
    from experiment.lab.psychopy_trials.trial_class import TrialPress as TrialPress
    from experiment.lab.visitor import Visitor as Visitor
    from experiment.load_study import load_study as load_study
    from experiment.models.baselines import run_baseline as run_baseline
    from experiment.models.imports.stored_blackbox import read_stored_runs as read_stored_runs
    from experiment.plan import Plan as Plan
    from experiment.plan import Trial as Trial
    from experiment.plan import plan_session as plan_session
    from experiment.records import Kind as Kind
    from experiment.study.definition import Study as Study
    from server.app import create_app as create_app
    from server.store import SqliteStore as SqliteStore

_COMMANDS = {
    "analyze": "equipoise.commands.analyze",
    "assignment_close": "equipoise.commands.store.assignment",
    "assignment_extend": "equipoise.commands.store.assignment",
    "assignment_log": "equipoise.commands.store.assignment",
    "assignment_open": "equipoise.commands.store.assignment",
    "assignment_release": "equipoise.commands.store.assignment",
    "assignment_show": "equipoise.commands.store.assignment",
    "audit": "equipoise.commands.audit",
    "battery_build": "equipoise.commands.battery",
    "battery_check": "equipoise.commands.battery",
    "battery_export": "equipoise.commands.battery",
    "battery_import": "equipoise.commands.battery",
    "battery_preview": "equipoise.commands.battery",
    "battery_variants": "equipoise.commands.battery",
    "check": "equipoise.commands.check.check",
    "coding_agreement": "equipoise.commands.coding.agreement",
    "coding_new": "equipoise.commands.coding.new",
    "coding_refresh": "equipoise.commands.coding.refresh",
    "demo": "equipoise.commands.demo",
    "export": "equipoise.commands.export.export",
    "exclude": "equipoise.commands.store.study_changes",
    "identities_delete": "equipoise.commands.store.identities",
    "identities_export": "equipoise.commands.store.identities",
    "import_data": "equipoise.commands.import_data",
    "jspsych_plugins": "equipoise.commands.jspsych_plugins",
    "lab_check": "equipoise.commands.lab.check",
    "lab_codes": "equipoise.commands.lab.codes",
    "lab_flashes": "equipoise.commands.lab.photodiode",
    "lab_photodiode": "equipoise.commands.lab.photodiode",
    "lab_run": "equipoise.commands.lab.run",
    "lab_upload": "equipoise.commands.lab.upload",
    "links": "equipoise.commands.store.identities",
    "models_import": "equipoise.commands.models.imports",
    "models_list": "equipoise.commands.models.listing",
    "models_prompts": "equipoise.commands.models.prompts",
    "models_run": "equipoise.commands.models.run",
    "new": "equipoise.commands.new",
    "power": "equipoise.commands.power.power",
    "recruit_approve": "equipoise.commands.recruit.review",
    "recruit_bonus": "equipoise.commands.recruit.bonus",
    "recruit_prolific": "equipoise.commands.recruit.prolific",
    "recruit_reconcile": "equipoise.commands.recruit.reconcile",
    "recruit_reject": "equipoise.commands.recruit.review",
    "researchers_add": "equipoise.commands.store.researchers",
    "researchers_disable": "equipoise.commands.store.researchers",
    "researchers_enable": "equipoise.commands.store.researchers",
    "researchers_list": "equipoise.commands.store.researchers",
    "researchers_password": "equipoise.commands.store.researchers",
    "researchers_remove": "equipoise.commands.store.researchers",
    "researchers_role": "equipoise.commands.store.researchers",
    "researchers_second_factor": "equipoise.commands.store.researchers",
    "revise": "equipoise.commands.store.study_changes",
    "schema": "equipoise.commands.new",
    "serve": "equipoise.commands.server_process",
    "simulate": "equipoise.commands.server_process",
    "store_backup": "equipoise.commands.store.store",
    "store_copy": "equipoise.commands.store.store",
    "store_sessions": "equipoise.commands.store.store",
    "store_verify": "equipoise.commands.store.store",
    "withdraw": "equipoise.commands.store.withdraw",
}
"""The module of each command's function, by the name of the function."""

_PARTS = {
    "Battery": "batteries.items",
    "FlashSeries": "experiment.lab.photodiode.flashes",
    "InputError": "batteries.errors",
    "Item": "batteries.items",
    "Kind": "experiment.records",
    "Plan": "experiment.plan",
    "PsychoPyTrial": "experiment.lab.psychopy_trials.trial_class",
    "Setup": "equipoise.commands.lab.check",
    "SqliteStore": "server.store",
    "Study": "experiment.study.definition",
    "Trial": "experiment.plan",
    "TrialPress": "experiment.lab.psychopy_trials.trial_class",
    "Visitor": "experiment.lab.visitor",
    "analyze_table": "analysis.any_table",
    "analyze_trials": "analysis.study",
    "audit_table": "analysis.audit",
    "create_app": "server.app",
    "fit_mixed_model": "analysis.statistics.mixed_models.fit",
    "load_battery": "batteries.items",
    "load_study": "experiment.load_study",
    "plan_session": "experiment.plan",
    "read_stored_runs": "experiment.models.imports.stored_blackbox",
    "read_trials": "analysis.data.tidy_table",
    "run_baseline": "experiment.models.baselines",
    "save_battery": "batteries.items",
}
"""The module of every other public function or class, by its name."""

__version__ = version("equipoise")
__all__ = ["__version__", *_COMMANDS, *_PARTS]  # noqa: PLE0604 (the names are texts, only not literal ones)


def __getattr__(name: str) -> object:
    home = _COMMANDS.get(name) or _PARTS.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    """Return all public names, so that editors and notebooks can suggest a name before its import."""
    return sorted({*globals(), *__all__})
