"""The commands that export the data of a study, and import data for the analysis."""

from pathlib import Path

import click

from equipoise.cli.stores import STORE, STUDY, warn_of_open_folder

FORMATS = ("csv", "parquet", "jsonl", "psych-ds", "bids", "inspect", "spss")


@click.command(epilog="Example: equipoise export my-study --format psych-ds -o my-study-data")
@STUDY
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="New folder for the export.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="csv", show_default=True, help="Format.")
@click.option(
    "--full",
    is_flag=True,
    help="Keep free texts of participants, and their exact answers to questions about them.",
)
@click.option("--license", metavar="NAME", help="Licence of the data, such as CC-BY-4.0 or CC0-1.0.")
@click.option("--author", "authors", metavar="NAME", multiple=True, help="Author of the data; may be repeated.")
@STORE
def export(
    study: Path, output: Path, form: str, full: bool, license: str | None, authors: tuple[str, ...],
    store: str | None,
) -> None:  # fmt: skip
    """Write the data of a study into a new folder, for journals, archives and other programs.

    The folder has the trials, participants, sessions and events, the codebook, the items, the analysis plan, a README
    and checksums. Participants have pseudonyms; panel ids are never exported. Free texts and answers about participants
    are coarse, unless you give --full.
    """
    from equipoise.commands.export.export import export as write_export

    made = write_export(study, output, form, full, license, authors, store)
    click.echo(f"Made {output}: {made.n_trials:,} trials, {made.n_participants:,} participants and runs.")
    warn_of_open_folder(output)


@click.command("import", epilog="Example: equipoise import my-study-data -o trials.csv")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="New CSV file for the trials.")
@click.option(
    "--map", metavar="MAP",
    help="Columns of tables of another program: a YAML file, or gorilla, jspsych, labjs, otree, psychopy or qualtrics.",
)  # fmt: skip
@click.option(
    "--study",
    type=click.Path(path_type=Path),
    help="Study whose items were shown in the tables, to score the responses with its items.",
)
@click.option("--keep-ids", is_flag=True, help="Keep the ids of participants in the tables.  [default: P1, P2, ...]")
def import_data(
    sources: tuple[Path, ...], output: Path, map: str | None, study: Path | None, keep_ids: bool
) -> None:  # fmt: skip
    """Read an export back, or read tables of another program, for `equipoise analyze --data`.

    SOURCE is the folder of an export. With --map, SOURCE is one or more tables of another program (CSV, JSON or JSON
    Lines).
    """
    from equipoise.commands.import_data import import_data as read

    imported = read(sources, output, map, study, keep_ids)
    click.echo(f"Made {output} with {imported.n_trials:,} trials.")
    for note in imported.notes:
        click.echo(f"Note: {note}", err=True)
