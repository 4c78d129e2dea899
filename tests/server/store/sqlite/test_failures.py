"""The embedded store on a locked file, a full disk and a damaged file."""

import resource
import shutil
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.study.definition import Study
from server.store import SqliteStore, StoreUnavailable
from server.store.copying import back_up
from server.store.sqlite import file as sqlite_file
from tests.server.store.sqlite.files import OPERATIONS, damage, files_of, root_page
from tests.server.stores import (
    Person,
    at_once,
    of,
    problems,
    reopened,
    response,
    responses_of,
    rows,
)

# A locked file.


def test_nothing_is_acknowledged_while_another_program_locks_the_file(
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
        assert [again.responses(person.session) for person in people] == [{}] * 5  # Reading continues.
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
        with pytest.raises(InputError, match=r"cannot be opened now.*locked.*not changed"):
            SqliteStore(store.path)
    SqliteStore(store.path).close()


# A full disk.


class SmallDisk:
    """A disk of 2 MB, which can be filled completely."""

    def __init__(self, folder: Path, is_mounted: bool) -> None:
        self.folder, self._is_mounted = folder, is_mounted
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        if not self._is_mounted:  # No file of this process can grow any more.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            return
        with self._ballast.open("ab", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"\x00" * 512)

    def bound(self) -> None:
        """Limit the size of files to the disk's size, if the disk itself is larger."""
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
    """A disk in memory, if this user may mount one; otherwise the system's limit on the size of files replaces it."""
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


def test_a_full_disk_loses_nothing_and_writing_continues_when_there_is_space(
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
        for read in (store.trials, lambda: store.responses(people[0].session), lambda: store.progress(small_study)):
            with suppress(StoreUnavailable):  # Reading works or the store is unavailable; no other error occurs.
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


def test_a_check_reports_a_full_disk(small_disk: SmallDisk, small_study: Study) -> None:
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


def test_a_backup_to_a_full_disk_is_refused_and_leaves_no_file(
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


@pytest.fixture
def filled(store: SqliteStore, person: Person, small_study: Study) -> Person:
    """A participant in a closed store with some pages of responses."""
    for _ in range(12):
        Person(store, small_study).send(*(response(index, response="x" * 500) for index in range(3)))
    store.close()
    assert [path.name for path in files_of(store)] == [store.path.name]
    return person


def test_the_check_finds_damage_in_any_page(filled: Person, tmp_path: Path) -> None:
    free = {page for (page,) in rows(filled.store, "SELECT freelist_count FROM pragma_freelist_count")}
    assert free == {0}  # So each page has data.
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


@pytest.mark.parametrize("name", ["add_responses", "responses", "trials", "withdraw_session"])
def test_a_page_that_cannot_be_read_only_makes_the_store_unavailable(filled: Person, name: str) -> None:
    damage(filled.store.path, root_page(filled.store, "responses"))
    with closing(SqliteStore(filled.store.path)) as filled.store:
        with pytest.raises(StoreUnavailable, match="malformed"):
            OPERATIONS[name](filled)
        assert filled.now.n_answered == 1  # Their pages are not damaged.


def test_after_damage_nothing_more_is_acknowledged_until_the_file_is_replaced(
    filled: Person, small_study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    """Pages that are not damaged can still be read."""
    with closing(SqliteStore(filled.store.path)) as store:
        back_up(store, store.path.with_name("backup.db"))
    damage(filled.store.path, root_page(filled.store, "responses"))
    with closing(SqliteStore(filled.store.path)) as filled.store:
        store = filled.store
        store.check()
        with pytest.raises(StoreUnavailable, match="malformed"):
            store.responses(filled.session)
        for write in (store.check, lambda: Person(store, small_study), filled.withdraw):
            with pytest.raises(StoreUnavailable, match="nothing is stored until a backup replaces the file"):
                write()
        assert filled.now.n_answered == 1
        assert len([record for record in caplog.records if "is damaged" in record.getMessage()]) == 1
        store.path.with_name("backup.db").replace(store.path)
        store.check()
        assert filled.answer() == [True]
        assert problems(store) == []


def test_the_message_about_damage_names_the_log_files(filled: Person) -> None:
    """An old log beside a backup that replaces the store would be written into the backup."""
    damage(filled.store.path, root_page(filled.store, "responses"))
    with closing(SqliteStore(filled.store.path)) as store, pytest.raises(InputError, match="-wal"):
        store.check_integrity()


def test_damage_to_an_open_store_only_makes_the_store_unavailable(filled: Person, small_study: Study) -> None:
    pages = [root_page(filled.store, table) for table in ("sessions", "responses", "slots", "events", "planned_trials")]
    with closing(SqliteStore(filled.store.path)) as store:
        store.find_session("nobody")
        for page in pages:
            damage(filled.store.path, page)
        with pytest.raises(StoreUnavailable):
            Person(store, small_study)
        with pytest.raises(StoreUnavailable):
            store.trials()
