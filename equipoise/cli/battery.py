"""The commands for batteries: check story templates; build, preview, import and export batteries; make variants."""

from pathlib import Path

import click


@click.group()
def battery() -> None:
    """Check story templates; build, preview, import and export batteries; make variants of items."""


TEMPLATES = click.argument("templates", type=click.Path(path_type=Path))
TABLES = click.option(
    "--tables",
    type=click.Path(path_type=Path),
    help="Folder with the templates' five CSV tables.  [default: TEMPLATES/tables]",
)


@battery.command("check", epilog="Example: equipoise battery check my-templates")
@TEMPLATES
@TABLES
@click.option(
    "--spec",
    type=click.Path(path_type=Path),
    help="Check only the templates that this SPEC.yaml selects.  [default: all templates]",
)
def check_battery(templates: Path, tables: Path | None, spec: Path | None) -> None:
    """Report all mistakes in story templates and their tables.

    TEMPLATES is a folder that contains one folder per scenario. For the templates that come with Equipoise, write
    `intuition`.
    """
    from equipoise.commands.battery import battery_check

    found, remarks = battery_check(templates, tables, spec)
    click.echo(f"{len(found.scenarios)} scenarios with {len(found.questions)} questions: no mistakes found.")
    if remarks:
        click.echo("\n".join(["Warnings:", *remarks]))


@battery.command("build", epilog="Example: equipoise battery build my-templates --spec spec.yaml -o battery.jsonl")
@TEMPLATES
@TABLES
@click.option(
    "--spec",
    type=click.Path(path_type=Path),
    help=(
        "SPEC.yaml, the specification of the battery.  [default: every template, four inference levels, first person, "
        "five variants]"
    ),
)
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(0), help="Seed of labels and orders of options."
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to write, .jsonl or .csv.")
def build(templates: Path, tables: Path | None, spec: Path | None, seed: int, output: Path) -> None:
    """Build a battery from story templates. The same templates, SPEC.yaml and seed always make the same file.

    TEMPLATES is a folder that contains one folder per scenario. For the templates that come with Equipoise, write
    `intuition`.
    """
    from equipoise.commands.battery import battery_build

    n_items = battery_build(templates, output, tables, spec, seed)
    click.echo(f"Made {output} with {n_items:,} items.")


@battery.command("import", epilog="Example: equipoise battery import battery.csv -o battery.jsonl")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to write, .jsonl.")
def import_battery(source: Path, output: Path) -> None:
    """Convert a CSV file with the columns of the published vignette batteries to a battery file."""
    from equipoise.commands.battery import battery_import

    click.echo(f"Made {output} with {len(battery_import(source, output).items):,} items.")


SOURCE = click.argument("source", metavar="STUDY_OR_BATTERY", type=click.Path(path_type=Path))


@battery.command("preview", epilog="Example: equipoise battery preview my-study -o preview.html")
@SOURCE
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Page to write, .html.")
def preview(source: Path, output: Path) -> None:
    """Write a page that shows a whole battery: the conditions side by side, their differences, and the reading time.

    For a study's folder, the page also shows the items of each group. A battery file has no groups.
    """
    from equipoise.commands.battery import battery_preview

    battery_preview(source, output)
    click.echo(f"The page is {output}.")


@battery.command("export", epilog="Example: equipoise battery export my-study --format jspsych -o my-study-jspsych")
@SOURCE
@click.option(
    "--format", "form", required=True, type=click.Choice(["csv", "gorilla", "jspsych"]), help="Format of the export."
)
@click.option(
    "--answers",
    is_flag=True,
    help="Put the right answers into Gorilla's spreadsheets. Participants may then find these answers.",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="File (csv) or new folder to write."
)
def export(source: Path, form: str, answers: bool, output: Path) -> None:
    """Export a study's battery, or a battery file, for another program.

    The format csv has the columns of the published vignette batteries. The format gorilla is one spreadsheet per group.
    The format jspsych is a web page that runs without Equipoise.
    """
    from equipoise.commands.battery import battery_export

    n_groups = battery_export(source, form, output, answers)
    alone = " A battery file has no groups, so every participant would see all items. To have groups, export a study."
    click.echo(f"Made {output}.{'' if n_groups or form == 'csv' else alone}")


@battery.command(
    "variants", epilog="Example: equipoise battery variants my-study --paraphrases paraphrases.csv -o variants.jsonl"
)
@SOURCE
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File to write, .jsonl.")
@click.option(
    "--orders",
    default="all",
    show_default=True,
    help="Number of orders of the options of each item, including the original order; or `all`.",
)
@click.option(
    "--paraphrases",
    type=click.Path(path_type=Path),
    help="CSV file with other wordings: item_id, and text, prompt, option_1, option_2, ...",
)
@click.option(
    "--keep-order", multiple=True, metavar="ITEM", help="Id of an item whose options keep their order; may be repeated."
)
def variants(source: Path, output: Path, orders: str, paraphrases: Path | None, keep_order: tuple[str, ...]) -> None:
    """Write a battery with each item in several orders of options and in other words.

    With all orders, the right option of each item is in each position once. If SOURCE is a study, practice items and
    attention checks stay unchanged. If SOURCE is a battery file, all items get variants.
    """
    from equipoise.commands.battery import battery_variants

    made = battery_variants(source, output, orders, paraphrases, keep_order)
    counts = f"{made.n_orders:,} with another order of options, {made.n_paraphrases:,} paraphrased"
    click.echo(f"Made {output} with {len(made.battery.items):,} items: {counts}.")
    if made.in_one_order:
        click.echo(
            "These items have no other order, because an option refers to other options by place, letter or number: "
            f"{', '.join(made.in_one_order)}."
        )
