"""Copying a store, and backing it up while it is used."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from experiment.models.baselines import run_baseline
from experiment.study.definition import Study
from server.store import SqliteStore, Store
from server.store.copying import back_up, copy_store
from server.store.database import Database
from server.store.tables import TABLES
from server.store.verify import Verified
from tests.server.store.used_stores import KINDS
from tests.server.stores import (
    Person,
    execute_sql,
    problems,
    recruiting,
    response,
    rows,
    verified,
)


@pytest.fixture(params=KINDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Each kind of store, empty."""
    if request.param == "postgres":
        yield request.getfixturevalue("postgres_store")
        return
    store = SqliteStore(tmp_path / "target.db")
    yield store
    store.close()


def content(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    names = {table: ", ".join(f'"{column}"' for column in columns) for table, columns in TABLES.items()}
    return {table: sorted(rows(store, f'SELECT {names[table]} FROM "{table}"'), key=repr) for table in TABLES}


def is_empty(store: Store) -> bool:
    return not any(content(store).values())


# Copies.


def test_a_copy_between_stores_of_any_kind_is_complete(
    lived_in: tuple[Store, dict[str, Person]], target: Store
) -> None:
    source, _ = lived_in
    counts: list[int] = []
    copied = copy_store(source, target, counts.append)
    assert content(target) == content(source)
    assert verified(target) == copied == verified(source)
    assert copied.problems == []
    assert sum(counts) == sum(map(len, content(source).values()))
    assert sorted(target.trials(), key=repr) == sorted(source.trials(), key=repr)


def test_a_study_continues_in_the_copy(
    lived_in: tuple[Store, dict[str, Person]], target: Store, small_study: Study
) -> None:
    source, people = lived_in
    copy_store(source, target)
    target.register_study(small_study)
    for person in people.values():
        found, before = target.find_session(person.token), source.find_session(person.token)
        assert found is not None
        assert found == before
    assert target.progress(small_study) == source.progress(small_study)
    assert target.events(small_study) == source.events(small_study)
    assert target.identities(small_study) == source.identities(small_study)
    under_way = people["under way"]
    assert target.add_responses(under_way.session, under_way.token, under_way.sent) == [False, False]
    assert target.add_responses(under_way.session, under_way.token, [response(2)]) == [True]
    target.complete_session(small_study, under_way.session, passed_checks=True)
    (anna,) = target.sessions_of(small_study, "panel", "anna")
    assert anna.session == people["completed"].session
    newcomer = Person(target, small_study)
    seeds = rows(source, 'SELECT seed FROM sessions WHERE study_digest = ? AND "group" = ?', (
        small_study.digest, newcomer.group,
    ))  # fmt: skip
    assert newcomer.stored.session.seed not in {seed for (seed,) in seeds}
    assert problems(target) == []


def test_an_empty_store_can_be_copied(target: Store, tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "empty.db")) as source:
        assert copy_store(source, target) == verified(source)


def test_a_store_with_data_is_not_the_target_of_a_copy(
    lived_in: tuple[Store, dict[str, Person]], target: Store, small_study: Study
) -> None:
    source, _ = lived_in
    target.register_study(small_study)
    Person(target, small_study).complete()
    before = content(target)
    with pytest.raises(InputError, match=r"has a study already\. Fix: choose an empty store"):
        copy_store(source, target)
    assert content(target) == before


def losing(store: Store, table: str, then: Callable[[], None]) -> Callable[[], Any]:
    """Make a store that loses the last row of a table when it is filled."""
    filling = store.filling

    class Forgetful:
        def __init__(self, db: Database) -> None:
            self.db = db

        def __getattr__(self, name: str) -> Any:
            return getattr(self.db, name)

        def fill(self, name: str, columns: Sequence[str], all_rows: Any) -> None:
            found = list(all_rows)
            if name == table:
                assert found
                then()
            self.db.fill(name, columns, found[:-1] if name == table else found)

    @contextmanager
    def fill_forgetfully() -> Iterator[Database]:
        with filling() as db:
            yield Forgetful(db)  # type: ignore[misc]

    return fill_forgetfully


