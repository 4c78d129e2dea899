"""The commands for a study's store: copies of the store, slots of groups, panel ids and personal links."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from batteries.files.private_files import open_folder_warning

if TYPE_CHECKING:
    from server.store.verify import Verified

STUDY = click.argument("study", type=click.Path(path_type=Path))
"""A study's folder. `load_study` checks the folder, because the messages of click are less clear."""
STORE = click.option(
    "--store",
    metavar="STORE",
    help="The store: a file or postgresql://...  [default: the variable EQUIPOISE_STORE, or STUDY/data/equipoise.db]",
)
SESSION = click.option("--session", help="Name of the session in the store.")
PANEL_ID = click.option(
    "--panel-id", help="The participant's panel id, or the token of the participant's personal link."
)
PARTICIPANT = click.option("--participant", help="The laboratory's code for the participant, such as P01.")


def warn_of_open_folder(folder: Path) -> None:
    """Warn on standard error, in one line, if other users can read a folder with responses."""
    warning = open_folder_warning(folder)
    if warning is not None:
        click.echo(f"Warning: {warning}", err=True)


@click.group()
def store() -> None:
    """Back up, verify or copy the store of a study, or list its sessions."""


@store.command("backup", epilog="Example: equipoise store backup my-study -o backups/monday.db")
@STUDY
@STORE
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="New file for the backup.")
def back_up(study: Path, store: str | None, output: Path) -> None:
    """Write a backup of all responses to a new file; the server may be running.

    A backup is a complete store. To use a backup, name its file with --store, or replace the file of the store by the
    backup.
    """
    from equipoise.commands.store.store import store_backup

    found = store_backup(study, output, store)
    click.echo(f"Made {output}: {found.n_responses:,} responses in {found.n_sessions:,} sessions.")
    _print_problems(found, "the new backup is a copy of the store, with these problems. Fix: keep your older backups")


@store.command("verify", epilog="Example: equipoise store verify my-study")
@STUDY
@STORE
def verify(study: Path, store: str | None) -> None:
    """Check that every acknowledged response is stored unchanged. The exit code is 1 if there is a problem.

    A response is acknowledged if the server confirmed to the client that it is stored. Record or publish the printed
    digest: if a response changes later, the digest changes too.
    """
    from equipoise.commands.store.store import store_verify

    found = store_verify(study, store)
    _print_problems(
        found,
        "the store differs from the acknowledged responses. Fix: compare the store with a backup, and change neither "
        "of the two",
    )
    click.echo(f"{found.n_responses:,} responses in {found.n_sessions:,} sessions: complete and unchanged.")
    click.echo(f"Digest: {found.digest}")


def _print_problems(found: "Verified", advice: str) -> None:
    """Print the problems of a store, and exit with code 1 if there is a problem."""
    for problem in found.problems:
        click.echo(problem, err=True)
    if found.problems:
        raise click.ClickException(f"{len(found.problems):,} problems in {found.n_sessions:,} sessions; {advice}.")


@store.command("sessions", epilog="Example: equipoise store sessions my-study -o sessions.csv")
@STUDY
@STORE
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV file to write.")
def list_sessions(study: Path, store: str | None, output: Path) -> None:
    """Write a CSV file of sessions: status, consent, device, and the responses to the demographic questions."""
    from equipoise.commands.store.store import store_sessions

    click.echo(f"Made {output} with {store_sessions(study, output, store):,} sessions.")


@store.command("inspect-log", hidden=True, epilog="Example: equipoise store inspect-log my-study -o people.eval")
@STUDY
@STORE
@click.option("--simulated", is_flag=True, help="Export simulated participants instead of people.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Log to write, .eval.")
def inspect_log(study: Path, store: str | None, simulated: bool, output: Path) -> None:
    """Write one log of Inspect. This is the former name of `equipoise export STUDY --format inspect`."""
    from equipoise.commands.export.inspect_log import single_inspect_log

    click.echo(
        "Warning: `store inspect-log` is now `export --format inspect`. Fix: use the new name, which writes a folder.",
        err=True,
    )
    click.echo(f"Made {output} with {single_inspect_log(study, output, store, simulated):,} responses.")


@store.command("copy", epilog="Example: equipoise store copy my-study/data/equipoise.db postgresql://me@db/my-study")
@click.argument("source")
@click.argument("target")
def copy(source: str, target: str) -> None:
    """Copy a store into an empty store.

    Stop the server first. SOURCE and TARGET are files or addresses of databases.
    """
    from equipoise.commands.store.store import store_copy

    found = store_copy(source, target)
    click.echo(f"Copied {found.n_responses:,} responses in {found.n_sessions:,} sessions. Digest: {found.digest}")


@click.group()
def assignment() -> None:
    """List the slots of the counterbalance groups, close, open or extend a group, release a slot, or write the log."""


@assignment.command("show", epilog="Example: equipoise assignment show my-study")
@STUDY
@STORE
def show(study: Path, store: str | None) -> None:
    """Show the numbers of sessions of each counterbalance group: completed, under way, lapsed, replaced, withdrawn.

    A lapsed session was not finished, and a replaced session was completed, but the slots of both were released for
    other participants.
    """
    from equipoise.commands.store.assignment import assignment_show

    for row in assignment_show(study, store):
        click.echo("".join(f"{cell:>11}" for cell in row).rstrip())


