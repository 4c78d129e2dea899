"""`equipoise identities` and `equipoise links`: panel ids and personal links."""

import json
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study
from server.store import SqliteStore, StoreUnavailable
from server.store.postgres.store import PostgresStore
from tests.equipoise.commands.store.commands import (
    FORMULA,
    StoredStudy,
    another_study,
    answer,
    digest_of,
    done,
    make_small_study,
    mode,
    on_a_file,
    posix,
    refused,
    run,
    table,
)
from tests.server.stores import rows

# identities


@posix
def test_panel_ids_are_exported_with_codes_to_a_private_file_without_formulas(
    stored: StoredStudy, tmp_path: Path
) -> None:
    path = tmp_path / "panel-ids.csv"
    printed = done("identities", "export", stored.folder, "-o", path, *stored.option)
    assert printed == f"Made {path} with 4 participants. Keep this file safe.\n"
    assert mode(path) == 0o600
    people = {row["external_id"]: row for row in table(path)}
    assert set(people) == {"anna", "bert", "carl", f"'{FORMULA}"}
    assert people["anna"]["withdrawal_code"] == stored.codes["anna"]
    assert [people[name]["status"] for name in ("anna", "bert", "carl")] == ["completed", "active", "withdrawn"]
    assert [people[name]["session"] for name in ("anna", "bert")] == [stored.sessions["anna"], stored.sessions["bert"]]
    for row in table(path):
        for cell in row.values():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@posix
@pytest.mark.parametrize("command", ["identities export", "assignment log", "links"])
def test_a_replaced_file_becomes_private_too(tmp_path: Path, command: str) -> None:
    folder, path = tmp_path / "study", tmp_path / "out.csv"
    make_small_study(folder, "link" if command == "links" else "panel")
    if command != "links":
        answer(on_a_file(folder), "anna", n_answers=0)
    path.write_text("the export of yesterday", encoding="utf-8")
    path.chmod(0o644)
    more = ["-n", 2, "--address", "https://study.example.org"] if command == "links" else []
    done(*command.split(), folder, "-o", path, *more)
    assert mode(path) == 0o600
    assert "yesterday" not in path.read_text(encoding="utf-8")


def test_an_export_without_participants_has_a_header(empty: StoredStudy, tmp_path: Path) -> None:
    done("assignment", "open", empty.folder, "--group", 1, *empty.option)  # makes the store
    path = tmp_path / "panel-ids.csv"
    assert "with 0 participants" in done("identities", "export", empty.folder, "-o", path, *empty.option)
    assert path.read_text(encoding="utf-8").startswith("id_kind,external_id,participant,session,status,withdrawal_code")


def test_a_parameter_with_the_name_of_a_column_does_not_replace_the_column(empty: StoredStudy, tmp_path: Path) -> None:
    """A participant chooses the value, so it must not be in the column of the session or the code."""
    study_yaml = empty.folder / "study.yaml"
    text = study_yaml.read_text(encoding="utf-8")
    kept_parameters = "kept_parameters: [session, participant, withdrawal_code, status, external_id, id_kind]"
    study_yaml.write_text(
        text.replace("panel_parameter: pid", f"panel_parameter: pid, {kept_parameters}"), encoding="utf-8"
    )
    try:
        load_study(empty.folder)
    except InputError:  # a study with such names may also be refused
        return
    answer(empty, "anna", n_answers=1, session="mine", participant="me", withdrawal_code="PAID", status="completed")
    done("identities", "export", empty.folder, "-o", tmp_path / "ids.csv", *empty.option)
    (row,) = table(tmp_path / "ids.csv")
    assert row["session"] == empty.sessions["anna"]
    assert row["status"] == "active"
    assert row["withdrawal_code"] != "PAID"