@pytest.mark.parametrize("table", [table for table in TABLES if table not in {"studies", "participants", "sessions"}])
def test_an_incomplete_copy_is_detected_and_undone(
    lived_in: tuple[Store, dict[str, Person]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    source, _ = lived_in
    with closing(SqliteStore(tmp_path / "target.db")) as target:
        monkeypatch.setattr(target, "filling", losing(target, table, lambda: None))
        with pytest.raises(InputError, match="differences between the copy and the source store"):
            copy_store(source, target)
        assert is_empty(target)


def test_a_copy_that_fails_half_way_leaves_nothing_in_the_target(
    lived_in: tuple[Store, dict[str, Person]], target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, _ = lived_in
    with monkeypatch.context() as patch:
        patch.setattr(target, "filling", losing(target, "responses", lambda: 1 // 0))  # type: ignore[arg-type]
        with pytest.raises(ZeroDivisionError):
            copy_store(source, target)
    assert is_empty(target)
    copy_store(source, target)
    assert problems(target) == []


def test_a_value_that_a_database_cannot_store_is_reported_by_the_copy(
    target: Store, small_study: Study, tmp_path: Path
) -> None:
    run = run_baseline(small_study, "baseline/tracer")
    unstorable = tuple(one.model_copy(update={"text": "nothing: \x00"}) for one in run.responses)
    with closing(SqliteStore(tmp_path / "source.db")) as source:
        source.add_runs(small_study, [run.model_copy(update={"responses": unstorable})])
        try:
            copied = copy_store(source, target)
        except InputError:
            assert is_empty(target)
        else:
            assert copied.problems == []


# Backups.


def test_a_backup_is_a_complete_store_that_only_its_owner_can_read(
    lived_in: tuple[Store, dict[str, Person]], tmp_path: Path
) -> None:
    source, _ = lived_in
    path = tmp_path / "backups" / "monday.db"
    found = back_up(source, path)
    assert found == verified(source)
    assert [one.name for one in path.parent.iterdir()] == ["monday.db"]
    assert path.stat().st_mode & 0o077 == 0
    with closing(SqliteStore(path)) as backup:
        backup.check_integrity()
        assert content(backup) == content(source)


def test_only_the_owner_can_read_a_backup_while_it_is_written(
    lived_in: tuple[Store, dict[str, Person]], tmp_path: Path
) -> None:
    source, _ = lived_in
    folder, seen = tmp_path / "shared", set()
    folder.mkdir(mode=0o755)

    def look(n_rows: int) -> None:
        seen.update((path.suffix, path.stat().st_mode & 0o077) for path in folder.iterdir() if path.stat().st_size)

    back_up(source, folder / "monday.db", look)
    assert seen
    assert {mode for _, mode in seen} == {0}


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_backup_replaces_no_file(store: SqliteStore, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "monday.db"
    if kind == "file":
        path.write_text("what I wrote down")
    else:
        path.mkdir()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="this file exists already"):
        back_up(store, path)
    assert sorted(tmp_path.iterdir()) == before
    assert kind != "file" or path.read_text() == "what I wrote down"


@pytest.mark.parametrize("name", ["monday.db", "monday[1].db", "what?*.db"])
def test_a_backup_that_fails_half_way_leaves_no_file(
    lived_in: tuple[Store, dict[str, Person]], tmp_path: Path, name: str
) -> None:
    source, _ = lived_in

    def fail(n_rows: int) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "backups"
    folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        back_up(source, folder / name, fail)
    assert list(folder.iterdir()) == []
    assert back_up(source, folder / name).problems == []
    assert [one.name for one in folder.iterdir()] == [name]


def test_a_backup_that_cannot_be_written_is_refused_with_a_fix(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError):
        back_up(store, tmp_path / "file" / "backup.db")


def test_a_backup_of_a_damaged_store_says_what_is_damaged(
    store: SqliteStore, small_study: Study, tmp_path: Path
) -> None:
    store.register_study(small_study)
    person = Person(store, small_study).complete()
    execute_sql(store, "DELETE FROM responses WHERE trial_index = 1")
    assert any(person.session in problem for problem in back_up(store, tmp_path / "backup.db").problems)


def test_the_backup_of_an_unreadable_store_does_not_blame_the_target(
    store: SqliteStore, small_study: Study, tmp_path: Path
) -> None:
    store.register_study(small_study)
    Person(store, small_study).complete()
    ((page,),) = rows(store, "SELECT rootpage FROM sqlite_master WHERE name = 'responses'")
    store.close()
    with store.path.open("rb+") as file:
        file.seek((page - 1) * 4096)
        file.write(b"x" * 4096)
    with (
        closing(SqliteStore(store.path)) as damaged,
        pytest.raises(InputError, match=r"the source store cannot be read .* Fix: keep your earlier backups"),
    ):
        back_up(damaged, tmp_path / "backup.db")
    assert not list(tmp_path.glob("backup.db*"))


def test_a_group_that_was_closed_and_opened_passes_the_checks(any_store: Store, small_study: Study) -> None:
    any_store.register_study(small_study)
    any_store.open_group(small_study, 1, is_open=False)
    any_store.open_group(small_study, 2, is_open=False)
    any_store.open_group(small_study, 2, is_open=True)
    assert problems(any_store) == []


def test_a_backup_during_data_collection_shows_one_moment(any_store: Store, tmp_path: Path, small_study: Study) -> None:
    store, study = any_store, recruiting(small_study, quota=10_000)
    store.register_study(study)
    for _ in range(40):
        Person(store, study).complete()
    is_over = threading.Event()
    errors: list[BaseException] = []
    acknowledged: list[tuple[float, str, str]] = []

    def take_part() -> None:
        try:
            while not is_over.is_set():
                person = Person(store, study)
                for _ in range(3):
                    person.answer()
                    acknowledged.append((time.monotonic(), person.session, person.sent[-1].response_id))
                person.complete()
        except BaseException as error:  # The test checks it.
            errors.append(error)

    threads = [threading.Thread(target=take_part) for _ in range(3)]
    for thread in threads:
        thread.start()
    n_before = 0
    backups: list[tuple[float, Path, Verified]] = []
    for number in range(4):
        began, path = time.monotonic(), tmp_path / f"backup-{number}.db"
        backups.append((began, path, back_up(store, path)))
    is_over.set()
    for thread in threads:
        thread.join()
    assert errors == []
    for began, path, found in backups:
        assert found.problems == []
        assert found.n_responses > n_before
        n_before = found.n_responses
        with closing(SqliteStore(path)) as backup:
            assert verified(backup) == found
            stored = set(rows(backup, "SELECT session, response_id FROM responses"))
        assert {(session, sent) for at, session, sent in acknowledged if at < began} <= stored
    assert problems(store) == []
