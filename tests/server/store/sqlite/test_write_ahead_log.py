"""The write-ahead log: all of it reaches the file, and no acknowledged data are lost if another program changes it."""

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.study.definition import Study
from server.store import SqliteStore, StoreUnavailable
from server.store.database import Database
from server.store.open import open_store
from server.store.sql import group_commit
from server.store.sqlite import store as sqlite_store
from tests.server.stores import Person, at_once, problems, recruiting, response, responses_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="takes away files that are open, as Windows does not allow")


@pytest.fixture
def soon_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores do their housekeeping soon."""
    monkeypatch.setattr(group_commit, "IDLE_S", 0.1)


def log_of(store: SqliteStore) -> Path:
    return store.path.with_name(f"{store.path.name}-wal")


def index_of(store: SqliteStore) -> Path:
    return store.path.with_name(f"{store.path.name}-shm")


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def until(is_so: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def in_file_alone(store: SqliteStore, session: str, folder: Path) -> int:
    """Count a session's responses in a copy of the database file, without its log."""
    shutil.copy(store.path, folder / "alone.db")
    with closing(sqlite3.connect(folder / "alone.db")) as db:
        found = db.execute("SELECT COUNT(*) FROM responses WHERE session = ?", (session,)).fetchone()
    return int(found[0])


# The log's content reaches the file.


def test_a_closed_store_has_everything_in_one_file(store: SqliteStore, small_study: Study) -> None:
    store.register_study(small_study)
    person = Person(store, small_study).complete()
    store.trials()
    assert size(log_of(store)) > 0
    store.close()
    store.close()
    assert [path.name for path in store.path.parent.iterdir()] == [store.path.name]
    with closing(SqliteStore(store.path)) as again:
        assert len(responses_of(again, person.session)) == 3


def test_a_store_that_is_closed_during_other_reads_has_everything_in_its_file(
    store: SqliteStore, small_study: Study, tmp_path: Path
) -> None:
    store.register_study(small_study)
    person = Person(store, small_study).complete()
    with closing(SqliteStore(store.path)) as other:
        other.trials()
        store.close()
        assert in_file_alone(store, person.session, tmp_path) == 3
        assert other.find_session(person.token) is not None


def test_closing_waits_for_no_reader_for_long(
    store: SqliteStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "READERS_PATIENCE_S", 0.5)
    store.register_study(small_study)
    person = Person(store, small_study)
    with closing(SqliteStore(store.path)) as other:
        with other.snapshot() as db:
            db.execute("SELECT COUNT(*) FROM responses").fetchone()
            person.complete()
            began = time.monotonic()
            store.close()
            assert time.monotonic() - began < 15
        assert len(responses_of(other, person.session)) == 3


