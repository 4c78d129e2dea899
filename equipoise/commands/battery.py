"""`equipoise battery`: check story templates; build, import, preview and export batteries; make variants."""

from collections.abc import Sequence
from pathlib import Path

from batteries import intuition
from batteries.errors import InputError
from batteries.exports.gorilla import gorilla_spreadsheets
from batteries.exports.jspsych import jspsych_files
from batteries.files.atomic_folder import write_new_folder
from batteries.items import Battery, copy_assets, load_battery, save_battery
from batteries.variants.battery import Variants, with_variants
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

INTUITION = "intuition"
"""Name of the templates that come with Equipoise. Commands accept this name instead of a folder."""
FORMS = ("csv", "gorilla", "jspsych")
"""The formats of an export: CSV as in published batteries, Gorilla's spreadsheets, or a jsPsych web page."""


def templates_folder(given: Path | str) -> Path:
    """Return the folder of the templates. `intuition` means Equipoise's templates, unless a folder has this name."""
    return intuition.FOLDER if str(given) == INTUITION and not Path(given).exists() else Path(given)


def _path(given: Path | str | None) -> Path | None:
    return None if given is None else Path(given)


def battery_check(
    templates: Path | str, tables: Path | str | None = None, spec: Path | str | None = None
) -> tuple[TemplateSet, list[str]]:
    """Check story templates and their tables.

    Parameters
    ----------
    templates
        Folder with one folder per scenario, or `intuition` for the templates that come with Equipoise.
    tables
        Folder with the templates' five CSV tables; by default `tables` in the folder of the templates.
    spec
        File SPEC.yaml, the specification of a battery. Only the templates that it selects are checked; by default, all.

    Returns
    -------
    tuple of TemplateSet and list of str
        The templates, and one sentence for each warning. A warning is not a mistake.

    Raises
    ------
    InputError
        If there are mistakes. The message has one sentence for each mistake.
    """
    spec = _path(spec)
    problems = Problems()
    asked = read_spec(spec) if spec else EVERYTHING
    template_set = read_template_set(templates_folder(templates), _path(tables), problems)
    check_template_set(template_set, asked, problems, spec)
    problems.raise_any()
    return template_set, [str(remark) for remark in sorted(remarks(template_set, asked))]


def battery_build(
    templates: Path | str,
    output: Path | str,
    tables: Path | str | None = None,
    spec: Path | str | None = None,
    seed: int = 1,
) -> int:
    """Build a battery from story templates. The same templates, specification and seed always make the same file.

    Parameters
    ----------
    templates
        Folder with one folder per scenario, or `intuition` for the templates that come with Equipoise.
    output
        File to write, .jsonl or .csv.
    tables
        Folder with the templates' five CSV tables; by default `tables` in the folder of the templates.
    spec
        File SPEC.yaml, the specification of the battery. By default the battery has every template, four inference
        levels, the first person and five variants.
    seed
        Seed of the labels in the stories, and of the order of options.

    Returns
    -------
    int
        Number of items.

    Raises
    ------
    InputError
        If templates, tables or specification have mistakes. The message has one sentence for each mistake, and no file
        is written.
    """
    output, spec = Path(output), _path(spec)
    check_output(output)
    asked = read_spec(spec) if spec else BuildSpec()
    builder = BatteryBuilder(templates_folder(templates), _path(tables), asked, seed, spec)
    with progress_bar("Building", builder.n_items) as on_item:
        write_battery(builder.header, builder.items(), builder.dimensions, output, on_item)
    if spec is not None:
        copy_assets(builder.added, spec.parent, output.parent)
    return builder.n_items


def battery_import(source: Path | str, output: Path | str) -> Battery:
    """Convert a CSV file with the columns of the published vignette batteries to a battery file.

    Parameters
    ----------
    source
        The CSV file.
    output
        File to write, .jsonl.

    Returns
    -------
    Battery
        The battery.

    Raises
    ------
    InputError
        If the CSV file has mistakes, or the battery cannot be written.
    """
    source, output = Path(source), Path(output)
    check_output(output, [".jsonl"])
    battery = read_published_csv(source)
    write_battery(battery, battery.items, (), output)
    return battery


def battery_preview(source: Path | str, output: Path | str) -> None:
    """Write an HTML page that shows a battery. For a study, the page also shows the counterbalance groups.

    Parameters
    ----------
    source
        A study's folder, or a battery's file.
    output
        Page to write, .html.

    Raises
    ------
    InputError
        If the study or battery has mistakes, or the page cannot be written.
    """
    source, output = Path(source), Path(output)
    check_output(output, [".html"])
    battery, study = _battery_and_study(source)
    with spinner("Writing the preview"):
        write_preview(battery, study.groups if study else None, output, _folder_of(source, study))


