"""The embedded store: its file, what happens to that file while the store is open, and disks that are full."""

import errno
import hashlib
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from batteries.errors import InputError
from experiment.study.definition import Study
from server.store import Identity, Release, SqliteStore, StoreUnavailable
from server.store.copying import back_up
from server.store.database import Database
from server.store.sql import group_commit
from server.store.sqlite import file as sqlite_file
from server.store.sqlite import store as sqlite_store
from server.store.sqlite import write_ahead_log
from server.store.sqlite.file import connect, refuse_network
from tests.server.stores import (
    Person,
    at_once,
    by_hand,
    of,
    problems,
    recruiting,
    reopened,
    response,
    responses_of,
    rows,
    verified,
    version_of,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="takes away files that are open, as Windows does not allow")


@pytest.fixture
def person(store: SqliteStore, small_study: Study) -> Person:
    """Somebody who has answered one of three questions."""
    store.register_study(small_study)
    person = Person(store, small_study)
    person.answer()
    return person


def files_of(store: SqliteStore) -> list[Path]:
    """The store's file, and what SQLite keeps beside it."""
    return sorted(store.path.parent.glob(f"{store.path.name}*"))


OPERATIONS: dict[str, Callable[[Person], Any]] = {
    "start_session": lambda person: Person(person.store, person.study),
    "add_responses": lambda person: person.send(response(1)),
    "complete_session": lambda person: person.store.complete_session(person.study, person.session, True),
    "withdraw_session": lambda person: person.withdraw(),
    "resume_session": lambda person: person.store.resume_session(person.study, person.session),
    "register_study": lambda person: person.store.register_study(version_of(person.study, "9")),
    "find_session": lambda person: person.now,
    "answers": lambda person: person.store.answers(person.session),
    "why_full": lambda person: person.store.why_full(person.study),
    "require_place": lambda person: person.store.require_place(person.study, Identity("lab", "P01"), 1, None),
    "progress": lambda person: person.store.progress(person.study),
    "events": lambda person: person.store.events(person.study),
    "trials": lambda person: person.store.trials(),
    "identities": lambda person: person.store.identities(person.study),
    "check": lambda person: person.store.check(),
    "check_integrity": lambda person: person.store.check_integrity(),
    "snapshot": lambda person: verified(person.store),
}
"""What can be asked of a store."""

each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())


