"""The commands about what is kept, on a file and on a database alike: good input, bad input, and for whose eyes."""

import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import psycopg
import psycopg.sql
import pytest
from click.testing import CliRunner, Result

from batteries.errors import InputError
from equipoise.cli.main import main
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from server.app import create_app
from server.security.secret_files import read_secrets
from server.settings import Settings
from server.store import SqliteStore, Store, StoreUnavailable
from server.store.open import open_store, opened_store
from server.store.postgres.store import BYTES_OF_DELETED_ROWS, PostgresStore
from tests.server.stores import by_hand, rows

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no file modes")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def done(*arguments: object) -> str:
    """Run a command that must succeed and return what it printed."""
    result = run(*arguments)
    if result.exit_code != 0:
        raise AssertionError(f"exit code {result.exit_code}: {result.output}") from result.exception
    assert result.stderr in ("", kept_by_a_database(arguments))
    return result.stdout


def kept_by_a_database(arguments: Sequence[object]) -> str:
    """Return what a command that deletes says of bytes which a database keeps for a while."""
    deletes = "withdraw" in arguments or "delete" in arguments
    on_database = any(str(argument).startswith("postgresql:") for argument in arguments)
    return f"{BYTES_OF_DELETED_ROWS}\n" if deletes and on_database else ""


