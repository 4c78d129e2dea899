"""The commands on story templates: check them, and build batteries from them."""

from pathlib import Path

from batteries import intuition
from batteries.vignettes.battery_writer import check_output, write_battery
from batteries.vignettes.build import BatteryBuilder
from batteries.vignettes.checks.readability import remarks
from batteries.vignettes.checks.template_checks import EVERYTHING, check_template_set
from batteries.vignettes.spec import BuildSpec, read_spec
from batteries.vignettes.templates.problems import Problems
from batteries.vignettes.templates.template_set import TemplateSet, read_template_set
from equipoise.progress_bar import progress_bar

OURS = "intuition"
"""Name by which our own battery's templates can be given instead of a folder."""


def templates_folder(given: Path) -> Path:
    """Return the folder of the templates: the one given, or that of our own battery when its name is given."""
    return intuition.FOLDER if str(given) == OURS and not given.exists() else given


def check_templates(templates: Path, tables: Path | None, spec: Path | None) -> tuple[TemplateSet, list[str]]:
    """Check templates and tables, for everything or for what a spec asks.

    Returns
    -------
    tuple
        The templates, and sentences on what is no mistake but worth a look.

    Raises
    ------
    InputError
        A sentence for every mistake.
    """
    problems = Problems()
    asked = read_spec(spec) if spec else EVERYTHING
    template_set = read_template_set(templates_folder(templates), tables, problems)
    check_template_set(template_set, asked, problems, spec)
    problems.raise_any()
    return template_set, [str(remark) for remark in sorted(remarks(template_set, asked))]


def build_battery(templates: Path, tables: Path | None, spec: Path | None, seed: int, output: Path) -> int:
    """Build a battery from templates into a file, and return its number of items.

    Raises
    ------
    InputError
        A sentence for every mistake in templates, tables or spec; then nothing is written.
    """
    check_output(output)
    asked = read_spec(spec) if spec else BuildSpec()
    builder = BatteryBuilder(templates_folder(templates), tables, asked, seed, spec)
    with progress_bar("Building", builder.n_items) as on_item:
        write_battery(builder.header, builder.items(), builder.dimensions, output, on_item)
    return builder.n_items
