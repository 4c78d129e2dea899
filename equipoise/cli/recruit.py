"""The commands for recruitment panels: Prolific, reconciliation, approvals, rejections and bonuses."""

from pathlib import Path

import click

from equipoise.cli.stores import STORE, STUDY

YES = click.option("--yes", is_flag=True, help="Send the requests to Prolific. Without this option, nothing is sent.")
EXPORT = click.option(
    "--export",
    type=click.Path(path_type=Path),
    help="Prolific's list of submissions, .csv, for a dry run.  [default: read the list with PROLIFIC_TOKEN]",
)
LIST = click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV file to write with the list.")


@click.group()
def recruit() -> None:
    """Recruit through a panel: make the study at Prolific, compare submissions, approve, reject, pay bonuses."""


@recruit.command("prolific", epilog="Example: equipoise recruit prolific my-study --draft")
@STUDY
@click.option("--draft", is_flag=True, help="Write the study as JSON; with a token, make the draft at Prolific.")
@click.option("--publish", is_flag=True, help="Publish the draft, or continue a paused study.")
@click.option("--pause", is_flag=True, help="Pause the study.")
@click.option("--places", type=click.IntRange(1), help="New number of places; only a higher number is possible.")
@click.option("--link-per-group", is_flag=True, help="With --draft: one link per group, so Prolific assigns groups.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="With --draft: the file to write.  [default: STUDY/prolific.json]",
)
def prolific(
    study: Path,
    draft: bool,
    publish: bool,
    pause: bool,
    places: int | None,
    link_per_group: bool,
    output: Path | None,
) -> None:
    """Make a draft of the study at Prolific, publish or pause the study, or add places.

    The settings are in `recruitment.prolific` of study.yaml. Set the environment variable PROLIFIC_TOKEN to the API
    token of your account at Prolific. Without this token, --draft writes the file only.
    """
    from equipoise.commands.recruit.prolific import recruit_prolific

    for sentence in recruit_prolific(
        study,
        draft=draft,
        publish=publish,
        pause=pause,
        places=places,
        link_per_group=link_per_group,
        output=output,
    ):
        click.echo(sentence)


@recruit.command("reconcile", epilog="Example: equipoise recruit reconcile my-study prolific.csv -o compared.csv")
@STUDY
@click.argument("export", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV file to write.")
@click.option(
    "--panel",
    default="prolific",
    show_default=True,
    type=click.Choice(["prolific", "sona", "cloudresearch"]),
    help="Panel that wrote the export.",
)
@click.option(
    "--column",
    multiple=True,
    metavar="FIELD=NAME",
    help="Column of the export that has the field id, submission, status or code, such as `id=Survey Code`.",
)
@STORE
def reconcile(study: Path, export: Path, output: Path, panel: str, column: tuple[str, ...], store: str | None) -> None:
    """Compare the panel's export with the store, and release the slots of returned and timed-out submissions.

    The command writes one row per submission, and one row per session without a submission. It prints the numbers. The
    responses stay.
    """
    from equipoise.commands.recruit.reconcile import recruit_reconcile

    found = recruit_reconcile(study, export, output=output, panel=panel, column=column, store=store)
    click.echo(f"Made {output} with {len(found.matches):,} rows. Keep this file safe.")
    for sentence in found.sentences():
        click.echo(sentence)


@recruit.command("approve", epilog="Example: equipoise recruit approve my-study --yes")
@STUDY
@EXPORT
@LIST
@YES
@STORE
def approve(study: Path, export: Path | None, output: Path | None, yes: bool, store: str | None) -> None:
    """Approve the submissions at Prolific whose responses are complete. Without --yes, send nothing.

    Submissions that Prolific's rules allow to reject are not approved.
    """
    from equipoise.commands.recruit.review import recruit_approve

    for sentence in recruit_approve(study, export=export, output=output, yes=yes, store=store).sentences():
        click.echo(sentence)


@recruit.command("reject", epilog="Example: equipoise recruit reject my-study")
@STUDY
@click.option("--message", help="Message to the participants, of at least 100 characters.  [default: in English]")
@EXPORT
@LIST
@YES
@STORE
def reject(
    study: Path, message: str | None, export: Path | None, output: Path | None, yes: bool, store: str | None
) -> None:
    """Reject submissions at Prolific, as far as its rules allow. Without --yes, send nothing.

    Prolific allows a rejection after two failed attention checks, or after one in a study of less than five minutes.
    """
    from equipoise.commands.recruit.review import recruit_reject

    found = recruit_reject(study, message=message, export=export, output=output, yes=yes, store=store)
    for sentence in found.sentences():
        click.echo(sentence)


@recruit.command("bonus", epilog="Example: equipoise recruit bonus my-study bonuses.csv --label accuracy --yes")
@STUDY
@click.argument("bonuses", type=click.Path(path_type=Path))
@click.option("--label", required=True, help="Name of this bonus. Each participant gets it at most once.")
@LIST
@YES
@STORE
def bonus(study: Path, bonuses: Path, label: str, output: Path | None, yes: bool, store: str | None) -> None:
    """Pay bonuses at Prolific. Without --yes, send nothing.

    Each line of the file is `PARTICIPANT,AMOUNT`, such as `5f3a9c0d12ab34cd56ef7890,4.25`. The participant is a panel
    id or a pseudonym, and the amount is in pounds or dollars.
    """
    from equipoise.commands.recruit.bonus import recruit_bonus

    for sentence in recruit_bonus(study, bonuses, label=label, output=output, yes=yes, store=store).sentences():
        click.echo(sentence)
