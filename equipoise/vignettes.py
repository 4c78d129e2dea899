"""The commands on vignette batteries: check and build templates, import, export and preview batteries."""

from pathlib import Path

from batteries import intuition
from batteries.errors import InputError
from batteries.items import Battery, load_battery
from batteries.vignettes.build import BatteryBuilder
from batteries.vignettes.check import EVERYTHING, check_template_set
from batteries.vignettes.files import check_battery_path, write_battery
from batteries.vignettes.problems import Problems
from batteries.vignettes.published_csv import read_published_csv
from batteries.vignettes.spec import BuildSpec, read_spec
from batteries.vignettes.template_set import TemplateSet, read_template_set
from equipoise.progress import progress_bar
from experiment.loading import load_study
from experiment.study import Study

OURS = "intuition"
"""Name by which our own battery's templates can be given instead of a folder."""


def templates_folder(given: Path) -> Path:
    """Return the folder of the templates: the one given, or that of our own battery when its name is given."""
    return intuition.FOLDER if str(given) == OURS and not given.exists() else given


def check_templates(templates: Path, tables: Path | None, spec: Path | None) -> TemplateSet:
    """Check templates and tables, for everything or for what a spec asks; return them when nothing is wrong.

    Raises
    ------
    InputError
        A sentence for every mistake.
    """
    problems = Problems()
    asked = read_spec(spec) if spec else EVERYTHING
    template_set = read_template_set(templates_folder(templates), tables, problems)
    check_template_set(template_set, asked, problems)
    problems.raise_any()
    return template_set


def build_battery(templates: Path, tables: Path | None, spec: Path | None, seed: int, output: Path) -> int:
    """Build a battery from templates into a file, and return its number of items.

    Raises
    ------
    InputError
        A sentence for every mistake in templates, tables or spec; then nothing is written.
    """
    check_battery_path(output)
    asked = read_spec(spec) if spec else BuildSpec()
    builder = BatteryBuilder(templates_folder(templates), tables, asked, seed, spec.parent if spec else Path())
    with progress_bar("Building", builder.n_items) as on_item:
        write_battery(builder.header, builder.items(), builder.dimensions, output, on_item)
    return builder.n_items


def import_battery(source: Path, output: Path) -> Battery:
    """Read a battery from CSV with the published columns into a battery file, and return it."""
    if output.suffix != ".jsonl":
        raise InputError(f"{output}: an imported battery is written as .jsonl; name the file so.")
    check_battery_path(output)
    battery = read_published_csv(source)
    write_battery(battery, battery.items, (), output)
    return battery


def load_study_or_battery(path: Path) -> tuple[Battery, Study | None]:
    """Return the battery of a study's folder or of a battery's file, and the study where it is one."""
    if path.is_dir():
        study = load_study(path)
        return study.battery, study
    return load_battery(path), None