def test_only_the_id_of_one_participant_is_deleted(stored: StoredStudy) -> None:
    with stored.opened() as store:
        before = (store.trials(), rows(store, "SELECT * FROM sessions"))
    assert (
        done("identities", "delete", stored.folder, "--panel-id", "anna", *stored.option)
        == "Deleted ids and codes: 1.\n"
    )
    done("identities", "delete", stored.folder, "--session", stored.sessions["bert"], *stored.option)
    with stored.opened() as store:
        assert {name for (name,) in rows(store, "SELECT external_id FROM identities")} == {"carl", FORMULA}
        assert (store.trials(), rows(store, "SELECT * FROM sessions")) == before


def noted(stored: StoredStudy, path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Write the log with the command; return event, session and details of each entry."""
    done("assignment", "log", stored.folder, "-o", path, *stored.option)
    return [(row["event"], row["session"], json.loads(row["details"])) for row in table(path)]


def test_the_actions_of_a_researcher_are_in_the_log_without_personal_data(stored: StoredStudy, tmp_path: Path) -> None:
    digest = digest_of(done("store", "verify", stored.folder, *stored.option))
    done("identities", "export", stored.folder, "-o", tmp_path / "ids.csv", *stored.option)
    done("store", "sessions", stored.folder, "-o", tmp_path / "sessions.csv", *stored.option)
    done("store", "backup", stored.folder, "-o", tmp_path / "backup.db", *stored.option)
    done("store", "copy", stored.location, tmp_path / "copy.db")
    assert digest_of(done("store", "verify", stored.folder, *stored.option)) == digest, "reading changes nothing"
    done("assignment", "close", stored.folder, "--group", "1", *stored.option)
    done("assignment", "open", stored.folder, "--group", "1", *stored.option)
    done("withdraw", stored.folder, "--panel-id", "bert", *stored.option)
    done("identities", "delete", stored.folder, "--everybody", *stored.option)
    done("identities", "delete", stored.folder, "--everybody", *stored.option)  # deletes nothing
    log, by = noted(stored, tmp_path / "log.csv"), {"by": "command line"}
    assert [(event, details) for event, session, details in log if not session][1:] == [
        ("exported", {"what": "identities", "number": 4} | by),
        ("exported", {"what": "sessions", "number": 4} | by),
        ("backed up", by),
        ("copied", by),
        ("closed", {"group": 1} | by),
        ("opened", {"group": 1} | by),
        ("identities deleted", {"number": 4} | by),
    ]
    (withdrawal,) = [
        details for event, session, details in log if (event, session) == ("withdrew", stored.sessions["bert"])
    ]
    assert withdrawal["by"] == "command line"
    done("store", "verify", stored.folder, *stored.option)
    done("store", "verify", stored.folder, "--store", tmp_path / "copy.db")
    text = (tmp_path / "log.csv").read_text(encoding="utf-8")
    for personal in ("anna", "bert", "carl", FORMULA, str(tmp_path)):
        assert personal not in text


def test_an_export_that_cannot_be_logged_is_written_with_a_warning(
    stored: StoredStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_args: object, **_details: object) -> None:
        raise StoreUnavailable("attempt to write a readonly database")

    for store in (SqliteStore, PostgresStore):
        monkeypatch.setattr(store, "note", away)
    for command in (["identities", "export"], ["store", "sessions"], ["store", "backup"]):
        path = tmp_path / command[1]
        result = run(*command, stored.folder, "-o", path, *stored.option)
        assert (result.exit_code, path.exists()) == (0, True)
        assert "This action is not in the store's log (attempt to write a readonly database)." in result.stderr


@pytest.mark.parametrize("command", [["identities", "export"], ["store", "sessions"], ["store", "backup"]])
def test_a_command_that_reads_makes_no_store(stored: StoredStudy, tmp_path: Path, command: list[str]) -> None:
    absent = tmp_path / "absent" / "equipoise.db"
    refused(*command, stored.folder, "-o", tmp_path / "out", "--store", absent)
    assert not absent.parent.exists()


def test_all_ids_of_this_study_are_deleted_and_no_ids_of_other_studies(stored: StoredStudy, tmp_path: Path) -> None:
    other = another_study(stored, tmp_path)
    answer(other, "anna", n_answers=1)
    assert done("identities", "delete", stored.folder, "--everybody", *stored.option) == "Deleted ids and codes: 4.\n"
    assert done("identities", "delete", stored.folder, "--everybody", *stored.option) == "Deleted ids and codes: 0.\n"
    with stored.opened() as store:
        assert rows(store, "SELECT study, external_id FROM identities") == [("another-study", "anna")]


def test_a_participant_and_everybody_together_are_refused(stored: StoredStudy) -> None:
    """The two contradict each other, and a deletion cannot be undone."""
    for named in (["--panel-id", "anna"], ["--session", stored.sessions["anna"]]):
        assert "--everybody" in refused("identities", "delete", stored.folder, "--everybody", *named, *stored.option)
    with stored.opened() as store:
        assert len(rows(store, "SELECT * FROM identities")) == 4


def test_an_id_or_session_of_another_study_is_not_found(stored: StoredStudy, tmp_path: Path) -> None:
    other = another_study(stored, tmp_path)
    answer(other, "only-there", n_answers=1)
    for name, value in (("--panel-id", "only-there"), ("--session", other.sessions["only-there"])):
        assert value in refused(
            "assignment", "release", stored.folder, name, value, "--reason", "return", *stored.option
        )
        assert value in refused("identities", "delete", stored.folder, name, value, *stored.option)


@posix
@pytest.mark.parametrize(
    "address", ["https://study.example.org", "https://study.example.org/", "http://127.0.0.1:8000"]
)
def test_personal_links_are_each_for_one_person(by_link: Path, tmp_path: Path, address: str) -> None:
    path = tmp_path / "links.csv"
    assert done("links", by_link, "-n", 5, "--address", address, "-o", path) == f"Made {path} with 5 links.\n"
    assert mode(path) == 0o600
    links = [row["link"] for row in table(path)]
    assert len(set(links)) == 5
    stored = on_a_file(by_link)
    for link in links:
        assert link.startswith(f"{address.rstrip('/')}/?token=")
        answer(stored, link.partition("token=")[2], n_answers=1)
    assert len(set(stored.sessions.values())) == 5


def test_a_participant_with_a_personal_link_is_found_by_its_token(by_link: Path, tmp_path: Path) -> None:
    done("links", by_link, "-n", 1, "--address", "https://study.example.org", "-o", tmp_path / "links.csv")
    (row,) = table(tmp_path / "links.csv")
    token = row["link"].partition("token=")[2]
    stored = on_a_file(by_link)
    answer(stored, token, n_answers=1)
    printed = done("assignment", "release", by_link, "--panel-id", token, "--reason", "return")
    assert stored.sessions[token] in printed


def test_links_need_a_study_with_personal_links(by_panel: Path, tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    sentence = refused("links", by_panel, "-n", 3, "--address", "https://study.example.org", "-o", path)
    assert "study.yaml" in sentence
    assert "entry: link" in sentence
    assert not path.exists()
    assert not (by_panel / "data").exists()


def test_an_invalid_address_of_links_is_refused(by_link: Path, tmp_path: Path) -> None:
    """Otherwise the participants would be the first to notice that a link does not work."""
    path = tmp_path / "links.csv"
    for address in (
        "", " ", "study.example.org", "not an address", "https://", "ftp://study.example.org", "javascript:alert(1)",
        "https://study.example.org/?a=b", "https://study.example.org/#part", "https://study example.org", "=1+1",
        "https://study.example.org\nhttps://study.example.org",
    ):  # fmt: skip
        assert "--address" in refused("links", by_link, "-n", 3, "--address", address, "-o", path)
        assert not path.exists()


@pytest.mark.parametrize("n", ["0", "-1", "100001", "many", "1.5"])
def test_an_invalid_number_of_links_is_refused(by_link: Path, tmp_path: Path, n: str) -> None:
    path = tmp_path / "links.csv"
    assert "-n" in refused("links", by_link, "-n", n, "--address", "https://study.example.org", "-o", path)
    assert not path.exists()