GROUP = click.option("--group", required=True, type=click.IntRange(1), help="Number of the group.")


@assignment.command("close", epilog="Example: equipoise assignment close my-study --group 3")
@STUDY
@STORE
@GROUP
def close(study: Path, store: str | None, group: int) -> None:
    """Close a group for new participants; sessions under way continue."""
    from equipoise.commands.store.assignment import assignment_close

    assignment_close(study, group, store)
    click.echo(f"Group {group} is closed for new participants.")


@assignment.command("open", epilog="Example: equipoise assignment open my-study --group 3")
@STUDY
@STORE
@GROUP
def reopen(study: Path, store: str | None, group: int) -> None:
    """Open a closed group for new participants again."""
    from equipoise.commands.store.assignment import assignment_open

    assignment_open(study, group, store)
    click.echo(f"Group {group} is open for new participants.")


@assignment.command("extend", epilog="Example: equipoise assignment extend my-study --group 3 --slots 2")
@STUDY
@STORE
@GROUP
@click.option("--slots", required=True, type=click.IntRange(1), help="Number of slots to add.")
def extend(study: Path, store: str | None, group: int, slots: int) -> None:
    """Add slots to the quota of a group, and to the quota of the whole study; `study.yaml` stays as it is."""
    from equipoise.commands.store.assignment import assignment_extend

    assignment_extend(study, group, slots, store)
    click.echo(f"Slots added to the quota of group {group}: {slots}.")


@assignment.command("release", epilog="Example: equipoise assignment release my-study --panel-id 5f3a --reason return")
@STUDY
@STORE
@SESSION
@PANEL_ID
@PARTICIPANT
@click.option(
    "--reason",
    required=True,
    type=click.Choice(["return", "exclusion"]),
    help="return: the participant returned the submission at the panel. To exclude a session, use `equipoise exclude`.",
)
def release(
    study: Path, store: str | None, session: str | None, panel_id: str | None, participant: str | None, reason: str
) -> None:
    """Release a participant's slot, so that another participant can take the slot. The responses stay.

    The slot of a completed session can be released too.
    """
    from equipoise.commands.store.assignment import assignment_release

    found = assignment_release(study, reason, session=session, panel_id=panel_id, participant=participant, store=store)
    click.echo(f"The slot of session {found.session} is released; another participant will be recruited for this slot.")


@assignment.command("log", epilog="Example: equipoise assignment log my-study -o slots.csv")
@STUDY
@STORE
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV file to write.")
def log(study: Path, store: str | None, output: Path) -> None:
    """Write the log of a study to a CSV file: decisions about slots, and researchers' sign-ins, exports and changes."""
    from equipoise.commands.store.assignment import assignment_log

    click.echo(f"Made {output} with {assignment_log(study, output, store):,} entries.")


@click.group()
def identities() -> None:
    """Export or delete panel ids and the laboratory's codes, which are personal data."""


@identities.command("export", epilog="Example: equipoise identities export my-study -o panel-ids.csv")
@STUDY
@STORE
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV file to write.")
def export(study: Path, store: str | None, output: Path) -> None:
    """Write a CSV file for payment: ids and codes of participants, with pseudonyms, sessions and withdrawal codes."""
    from equipoise.commands.store.identities import identities_export

    click.echo(f"Made {output} with {identities_export(study, output, store):,} participants. Keep this file safe.")


@identities.command("delete", epilog="Example: equipoise identities delete my-study --everybody")
@STUDY
@STORE
@SESSION
@PANEL_ID
@PARTICIPANT
@click.option(
    "--everybody", is_flag=True, help="Delete the ids and codes of all participants, for instance after all payments."
)
def delete(
    study: Path,
    store: str | None,
    session: str | None,
    panel_id: str | None,
    participant: str | None,
    everybody: bool,
) -> None:
    """Delete panel ids and the laboratory's codes. The responses stay, but the store no longer shows who responded.

    A participant whose id is deleted could take part again. The files in `data/lab` still contain the laboratory's
    codes.
    """
    from equipoise.commands.store.identities import identities_delete

    n, kept = identities_delete(
        study, session=session, panel_id=panel_id, participant=participant, everybody=everybody, store=store
    )
    click.echo(f"Deleted ids and codes: {n:,}.")
    for trace in kept:
        click.echo(trace, err=True)


@click.command(epilog="Example: equipoise links my-study -n 30 --address https://study.example.org -o links.csv")
@STUDY
@click.option("-n", "n_links", required=True, type=click.IntRange(1, 100_000), help="Number of links.")
@click.option("--address", required=True, help="Address of the study's server.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV file to write.")
def links(study: Path, n_links: int, address: str, output: Path) -> None:
    """Make personal links to a study. Each link admits one participant once.

    In study.yaml, `recruitment` must be `{entry: link}`.
    """
    from equipoise.commands.store.identities import links as make_links

    make_links(study, n_links, address, output)
    click.echo(f"Made {output} with {n_links:,} links.")
