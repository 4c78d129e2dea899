"""The commands on batteries of any origin: import, export and preview."""

from pathlib import Path

from batteries.errors import InputError
from batteries.exports import write_files
from batteries.exports.gorilla import gorilla_spreadsheets
from batteries.exports.jspsych import jspsych_files
from batteries.items import Battery, load_battery
from batteries.vignettes.battery_writer import check_output, write_battery
from batteries.vignettes.preview import write_preview
from batteries.vignettes.published_csv import battery_dimensions, read_published_csv
from equipoise.progress_bar import spinner
from experiment.load_study import load_study
from experiment.study.definition import Study
from experiment.study.timeline import Timing


def import_battery(source: Path, output: Path) -> Battery:
    """Read a battery from CSV with the published columns into a battery file, and return it."""
    check_output(output, [".jsonl"])
    battery = read_published_csv(source)
    write_battery(battery, battery.items, (), output)
    return battery


def preview_battery(source: Path, output: Path) -> None:
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


def export_battery(source: Path, form: str, output: Path, answers: bool) -> int | None:
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
        Whether Gorilla's spreadsheets have the right answers in them.

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
    write_files(files, output)
    return len(set(groups.values())) or None


def _battery_and_study(source: Path) -> tuple[Battery, Study | None]:
    if source.is_dir():
        study = load_study(source)
        return study.battery, study
    if source.suffix == ".csv":
        raise InputError(f"{source}: make a battery of it first: equipoise battery import {source} -o battery.jsonl")
    return load_battery(source), None
