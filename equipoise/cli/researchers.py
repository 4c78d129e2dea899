"""The commands for researchers' accounts."""

import sys
from pathlib import Path
from typing import IO, Any

import click

from batteries.errors import InputError
from equipoise.cli.stores import STORE, STUDY

NAME = click.argument("name")
ROLE = click.Choice(["owner", "researcher", "viewer"])
PASSWORD = click.option(
    "--password-file",
    type=click.File(encoding="utf-8"),
    help="File whose first line is the password; - for the standard input.  [default: ask on the terminal]",
)


@click.group()
def researchers() -> None:
    """Make, list and change the accounts with which researchers sign in to the pages of a study.

    Without an owner's account, researchers sign in with the link that `equipoise serve` prints. This link is for a
    study on your own machine. There is no default account.
    """


@researchers.command("add", epilog="Example: equipoise researchers add my-study anna --role owner")
@STUDY
@NAME
@click.option(
    "--role",
    type=ROLE,
    default="researcher",
    show_default=True,
    help="viewer: read. researcher: also change the data collection. owner: also delete responses.",
)
@PASSWORD
@STORE
def add(study: Path, name: str, role: Any, password_file: IO[str] | None, store: str | None) -> None:
    """Make an account. The command asks for the password: 15 or more characters are advised, such as several words."""
    from equipoise.commands.store.researchers import researchers_add

    researchers_add(study, name, _new_password(password_file), role, store)
    click.echo(f"Made the account {name} with the role {role}.")


@researchers.command("list", epilog="Example: equipoise researchers list my-study")
@STUDY
@STORE
def list_accounts(study: Path, store: str | None) -> None:
    """List the accounts with their roles. Passwords are never shown."""
    from equipoise.commands.store.researchers import researchers_list

    rows = researchers_list(study, store)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@researchers.command("role", epilog="Example: equipoise researchers role my-study bert viewer")
@STUDY
@NAME
@click.argument("role", type=ROLE)
@STORE
def role(study: Path, name: str, role: Any, store: str | None) -> None:
    """Change the role of an account: owner, researcher or viewer."""
    from equipoise.commands.store.researchers import researchers_role

    researchers_role(study, name, role, store)
    click.echo(f"The account {name} has the role {role}.")


@researchers.command("password", epilog="Example: equipoise researchers password my-study anna")
@STUDY
@NAME
@PASSWORD
@STORE
def password(study: Path, name: str, password_file: IO[str] | None, store: str | None) -> None:
    """Set a new password. All sign-ins with the old password end."""
    from equipoise.commands.store.researchers import researchers_password

    researchers_password(study, name, _new_password(password_file), store)
    click.echo(f"The account {name} has a new password.")


@researchers.command("second-factor", epilog="Example: equipoise researchers second-factor my-study anna")
@STUDY
@NAME
@click.option("--off", is_flag=True, help="Remove the second factor, for instance after the loss of a telephone.")
@STORE
def second_factor(study: Path, name: str, off: bool, store: str | None) -> None:
    """Set up a second factor: at each sign-in, an authenticator app shows a code that is valid once.

    The command prints the secret for the app. Show it only to the researcher.
    """
    from equipoise.commands.store.researchers import researchers_second_factor

    uri = researchers_second_factor(study, name, off, store)
    if uri is None:
        click.echo(f"The account {name} has no second factor.")
    else:
        click.echo(f"Enter this address in the authenticator app of {name}. It is shown only now:")
        click.echo(uri)


@researchers.command("disable", epilog="Example: equipoise researchers disable my-study bert")
@STUDY
@NAME
@STORE
def disable(study: Path, name: str, store: str | None) -> None:
    """Disable an account. All its sign-ins end."""
    from equipoise.commands.store.researchers import researchers_disable

    researchers_disable(study, name, store)
    click.echo(f"The account {name} is disabled.")


@researchers.command("enable", epilog="Example: equipoise researchers enable my-study bert")
@STUDY
@NAME
@STORE
def enable(study: Path, name: str, store: str | None) -> None:
    """Enable a disabled account."""
    from equipoise.commands.store.researchers import researchers_enable

    researchers_enable(study, name, store)
    click.echo(f"The account {name} is enabled.")


@researchers.command("remove", epilog="Example: equipoise researchers remove my-study bert")
@STUDY
@NAME
@STORE
def remove(study: Path, name: str, store: str | None) -> None:
    """Delete an account. The study's log keeps its name and its actions."""
    from equipoise.commands.store.researchers import researchers_remove

    researchers_remove(study, name, store)
    click.echo(f"Deleted the account {name}.")


def _new_password(file: IO[str] | None) -> str:
    if file is not None:
        return file.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise InputError("no password is given. Fix: run this command on a terminal, or use --password-file.")
    given: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    return given