def test_closing_does_not_wait_forever_for_a_lock(
    store: SqliteStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "CLOSE_TIMEOUT_S", 0.3)
    store.register_study(small_study)
    person = Person(store, small_study)
    person.answer()
    blocker = sqlite3.connect(store.path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    answering = threading.Thread(target=lambda: suppress(StoreUnavailable).__enter__() or person.answer(), daemon=True)
    answering.start()
    time.sleep(0.1)
    began = time.monotonic()
    store.close()
    assert time.monotonic() - began < 15
    blocker.execute("ROLLBACK")
    blocker.close()
    answering.join()
    with closing(SqliteStore(store.path)) as again:
        assert len(responses_of(again, person.session)) in {1, 2}


def test_work_that_arrives_during_closing_is_refused_at_once(store: SqliteStore, small_study: Study) -> None:
    store.register_study(small_study)
    people = [Person(store, recruiting(small_study, quota=100)) for _ in range(6)]
    outcomes = at_once(*(person.answer_all for person in people), store.close)
    with closing(SqliteStore(store.path)) as again:
        for person, outcome in zip(people, outcomes, strict=False):
            n_stored = len(responses_of(again, person.session))
            assert n_stored == 3 if outcome is person else isinstance(outcome, StoreUnavailable)


def test_everything_is_in_the_file_after_an_idle_time(
    soon_idle: None, store: SqliteStore, small_study: Study, tmp_path: Path
) -> None:
    store.register_study(small_study)
    person = Person(store, small_study)
    person.answer(2)
    until(lambda: size(log_of(store)) == 0)
    assert in_file_alone(store, person.session, tmp_path) == 2
    person.answer()
    until(lambda: size(log_of(store)) == 0)
    assert in_file_alone(store, person.session, tmp_path) == 3


def test_the_log_does_not_grow_without_limit_under_constant_load(
    store: SqliteStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "MOVE_LOG_AFTER_ROWS", 100)
    study = recruiting(small_study, quota=10_000)
    store.register_study(study)
    largest = []
    for _ in range(8):
        for _ in range(15):
            Person(store, study).complete()
        largest.append(size(log_of(store)))
    assert largest[-1] < 1.5 * largest[3], "the log is not used again from its beginning"
    assert problems(store) == []


# A database file without its log, or a log without its file.


@pytest.mark.parametrize("must_exist", [True, False])
@pytest.mark.parametrize("what", ["absent", "empty"])
def test_a_log_without_its_file_is_refused_and_not_changed(
    store: SqliteStore, small_study: Study, tmp_path: Path, what: str, must_exist: bool
) -> None:
    store.register_study(small_study)
    person = Person(store, small_study).complete()
    folder = tmp_path / "killed"
    folder.mkdir()
    for path in (store.path, log_of(store)):  # As after a kill.
        shutil.copy(path, folder / path.name)
    path = folder / store.path.name
    aside = path.rename(folder / "aside")
    if what == "empty":
        path.touch()
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    with pytest.raises(
        InputError, match=r"its log equipoise\.db-wal contains responses\. Fix: put the database file back"
    ):
        open_store(str(path), must_exist)
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before
    aside.replace(path)
    with closing(open_store(str(path), must_exist)) as again:
        assert len(responses_of(again, person.session)) == 3


@pytest.mark.parametrize("what", ["absent", "empty"])
def test_a_store_that_must_exist_is_not_made(tmp_path: Path, what: str) -> None:
    path = tmp_path / "nowhere" / "equipoise.db"
    if what == "empty":
        path.parent.mkdir()
        path.touch()
    with pytest.raises(InputError, match=r"this file does not exist|this file is empty"):
        open_store(str(path), must_exist=True)
    assert path.exists() == (what == "empty")
    assert size(path) == 0
    assert path.parent.exists() == (what == "empty")


# A log that another program changes while the store is open.


def delete_log(store: SqliteStore) -> None:
    log_of(store).unlink()


def move_log(store: SqliteStore) -> None:
    log_of(store).rename(store.path.with_name("moved"))


def delete_log_and_index(store: SqliteStore) -> None:
    log_of(store).unlink()
    index_of(store).unlink()


def delete_index(store: SqliteStore) -> None:
    index_of(store).unlink()


def cut_log(store: SqliteStore) -> None:
    os.truncate(log_of(store), 0)


def replace_log(store: SqliteStore) -> None:
    store.path.with_name("other").write_bytes(b"something else" * 1_000)
    store.path.with_name("other").replace(log_of(store))


TOUCHES = [delete_log, move_log, delete_log_and_index, delete_index, cut_log, replace_log]
each_touch = pytest.mark.parametrize("touch", TOUCHES)


@each_touch
def test_nothing_acknowledged_is_lost_when_another_program_changes_the_log(
    store: SqliteStore, small_study: Study, touch: Callable[[SqliteStore], None], tmp_path: Path
) -> None:
    """Read a copy of the files, without this process."""
    study = recruiting(small_study, quota=1_000)
    store.register_study(study)
    people = [Person(store, study).complete() for _ in range(5)]
    for _ in range(3):
        person = Person(store, study)
        person.answer()
        touch(store)
        for _ in range(2):
            with suppress(StoreUnavailable):
                person.answer()
        people.append(person)
        people.append(Person(store, study).complete())
    assert len(people[-2].sent) >= 2
    folder = tmp_path / "killed"
    folder.mkdir()
    for path in store.path.parent.glob(f"{store.path.name}*"):
        if not path.name.endswith("-shm"):
            shutil.copy(path, folder / path.name)
    with closing(SqliteStore(folder / store.path.name)) as again:
        for person in people:
            assert len(responses_of(again, person.session)) >= len(person.sent)
        assert problems(again) == []
        again.check_integrity()
    store.close()
    with closing(SqliteStore(store.path)) as again:
        assert [len(responses_of(again, person.session)) for person in people] == [
            max(len(person.sent), 2) for person in people
        ]
        assert problems(again) == []


@each_touch
def test_nothing_is_lost_when_another_program_changes_the_log_during_a_commit(
    store: SqliteStore, small_study: Study, touch: Callable[[SqliteStore], None]
) -> None:
    study = recruiting(small_study, quota=1_000)
    store.register_study(study)
    people = [Person(store, study).complete() for _ in range(5)]

    def touched(db: Database) -> None:
        db.execute("UPDATE sessions SET withdrawal_code = withdrawal_code").fetchall()
        touch(store)

    store._write(touched)
    people.append(Person(store, study).complete())
    store.close()
    with closing(SqliteStore(store.path)) as again:
        assert [len(responses_of(again, person.session)) for person in people] == [3] * 6
        assert problems(again) == []
        again.check_integrity()


@each_touch
def test_the_content_of_a_changed_log_is_soon_in_the_file_of_an_idle_store(
    soon_idle: None, small_study: Study, touch: Callable[[SqliteStore], None], tmp_path: Path
) -> None:
    with closing(SqliteStore(tmp_path / "data" / "equipoise.db")) as store:
        store.register_study(small_study)
        for _ in range(3):
            person = Person(store, small_study).complete()
            touch(store)
            until(lambda person=person: in_file_alone(store, person.session, tmp_path) == 3)
        until(lambda: problems(store) == [])  # A reading that began before the file was replaced may fail.


@each_touch
def test_reading_after_a_change_of_the_log_is_right_or_fails(
    store: SqliteStore, small_study: Study, touch: Callable[[SqliteStore], None]
) -> None:
    store.register_study(small_study)
    person = Person(store, small_study)
    person.answer(2)
    expected = store.responses(person.session)
    store._close_idle_readers()  # So a new connection is needed.
    touch(store)
    for _ in range(3):
        with suppress(StoreUnavailable):
            assert store.responses(person.session) == expected
    assert person.answer() == [True]
    assert len(store.responses(person.session)) == 3


@each_touch
def test_closing_loses_nothing_after_a_change_of_the_log(
    store: SqliteStore, small_study: Study, touch: Callable[[SqliteStore], None]
) -> None:
    store.register_study(small_study)
    person = Person(store, small_study).complete()
    store.trials()
    touch(store)
    store.close()
    with closing(SqliteStore(store.path)) as again:
        assert len(responses_of(again, person.session)) == 3
        assert problems(again) == []


@each_touch
def test_nothing_is_lost_when_another_program_changes_the_log_under_load(
    store: SqliteStore, small_study: Study, touch: Callable[[SqliteStore], None], caplog: pytest.LogCaptureFixture
) -> None:
    study = recruiting(small_study, quota=10_000)
    store.register_study(study)
    is_over = threading.Event()
    acknowledged: list[Person] = []

    def take_part() -> None:
        while not is_over.is_set():
            with suppress(StoreUnavailable):
                acknowledged.append(Person(store, study).complete())

    threads = [threading.Thread(target=take_part) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        time.sleep(0.3)
        with suppress(FileNotFoundError):
            touch(store)
    time.sleep(0.5)
    n_before = len(acknowledged)
    until(lambda: len(acknowledged) > n_before + 10)  # It continues.
    is_over.set()
    for thread in threads:
        thread.join()
    store.close()
    with closing(SqliteStore(store.path)) as again:
        assert problems(again) == []
        assert {len(responses_of(again, person.session)) for person in acknowledged} == {3}
    assert "Never change the files -wal and -shm" in caplog.text


def test_nothing_is_acknowledged_while_the_log_is_gone_and_a_backup_reads(
    store: SqliteStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "READERS_PATIENCE_S", 0.1)
    store.register_study(small_study)
    person = Person(store, small_study)
    person.answer()
    with store.snapshot() as db:
        db.execute("SELECT COUNT(*) FROM responses").fetchone()
        person.answer()
        delete_log(store)
        sent = response(2)
        with pytest.raises(StoreUnavailable, match="was removed"):
            person.send(sent)
        with pytest.raises(StoreUnavailable, match="was removed"):
            store.check()
    assert person.send(sent) in ([True], [False])
    store.close()
    with closing(SqliteStore(store.path)) as again:
        assert len(responses_of(again, person.session)) == 3
