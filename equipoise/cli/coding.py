"""The commands for coding open answers: make a coding study, compute the agreement of coders, delete answers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli.stores import STORE, STUDY

if TYPE_CHECKING:
    from equipoise.commands.coding.new import CodingStudy

NAME = click.argument("name", required=False)
"""The name of a coding in `analysis.coding`."""


@click.group()
def coding() -> None:
    """Let people code the open answers of participants and models, without knowing who gave an answer.

    The codes are the entry `analysis.coding` in STUDY/study.yaml. NAME is the name of a coding. You can omit NAME if
    the study has one coding by coders.
    """


@coding.command("new", epilog="Example: equipoise coding new my-study")
@STUDY
@NAME
@STORE
def make(study: Path, name: str | None, store: str | None) -> None:
    """Make a coding study from the answers in the store, in the folder STUDY/data/coding/NAME.

    Each distinct answer is one item. The coders see neither participant, condition nor model, and each coder has a
    different random order.
    """
    from equipoise.commands.coding.new import coding_new

    made = coding_new(study, name, store)
    click.echo(f"Made {made.folder}: {made.n_items:,} distinct answers to code, of {made.n_answers:,} answers.")
    _print_addresses(made)


@coding.command("agreement", epilog="Example: equipoise coding agreement my-study")
@STUDY
@NAME
@STORE
def agreement(study: Path, name: str | None, store: str | None) -> None:
    """Print the agreement of the coders, and write it and the list of disagreements as CSV.

    The measures are Cohen's kappa for two coders, Fleiss's kappa for more coders, and Krippendorff's alpha. In
    disagreements.csv, write the final code of an answer into the column `resolved`.
    """
    from equipoise.commands.coding.agreement import coding_agreement

    found = coding_agreement(study, name, store)
    for sentence in found.sentences:
        click.echo(sentence)
    for file in found.files:
        click.echo(f"Wrote {file}")
    for sentence in found.withdrawn:
        click.echo(sentence, err=True)


@coding.command("refresh", epilog="Example: equipoise coding refresh my-study")
@STUDY
@NAME
@STORE
def refresh(study: Path, name: str | None, store: str | None) -> None:
    """Delete withdrawn answers from a coding study, and add new answers. The codes of all other answers stay.

    Stop the server of the coding study first. If every answer is coded, the command deletes the texts of all answers
    from the coding study and keeps the codes.
    """
    from equipoise.commands.coding.refresh import coding_refresh

    done = coding_refresh(study, name, store)
    if not done.is_changed:
        click.echo("Nothing changed: no answer was withdrawn, and there are no new answers.")
        return
    click.echo(f"Deleted {done.n_deleted:,} and added {done.n_added:,} distinct answers.")
    if done.study.n_items:
        click.echo(f"{done.study.n_items:,} distinct answers are left to code.")
        _print_addresses(done.study)
    else:
        click.echo("Every answer is coded. The texts of the answers are deleted from the coding study; the codes stay.")
        if done.n_disagreements:
            click.echo(
                f"{done.n_disagreements:,} disagreements are not resolved; disagreements.csv still contains their "
                "answers. Write the final codes into this file, and run the command again."
            )


def _print_addresses(made: "CodingStudy") -> None:
    click.echo(f"Start it with: equipoise serve {made.folder}")
    click.echo("Give each coder one of these addresses, after the address of the server:")
    for address in made.addresses:
        click.echo(f"  {address}")