def refused(*arguments: object, code: int = 2) -> str:
    """Run a command that must refuse its input, and return its one sentence."""
    result = run(*arguments)
    if result.exit_code != code or "Traceback" in result.output:
        raise AssertionError(f"exit code {result.exit_code}: {result.output}") from result.exception
    assert result.stdout == ""
    said = result.stderr.replace("\n\t", " ")  # as click lists what there is to choose from
    lines = [line for line in said.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("Error: ")
    return lines[0]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@dataclass
class Kept:
    """A study with answers, and where they are."""

    folder: Path
    location: str
    """Its store, a file or the address of a database."""
    option: list[str]
    """How a command is told of it; a file in its usual place needs no words."""
    sessions: dict[str, str] = field(default_factory=dict)
    """Session by panel id."""
    codes: dict[str, str] = field(default_factory=dict)

    def opened(self) -> Any:
        return opened_store(self.location)

    @property
    def is_file(self) -> bool:
        return not self.option


N_GROUPS = 2
FORMULA = "=1+cmd|calc!A0"


def make_small_study(folder: Path, entry: str) -> None:
    """Make the sample study with two groups of ten test items: what is quick to load and to take."""
    copy_sample_study("blackbox-predict", folder)
    battery = folder / "battery.jsonl"
    header, *items = battery.read_text(encoding="utf-8").splitlines()
    apart = [line for line in items if '"item_id":"config-' not in line]
    tests = [line for line in items if line not in apart]
    battery.write_text("\n".join([header, *apart, *tests[:20]]) + "\n", encoding="utf-8")
    study_yaml = folder / "study.yaml"
    text = study_yaml.read_text(encoding="utf-8").replace("groups: 10", f"groups: {N_GROUPS}")
    study_yaml.write_text(f"{text}\nrecruitment: {{entry: {entry}, panel_parameter: pid}}\n", encoding="utf-8")


def on_a_file(folder: Path) -> Kept:
    return Kept(folder, str(folder / "data" / "equipoise.db"), [])


def in_a_database(folder: Path, url: str) -> Kept:
    return Kept(folder, url, ["--store", url])


@pytest.fixture(params=["sqlite", "postgres"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """A panel's study that nobody has begun, on a file and in a database."""
    folder = tmp_path / "study"
    make_small_study(folder, "panel")
    if request.param == "sqlite":
        return on_a_file(folder)
    return in_a_database(folder, request.getfixturevalue("postgres").new_database())


@pytest.fixture(scope="module")
def file_template(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("template") / "study"
    make_small_study(folder, "panel")
    return filled(on_a_file(folder))


@pytest.fixture(scope="module")
def database_template(tmp_path_factory: pytest.TempPathFactory, postgres: Any) -> Kept:
    folder = tmp_path_factory.mktemp("template") / "study"
    make_small_study(folder, "panel")
    return filled(in_a_database(folder, postgres.new_database()))


def filled(kept: Kept) -> Kept:
    """Let one complete, one be under way, one leave, and one begin whose id is like a formula."""
    answer(kept, "anna", n_answers=100, then="complete")
    answer(kept, "bert", n_answers=3)
    answer(kept, "carl", n_answers=2, then="withdraw")
    answer(kept, FORMULA, n_answers=0)
    return kept


@pytest.fixture(params=["sqlite", "postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """A panel's study with four people, on a file and in a database: a copy for each test."""
    kind = "file" if request.param == "sqlite" else "database"
    template: Kept = request.getfixturevalue(f"{kind}_template")
    folder = tmp_path / "study"
    shutil.copytree(template.folder, folder)
    if kind == "file":
        copy = on_a_file(folder)
    else:
        copy = in_a_database(folder, cloned(request.getfixturevalue("postgres"), template.location))
    copy.sessions, copy.codes = dict(template.sessions), dict(template.codes)
    return copy


def cloned(postgres: Any, url: str) -> str:
    """Return the address of a new database that holds what another does."""
    new: str = postgres.new_database()
    source, target = (psycopg.sql.Identifier(one.rpartition("/")[2]) for one in (url, new))
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as db:
        db.execute(psycopg.sql.SQL("DROP DATABASE {}").format(target))
        db.execute(psycopg.sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(target, source))
    return new


def answer(kept: Kept, panel_id: str, n_answers: int, then: str = "", **parameters: str) -> None:
    """Let somebody take the study, up to an answer or to its end."""
    study = load_study(kept.folder)
    with opened_store(kept.location) as store:
        http = create_app(study, store, read_secrets(kept.folder / "data"), Settings()).test_client()
        http.get("/", query_string={"pid": panel_id, "SESSION_ID": f"of-{panel_id}", "token": panel_id, **parameters})
        digest = http.get("/api/study").get_json()["consent_digest"]
        start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
        session = http.post("/api/session", json=start).get_json()
        kept.sessions[panel_id] = session["session"]
        for trial in session["trials"][:n_answers]:
            response = "absorbed" if trial["task"] == "blackbox_predict" else 2
            body = {"response_id": str(uuid.uuid4()), "trial_index": trial["trial_index"], "response": response}
            sent = http.post("/api/responses", json={"session": session["session"], "responses": [body]})
            assert sent.status_code == 201
        if then:
            ended = http.post(f"/api/{then}", json={})
            assert ended.status_code == 200
            kept.codes[panel_id] = ended.get_json().get("completion_code", "")


def digest_of(printed: str) -> str:
    found = re.search(r"Digest: ([0-9a-f]{64})$", printed.strip())
    assert found, printed
    return found[1]


# store verify


def test_verify_counts_what_is_there_and_prints_a_digest_that_stays(kept: Kept) -> None:
    printed = done("store", "verify", kept.folder, *kept.option)
    with kept.opened() as store:
        n_answers = len(rows(store, "SELECT * FROM responses"))
    assert f"{n_answers} answers in 4 sessions: all there, and unchanged." in printed
    assert digest_of(printed) == digest_of(done("store", "verify", kept.folder, *kept.option))
    answer(kept, "dora", n_answers=1)
    assert digest_of(printed) != digest_of(done("store", "verify", kept.folder, *kept.option))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE responses SET response = '\"reflected\"' WHERE session = '{anna}' AND trial_index = 4",
        "UPDATE responses SET rt_ms = 1 WHERE session = '{anna}' AND trial_index = 0",
        "UPDATE responses SET received_at = '2020-01-01T00:00:00.000+00:00' WHERE session = '{bert}'",
        "DELETE FROM responses WHERE session = '{anna}' AND trial_index = 7",
        "DELETE FROM responses WHERE session = '{bert}' AND trial_index = 2",
        "DELETE FROM responses WHERE session = '{bert}'",
        "UPDATE sessions SET n_answered = 2 WHERE session = '{bert}'",
        "DELETE FROM planned_trials WHERE session = '{bert}' AND trial_index = 6",
        "DELETE FROM sessions WHERE session = '{bert}'",
        "UPDATE sessions SET seed = 99 WHERE session = '{anna}'",
        "UPDATE sessions SET \"group\" = 5 WHERE session = '{anna}'",
        "UPDATE participants SET kind = 'simulated'",
        "UPDATE items SET key = '\"absorbed\"'",
        "UPDATE studies SET definition = REPLACE(definition, '200', '201')",
        "UPDATE studies SET texts = '{{}}'",
        "UPDATE studies SET definition = '{{}}'",
        "DELETE FROM events WHERE event_index = 2",
        "UPDATE events SET details = '{{}}' WHERE event_index = 1",
        "DELETE FROM events WHERE event_index = (SELECT MAX(event_index) FROM events)",
        "UPDATE places SET n_confirmed = 9",
    ],
)
def test_verify_finds_what_was_changed_by_hand_and_ends_with_1(kept: Kept, statement: str) -> None:
    with kept.opened() as store:
        by_hand(store, statement.format(**kept.sessions))
    result = run("store", "verify", kept.folder, *kept.option)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    *problems, last = result.stderr.splitlines()
    assert problems
    assert all(re.match(r"(session|study) \S+", problem) and problem.endswith(".") for problem in problems)
    assert last.startswith(f"Error: {len(problems)} problem")
    assert "backup" in last


def test_a_withdrawal_and_an_emptied_table_of_ids_leave_nothing_to_find(kept: Kept) -> None:
    done("identities", "delete", kept.folder, "--everybody", *kept.option)
    done("withdraw", kept.folder, "--code", kept.codes["anna"], *kept.option)
    assert "all there, and unchanged" in done("store", "verify", kept.folder, *kept.option)


# store backup


@posix
def test_a_backup_is_a_store_by_itself_for_its_owners_eyes(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "backups" / "monday.db"
    with kept.opened():  # while it is in use
        printed = done("store", "backup", kept.folder, "-o", path, *kept.option)
    assert printed.startswith(f"Made {path}: ")
    assert printed.rstrip().endswith("answers in 4 sessions.")
    assert mode(path) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["monday.db"]
    original, copy = (done("store", "verify", kept.folder, *option) for option in (kept.option, ["--store", str(path)]))
    assert original == copy
    with kept.opened() as store, opened_store(str(path)) as backup:
        assert store.trials() == backup.trials()


def test_a_backup_takes_the_place_of_a_lost_store(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "backup.db"
    done("store", "backup", kept.folder, "-o", path, *kept.option)
    place = kept.folder / "data" / "equipoise.db"
    for lost in place.parent.glob("equipoise.db*"):
        lost.unlink()
    path.rename(place)
    restored = on_a_file(kept.folder)
    answer(restored, "bert", n_answers=0)
    assert restored.sessions["bert"] == kept.sessions["bert"]
    assert "all there, and unchanged" in done("store", "verify", kept.folder)


def test_a_backup_never_writes_over_a_file(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "backup.db"
    path.write_text("another backup", encoding="utf-8")
    assert str(path) in refused("store", "backup", kept.folder, "-o", path, *kept.option)
    assert path.read_text(encoding="utf-8") == "another backup"
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_backup_of_a_store_that_was_changed_by_hand_says_so(kept: Kept, tmp_path: Path) -> None:
    """Whoever backs up each night would else replace the last sound backup by copies of what was spoilt."""
    with kept.opened() as store:
        by_hand(store, f"UPDATE responses SET rt_ms = 1 WHERE session = '{kept.sessions['anna']}'")
    result = run("store", "backup", kept.folder, "-o", tmp_path / "backup.db", *kept.option)
    assert isinstance(result.exception, SystemExit | None)
    assert kept.sessions["anna"] in result.output


# store copy


def test_a_store_can_be_moved_from_file_to_database_and_back(kept: Kept, tmp_path: Path, postgres: Any) -> None:
    original = digest_of(done("store", "verify", kept.folder, *kept.option))
    places = [postgres.new_database(), str(tmp_path / "copy.db"), postgres.new_database()]
    for source, target in zip([kept.location, *places], places, strict=False):
        printed = done("store", "copy", source, target)
        assert "answers in 4 sessions" in printed
        assert digest_of(printed) == original
        assert digest_of(done("store", "verify", kept.folder, "--store", target)) == original
    with kept.opened() as store, opened_store(places[-1]) as last:
        assert store.trials() == last.trials()
        events = [event for event in store.events(load_study(kept.folder)) if event.event != "copied"]
        assert events == [event for event in last.events(load_study(kept.folder)) if event.event != "copied"]
    moved = in_a_database(kept.folder, places[-1])
    answer(moved, "bert", n_answers=0)  # who was under way goes on there
    assert moved.sessions["bert"] == kept.sessions["bert"]


def test_a_store_is_copied_into_an_empty_one_only(kept: Kept, tmp_path: Path, postgres: Any) -> None:
    for target in (str(tmp_path / "taken.db"), postgres.new_database()):
        done("models", "run", kept.folder, "--model", "baseline/tracer", "--store", target)
        before = done("store", "verify", kept.folder, "--store", target)
        assert "name an empty one" in refused("store", "copy", kept.location, target)
        assert done("store", "verify", kept.folder, "--store", target) == before


@pytest.mark.parametrize("source", ["nothing.db", "notes.txt", "folder", "mysql://db/x", "postgresql://127.0.0.1:1/x"])
def test_what_is_no_store_cannot_be_copied_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("my notes\n" * 200, encoding="utf-8")
    Path("folder").mkdir()
    before = sorted(path.name for path in tmp_path.iterdir())
    sentence = refused("store", "copy", source, "target.db")
    assert source.partition(":")[0] in sentence or "database" in sentence
    assert sorted(path.name for path in tmp_path.iterdir()) == before


# assignment


def shown(kept: Kept) -> dict[str, list[str]]:
    heading, *lines = done("assignment", "show", kept.folder, *kept.option).splitlines()
    assert heading.split() == ["group", "completed", "under", "way", "lapsed", "replaced", "withdrawn"]
    return {line.split()[0]: line.split()[1:] for line in lines}


def test_the_places_of_each_group_are_shown_and_add_up(kept: Kept) -> None:
    places = shown(kept)
    assert list(places) == [*map(str, range(1, N_GROUPS + 1)), "all"]
    assert places["all"] == ["1", "2", "0", "0", "1"]
    for column in range(5):
        assert sum(int(places[str(group)][column]) for group in range(1, N_GROUPS + 1)) == int(places["all"][column])


def test_the_places_of_a_study_that_nobody_has_begun_are_all_free(empty: Kept) -> None:
    empty.opened().__enter__().close()  # makes the store
    assert shown(empty)["all"] == ["0"] * 5


def test_a_closed_group_takes_nobody_until_it_is_opened(empty: Kept) -> None:
    printed = done("assignment", "close", empty.folder, "--group", 2, *empty.option)
    assert printed == "Group 2 is closed for new participants.\n"
    assert shown(empty)["2"] == [*"00000", "closed"]
    for number in range(3):
        answer(empty, f"person-{number}", n_answers=0)
    assert shown(empty)["1"] == [*"03000"]
    printed = done("assignment", "open", empty.folder, "--group", 2, *empty.option)
    assert printed == "Group 2 is open for new participants.\n"
    answer(empty, "one-more", n_answers=0)
    assert shown(empty)["2"] == [*"01000"]


def test_a_group_that_there_is_not_is_named(kept: Kept) -> None:
    before = shown(kept)
    for command in ("close", "open"):
        for group in ("0", "3", "-1", "one", "1.5", ""):
            assert "--group" in refused("assignment", command, kept.folder, "--group", group, *kept.option)
    assert shown(kept) == before


def test_a_place_is_not_released_for_an_exclusion_that_would_leave_the_answers_in_the_analysis(kept: Kept) -> None:
    before = shown(kept)
    named = ["--panel-id", "anna", "--reason", "exclusion"]
    assert "Fix: `equipoise exclude " in refused("assignment", "release", kept.folder, *named, *kept.option)
    assert shown(kept) == before


def test_a_place_is_released_by_panel_id_or_by_session_and_the_answers_stay(kept: Kept) -> None:
    reason = "return"
    with kept.opened() as store:
        before = rows(store, "SELECT * FROM responses ORDER BY session, trial_index")
    for name, value in (("--panel-id", "anna"), ("--session", kept.sessions["bert"])):
        printed = done("assignment", "release", kept.folder, name, value, "--reason", reason, *kept.option)
        session = kept.sessions.get(value, value)
        assert printed == f"The place of session {session} is released; somebody else will be recruited for it.\n"
        again = refused("assignment", "release", kept.folder, name, value, "--reason", reason, *kept.option)
        assert "released before" in again
    with kept.opened() as store:
        assert rows(store, "SELECT * FROM responses ORDER BY session, trial_index") == before
        reasons = dict(rows(store, "SELECT session, release_reason FROM sessions"))
    assert {reasons[kept.sessions[name]] for name in ("anna", "bert")} == {reason}
    assert shown(kept)["all"] == ["0", "1", "1", "1", "1"]


def test_who_is_not_found_is_named_and_nothing_is_changed(kept: Kept) -> None:
    before = done("store", "verify", kept.folder, *kept.option)
    for named, message in (
        ([], "--session"),
        (["--session", kept.sessions["anna"], "--panel-id", "anna"], "--panel-id"),
        (["--session", "nothing"], "--session nothing"),
        (["--panel-id", "nobody"], "--panel-id nobody"),
        (["--panel-id", ""], "--panel-id"),
        (["--session", "' OR 1=1 --"], "--session"),
        (["--session", "p-123"], "--session"),
    ):
        for command in (["assignment", "release", "--reason", "return"], ["identities", "delete"]):
            assert message in refused(*command, kept.folder, *named, *kept.option)
    assert done("store", "verify", kept.folder, *kept.option) == before
    with kept.opened() as store:
        assert len(rows(store, "SELECT * FROM identities")) == 4


def test_a_reason_that_there_is_not_is_refused(kept: Kept) -> None:
    for reason in ([], ["--reason", "boredom"]):
        assert "--reason" in refused("assignment", "release", kept.folder, "--panel-id", "anna", *reason, *kept.option)


def test_a_model_run_has_no_place_to_release(kept: Kept) -> None:
    done("models", "run", kept.folder, "--model", "baseline/tracer", *kept.option)
    with kept.opened() as store:
        ((run_session,),) = rows(store, "SELECT session FROM runs")
    found = refused("assignment", "release", kept.folder, "--session", run_session, "--reason", "return", *kept.option)
    assert "no such session" in found


def test_the_log_of_decisions_is_written_with_its_numbers(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    done("assignment", "close", kept.folder, "--group", 1, *kept.option)
    printed = done("assignment", "log", kept.folder, "-o", path, *kept.option)
    decisions = table(path)
    assert printed == f"Made {path} with {len(decisions)} entries.\n"
    assert [int(row["event_index"]) for row in decisions] == list(range(len(decisions)))
    events = [row["event"] for row in decisions]
    assert events.count("reserved") == 4
    assert {"registered", "confirmed", "withdrew", "released", "closed"} <= set(events)
    reserved = next(row for row in decisions if row["session"] == kept.sessions["bert"])
    assert json.loads(reserved["details"])["taken"]
    assert "anna" not in path.read_text(encoding="utf-8")


# identities


@posix
def test_panel_ids_are_exported_with_codes_for_the_owners_eyes_and_no_formula_runs(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "panel-ids.csv"
    printed = done("identities", "export", kept.folder, "-o", path, *kept.option)
    assert printed == f"Made {path} with 4 people. Keep it safe.\n"
    assert mode(path) == 0o600
    people = {row["external_id"]: row for row in table(path)}
    assert set(people) == {"anna", "bert", "carl", f"'{FORMULA}"}
    assert people["anna"]["own_code"] == kept.codes["anna"]
    assert [people[name]["status"] for name in ("anna", "bert", "carl")] == ["completed", "active", "withdrawn"]
    assert [people[name]["session"] for name in ("anna", "bert")] == [kept.sessions["anna"], kept.sessions["bert"]]
    for row in table(path):
        for cell in row.values():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@posix
@pytest.mark.parametrize("command", ["identities export", "assignment log", "links"])
def test_a_file_that_was_there_before_ends_up_for_the_owners_eyes_too(tmp_path: Path, command: str) -> None:
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


def test_an_export_of_nobody_has_its_headings(empty: Kept, tmp_path: Path) -> None:
    done("assignment", "open", empty.folder, "--group", 1, *empty.option)  # makes the store
    path = tmp_path / "panel-ids.csv"
    assert "with 0 people" in done("identities", "export", empty.folder, "-o", path, *empty.option)
    assert path.read_text(encoding="utf-8").startswith("source,external_id,participant,session,status,own_code")


def test_a_parameter_that_is_called_like_a_column_does_not_take_its_place(empty: Kept, tmp_path: Path) -> None:
    """Whoever comes in chooses the value: it must not stand where the session or the code does."""
    study_yaml = empty.folder / "study.yaml"
    text = study_yaml.read_text(encoding="utf-8")
    kept_parameters = "kept_parameters: [session, participant, own_code, status, external_id, source]"
    study_yaml.write_text(
        text.replace("panel_parameter: pid", f"panel_parameter: pid, {kept_parameters}"), encoding="utf-8"
    )
    try:
        load_study(empty.folder)
    except InputError:  # a study with such names may be refused, too
        return
    answer(empty, "anna", n_answers=1, session="mine", participant="me", own_code="PAID", status="completed")
    done("identities", "export", empty.folder, "-o", tmp_path / "ids.csv", *empty.option)
    (row,) = table(tmp_path / "ids.csv")
    assert row["session"] == empty.sessions["anna"]
    assert row["status"] == "active"
    assert row["own_code"] != "PAID"


def test_one_persons_id_is_deleted_and_nothing_else(kept: Kept) -> None:
    with kept.opened() as store:
        before = (store.trials(), rows(store, "SELECT * FROM sessions"))
    assert (
        done("identities", "delete", kept.folder, "--panel-id", "anna", *kept.option) == "Deleted ids and codes: 1.\n"
    )
    done("identities", "delete", kept.folder, "--session", kept.sessions["bert"], *kept.option)
    with kept.opened() as store:
        assert {name for (name,) in rows(store, "SELECT external_id FROM identities")} == {"carl", FORMULA}
        assert (store.trials(), rows(store, "SELECT * FROM sessions")) == before


def noted(kept: Kept, path: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the log as the command writes it: event, session, details."""
    done("assignment", "log", kept.folder, "-o", path, *kept.option)
    return [(row["event"], row["session"], json.loads(row["details"])) for row in table(path)]


def test_what_a_researcher_did_is_in_the_log_without_a_word_on_people(kept: Kept, tmp_path: Path) -> None:
    digest = digest_of(done("store", "verify", kept.folder, *kept.option))
    done("identities", "export", kept.folder, "-o", tmp_path / "ids.csv", *kept.option)
    done("store", "sessions", kept.folder, "-o", tmp_path / "sessions.csv", *kept.option)
    done("store", "backup", kept.folder, "-o", tmp_path / "backup.db", *kept.option)
    done("store", "copy", kept.location, tmp_path / "copy.db")
    assert digest_of(done("store", "verify", kept.folder, *kept.option)) == digest, "who looks changes nothing"
    done("assignment", "close", kept.folder, "--group", "1", *kept.option)
    done("assignment", "open", kept.folder, "--group", "1", *kept.option)
    done("withdraw", kept.folder, "--panel-id", "bert", *kept.option)
    done("identities", "delete", kept.folder, "--everybody", *kept.option)
    done("identities", "delete", kept.folder, "--everybody", *kept.option)  # deletes nothing
    log = noted(kept, tmp_path / "log.csv")
    assert [(event, details) for event, session, details in log if not session][1:] == [
        ("exported", {"what": "identities", "number": 4}),
        ("exported", {"what": "sessions", "number": 4}),
        ("backed up", {}),
        ("copied", {}),
        ("closed", {"group": 1}),
        ("opened", {"group": 1}),
        ("identities deleted", {"number": 4}),
    ]
    (withdrawal,) = [
        details for event, session, details in log if (event, session) == ("withdrew", kept.sessions["bert"])
    ]
    assert withdrawal["by"] == "researcher"
    done("store", "verify", kept.folder, *kept.option)
    done("store", "verify", kept.folder, "--store", tmp_path / "copy.db")
    text = (tmp_path / "log.csv").read_text(encoding="utf-8")
    for personal in ("anna", "bert", "carl", FORMULA, str(tmp_path)):
        assert personal not in text


def test_an_export_that_cannot_be_noted_is_made_and_says_so(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_args: object, **_details: object) -> None:
        raise StoreUnavailable("attempt to write a readonly database")

    for store in (SqliteStore, PostgresStore):
        monkeypatch.setattr(store, "note", away)
    for command in (["identities", "export"], ["store", "sessions"], ["store", "backup"]):
        path = tmp_path / command[1]
        result = run(*command, kept.folder, "-o", path, *kept.option)
        assert (result.exit_code, path.exists()) == (0, True)
        assert "Not noted in the log of the store (attempt to write a readonly database)." in result.stderr


@pytest.mark.parametrize("command", [["identities", "export"], ["store", "sessions"], ["store", "backup"]])
def test_a_command_that_reads_makes_no_store(kept: Kept, tmp_path: Path, command: list[str]) -> None:
    absent = tmp_path / "absent" / "equipoise.db"
    refused(*command, kept.folder, "-o", tmp_path / "out", "--store", absent)
    assert not absent.parent.exists()


def test_all_ids_of_this_study_are_deleted_and_of_no_other(kept: Kept, tmp_path: Path) -> None:
    other = another_study(kept, tmp_path)
    answer(other, "anna", n_answers=1)
    assert done("identities", "delete", kept.folder, "--everybody", *kept.option) == "Deleted ids and codes: 4.\n"
    assert done("identities", "delete", kept.folder, "--everybody", *kept.option) == "Deleted ids and codes: 0.\n"
    with kept.opened() as store:
        assert rows(store, "SELECT study, external_id FROM identities") == [("another-study", "anna")]


def test_somebody_and_everybody_at_once_is_refused(kept: Kept) -> None:
    """Nobody can mean both, and what is deleted is gone."""
    for named in (["--panel-id", "anna"], ["--session", kept.sessions["anna"]]):
        assert "--everybody" in refused("identities", "delete", kept.folder, "--everybody", *named, *kept.option)
    with kept.opened() as store:
        assert len(rows(store, "SELECT * FROM identities")) == 4


def another_study(kept: Kept, tmp_path: Path) -> Kept:
    """Make another study whose answers go to the same store."""
    folder = tmp_path / "another"
    make_small_study(folder, "panel")
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    text = text.replace("study: blackbox-predict", "study: another-study")
    (folder / "study.yaml").write_text(text, encoding="utf-8")
    return in_a_database(folder, kept.location)


def test_what_is_found_by_id_or_session_is_of_this_study_alone(kept: Kept, tmp_path: Path) -> None:
    other = another_study(kept, tmp_path)
    answer(other, "only-there", n_answers=1)
    for name, value in (("--panel-id", "only-there"), ("--session", other.sessions["only-there"])):
        assert value in refused("assignment", "release", kept.folder, name, value, "--reason", "return", *kept.option)
        assert value in refused("identities", "delete", kept.folder, name, value, *kept.option)


# links


@pytest.fixture
def by_link(tmp_path: Path) -> Path:
    make_small_study(tmp_path / "study", "link")
    return tmp_path / "study"


@pytest.fixture
def by_panel(tmp_path: Path) -> Path:
    make_small_study(tmp_path / "study", "panel")
    return tmp_path / "study"


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
    kept = on_a_file(by_link)
    for link in links:
        assert link.startswith(f"{address.rstrip('/')}/?token=")
        answer(kept, link.partition("token=")[2], n_answers=1)
    assert len(set(kept.sessions.values())) == 5


def test_who_came_by_a_personal_link_is_found_by_what_stands_in_the_link(by_link: Path, tmp_path: Path) -> None:
    done("links", by_link, "-n", 1, "--address", "https://study.example.org", "-o", tmp_path / "links.csv")
    (row,) = table(tmp_path / "links.csv")
    token = row["link"].partition("token=")[2]
    kept = on_a_file(by_link)
    answer(kept, token, n_answers=1)
    printed = done("assignment", "release", by_link, "--panel-id", token, "--reason", "return")
    assert kept.sessions[token] in printed


def test_links_need_a_study_that_goes_by_links(by_panel: Path, tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    sentence = refused("links", by_panel, "-n", 3, "--address", "https://study.example.org", "-o", path)
    assert "study.yaml" in sentence
    assert "entry: link" in sentence
    assert not path.exists()
    assert not (by_panel / "data").exists()


def test_an_address_that_makes_no_link_is_refused(by_link: Path, tmp_path: Path) -> None:
    """Links that lead nowhere would be found out by the people to whom they were sent."""
    path = tmp_path / "links.csv"
    for address in (
        "", " ", "study.example.org", "not an address", "https://", "ftp://study.example.org", "javascript:alert(1)",
        "https://study.example.org/?a=b", "https://study.example.org/#part", "https://study example.org", "=1+1",
        "https://study.example.org\nhttps://study.example.org",
    ):  # fmt: skip
        assert "--address" in refused("links", by_link, "-n", 3, "--address", address, "-o", path)
        assert not path.exists()


@pytest.mark.parametrize("n", ["0", "-1", "100001", "many", "1.5"])
def test_a_number_of_links_that_cannot_be_is_refused(by_link: Path, tmp_path: Path, n: str) -> None:
    path = tmp_path / "links.csv"
    assert "-n" in refused("links", by_link, "-n", n, "--address", "https://study.example.org", "-o", path)
    assert not path.exists()


# Places to write to, stores to read


def writers(kept: Kept) -> Iterator[list[object]]:
    """Yield the commands that write a file, without the file."""
    yield ["assignment", "log", kept.folder, *kept.option, "-o"]
    yield ["identities", "export", kept.folder, *kept.option, "-o"]
    yield ["store", "backup", kept.folder, *kept.option, "-o"]


def test_a_place_where_no_file_can_be_is_named_and_nothing_is_left_there(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    for command in writers(kept):
        places = [tmp_path / "folder", tmp_path / "file" / "out.csv", "/proc/out.csv", ""]
        if command[1] != "backup":  # which makes its folder
            places.append(tmp_path / "nowhere" / "out.csv")
        for place in places:
            refused(*command, place)
    assert sorted(path for path in tmp_path.rglob("*") if "equipoise.db" not in path.name) == [
        path for path in before if "equipoise.db" not in path.name
    ]
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the size of files, as on a full disk")
def test_a_file_that_cannot_be_written_to_its_end_is_not_there_at_all(by_link: Path, tmp_path: Path) -> None:
    import resource

    path = tmp_path / "links.csv"
    for content in (None, "the links of yesterday"):
        if content:
            path.write_text(content, encoding="utf-8")
        command = ["links", str(by_link), "-n", "2000", "--address", "https://study.example.org", "-o", str(path)]
        full = subprocess.run(
            [sys.executable, "-P", "-m", "equipoise", *command],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, 8_192)),
        )
        assert full.returncode == 2
        assert len(full.stderr.splitlines()) == 1
        assert str(path) in full.stderr
        if content:
            assert path.read_text(encoding="utf-8") == content
        assert [one.name for one in tmp_path.iterdir() if one.suffix == ".csv" or "links" in one.name] == (
            ["links.csv"] if content else []
        )


READERS: Sequence[Sequence[str]] = [
    ["store", "verify", "STUDY"],
    ["store", "backup", "STUDY", "-o", "out"],
    ["assignment", "release", "STUDY", "--session", "x", "--reason", "return"],
    ["assignment", "show", "STUDY"],
    ["revise", "STUDY", "--reason", "typo"],
    ["exclude", "STUDY", "--session", "x", "--reason", "fire alarm"],
    ["assignment", "log", "STUDY", "-o", "out"],
    ["identities", "export", "STUDY", "-o", "out"],
    ["identities", "delete", "STUDY", "--everybody"],
    ["withdraw", "STUDY", "--code", "3F0A91BC"],
    ["assignment", "show", "STUDY"],
]
ALL = [
    *READERS,
    ["assignment", "close", "STUDY", "--group", "1"],
    ["assignment", "open", "STUDY", "--group", "1"],
    ["simulate", "STUDY", "-n", "1"],
    ["models", "run", "STUDY", "--model", "baseline/tracer"],
    ["analyze", "STUDY", "-o", "out"],
    ["analyze", "STUDY", "--lock"],
]


def of(study: Path, command: Sequence[str], *more: object) -> list[object]:
    return [study if word == "STUDY" else word for word in command] + list(more)


@pytest.fixture
def in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_store_that_is_not_there_is_not_made_by_reading_it(by_panel: Path, in_tmp: Path) -> None:
    for command in READERS:
        assert "equipoise.db" in refused(*of(by_panel, command))
        assert "elsewhere.db" in refused(*of(by_panel, command, "--store", "elsewhere.db"))
        assert not (by_panel / "data").exists()
        assert list(in_tmp.iterdir()) == []


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_a_log_whose_file_is_missing_is_refused_by_every_command_and_untouched(
    by_panel: Path, in_tmp: Path, command: list[str]
) -> None:
    """As when only a part of the files was moved away: what is in the log is not lost yet."""
    log = by_panel / "data" / "equipoise.db-wal"
    log.parent.mkdir()
    log.write_bytes(b"answers" * 1_000)
    result = run(*of(by_panel, command))
    assert result.exit_code == 2
    if command[0] != "simulate":  # whose server says so in a process of its own
        assert "its log equipoise.db-wal holds answers. Fix: put the database file back" in result.stderr
    assert log.read_bytes() == b"answers" * 1_000
    assert not (log.parent / "equipoise.db").exists()


def test_a_database_that_holds_no_store_is_not_given_one_by_reading_it(
    by_panel: Path, in_tmp: Path, postgres: Any
) -> None:
    url = postgres.new_database()
    for command in READERS:
        assert "there is no store in this database" in refused(*of(by_panel, command, "--store", url))
    with psycopg.connect(url) as db:
        assert db.execute("SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


def test_verify_finds_that_a_store_is_not_the_one_in_which_answers_were_stored(by_panel: Path) -> None:
    on_a_file(by_panel).opened().__enter__().close()  # makes an empty store, as an earlier version did
    result = run("store", "verify", by_panel)
    assert result.exit_code == 1
    assert "no study is registered in this store" in result.stderr
    assert "all there" not in result.output


def test_a_deletion_says_which_file_may_still_hold_what_was_deleted(by_panel: Path) -> None:
    kept = on_a_file(by_panel)
    answer(kept, "anna", n_answers=1)
    answer(kept, "bert", n_answers=1)
    assert done("identities", "delete", by_panel, "--panel-id", "anna") == "Deleted ids and codes: 1.\n"
    with kept.opened() as store, store.snapshot() as db:
        db.execute("SELECT COUNT(*) FROM responses").fetchone()
        for command in (["identities", "delete", by_panel, "--everybody"],
                        ["withdraw", by_panel, "--session", kept.sessions["bert"]]):  # fmt: skip
            result = run(*command)
            assert result.exit_code == 0
            assert "equipoise.db-wal: this log still holds what was deleted" in result.stderr


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_what_is_no_study_or_no_store_is_named(by_panel: Path, in_tmp: Path, command: list[str]) -> None:
    assert "study.yaml" in refused(*of(in_tmp, command))
    notes = in_tmp / "notes.txt"
    notes.write_text("my notes\n" * 200, encoding="utf-8")
    if command[0] != "simulate":  # whose server says the first sentence, and the command a second
        assert "notes.txt" in refused(*of(by_panel, command, "--store", notes))
        for wrong in ("mysql://db/x", "sqlite:///x.db"):
            assert "--store" in refused(*of(by_panel, command, "--store", wrong))
        assert "database" in refused(*of(by_panel, command, "--store", "postgresql://127.0.0.1:1/x"))
    assert notes.read_text(encoding="utf-8") == "my notes\n" * 200
    assert [path.name for path in in_tmp.iterdir()] == ["notes.txt"]


def test_a_damaged_file_is_a_sentence_for_every_command(by_panel: Path, in_tmp: Path) -> None:
    kept = on_a_file(by_panel)
    answer(kept, "anna", n_answers=100, then="complete")
    path = Path(kept.location)
    with closing(sqlite3.connect(path)) as db:
        pages = [
            page
            for (page,) in db.execute(
                "SELECT rootpage FROM sqlite_master "
                "WHERE type = 'table' AND name IN ('responses', 'planned_trials', 'items', 'identities')"
            )
        ]
    whole = path.read_bytes()
    assert len(pages) == 4
    wrong = []
    for page in pages:
        for command in [*READERS, ["store", "copy", str(path), "target.db"]]:
            for leftover in [*path.parent.glob("equipoise.db*"), *in_tmp.iterdir()]:
                leftover.unlink()
            path.write_bytes(whole[: 4096 * (page - 1)] + b"\xff" * 4096 + whole[4096 * page :])
            result = run(*of(by_panel, command))
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                wrong.append((page, " ".join(command[:2]), repr(result.exception)))
            elif result.exit_code != 0:
                assert not Path("out").exists()
    assert wrong == []


def test_letters_of_another_encoding_are_a_sentence_and_no_traceback(kept: Kept, tmp_path: Path) -> None:
    """As a command line in Latin-1 gives them: Python then makes half a letter of each byte."""
    odd = b"m\xfcller".decode("utf-8", "surrogateescape")
    wrong = []
    for command in (
        ["withdraw", "STUDY", "--code", odd],
        ["assignment", "release", "STUDY", "--reason", "return", "--panel-id", odd],
        ["assignment", "release", "STUDY", "--reason", "return", "--session", odd],
        ["identities", "delete", "STUDY", "--panel-id", odd],
        ["identities", "export", "STUDY", "-o", str(tmp_path / odd / "nowhere")],
        ["store", "verify", odd],
    ):
        more = [] if command[2] == odd else kept.option
        result = run(*of(kept.folder, command, *more))
        if result.exit_code != 2 or not isinstance(result.exception, SystemExit):
            wrong.append((" ".join(command[:2]), command[-2], repr(result.exception)))
    assert wrong == []


# Withdrawals


def test_a_withdrawal_by_code_deletes_one_persons_answers(kept: Kept) -> None:
    answer(kept, "dora", n_answers=100, then="complete")
    printed = done("withdraw", kept.folder, "--code", f" {kept.codes['anna'].lower()} ", *kept.option)
    assert printed == "The answers of this participant are deleted; what they began counts as withdrawn.\n"
    with kept.opened() as store:
        left = {session for (session,) in rows(store, "SELECT DISTINCT session FROM responses")}
        status = dict(rows(store, "SELECT session, status FROM sessions"))
    assert left == {kept.sessions["bert"], kept.sessions["dora"]}
    assert status[kept.sessions["anna"]] == "withdrawn"


def test_a_code_of_another_study_in_the_same_store_withdraws_nobody(kept: Kept, tmp_path: Path) -> None:
    other = another_study(kept, tmp_path)
    answer(other, "anna", n_answers=100, then="complete")
    sentence = refused("withdraw", kept.folder, "--code", other.codes["anna"], *kept.option)
    assert "nothing was deleted" in sentence
    with kept.opened() as store:
        assert dict(rows(store, "SELECT session, status FROM sessions"))[other.sessions["anna"]] == "completed"


# A file and a database give the same


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, postgres: Any) -> list[Kept]:
    """The same study, simulated with the same seed and asked of the same models, on a file and on a database."""
    found = []
    for name in ("file", "database"):
        folder = tmp_path_factory.mktemp(name) / "study"
        copy_sample_study("blackbox-predict", folder)
        url = postgres.new_database() if name == "database" else ""
        kept = Kept(folder, url or str(folder / "data" / "equipoise.db"), ["--store", url] if url else [])
        printed = done("simulate", folder, "-n", 20, "--seed", 5, *kept.option)
        assert "20 simulated participants answered" in printed
        assert "://" not in printed
        for model in ("tracer", "nearest-atom"):
            done("models", "run", folder, "--model", f"baseline/{model}", *kept.option)
        done("analyze", folder, "-o", folder / "results", *kept.option)
        found.append(kept)
    return found


CHANCE = ["session", "participant", "started_at", "completed_at", "shown_at", "received_at"]
"""Columns that are made at random, or tell the time."""


def test_a_file_and_a_database_give_the_same_tables_for_the_same_seed(both: list[Kept]) -> None:
    names = [sorted(path.name for path in (kept.folder / "results" / "tables").iterdir()) for kept in both]
    assert names[0] == names[1]
    for name in ("accuracy.csv", "exclusions.csv", "participants.csv", "trials.csv"):
        assert len(stable(both[0].folder / "results" / "tables" / name)) > 0
    for name in names[0]:
        one, other = (stable(kept.folder / "results" / "tables" / name) for kept in both)
        pd.testing.assert_frame_equal(one, other, obj=name)


def stable(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path)
    frame = frame.drop(columns=[column for column in CHANCE if column in frame])
    return frame.sort_values(list(frame.columns)).reset_index(drop=True)


def test_a_file_and_a_database_give_the_same_report(both: list[Kept]) -> None:
    def report(kept: Kept) -> str:
        html = (kept.folder / "results" / "report.html").read_text(encoding="utf-8")
        text = re.sub(r"<(svg|style).*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)
        # The digest of the answers covers the sessions' names, which are made at random.
        text = re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", " ".join(text.split()))
        return re.sub(r"\d\d:\d\d UTC", "TIME", text)

    one, other = map(report, both)
    assert len(one) > 1_000
    assert one == other


def test_a_withdrawal_is_the_same_on_a_file_and_on_a_database(both: list[Kept]) -> None:
    left = []
    for kept in both:
        with kept.opened() as store:
            (code,) = [
                code
                for code, seed, group in rows(store, 'SELECT completion_code, seed, "group" FROM sessions')
                if (seed, group) == (1, 3)
            ]
        withdrawn = run("withdraw", kept.folder, "--code", code, *kept.option)
        assert withdrawn.exit_code == 0, withdrawn.output
        # A database keeps the bytes for a while, and the command says so.
        assert (BYTES_OF_DELETED_ROWS in withdrawn.stderr) == bool(kept.option)
        done("analyze", kept.folder, "-o", kept.folder / "after", *kept.option)
        left.append(table(kept.folder / "after" / "tables" / "exclusions.csv"))
        assert "all there, and unchanged" in done("store", "verify", kept.folder, *kept.option)
    assert left[0] == left[1]
    assert left[0] != table(both[0].folder / "results" / "tables" / "exclusions.csv")


def test_a_database_is_served_by_the_command_and_leaves_no_file_beside_its_secrets(
    study_folder: Path, postgres: Any
) -> None:
    from equipoise.commands.server_process import researcher_token, running_server
    from experiment.simulated_participants import simulate

    url = postgres.new_database()
    with running_server(study_folder, url) as address:
        study = load_study(study_folder)
        simulate(address, researcher_token(study), study, 2, seed=1)
    assert sorted(path.name for path in (study_folder / "data").iterdir()) == ["researcher-token", "signing-key"]
    store: Store = open_store(url)
    assert len(rows(store, "SELECT * FROM sessions WHERE status = 'completed'")) == 2
    store.close()


def test_a_simulation_goes_on_with_others_in_a_database_too(both: list[Kept]) -> None:
    database = both[1]
    before = len(sessions(database))
    done("simulate", database.folder, "-n", 2, "--seed", 5, *database.option)
    medians = pd.DataFrame(trials(database)).groupby("session")["rt_ms"].median().dropna()
    assert len(sessions(database)) == before + 2
    assert medians.nunique() == len(medians)  # nobody twice


def sessions(kept: Kept) -> list[Any]:
    with kept.opened() as store:
        return rows(store, "SELECT session FROM sessions")


def trials(kept: Kept) -> list[dict[str, Any]]:
    with kept.opened() as store:
        found: list[dict[str, Any]] = store.trials()
    return found