def fingerprint(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# How the file is kept.


def test_the_file_is_in_wal_mode_and_every_commit_is_synced(store: SqliteStore, person: Person) -> None:
    assert store._writing is not None
    for connection in (store._writing.connection, connect(store.path)):
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert connection.execute("PRAGMA secure_delete").fetchone() == (1,)
        assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    connection.close()


def test_a_folder_of_a_windows_network_is_refused_with_what_to_do() -> None:
    refuse_network(PureWindowsPath(r"C:\studies\stories\data\equipoise.db"))
    with pytest.raises(InputError, match="put the study on a disk of this machine"):
        refuse_network(PureWindowsPath(r"\\lab\studies\stories\data\equipoise.db"))


def test_the_answers_are_for_their_owners_eyes(
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


def test_every_file_beside_the_store_is_for_its_owners_eyes(store: SqliteStore, person: Person) -> None:
    assert {path.stat().st_mode & 0o777 for path in files_of(store)} == {0o600}
    assert len(files_of(store)) == 3


def test_a_store_that_others_can_read_is_warned_about_and_not_changed(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.close()
    store.path.chmod(0o644)
    SqliteStore(store.path).close()
    assert caplog.text == ""  # as its folder is shut
    store.path.parent.chmod(0o755)
    SqliteStore(store.path).close()
    assert f"Fix: chmod 700 '{store.path.parent}'; chmod 600 '{store.path}'*" in caplog.text
    assert (store.path.stat().st_mode & 0o777, store.path.parent.stat().st_mode & 0o777) == (0o644, 0o755)
    caplog.clear()
    store.path.chmod(0o600)
    SqliteStore(store.path).close()
    assert caplog.text == ""


def test_threads_that_come_and_go_leave_no_connections_behind(store: SqliteStore, person: Person) -> None:
    for _ in range(100):
        thread = threading.Thread(target=store.find_session, args=(person.token,))
        thread.start()
        thread.join()
    assert store._idle_readers.qsize() <= 2


def test_a_withdrawn_answer_leaves_no_trace_in_the_files(store: SqliteStore, person: Person) -> None:
    words = "what I said about my illness"
    person.send(response(1, response=words), response(2, response=words * 300))

    def traces() -> int:
        return sum(path.read_bytes().count(words.encode()) for path in files_of(store))

    assert traces() > 0
    person.withdraw()
    assert traces() == 0


def test_a_withdrawn_answer_leaves_no_trace_once_those_who_read_it_have_finished(
    store: SqliteStore, person: Person, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself, although nothing else happens."""
    monkeypatch.setattr(group_commit, "IDLE_S", 0.1)
    monkeypatch.setattr(sqlite_store, "READERS_PATIENCE_S", 0.2)
    words = "what I said about my illness"
    person.send(response(1, response=words))
    with store.snapshot() as db:
        db.execute("SELECT COUNT(*) FROM responses").fetchone()
        person.withdraw()
        assert traces_of(words, store) > 0
        assert "still holds what was deleted" in "".join(store.kept_traces())
    until_none_is_left(words, store)
    assert store.kept_traces() == []


def traces_of(words: str, store: SqliteStore) -> int:
    """Count some words in all files of the store's folder."""
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


def test_what_is_deleted_while_people_answer_without_a_pause_leaves_no_trace(
    store: SqliteStore, person: Person, small_study: Study
) -> None:
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


def test_the_log_of_a_file_that_was_replaced_holds_nothing_and_is_gone(
    store: SqliteStore, person: Person, tmp_path: Path
) -> None:
    """It was moved to the file that it belongs to, which whoever replaced it may have kept."""
    words = "what I said about my illness"
    backup, kept = store.path.with_name("backup.db"), tmp_path / "kept.db"
    back_up(store, backup)
    person.send(response(1, response=words))
    store.path.rename(kept)
    backup.rename(store.path)
    assert store.answers(person.session).keys() == {0}
    assert sorted(path.name for path in files_of(store)) == [
        store.path.name, f"{store.path.name}-shm", f"{store.path.name}-wal",
    ]  # fmt: skip
    assert traces_of(words, store) == 0
    with closing(SqliteStore(kept)) as replaced:
        assert replaced.answers(person.session)[1] == words


@pytest.mark.parametrize("name", ["before-12345678-wal", "saved-12345678"])
def test_a_file_that_was_left_aside_is_named_when_something_is_deleted(
    store: SqliteStore, person: Person, name: str
) -> None:
    """As a log that was read when its file was replaced, or a copy by a program that was killed."""
    aside = store.path.with_name(f"{store.path.name}-{name}")
    aside.write_bytes(b"what was there")
    person.withdraw()
    (told,) = store.kept_traces()
    assert str(aside) in told and "may hold what was deleted. Fix: " in told


def test_a_withdrawal_during_a_backup_holds_up_nobody(store: SqliteStore, person: Person, small_study: Study) -> None:
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


def test_a_first_start_that_was_interrupted_is_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "equipoise.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE _sqlite_migrations (id INTEGER PRIMARY KEY, migration_set TEXT, name TEXT, applied_at TEXT)"
        )
    db.close()
    SqliteStore(path).close()
    with closing(SqliteStore(path)) as store:
        assert problems(store) == []


# What is not ours.


def test_a_store_of_a_newer_version_is_refused_and_untouched(store: SqliteStore) -> None:
    store.close()
    by_hand(
        store,
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('equipoise', 'm999_future', '')",
    )
    before = fingerprint(store.path)
    with pytest.raises(InputError, match=r"written by a newer Equipoise .*m999_future"):
        SqliteStore(store.path)
    assert fingerprint(store.path) == before


@pytest.mark.parametrize(
    "content", [b"these are my notes\n" * 100, b"SQLite format 3\x00" + b"\x00" * 600, os.urandom(8192)]
)
def test_a_file_that_is_no_store_is_refused_and_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"notes\.db"):
        SqliteStore(path)
    assert path.read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["notes.db"]


@pytest.mark.parametrize("table", ["trials", "sessions", "something"])
def test_another_programs_database_is_refused_and_untouched(tmp_path: Path, table: str) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE {table} (a)")
    db.close()
    before = fingerprint(path)
    with pytest.raises(InputError, match="not an Equipoise store"):
        SqliteStore(path)
    assert fingerprint(path) == before


@pytest.mark.parametrize("path", ["folder", "file/store.db", "folder/../file/x/store.db"])
def test_a_path_that_cannot_be_a_store_is_refused_in_words(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"folder|file"):
        SqliteStore(tmp_path / path)


# The file taken away, or another put in its place, while the store is open.


@each_operation
def test_a_store_whose_file_has_vanished_says_so_and_makes_no_new_one(
    store: SqliteStore, person: Person, operation: Callable[[Person], Any]
) -> None:
    before = person.now
    aside = store.path.with_name("aside.db")
    store.path.rename(aside)
    with pytest.raises(StoreUnavailable):
        operation(person)
    assert not store.path.exists()
    aside.rename(store.path)
    assert person.now == before
    assert person.answer() == [True]
    assert problems(store) == []


def test_what_was_not_acknowledged_while_the_file_was_away_is_stored_when_it_is_sent_again(
    store: SqliteStore, person: Person
) -> None:
    aside = store.path.with_name("aside.db")
    store.path.rename(aside)
    sent = response(1)
    with pytest.raises(StoreUnavailable):
        person.send(sent)
    aside.rename(store.path)
    assert person.send(sent) == [True]
    assert person.send(sent) == [False]
    with closing(reopened(store)) as again:
        assert [index for index, _ in responses_of(again, person.session)] == [0, 1]
        assert problems(again) == []


@pytest.mark.parametrize("n_later", [2, 40])
@pytest.mark.parametrize("with_log", [True, False], ids=["all files replaced", "the file alone replaced"])
def test_a_backup_put_in_the_place_of_an_open_store_is_the_store_from_then_on(
    store: SqliteStore, person: Person, small_study: Study, n_later: int, with_log: bool
) -> None:
    """As the message on damage tells people to: "put your latest backup in its place"."""
    backup = store.path.with_name("backup.db")
    before = back_up(store, backup)
    with connect(store.path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # so that what is written later is a part of the log alone
    db.close()
    later = [Person(store, small_study).complete() for _ in range(n_later)]
    store.trials()
    if with_log:
        for path in files_of(store):
            path.unlink()
    os.replace(backup, store.path)  # noqa: PTH105 - as `mv` does

    assert verified(store) == before
    store.check_integrity()
    assert store.find_session(later[0].token) is None
    assert person.answer() == [True]
    assert store.find_session(person.token) == person.now
    newcomer = Person(store, small_study).complete()
    with closing(reopened(store)) as again:
        again.check_integrity()
        assert problems(again) == []
        assert [index for index, _ in responses_of(again, person.session)] == [0, 1]
        assert len(responses_of(again, newcomer.session)) == 3


def test_nothing_is_acknowledged_when_a_backup_is_put_in_place_during_a_commit(
    store: SqliteStore, person: Person, small_study: Study
) -> None:
    backup = store.path.with_name("backup.db")
    back_up(store, backup)
    later = Person(store, small_study)

    def replaced(db: Database) -> None:
        db.execute("UPDATE sessions SET completion_code = completion_code").fetchall()
        os.replace(backup, store.path)  # noqa: PTH105 - as `mv` does

    with pytest.raises(StoreUnavailable, match="another file took the store's place"):
        store._write(replaced)
    assert store.find_session(later.token) is None
    assert person.answer() == [True]
    assert problems(store) == []


def test_a_log_that_cannot_be_read_makes_the_store_unavailable(
    store: SqliteStore, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_open = os.open

    def opened(path: str, *arguments: Any) -> int:
        if path.endswith("-wal"):
            raise OSError(errno.EIO, "Input/output error")
        return really_open(path, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(write_ahead_log.os, "open", opened)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                store.check()
    assert person.answer() == [True]


def test_a_backup_put_in_the_place_of_a_damaged_store_is_the_store_from_then_on(
    store: SqliteStore, person: Person, small_study: Study
) -> None:
    """The store refuses to write to the damaged file, and resumes by itself with the backup."""
    others = [Person(store, small_study) for _ in range(3)]
    backup = store.path.with_name("backup.db")
    before = back_up(store, backup)
    with connect(store.path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    damage(store.path, root_page(store, "responses"))
    for operation in (store.trials, store.trials, person.answer):
        with pytest.raises(StoreUnavailable):
            operation()
    for other in others:  # whose pages are whole
        with pytest.raises(StoreUnavailable, match="damaged"):
            store.release_place(other.session, Release.RETURN)
    os.replace(backup, store.path)  # noqa: PTH105 - as `mv` does
    assert verified(store) == before
    store.check_integrity()
    assert person.answer() == [True]
    assert problems(store) == []


def test_a_backup_of_before_a_version_was_registered_can_be_put_in_its_place(
    store: SqliteStore, small_study: Study
) -> None:
    store.register_study(small_study)
    backup = store.path.with_name("backup.db")
    back_up(store, backup)
    later = version_of(small_study, "1.1")
    store.register_study(later)
    Person(store, later)
    for path in files_of(store):
        path.unlink()
    backup.rename(store.path)
    # Whether the store helps itself or waits to be restarted; but it must know what is the matter.
    with suppress(StoreUnavailable):
        Person(store, later).complete()
    with suppress(StoreUnavailable):
        assert store.why_full(later) is None
    store.register_study(later)
    Person(store, later).complete()
    assert problems(store) == []


@each_operation
@pytest.mark.parametrize(
    "content", [b"", b"my notes", b"SQLite format 3\x00" + b"\x00" * 600], ids=["empty", "text", "beginning of a store"]
)
def test_whatever_else_is_put_in_the_place_of_an_open_store_is_no_store_and_untouched(
    store: SqliteStore, person: Person, content: bytes, operation: Callable[[Person], Any]
) -> None:
    """An empty file, too: it may be the beginning of a backup that is being copied there."""
    aside = store.path.with_name("aside.db")
    store.path.rename(aside)
    store.path.write_bytes(content)
    with pytest.raises(StoreUnavailable):
        operation(person)
    assert store.path.read_bytes()[:1000] == content
    aside.replace(store.path)
    assert person.answer() == [True]
    assert problems(store) == []


def test_nothing_is_acknowledged_into_a_file_without_a_name(
    store: SqliteStore, person: Person, small_study: Study
) -> None:
    """People answer all the time while a backup takes the place of the store, three times."""
    backup = store.path.with_name("backup.db")
    back_up(store, backup)
    is_over, acknowledged = threading.Event(), []
    latest_replacement = 0.0

    def take_part() -> None:
        while not is_over.is_set():
            began = time.monotonic()
            with suppress(Exception):  # whatever comes of it; what matters is what was acknowledged
                somebody = Person(store, small_study)
                somebody.answer_all()
                acknowledged.append((began, somebody))

    threads = [threading.Thread(target=take_part) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        time.sleep(0.3)
        aside = store.path.with_name("next.db")
        shutil.copy(backup, aside)
        for path in files_of(store):
            path.unlink()
        aside.rename(store.path)
        latest_replacement = time.monotonic()
    time.sleep(0.3)
    is_over.set()
    for thread in threads:
        thread.join()
    after = [somebody for began, somebody in acknowledged if began > latest_replacement]
    assert len(after) > 3
    with closing(reopened(store)) as again:
        assert problems(again) == []
        assert [len(responses_of(again, somebody.session)) for somebody in after] == [3] * len(after)


# A file that cannot be written to.


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder and its files unwritable for a block; root, whom modes do not bind, becomes nobody meanwhile."""
    modes = {path: path.stat().st_mode for path in (folder, *folder.iterdir())}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    is_root = os.geteuid() == 0
    try:
        if is_root:
            os.seteuid(65534)
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for path, mode in modes.items():
            path.chmod(mode)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Let root, whom modes do not bind, be nobody for a block."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@contextmanager
def as_root() -> Iterator[None]:
    """Be root again, if that is who runs this, for a block within `as_nobody`."""
    was_root = os.getuid() == 0
    if was_root:
        os.seteuid(0)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(65534)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that everybody can reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_a_store_that_cannot_be_written_to_is_not_opened(public_folder: Path, small_study: Study) -> None:
    with closing(SqliteStore(public_folder / "equipoise.db")) as store:
        store.register_study(small_study)
        person = Person(store, small_study).complete()
    with read_only(public_folder), pytest.raises(InputError, match="folder can be written to"):
        SqliteStore(store.path)
    with closing(SqliteStore(store.path)) as again:
        assert len(responses_of(again, person.session)) == 3


def test_a_folder_that_cannot_be_written_to_gets_no_store(public_folder: Path) -> None:
    with read_only(public_folder):
        with pytest.raises(InputError, match="folder can be written to"):
            SqliteStore(public_folder / "equipoise.db")
        with pytest.raises(InputError, match="this folder cannot be made"):
            SqliteStore(public_folder / "data" / "equipoise.db")
    assert list(public_folder.iterdir()) == []


def test_a_store_that_becomes_unwritable_acknowledges_nothing_until_it_is_mended(
    public_folder: Path, small_study: Study
) -> None:
    with closing(SqliteStore(public_folder / "equipoise.db")) as store:
        store.register_study(small_study)
        person = Person(store, small_study)
        person.answer()
        with closing(reopened(store)) as again:  # with nothing open yet
            person.store = again
            with read_only(public_folder):
                for write in (person.answer, again.check, person.withdraw):
                    with pytest.raises(StoreUnavailable):
                        write()
            assert person.answer() == [True]
            again.check()
            assert problems(again) == []


@pytest.mark.parametrize("was_used", [True, False])
@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_store_that_was_unwritable_for_a_while_goes_on_by_itself(
    public_folder: Path, small_study: Study, what: str, was_used: bool
) -> None:
    """Also where connections were opened meanwhile: they can only read, and SQLite's files beside it likewise."""
    with closing(SqliteStore(public_folder / "equipoise.db")) as store:
        store.register_study(small_study)
        person = Person(store, small_study)
        person.answer()
    public_folder.chmod(0o777)
    store.path.chmod(0o666)
    with as_nobody(), closing(SqliteStore(store.path)) as again:
        person.store = again
        if was_used:
            assert person.answer() == [True]
        place = public_folder if what == "folder" else store.path
        modes = {path: path.stat().st_mode for path in (place, *public_folder.iterdir())}
        with as_root():
            for path, mode in modes.items():
                path.chmod(mode & ~0o222)
        for _ in range(2):
            at_once(*[partial(again.answers, person.session)] * 3)
            with suppress(StoreUnavailable):
                again.check()
        with as_root():
            for path, mode in modes.items():
                if path.exists():
                    path.chmod(mode)
        with suppress(StoreUnavailable):  # the first one may find what is left of it
            again.check()
        again.check()
        person.answer_all()
        assert len(again.answers(person.session)) == 3
        assert problems(again) == []


# A locked file.


def test_nothing_is_acknowledged_while_another_program_holds_the_file(
    store: SqliteStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_S", 0.2)
    with closing(reopened(store)) as again:
        again.register_study(small_study)
        people = [Person(again, small_study) for _ in range(5)]
        blocker = sqlite3.connect(store.path, isolation_level=None)
        blocker.execute("BEGIN EXCLUSIVE")
        outcomes = at_once(*(person.answer_all for person in people))
        assert of(StoreUnavailable, outcomes) == 5
        with pytest.raises(StoreUnavailable, match="locked"):
            again.check()
        assert [again.answers(person.session) for person in people] == [{}] * 5  # reading goes on
        blocker.execute("ROLLBACK")
        blocker.close()
        assert at_once(*(person.answer_all for person in people)) == people
        again.check()
        assert problems(again) == []


def test_a_commit_waits_for_another_program_that_is_soon_done(store: SqliteStore, person: Person) -> None:
    blocker = sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    blocker.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.3, lambda: (blocker.execute("ROLLBACK"), blocker.close())).start()
    assert person.answer() == [True]


def test_a_locked_file_is_not_opened_and_the_message_says_why(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_S", 0.2)
    store.close()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as blocker:
        blocker.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InputError, match=r"cannot be opened now.*locked.*not touched"):
            SqliteStore(store.path)
    SqliteStore(store.path).close()


# A full disk.


class SmallDisk:
    """A disk of 2 MB, which can be filled to the brim."""

    def __init__(self, folder: Path, is_mounted: bool) -> None:
        self.folder, self._is_mounted = folder, is_mounted
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        if not self._is_mounted:  # no file of this process can grow any more
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            return
        with self._ballast.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"\x00" * 512)

    def bound(self) -> None:
        """Let no file grow beyond the disk's size, where the disk itself has another."""
        if not self._is_mounted:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    def free(self) -> None:
        if not self._is_mounted:
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            return
        self._ballast.unlink(missing_ok=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk in memory, where we may mount one; otherwise the system's bound on the size of files stands in for it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    is_mounted = bool(shutil.which("mount")) and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    disk = SmallDisk(folder, is_mounted)
    try:
        yield disk
    finally:
        disk.free()
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_room(
    small_disk: SmallDisk, small_study: Study
) -> None:
    with closing(SqliteStore(small_disk.folder / "equipoise.db")) as store:
        store.register_study(small_study)
        people = [Person(store, small_study) for _ in range(20)]
        small_disk.fill()
        acknowledged: dict[str, int] = {}
        for person in people:
            acknowledged[person.session] = 0
            with suppress(StoreUnavailable):
                for index in range(3):
                    person.send(response(index, response="x" * 2_000))
                    acknowledged[person.session] += 1
            if acknowledged[person.session] < 3:
                break
        full_at = len(acknowledged)
        assert full_at < 20, "the disk did not get full"
        outcomes = at_once(*(person.answer_all for person in people[full_at:]))
        assert of(StoreUnavailable, outcomes) == len(outcomes)
        for read in (store.trials, lambda: store.answers(people[0].session), lambda: store.progress(small_study)):
            with suppress(StoreUnavailable):  # or it can be read; but nothing else is the matter
                read()

        small_disk.free()
        store.check()
        for person in people[:full_at]:
            n_stored = len(responses_of(store, person.session))
            assert n_stored == acknowledged[person.session]
        assert at_once(*(person.answer_all for person in people[full_at:])) == people[full_at:]
        with closing(reopened(store)) as again:
            again.check_integrity()
            assert problems(again) == []


def test_a_check_tells_that_the_disk_is_full(small_disk: SmallDisk, small_study: Study) -> None:
    with closing(SqliteStore(small_disk.folder / "equipoise.db")) as store:
        store.register_study(small_study)
        store.check()
        small_disk.fill()
        for _ in range(60):
            try:
                Person(store, small_study)
            except StoreUnavailable:
                break
        with pytest.raises(StoreUnavailable):
            Person(store, small_study)
        with pytest.raises(StoreUnavailable):
            store.check()
        small_disk.free()
        store.check()


def test_a_store_can_neither_be_made_nor_spoiled_on_a_full_disk(
    small_disk: SmallDisk, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_S", 0.2)
    store = SqliteStore(small_disk.folder / "equipoise.db")
    store.register_study(small_study)
    person = Person(store, small_study).complete()
    store.close()
    small_disk.fill()
    with pytest.raises(InputError, match="cannot be opened now"):
        SqliteStore(small_disk.folder / "new.db")
    with suppress(InputError):
        SqliteStore(store.path).close()
    small_disk.free()
    with closing(SqliteStore(store.path)) as again:
        assert len(responses_of(again, person.session)) == 3
        assert problems(again) == []


def test_a_backup_onto_a_full_disk_is_refused_in_words_and_leaves_nothing(
    store: SqliteStore, small_disk: SmallDisk, small_study: Study
) -> None:
    store.register_study(small_study)
    for _ in range(30):
        person = Person(store, small_study)
        person.send(*(response(index, response="x" * 40_000) for index in range(3)))
    before = set(small_disk.folder.iterdir())
    small_disk.bound()
    with pytest.raises(InputError, match="backup cannot be written"):
        back_up(store, small_disk.folder / "backup.db")
    assert set(small_disk.folder.iterdir()) == before
    assert person.now.n_answered == 3


# A damaged file.


def damage(path: Path, page: int, page_size: int = 4096) -> None:
    """Overwrite a page of a file (from 1) with noise, as a failing disk does."""
    with path.open("r+b") as file:
        file.seek((page - 1) * page_size)
        file.write(random.Random(page).randbytes(page_size))


@pytest.fixture
def filled(store: SqliteStore, person: Person, small_study: Study) -> Person:
    """Somebody in a store with some pages of answers, which is closed."""
    for _ in range(12):
        Person(store, small_study).send(*(response(index, response="x" * 500) for index in range(3)))
    store.close()
    assert [path.name for path in files_of(store)] == [store.path.name]
    return person


def root_page(store: SqliteStore, table: str) -> int:
    (page,) = rows(store, "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))[0]
    return int(page)


def test_damage_is_found_when_the_store_is_checked_whichever_page_it_strikes(filled: Person, tmp_path: Path) -> None:
    free = {page for (page,) in rows(filled.store, "SELECT freelist_count FROM pragma_freelist_count")}
    assert free == {0}  # so that no page is without meaning
    n_pages = filled.store.path.stat().st_size // 4096
    for page in range(1, n_pages + 1):
        path = tmp_path / f"{page}.db"
        shutil.copy(filled.store.path, path)
        damage(path, page)
        try:
            store = SqliteStore(path)
        except InputError:
            continue
        with closing(store), pytest.raises(InputError, match="the store is damaged"):
            store.check_integrity()


@pytest.mark.parametrize("name", ["add_responses", "answers", "trials", "withdraw_session"])
def test_a_page_that_cannot_be_read_makes_the_store_unavailable_and_nothing_else(filled: Person, name: str) -> None:
    damage(filled.store.path, root_page(filled.store, "responses"))
    with closing(SqliteStore(filled.store.path)) as filled.store:
        with pytest.raises(StoreUnavailable, match="malformed"):
            OPERATIONS[name](filled)
        assert filled.now.n_answered == 1  # whose pages are whole


def test_after_damage_nothing_more_is_acknowledged_until_the_file_is_replaced(
    filled: Person, small_study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    """What is whole can still be read."""
    with closing(SqliteStore(filled.store.path)) as store:
        back_up(store, store.path.with_name("backup.db"))
    damage(filled.store.path, root_page(filled.store, "responses"))
    with closing(SqliteStore(filled.store.path)) as filled.store:
        store = filled.store
        store.check()
        with pytest.raises(StoreUnavailable, match="malformed"):
            store.answers(filled.session)
        for write in (store.check, lambda: Person(store, small_study), filled.withdraw):
            with pytest.raises(StoreUnavailable, match="nothing is stored until it is replaced by a backup"):
                write()
        assert filled.now.n_answered == 1
        assert len([record for record in caplog.records if "is damaged" in record.getMessage()]) == 1
        store.path.with_name("backup.db").replace(store.path)
        store.check()
        assert filled.answer() == [True]
        assert problems(store) == []


def test_the_advice_on_damage_speaks_of_the_files_beside_the_store(filled: Person) -> None:
    """A log of before, left beside a backup put in the store's place, would be written into the backup."""
    damage(filled.store.path, root_page(filled.store, "responses"))
    with closing(SqliteStore(filled.store.path)) as store, pytest.raises(InputError, match="-wal"):
        store.check_integrity()


def test_damage_while_the_store_is_open_makes_it_unavailable_and_nothing_else(
    filled: Person, small_study: Study
) -> None:
    pages = [
        root_page(filled.store, table) for table in ("sessions", "responses", "places", "events", "planned_trials")
    ]
    with closing(SqliteStore(filled.store.path)) as store:
        store.find_session("nobody")
        for page in pages:
            damage(filled.store.path, page)
        with pytest.raises(StoreUnavailable):
            Person(store, small_study)
        with pytest.raises(StoreUnavailable):
            store.trials()
