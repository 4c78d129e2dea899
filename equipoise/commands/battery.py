"""`equipoise battery`: check story templates, build, import, preview and export batteries."""

from pathlib import Path

from batteries import intuition
from batteries.errors import InputError
from batteries.exports.gorilla import gorilla_spreadsheets
from batteries.exports.jspsych import jspsych_files
from batteries.files.atomic_folder import write_new_folder
from batteries.items import Battery, load_battery
from batteries.vignettes.battery_writer import check_output, write_battery
from batteries.vignettes.build import BatteryBuilder
from batteries.vignettes.checks.remarks import remarks
from batteries.vignettes.checks.template_checks import EVERYTHING, check_template_set
from batteries.vignettes.preview import write_preview
from batteries.vignettes.published_csv import battery_dimensions, read_published_csv
from batteries.vignettes.spec import BuildSpec, read_spec
from batteries.vignettes.templates.problems import Problems
from batteries.vignettes.templates.template_set import TemplateSet, read_template_set
from equipoise.progress_bar import progress_bar, spinner
from experiment.load_study import load_study
from experiment.study.definition import Study
from experiment.study.timeline import Timing

OURS = "intuition"
"""Name of our own battery's templates, accepted instead of a folder."""


def templates_folder(given: Path) -> Path:
    """Return the folder of the templates: the given one, or that of our own battery."""
    return intuition.FOLDER if str(given) == OURS and not given.exists() else given


def battery_check(
    templates: Path, tables: Path | None = None, spec: Path | None = None
) -> tuple[TemplateSet, list[str]]:
    """Check templates and tables, completely or for a spec.

    Returns
    -------
    tuple
        The templates, and warnings that are not mistakes.

    Raises
    ------
    InputError
        One sentence for every mistake.
    """
    problems = Problems()
    asked = read_spec(spec) if spec else EVERYTHING
    template_set = read_template_set(templates_folder(templates), tables, problems)
    check_template_set(template_set, asked, problems, spec)
    problems.raise_any()
    return template_set, [str(remark) for remark in sorted(remarks(template_set, asked))]


def battery_build(
    templates: Path, output: Path, tables: Path | None = None, spec: Path | None = None, seed: int = 1
) -> int:
    """Build a battery from templates into a file, and return its number of items.

    Raises
    ------
    InputError
        One sentence for every mistake in templates, tables or spec; then nothing is written.
    """
    check_output(output)
    asked = read_spec(spec) if spec else BuildSpec()
    builder = BatteryBuilder(templates_folder(templates), tables, asked, seed, spec)
    with progress_bar("Building", builder.n_items) as on_item:
        write_battery(builder.header, builder.items(), builder.dimensions, output, on_item)
    return builder.n_items


def battery_import(source: Path, output: Path) -> Battery:
    """Read a battery from CSV with the published columns into a battery file, and return it."""
    check_output(output, [".jsonl"])
    battery = read_published_csv(source)
    write_battery(battery, battery.items, (), output)
    return battery


def battery_preview(source: Path, output: Path) -> None:
    """Write an HTML page of a study's battery with its counterbalancing, or of a battery alone.

    Raises
    ------
    InputError
        If the study or battery has mistakes, or the page cannot be written.
    """
    check_output(output, [".html"])
    battery, study = _battery_and_study(source)
    with spinner("Writing the preview"):
        write_preview(battery, study.groups if study else None, output)


def battery_export(source: Path, form: str, output: Path, answers: bool = False) -> int | None:
    """Export a study's battery, or a battery alone, for other programs; return its number of groups, if it has any.

    Parameters
    ----------
    source
        A study's folder, or a battery's file.
    form
        `csv` (the published columns), `gorilla` or `jspsych`.
    output
        The file, for `csv`; a new folder, for the others.
    answers
        True to put the right answers into Gorilla's spreadsheets.

    Raises
    ------
    InputError
        If the study or battery has mistakes, or the files cannot be written.
    """
    battery, study = _battery_and_study(source)
    groups = study.groups if study else {}
    if form == "csv":
        check_output(output, [".csv"])
        write_battery(battery, battery.items, battery_dimensions(battery), output)
        return len(set(groups.values())) or None
    practice = study.definition.practice if study else ()
    checks = study.definition.attention_checks if study else ()
    fixation_ms = study.definition.timing.fixation_ms if study else Timing().fixation_ms
    if form == "gorilla":
        files = gorilla_spreadsheets(battery, groups, practice, checks, fixation_ms, answers=answers)
    else:
        title = study.definition.title if study else battery.battery
        files = jspsych_files(battery, groups, practice, checks, fixation_ms, title)
    write_new_folder(files, output)
    return len(set(groups.values())) or None


def _battery_and_study(source: Path) -> tuple[Battery, Study | None]:
    if source.is_dir():
        study = load_study(source)
        return study.battery, study
    if source.suffix == ".csv":
        raise InputError(
            f"{source}: this is not a battery file. Fix: make one first: equipoise battery import {source} -o "
            "battery.jsonl"
        )
    return load_battery(source), None