def battery_export(source: Path | str, form: str, output: Path | str, answers: bool = False) -> int | None:
    """Export the battery of a study, or the battery in a file, for other programs.

    Parameters
    ----------
    source
        A study's folder, or a battery's file.
    form
        `csv` (the columns of the published batteries), `gorilla` or `jspsych`.
    output
        File to write for `csv`; new folder for `gorilla` and `jspsych`.
    answers
        True to put the right answers into Gorilla's spreadsheets. Participants may then find these answers.

    Returns
    -------
    int or None
        Number of counterbalance groups; None for a battery's file, which has no groups.

    Raises
    ------
    InputError
        If the format is unknown, the study or battery has mistakes, or the files cannot be written.
    """
    source, output = Path(source), Path(output)
    if form not in FORMS:
        raise InputError(f"--format: unknown format `{form}`. Fix: write one of {', '.join(FORMS)}.")
    battery, study = _battery_and_study(source)
    groups = study.groups if study else {}
    if form == "csv":
        check_output(output, [".csv"])
        write_battery(battery, battery.items, battery_dimensions(battery), output)
        return len(set(groups.values())) or None
    practice = study.definition.practice if study else ()
    checks = study.definition.attention_checks if study else ()
    if study and (study.definition.blocks or study.definition.order.sequence):
        raise InputError(
            f"{source / 'study.yaml'}: the study has `blocks` or a `sequence`, but an export in the format {form} has "
            "the items of a group in any order. Fix: run the study with `equipoise serve`, or export the battery file."
        )
    fixation_ms = study.definition.timing.fixation_ms if study else Timing().fixation_ms
    if form == "gorilla":
        files = gorilla_spreadsheets(battery, groups, practice, checks, fixation_ms, answers=answers)
    else:
        title = study.definition.title if study else battery.battery
        files = jspsych_files(battery, groups, practice, checks, fixation_ms, title)
    write_new_folder(files, output)
    return len(set(groups.values())) or None


ALL_ORDERS = "all"
"""The value of `--orders` for as many orders as an item has options."""


def battery_variants(
    source: Path | str,
    output: Path | str,
    orders: int | str = ALL_ORDERS,
    paraphrases: Path | str | None = None,
    keep_order: str | Sequence[str] = (),
) -> Variants:
    """Write a battery with the items of another battery, and with variants of the items: option orders and paraphrases.

    Parameters
    ----------
    source
        A study's folder, or a battery's file. In a study, practice items and attention checks stay unchanged. In a
        battery's file, all items get variants.
    output
        File to write, .jsonl.
    orders
        Number of orders of the options of each item, including the original order; or `all` for as many orders as the
        item has options, so that the right option is in each position once.
    paraphrases
        CSV file with other wordings of items: the column `item_id`, and one or more of `text`, `prompt`, `option_1`,
        `option_2`, and so on.
    keep_order
        Id of an item whose options stay in the original order, or several ids. Use it for items whose options are steps
        of a scale.

    Returns
    -------
    Variants
        The battery, the numbers of variants, and the items whose options refer to the position of other options. These
        items have no other order.

    Raises
    ------
    InputError
        If the study, battery or paraphrases have mistakes, if no item has a variant, or if the file cannot be written.
    """
    source, output = Path(source), Path(output)
    check_output(output, [".jsonl"])
    n_orders = None if orders == ALL_ORDERS else int(orders) if str(orders).isdecimal() else 0
    if n_orders == 0:
        raise InputError(f"--orders {orders}: this is not a number of orders. Fix: write `all`, or a number from 1.")
    battery, study = _battery_and_study(source)
    not_tested = [*study.definition.practice, *study.definition.attention_checks] if study else []
    kept = [keep_order] if isinstance(keep_order, str) else keep_order
    variants = with_variants(battery, not_tested, n_orders, _path(paraphrases), kept)
    copy_assets(variants.battery.items, _folder_of(source, study), output.parent)
    save_battery(variants.battery, output)
    return variants


def _folder_of(source: Path, study: Study | None) -> Path:
    """Return the folder of a battery, which contains its pictures."""
    return (source / study.definition.battery).parent if study else source.parent


def _battery_and_study(source: Path) -> tuple[Battery, Study | None]:
    if source.is_dir():
        study = load_study(source)
        return study.battery, study
    if source.suffix == ".csv":
        raise InputError(
            f"{source}: a CSV file is not a battery file. Fix: convert the CSV file with `equipoise battery import "
            f"{source} -o battery.jsonl`."
        )
    return load_battery(source), None
