"""`equipoise researchers`: accounts on the command line."""

import re
from pathlib import Path

import pyotp
import pytest
from click.testing import CliRunner

from equipoise.cli.main import main
from tests.equipoise.commands.store.commands import StoredStudy, done, refused, run, table

PASSWORD = "seven blue chairs sing"


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text(f"{PASSWORD}\nanother line\n", encoding="utf-8")
    return path


def listed(study: StoredStudy) -> list[list[str]]:
    lines = done("researchers", "list", study.folder, *study.option).splitlines()
    return [re.split(r"  +", line.strip()) for line in lines[1:]]


def test_accounts_are_made_listed_changed_and_removed(stored: StoredStudy, password_file: Path) -> None:
    at = (stored.folder,)
    assert listed(stored) == []
    made = done("researchers", "add", *at, "anna", "--role", "owner", "--password-file", password_file, *stored.option)
    assert made == "Made the account anna with the role owner.\n"
    done("researchers", "add", *at, "bert", "--password-file", password_file, *stored.option)
    done("researchers", "role", *at, "bert", "viewer", *stored.option)
    uri = done("researchers", "second-factor", *at, "bert", *stored.option).splitlines()[-1]
    assert pyotp.parse_uri(uri).name == "bert"
    assert listed(stored) == [["anna", "owner", "no"], ["bert", "viewer", "yes"]]
    done("researchers", "second-factor", *at, "bert", "--off", *stored.option)
    done("researchers", "disable", *at, "bert", *stored.option)
    assert listed(stored)[1] == ["bert", "viewer", "no", "disabled"]
    done("researchers", "enable", *at, "bert", *stored.option)
    done("researchers", "password", *at, "bert", "--password-file", password_file, *stored.option)
    done("researchers", "remove", *at, "anna", *stored.option)
    assert listed(stored) == [["bert", "viewer", "no"]]
    done("store", "verify", *at, *stored.option)


def test_every_change_of_an_account_is_in_the_log(stored: StoredStudy, password_file: Path, tmp_path: Path) -> None:
    done("researchers", "add", stored.folder, "anna", "--password-file", password_file, *stored.option)
    done("researchers", "disable", stored.folder, "anna", *stored.option)
    done("assignment", "log", stored.folder, "-o", tmp_path / "log.csv", *stored.option)
    entries = [row for row in table(tmp_path / "log.csv") if "account" in row["event"]]
    assert [row["event"] for row in entries] == ["account added", "account disabled"]
    assert all('"by": "command line"' in row["details"] and row["at"] for row in entries)


@pytest.mark.parametrize("name", ["", "Anna", "a b", "link", "-x", "ä", "x" * 65, "a,b"])
def test_an_invalid_name_is_refused(stored: StoredStudy, password_file: Path, name: str) -> None:
    if name.startswith("-"):
        arguments = ("--password-file", password_file, "--", stored.folder, name)
    else:
        arguments = (stored.folder, name, "--password-file", password_file)
    assert "cannot be the name of an account" in refused("researchers", "add", *arguments)


@pytest.mark.parametrize("command", ["role", "password", "second-factor", "disable", "enable", "remove"])
def test_an_unknown_account_is_refused(stored: StoredStudy, password_file: Path, command: str) -> None:
    more = {"role": ["viewer"], "password": ["--password-file", password_file]}.get(command, [])
    assert "no account with this name" in refused("researchers", command, stored.folder, "eve", *more, *stored.option)


def test_a_name_can_be_used_once(stored: StoredStudy, password_file: Path) -> None:
    done("researchers", "add", stored.folder, "anna", "--password-file", password_file)
    assert "exists already" in refused("researchers", "add", stored.folder, "anna", "--password-file", password_file)


def test_a_password_is_never_asked_for_without_a_terminal(stored: StoredStudy) -> None:
    assert "--password-file" in refused("researchers", "add", stored.folder, "anna")
    piped = CliRunner().invoke(
        main, ["researchers", "add", str(stored.folder), "anna", "--password-file", "-"], input=PASSWORD
    )
    assert piped.exit_code == 0


@pytest.mark.parametrize("password", ["", "short", "passwordpassword"])
def test_a_password_that_is_easy_to_guess_is_refused(stored: StoredStudy, tmp_path: Path, password: str) -> None:
    path = tmp_path / "weak"
    path.write_text(password, encoding="utf-8")
    assert "the password" in refused("researchers", "add", stored.folder, "anna", "--password-file", path).replace(
        "this password", "the password"
    )


def test_the_command_knows_three_roles(stored: StoredStudy, password_file: Path) -> None:
    assert run("researchers", "add", stored.folder, "anna", "--role", "admin").exit_code == 2
