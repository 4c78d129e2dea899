"""The embedded store while its file is removed, replaced, or not writable."""

import errno
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from experiment.study.definition import Study
from server.store import Release, SqliteStore, StoreUnavailable
from server.store.copying import back_up
from server.store.database import Database
from server.store.sqlite import write_ahead_log
from server.store.sqlite.file import connect
from tests.server.store.sqlite.files import OPERATIONS, damage, files_of, root_page
from tests.server.stores import (
    Person,
    at_once,
    problems,
    reopened,
    response,
    responses_of,
    verified,
    version_of,
)

each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())


# The file is removed or replaced while the store is open.


@each_operation
def test_a_missing_file_is_reported_and_no_new_file_is_made(
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


def test_responses_refused_while_the_file_was_missing_are_stored_by_a_retry(store: SqliteStore, person: Person) -> None:
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
def test_a_backup_that_replaces_an_open_store_is_used_as_the_store(
    store: SqliteStore, person: Person, small_study: Study, n_later: int, with_log: bool
) -> None:
    """Do as the message about damage says: "put your latest backup in this file's place"."""
    backup = store.path.with_name("backup.db")
    before = back_up(store, backup)
    with connect(store.path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # So later writes are only in the log.
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


def test_nothing_is_acknowledged_when_a_backup_replaces_the_file_during_a_commit(
    store: SqliteStore, person: Person, small_study: Study
) -> None:
    backup = store.path.with_name("backup.db")
    back_up(store, backup)
    later = Person(store, small_study)

    def replaced(db: Database) -> None:
        db.execute("UPDATE sessions SET withdrawal_code = withdrawal_code").fetchall()
        os.replace(backup, store.path)  # noqa: PTH105 - as `mv` does

    with pytest.raises(StoreUnavailable, match="another file replaced the store"):
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


def test_a_backup_that_replaces_a_damaged_store_is_used_as_the_store(
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
    for other in others:  # Their pages are not damaged.
        with pytest.raises(StoreUnavailable, match="damaged"):
            store.release_slot(other.session, Release.RETURN)
    os.replace(backup, store.path)  # noqa: PTH105 - as `mv` does
    assert verified(store) == before
    store.check_integrity()
    assert person.answer() == [True]
    assert problems(store) == []


def test_a_backup_from_before_a_registration_can_replace_the_store(store: SqliteStore, small_study: Study) -> None:
    store.register_study(small_study)
    backup = store.path.with_name("backup.db")
    back_up(store, backup)
    later = version_of(small_study, "1.1")
    store.register_study(later)
    Person(store, later)
    for path in files_of(store):
        path.unlink()
    backup.rename(store.path)
    # The store recovers or waits for a restart; in both cases it must report the cause.
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
def test_a_file_that_is_not_a_store_in_place_of_an_open_store_is_not_changed(
    store: SqliteStore, person: Person, content: bytes, operation: Callable[[Person], Any]
) -> None:
    """An empty file is refused too: it may be the beginning of a backup that is being copied."""
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
    """Participants respond all the time while a backup replaces the store, three times."""
    backup = store.path.with_name("backup.db")
    back_up(store, backup)
    is_over, acknowledged = threading.Event(), []
    latest_replacement = 0.0

    def take_part() -> None:
        while not is_over.is_set():
            began = time.monotonic()
            with suppress(Exception):  # Only acknowledged responses matter.
                participant = Person(store, small_study)
                participant.answer_all()
                acknowledged.append((began, participant))

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
    after = [participant for began, participant in acknowledged if began > latest_replacement]
    assert len(after) > 3
    with closing(reopened(store)) as again:
        assert problems(again) == []
        assert [len(responses_of(again, participant.session)) for participant in after] == [3] * len(after)


# A file that is not writable.


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder and its files unwritable for a block; root, who ignores modes, becomes the user nobody."""
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
    """Let root, who ignores modes, be the user nobody for a block."""
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
    """Be root again for a block within `as_nobody`, if root runs the test."""
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
    """A folder that all users can open."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_a_store_that_cannot_be_written_to_is_not_opened(public_folder: Path, small_study: Study) -> None:
    with closing(SqliteStore(public_folder / "equipoise.db")) as store:
        store.register_study(small_study)
        person = Person(store, small_study).complete()
    with read_only(public_folder), pytest.raises(InputError, match="folder is writable"):
        SqliteStore(store.path)
    with closing(SqliteStore(store.path)) as again:
        assert len(responses_of(again, person.session)) == 3


def test_a_folder_that_cannot_be_written_to_gets_no_store(public_folder: Path) -> None:
    with read_only(public_folder):
        with pytest.raises(InputError, match="folder is writable"):
            SqliteStore(public_folder / "equipoise.db")
        with pytest.raises(InputError, match="this folder cannot be made"):
            SqliteStore(public_folder / "data" / "equipoise.db")
    assert list(public_folder.iterdir()) == []


def test_a_store_that_becomes_unwritable_acknowledges_nothing_until_it_is_writable(
    public_folder: Path, small_study: Study
) -> None:
    with closing(SqliteStore(public_folder / "equipoise.db")) as store:
        store.register_study(small_study)
        person = Person(store, small_study)
        person.answer()
        with closing(reopened(store)) as again:  # With no connection open yet.
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
def test_a_store_that_was_unwritable_for_a_while_continues_by_itself(
    public_folder: Path, small_study: Study, what: str, was_used: bool
) -> None:
    """The same holds if connections were opened meanwhile: they and SQLite's further files are read-only."""
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
        target = public_folder if what == "folder" else store.path
        modes = {path: path.stat().st_mode for path in (target, *public_folder.iterdir())}
        with as_root():
            for path, mode in modes.items():
                path.chmod(mode & ~0o222)
        for _ in range(2):
            at_once(*[partial(again.responses, person.session)] * 3)
            with suppress(StoreUnavailable):
                again.check()
        with as_root():
            for path, mode in modes.items():
                if path.exists():
                    path.chmod(mode)
        with suppress(StoreUnavailable):  # The first one may fail.
            again.check()
        again.check()
        person.answer_all()
        assert len(again.responses(person.session)) == 3
        assert problems(again) == []
