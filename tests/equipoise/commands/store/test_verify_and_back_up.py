"""`equipoise store`: verify, back up, copy."""

import re
from pathlib import Path
from typing import Any

import pytest

from experiment.load_study import load_study
from server.store.open import opened_store
from tests.equipoise.commands.store.commands import (
    StoredStudy,
    answer,
    digest_of,
    done,
    in_a_database,
    mode,
    on_a_file,
    posix,
    refused,
    run,
)
from tests.server.stores import execute_sql, rows

# store verify


def test_verify_prints_the_numbers_and_the_same_digest_each_time(stored: StoredStudy) -> None:
    printed = done("store", "verify", stored.folder, *stored.option)
    with stored.opened() as store:
        n_answers = len(rows(store, "SELECT * FROM responses"))
    assert f"{n_answers} responses in 4 sessions: complete and unchanged." in printed
    assert digest_of(printed) == digest_of(done("store", "verify", stored.folder, *stored.option))
    answer(stored, "dora", n_answers=1)
    assert digest_of(printed) != digest_of(done("store", "verify", stored.folder, *stored.option))


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
        "UPDATE slots SET n_confirmed = 9",
    ],
)
def test_verify_finds_a_manual_change_and_exits_with_1(stored: StoredStudy, statement: str) -> None:
    with stored.opened() as store:
        execute_sql(store, statement.format(**stored.sessions))
    result = run("store", "verify", stored.folder, *stored.option)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    *problems, last = result.stderr.splitlines()
    assert problems
    assert all(re.match(r"(session|study) \S+", problem) and problem.endswith(".") for problem in problems)
    assert last.startswith(f"Error: {len(problems)} problem")
    assert "backup" in last


def test_a_withdrawal_and_deleted_ids_are_not_reported_as_problems(stored: StoredStudy) -> None:
    done("identities", "delete", stored.folder, "--everybody", *stored.option)
    done("withdraw", stored.folder, "--code", stored.codes["anna"], *stored.option)
    assert "complete and unchanged" in done("store", "verify", stored.folder, *stored.option)


# store backup


@posix
def test_a_backup_is_a_store_in_a_private_file(stored: StoredStudy, tmp_path: Path) -> None:
    path = tmp_path / "backups" / "monday.db"
    with stored.opened():  # while the store is in use
        printed = done("store", "backup", stored.folder, "-o", path, *stored.option)
    assert printed.startswith(f"Made {path}: ")
    assert printed.rstrip().endswith("responses in 4 sessions.")
    assert mode(path) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["monday.db"]
    original, copy = (
        done("store", "verify", stored.folder, *option) for option in (stored.option, ["--store", str(path)])
    )
    assert original == copy
    with stored.opened() as store, opened_store(str(path)) as backup:
        assert store.trials() == backup.trials()


def test_a_backup_replaces_a_lost_store(stored: StoredStudy, tmp_path: Path) -> None:
    path = tmp_path / "backup.db"
    done("store", "backup", stored.folder, "-o", path, *stored.option)
    store_path = stored.folder / "data" / "equipoise.db"
    for lost in store_path.parent.glob("equipoise.db*"):
        lost.unlink()
    path.rename(store_path)
    restored = on_a_file(stored.folder)
    answer(restored, "bert", n_answers=0)
    assert restored.sessions["bert"] == stored.sessions["bert"]
    assert "complete and unchanged" in done("store", "verify", stored.folder)


def test_a_backup_never_writes_over_a_file(stored: StoredStudy, tmp_path: Path) -> None:
    path = tmp_path / "backup.db"
    path.write_text("another backup", encoding="utf-8")
    assert str(path) in refused("store", "backup", stored.folder, "-o", path, *stored.option)
    assert path.read_text(encoding="utf-8") == "another backup"
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_backup_of_a_manually_changed_store_reports_the_change(stored: StoredStudy, tmp_path: Path) -> None:
    """Otherwise a nightly backup would replace the last good backup by copies of the damaged store."""
    with stored.opened() as store:
        execute_sql(store, f"UPDATE responses SET rt_ms = 1 WHERE session = '{stored.sessions['anna']}'")
    result = run("store", "backup", stored.folder, "-o", tmp_path / "backup.db", *stored.option)
    assert isinstance(result.exception, SystemExit | None)
    assert stored.sessions["anna"] in result.output


# store copy


def test_a_store_can_be_moved_from_file_to_database_and_back(
    stored: StoredStudy, tmp_path: Path, postgres: Any
) -> None:
    original = digest_of(done("store", "verify", stored.folder, *stored.option))
    locations = [postgres.new_database(), str(tmp_path / "copy.db"), postgres.new_database()]
    for source, target in zip([stored.location, *locations], locations, strict=False):
        printed = done("store", "copy", source, target)
        assert "responses in 4 sessions" in printed
        assert digest_of(printed) == original
        assert digest_of(done("store", "verify", stored.folder, "--store", target)) == original
    with stored.opened() as store, opened_store(locations[-1]) as last:
        assert store.trials() == last.trials()
        events = [event for event in store.events(load_study(stored.folder)) if event.event != "copied"]
        assert events == [event for event in last.events(load_study(stored.folder)) if event.event != "copied"]
    moved = in_a_database(stored.folder, locations[-1])
    answer(moved, "bert", n_answers=0)  # the session under way continues in the copy
    assert moved.sessions["bert"] == stored.sessions["bert"]


def test_a_store_is_copied_into_an_empty_store_only(stored: StoredStudy, tmp_path: Path, postgres: Any) -> None:
    for target in (str(tmp_path / "taken.db"), postgres.new_database()):
        done("models", "run", stored.folder, "--model", "baseline/tracer", "--store", target)
        before = done("store", "verify", stored.folder, "--store", target)
        assert "Fix: choose an empty store" in refused("store", "copy", stored.location, target)
        assert done("store", "verify", stored.folder, "--store", target) == before


@pytest.mark.parametrize("source", ["nothing.db", "notes.txt", "folder", "mysql://db/x", "postgresql://127.0.0.1:1/x"])
def test_a_copy_of_a_file_that_is_not_a_store_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("my notes\n" * 200, encoding="utf-8")
    Path("folder").mkdir()
    before = sorted(path.name for path in tmp_path.iterdir())
    sentence = refused("store", "copy", source, "target.db")
    assert source.partition(":")[0] in sentence or "database" in sentence
    assert sorted(path.name for path in tmp_path.iterdir()) == before
