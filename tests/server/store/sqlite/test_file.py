"""The embedded store: its file, and files that are not a store."""

import hashlib
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path, PureWindowsPath

import pytest

from batteries.errors import InputError
from experiment.study.definition import Study
from server.store import Identity, SqliteStore
from server.store.copying import back_up
from server.store.sql import group_commit
from server.store.sqlite import store as sqlite_store
from server.store.sqlite.file import connect, refuse_network
from tests.server.store.sqlite.files import files_of
from tests.server.stores import (
    Person,
    execute_sql,
    problems,
    recruiting,
    reopened,
    response,
)


def fingerprint(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# The file.


def test_the_file_is_in_wal_mode_and_every_commit_is_synced(store: SqliteStore, person: Person) -> None:
    assert store._writing is not None
    for connection in (store._writing.connection, connect(store.path)):
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    connection.close()


def test_a_folder_of_a_windows_network_is_refused_with_a_fix() -> None:
    refuse_network(PureWindowsPath(r"C:\studies\stories\data\equipoise.db"))
    with pytest.raises(InputError, match="put the study on a disk of this machine"):
        refuse_network(PureWindowsPath(r"\\lab\studies\stories\data\equipoise.db"))


def test_only_the_owner_can_read_the_store(
    tmp_path: Path, small_study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    before = os.umask(0)
    try:
        with closing(SqliteStore(tmp_path / "data" / "equipoise.db")) as store:
            store.register_study(small_study)
            files = files_of(store)
            assert len(files) == 3
            back_up(store, tmp_path / "backups" / "monday.db")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data", tmp_path / "backups")}
    assert modes == {"data": 0o700, "backups": 0o700}
    for path in (store.path, tmp_path / "backups" / "monday.db"):
        assert path.stat().st_mode & 0o777 == 0o600
    assert caplog.text == ""


def test_only_the_owner_can_read_the_files_beside_the_store(store: SqliteStore, person: Person) -> None:
    assert {path.stat().st_mode & 0o777 for path in files_of(store)} == {0o600}
    assert len(files_of(store)) == 3


def test_a_store_that_others_can_read_is_warned_about_and_not_changed(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.close()
    store.path.chmod(0o644)
    SqliteStore(store.path).close()
    assert caplog.text == ""  # Others cannot open its folder.
    store.path.parent.chmod(0o755)
    SqliteStore(store.path).close()
    assert f"Fix: chmod 700 '{store.path.parent}'; chmod 600 '{store.path}'*" in caplog.text
    assert (store.path.stat().st_mode & 0o777, store.path.parent.stat().st_mode & 0o777) == (0o644, 0o755)
    caplog.clear()
    store.path.chmod(0o600)
    SqliteStore(store.path).close()
    assert caplog.text == ""


def test_ended_threads_leave_no_open_connections(store: SqliteStore, person: Person) -> None:
    for _ in range(100):
        thread = threading.Thread(target=store.find_session, args=(person.token,))
        thread.start()
        thread.join()
    assert store._idle_readers.qsize() <= 2


def test_a_withdrawn_response_leaves_no_trace_in_the_files(store: SqliteStore, person: Person) -> None:
    words = "what I said about my illness"
    person.send(response(1, response=words), response(2, response=words * 300))

    def traces() -> int:
        return sum(path.read_bytes().count(words.encode()) for path in files_of(store))

    assert traces() > 0
    person.withdraw()
    assert traces() == 0


def test_a_withdrawn_response_leaves_no_trace_after_its_readers_have_finished(
    store: SqliteStore, person: Person, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store does this without any request."""
    monkeypatch.setattr(group_commit, "IDLE_S", 0.1)
    monkeypatch.setattr(sqlite_store, "READERS_PATIENCE_S", 0.2)
    words = "what I said about my illness"
    person.send(response(1, response=words))
    with store.snapshot() as db:
        db.execute("SELECT COUNT(*) FROM responses").fetchone()
        person.withdraw()
        assert traces_of(words, store) > 0
        assert "still contains deleted data" in "".join(store.kept_traces())
    until_none_is_left(words, store)
    assert store.kept_traces() == []


def traces_of(words: str, store: SqliteStore) -> int:
    """Count words in all files of the store's folder."""
    return sum(path.read_bytes().count(words.encode()) for path in store.path.parent.iterdir())


def until_none_is_left(words: str, store: SqliteStore) -> None:
    deadline = time.monotonic() + 20
    while traces_of(words, store):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("with_reader", [False, True])
def test_a_deleted_panel_id_leaves_no_trace_in_the_files(
    store: SqliteStore, small_study: Study, monkeypatch: pytest.MonkeyPatch, with_reader: bool
) -> None:
    monkeypatch.setattr(group_commit, "IDLE_S", 0.1)
    store.register_study(small_study)
    panel_id = "5f3a90aa11bb22cc33dd44ee"
    Person(store, small_study, identity=Identity("panel", panel_id, {"SESSION_ID": f"of {panel_id}"})).complete()
    assert traces_of(panel_id, store) > 0
    if with_reader:
        with store.snapshot() as db:
            db.execute("SELECT COUNT(*) FROM responses").fetchone()
            assert store.delete_identities(small_study) == 1
        until_none_is_left(panel_id, store)
    else:
        assert store.delete_identities(small_study) == 1
        assert traces_of(panel_id, store) == 0
    assert store.kept_traces() == []


def test_a_deletion_under_constant_load_leaves_no_trace(store: SqliteStore, person: Person, small_study: Study) -> None:
    words = "what I said about my illness"
    person.send(response(1, response=words))
    is_over = threading.Event()
    study = recruiting(small_study, quota=10_000)

    def take_part() -> None:
        while not is_over.is_set():
            Person(store, study).complete()

    threads = [threading.Thread(target=take_part) for _ in range(3)]
    with store.snapshot() as db:
        db.execute("SELECT COUNT(*) FROM responses").fetchone()
        for thread in threads:
            thread.start()
        person.withdraw()
        time.sleep(0.3)
    try:
        until_none_is_left(words, store)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_the_empty_log_of_a_replaced_file_is_deleted(store: SqliteStore, person: Person, tmp_path: Path) -> None:
    """Its content was moved to the replaced file, which a person may have kept."""
    words = "what I said about my illness"
    backup, kept = store.path.with_name("backup.db"), tmp_path / "kept.db"
    back_up(store, backup)
    person.send(response(1, response=words))
    store.path.rename(kept)
    backup.rename(store.path)
    assert store.responses(person.session).keys() == {0}
    assert sorted(path.name for path in files_of(store)) == [
        store.path.name, f"{store.path.name}-shm", f"{store.path.name}-wal",
    ]  # fmt: skip
    assert traces_of(words, store) == 0
    with closing(SqliteStore(kept)) as replaced:
        assert replaced.responses(person.session)[1] == words


@pytest.mark.parametrize("name", ["before-12345678-wal", "saved-12345678"])
def test_a_deletion_reports_files_that_may_contain_deleted_data(store: SqliteStore, person: Person, name: str) -> None:
    """Such a file is the log of a replaced file, or a copy made by a killed program."""
    aside = store.path.with_name(f"{store.path.name}-{name}")
    aside.write_bytes(b"what was there")
    person.withdraw()
    (message,) = store.kept_traces()
    assert str(aside) in message and "may contain deleted data. Fix: " in message


def test_a_withdrawal_during_a_backup_blocks_no_request(store: SqliteStore, person: Person, small_study: Study) -> None:
    other = Person(store, small_study)
    waited: list[float] = []
    with store.snapshot() as db:
        db.execute("SELECT COUNT(*) FROM responses").fetchone()
        other.answer()
        leaving = threading.Thread(target=person.withdraw)
        leaving.start()
        for _ in range(2):
            time.sleep(0.2)
            began = time.monotonic()
            other.answer()
            waited.append(time.monotonic() - began)
    leaving.join()
    assert max(waited) < 3


@pytest.mark.parametrize("name", ["with space.db", "50%.db", "what?.db", "no#1.db", "ä.db", "a'b.db", "[1].db"])
def test_a_store_can_have_any_name(tmp_path: Path, small_study: Study, name: str) -> None:
    with closing(SqliteStore(tmp_path / name)) as store:
        store.register_study(small_study)
        Person(store, small_study).complete()
        assert (tmp_path / name).stat().st_size > 0
        with closing(reopened(store)) as again:
            assert problems(again) == []


def test_many_processes_can_open_a_new_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "data" / "equipoise.db"
    program = (
        "import sys; from pathlib import Path; from server.store import SqliteStore; "
        "SqliteStore(Path(sys.argv[1])).close()"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(path)]) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4


def test_an_interrupted_first_start_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "equipoise.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE _sqlite_migrations (id INTEGER PRIMARY KEY, migration_set TEXT, name TEXT, applied_at TEXT)"
        )
    db.close()
    SqliteStore(path).close()
    with closing(SqliteStore(path)) as store:
        assert problems(store) == []


# Files that are not a store.


def test_a_store_of_a_newer_version_is_refused_and_not_changed(store: SqliteStore) -> None:
    store.close()
    execute_sql(
        store,
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('equipoise', 'm999_future', '')",
    )
    before = fingerprint(store.path)
    with pytest.raises(InputError, match=r"written by a newer version of Equipoise .*m999_future"):
        SqliteStore(store.path)
    assert fingerprint(store.path) == before


@pytest.mark.parametrize(
    "content", [b"these are my notes\n" * 100, b"SQLite format 3\x00" + b"\x00" * 600, os.urandom(8192)]
)
def test_a_file_that_is_not_a_store_is_refused_and_not_changed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"notes\.db"):
        SqliteStore(path)
    assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["notes.db"]


@pytest.mark.parametrize("table", ["trials", "sessions", "something"])
def test_another_programs_database_is_refused_and_not_changed(tmp_path: Path, table: str) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE {table} (a)")
    db.close()
    before = fingerprint(path)
    with pytest.raises(InputError, match="not an Equipoise store"):
        SqliteStore(path)
    assert fingerprint(path) == before


@pytest.mark.parametrize("path", ["folder", "file/store.db", "folder/../file/x/store.db"])
def test_a_path_that_cannot_be_a_store_is_refused_with_a_fix(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"folder|file"):
        SqliteStore(tmp_path / path)
