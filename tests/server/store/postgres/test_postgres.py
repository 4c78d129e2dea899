"""The store for many servers: PostgreSQL killed under load, conflicts between servers, databases to refuse."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from batteries.errors import InputError
from batteries.store_format import KNOWN_MIGRATIONS
from experiment.models.baselines import run_baseline
from experiment.study.definition import Study
from server.store import Identity, Release, SqliteStore, StoreUnavailable, StudyFull
from server.store.postgres import schema
from server.store.postgres import store as postgres_module
from server.store.postgres.connections import Connection
from server.store.postgres.store import PostgresDatabase, PostgresStore
from server.store.sql import responses
from server.store.tables import TABLES
from tests import postgres as cluster_module
from tests.postgres import PostgresCluster
from tests.server.stores import (
    Person,
    address,
    another,
    at_once,
    empty_open,
    of,
    problems,
    recruiting,
    response,
    responses_of,
    rows,
    version_of,
)

RECOVERY_S = 10.0
"""Seconds within which a store must work again after its database."""


@pytest.fixture
def store(postgres_store: PostgresStore, small_study: Study) -> PostgresStore:
    postgres_store.register_study(small_study)
    return postgres_store


# A failing database.


class Client(threading.Thread):
    """Take the study repeatedly as a browser does: unacknowledged responses are sent again with the same id."""

    def __init__(self, store: PostgresStore, study: Study, is_over: threading.Event) -> None:
        super().__init__(daemon=True)
        self.store, self.study, self.is_over = store, study, is_over
        self.people: list[Person] = []
        self.acknowledged: list[tuple[str, int, str]] = []
        self.failures: Counter[str] = Counter()
        self.refusals: list[str] = []

    def run(self) -> None:
        while not self.is_over.is_set():
            person = self.insist(partial(Person, self.store, self.study))
            if person is None:
                return
            self.people.append(person)
            for index in range(person.n_trials):
                sent = response(index)
                if self.insist(partial(person.send, sent)) is None:
                    return
                self.acknowledged.append((person.session, index, sent.response_id))
            self.insist(partial(self.store.complete_session, self.study, person.session, True))

    def insist(self, job: partial[object]) -> object:
        while True:
            try:
                return job() or True
            except StoreUnavailable as error:
                self.failures[str(error)] += 1
                time.sleep(0.05)
            except Exception as error:  # The test checks it.
                self.refusals.append(repr(error))
                return None


@contextmanager
def load(stores: list[PostgresStore], study: Study, n_clients: int) -> Iterator[list[Client]]:
    is_over = threading.Event()
    clients = [Client(stores[number % len(stores)], study, is_over) for number in range(n_clients)]
    for client in clients:
        client.start()
    try:
        yield clients
    finally:
        is_over.set()
        for client in clients:
            client.join(60)
    assert not any(client.is_alive() for client in clients)


def wait_for_progress(clients: list[Client], within_s: float, n: int = 1) -> None:
    """Wait until each client has more acknowledged responses."""
    deadline = time.monotonic() + within_s
    so_far = [len(client.acknowledged) for client in clients]
    while not all(len(client.acknowledged) >= before + n for client, before in zip(clients, so_far, strict=True)):
        assert time.monotonic() < deadline, "some client got no more acknowledgements"
        time.sleep(0.01)


def test_a_database_killed_under_load_loses_nothing_and_the_servers_continue(
    postgres: PostgresCluster, store: PostgresStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_module, "PATIENCE_S", 1.0)
    with closing(another(store)) as first, closing(another(store)) as second:
        with load([first, second], small_study, n_clients=8) as clients:
            for _ in range(2):
                wait_for_progress(clients, within_s=30, n=5)
                postgres.kill()
                for operation in (first.check, second.trials):
                    with pytest.raises(StoreUnavailable):
                        operation()
                postgres.start()
                wait_for_progress(clients, within_s=RECOVERY_S)
        assert [client.refusals for client in clients] == [[]] * 8
        assert all(client.failures for client in clients)
        stored = Counter(rows(store, "SELECT session, trial_index, response_id FROM responses"))
        acknowledged = Counter(row for client in clients for row in client.acknowledged)
        assert acknowledged == stored
        assert problems(store) == []


def test_a_start_that_was_lost_with_the_connection_is_one_session_when_it_is_retried(
    store: PostgresStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is done, but its acknowledgement is lost."""
    person = Person(store, small_study)
    execute = Connection.execute

    def break_after_commit(connection: Connection, query: bytes, *arguments: Any) -> Any:
        done = execute(connection, query, *arguments)
        if query == b"COMMIT":
            connection.close()
            raise psycopg.OperationalError("the connection broke")
        return done

    sent = [response(0), response(1)]
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "execute", break_after_commit)
        with pytest.raises(StoreUnavailable):
            person.send(*sent)
        with pytest.raises(StoreUnavailable):
            Person(store, small_study, start_id="00000000-0000-4000-8000-000000000001")
    assert person.send(*sent) == [False, False]
    Person(store, small_study, start_id="00000000-0000-4000-8000-000000000001")
    assert rows(store, "SELECT COUNT(*) FROM sessions") == [(2,)]
    assert problems(store) == []


def test_every_method_reports_an_unavailable_database(
    postgres: PostgresCluster, store: PostgresStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(store, small_study)
    postgres.stop()
    monkeypatch.setattr(postgres_module, "PATIENCE_S", 0.2)
    monkeypatch.setattr(postgres_module, "CHECK_S", 0.2)
    for operation in (
        person.answer,
        person.withdraw,
        person.begin,
        store.check,
        store.trials,
        partial(store.why_full, small_study),
        partial(store.responses, person.session),
        partial(store.complete_session, small_study, person.session, True),
        partial(problems, store),
        partial(by_filling, store),
    ):
        with pytest.raises(StoreUnavailable):
            operation()
    postgres.start()
    deadline = time.monotonic() + RECOVERY_S
    while True:
        with suppress(StoreUnavailable):
            store.check()
            break
        assert time.monotonic() < deadline
    assert person.answer() == [True]


def by_filling(store: PostgresStore) -> None:
    with store.filling() as db:
        db.execute("SELECT 1")


# Databases that are refused.


def test_a_database_that_does_not_sync_is_refused(
    postgres: PostgresCluster, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(cluster_module.SETTINGS, "fsync", "off")
        postgres.stop()
        postgres.start()
    try:
        with pytest.raises(InputError, match="fsync = off"):
            another(store)
    finally:
        postgres.stop()
        postgres.start()
    another(store).close()


def test_commits_are_synced_with_any_setting_of_the_database(postgres: PostgresCluster) -> None:
    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f'ALTER DATABASE "{url.rpartition("/")[2]}" SET synchronous_commit = off')
    with closing(PostgresStore(url)) as again:
        for lend in (again._reading, again.filling):
            with lend() as db:
                assert db.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_a_store_of_a_newer_version_is_refused_and_not_changed(postgres: PostgresCluster) -> None:
    url = postgres.new_database()
    PostgresStore(url).close()
    with psycopg.connect(url) as db:
        db.execute("INSERT INTO _migrations VALUES ('m999_future', '')")
        db.execute("DROP VIEW trials")
    with pytest.raises(InputError, match=r"written by a newer version of Equipoise .*m999_future"):
        PostgresStore(url)
    with psycopg.connect(url) as db:
        assert db.execute("SELECT to_regclass('trials')").fetchone() == (None,)


@pytest.mark.parametrize("table", ["_migrations", "trials", *TABLES])
def test_a_database_with_another_programs_tables_is_refused_and_not_changed(
    postgres: PostgresCluster, table: str
) -> None:
    url = postgres.new_database()
    with psycopg.connect(url) as db:
        db.execute(f'CREATE TABLE "{table}" (something integer)')
    with pytest.raises(InputError):
        PostgresStore(url).close()
    with psycopg.connect(url) as db:
        found = db.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'").fetchall()
    assert found == [(table,)]


def test_tables_of_other_programs_are_not_changed(postgres: PostgresCluster, small_study: Study) -> None:
    url = postgres.new_database()
    with psycopg.connect(url) as db:
        db.execute("CREATE TABLE lab_diary (entry text)")
        db.execute("INSERT INTO lab_diary VALUES ('it rained')")
    with closing(PostgresStore(url)) as store:
        store.register_study(small_study)
        Person(store, small_study).complete()
        assert rows(store, "SELECT * FROM lab_diary") == [("it rained",)]


def test_servers_that_start_together_on_an_empty_database_make_one_store(
    postgres: PostgresCluster, small_study: Study
) -> None:
    url = postgres.new_database()
    stores = at_once(*[partial(PostgresStore, url)] * 6)
    assert of(PostgresStore, stores) == 6, stores
    try:
        assert at_once(*(partial(store.register_study, small_study) for store in stores)) == [None] * 6
        people = at_once(*(partial(Person, store, small_study) for store in stores))
        assert Counter(person.group for person in people) == {1: 2, 2: 2, 3: 2}
        assert problems(stores[0]) == []
    finally:
        for store in stores:
            store.close()


# Conflicts between servers.


@pytest.fixture(params=["read committed", "repeatable read", "serializable"])
def isolated(request: pytest.FixtureRequest, store: PostgresStore) -> Iterator[list[PostgresStore]]:
    """Two servers on a database, with each isolation level of transactions."""
    level = request.param.replace(" ", r"\ ")
    url = f"{address(store)}?options={quote(f'-c default_transaction_isolation={level}')}"
    with closing(PostgresStore(url)) as one, closing(PostgresStore(url)) as other:
        with one._pool.connection() as connection:
            assert connection.execute("SHOW transaction_isolation").fetchone() == (request.param,)
        yield [one, other]


def some_at_once(jobs: list[Callable[[], Any]], n: int) -> list[Any]:
    """Do jobs, some at a time; no job may fail."""
    outcomes = [outcome for first in range(0, len(jobs), n) for outcome in at_once(*jobs[first : first + n])]
    assert [outcome for outcome in outcomes if isinstance(outcome, StoreUnavailable)] == []
    return outcomes


@pytest.mark.parametrize("n_at_once", [4, 30], ids=["a few", "a crowd"])
def test_transactions_that_the_database_cancels_are_repeated(
    isolated: list[PostgresStore], small_study: Study, n_at_once: int
) -> None:
    """Each time one of several transactions commits, the rest is cancelled, so the number of attempts is limited."""
    study = recruiting(small_study, quota=30)
    people = some_at_once([partial(Person, isolated[number % 2], study) for number in range(30)], n_at_once)
    assert Counter(person.group for person in people) == {1: 10, 2: 10, 3: 10}
    jobs: list[Callable[[], Any]] = [person.complete for person in people[:20]]
    jobs += [person.withdraw for person in people[20:25]]
    jobs += [partial(person.store.release_slot, person.session, Release.RETURN) for person in people[25:]]
    jobs += [partial(store.add_runs, study, [run_baseline(study, "baseline/tracer")]) for store in isolated]
    assert of(Exception, some_at_once(jobs, n_at_once)) == 0
    newcomers = some_at_once([partial(Person, isolated[number % 2], study) for number in range(15)], n_at_once)
    assert (of(Person, newcomers), of(StudyFull, newcomers)) == (10, 5)
    assert problems(isolated[0]) == []


def test_a_transaction_that_was_rolled_back_is_not_reported_as_committed(
    store: PostgresStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL replies ROLLBACK to COMMIT, without an error, if a statement has failed."""
    person = Person(store, small_study)

    def fail_in_silence(db: PostgresDatabase, *_: object) -> list[list[bool]]:
        with suppress(psycopg.Error):
            db.execute("SELECT 1 / 0")
        return [[True]]

    with monkeypatch.context() as patch:
        patch.setattr(postgres_module, "run_batch", lambda db, *_, **__: fail_in_silence(db))
        with pytest.raises(StoreUnavailable, match="rolled the transaction back"):
            person.answer()
    assert responses_of(store, person.session) == []


def test_a_transaction_in_a_deadlock_is_repeated(
    store: PostgresStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []
    add = responses.add

    def deadlocked_twice(*arguments: object) -> object:
        attempts.append(1)
        if len(attempts) <= 2:
            raise psycopg.errors.DeadlockDetected("deadlock detected")
        return add(*arguments)

    person = Person(store, small_study)
    monkeypatch.setattr(responses, "add", deadlocked_twice)
    assert person.answer() == [True]
    assert len(attempts) == 3


def test_participants_who_return_to_other_versions_do_not_deadlock(store: PostgresStore, small_study: Study) -> None:
    """Each participant needs the logs of both versions, in a different order."""
    versions = [small_study, version_of(small_study, "1.1")]
    store.register_study(versions[1])
    known = [Identity("panel", f"person-{number}", {"SESSION_ID": f"submission-{number}"}) for number in range(8)]
    people = [Person(store, versions[number % 2], identity=identity) for number, identity in enumerate(known)]
    come_back = [
        partial(Person, store, versions[1 - number % 2], identity=identity) for number, identity in enumerate(known)
    ]
    again = at_once(*come_back)
    assert of(Person, again) == 8, again
    assert [person.session for person in again] == [person.session for person in people]
    assert problems(store) == []


def test_an_endless_conflict_is_given_up_and_nothing_is_stored(
    store: PostgresStore, small_study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(store, small_study)

    def always(*_: object) -> None:
        raise psycopg.errors.SerializationFailure("could not serialize access")

    with monkeypatch.context() as patch:
        patch.setattr(postgres_module, "PATIENCE_S", 0.05)
        patch.setattr(responses, "add", always)
        with pytest.raises(StoreUnavailable, match="could not serialize"):
            person.answer()
    assert person.answer() == [True]
    assert len(responses_of(store, person.session)) == 1


def test_more_requests_than_connections_wait_for_each_other(store: PostgresStore, small_study: Study) -> None:
    people = at_once(*[partial(Person, store, small_study)] * 50)
    assert of(Person, people) == 50, Counter(map(repr, people))
    assert at_once(*(person.complete for person in people)) == people


# The same in both stores.


def test_both_stores_have_the_same_tables_and_columns(postgres_store: PostgresStore, tmp_path: Path) -> None:
    found = rows(
        postgres_store,
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'",
    )
    in_postgres: dict[str, set[str]] = {}
    for table, column in found:
        in_postgres.setdefault(table, set()).add(column)
    with closing(SqliteStore(tmp_path / "equipoise.db")) as sqlite:
        names = [name for (name,) in rows(sqlite, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
        in_sqlite = {name: {column for _, column, *_ in rows(sqlite, f'PRAGMA table_info("{name}")')} for name in names}
    assert in_postgres.pop("_migrations") == {"name", "applied_at"}
    in_sqlite = {name: columns for name, columns in in_sqlite.items() if not name.startswith(("_sqlite_", "sqlite_"))}
    assert in_postgres == in_sqlite
    assert in_postgres.pop("trials")
    assert in_postgres == {table: set(columns) for table, columns in TABLES.items()}


def test_both_stores_have_the_same_keys(postgres_store: PostgresStore, tmp_path: Path) -> None:
    found = rows(
        postgres_store,
        "SELECT tablename, array_agg(attname ORDER BY attname) FROM pg_indexes "
        "JOIN pg_class ON relname = indexname JOIN pg_index ON indexrelid = pg_class.oid "
        "JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey) "
        "WHERE schemaname = 'public' AND indisunique GROUP BY tablename, indexname",
    )
    in_postgres = {(table, tuple(sorted(columns))) for table, columns in found if table != "_migrations"}
    with closing(SqliteStore(tmp_path / "equipoise.db")) as sqlite:
        in_sqlite = set()
        for table in TABLES:
            indexes = rows(sqlite, f'PRAGMA index_list("{table}")')
            in_sqlite |= {
                (table, tuple(sorted(column for *_, column in rows(sqlite, f'PRAGMA index_info("{name}")'))))
                for _, name, is_unique, *_ in indexes
                if is_unique
            }
    assert in_postgres == in_sqlite


def test_the_version_of_the_tables_is_the_newest_version() -> None:
    assert KNOWN_MIGRATIONS[-1] == schema.VERSION


# The store that the tests of the contract share.


def test_an_emptied_store_has_no_rows_and_remembers_none(postgres_store: PostgresStore, small_study: Study) -> None:
    for _ in range(2):
        postgres_store.register_study(small_study)
        assert rows(postgres_store, "SELECT COUNT(*) FROM studies") == [(1,)]
        empty_open(postgres_store)
        assert all(rows(postgres_store, f'SELECT COUNT(*) FROM "{table}"') == [(0,)] for table in TABLES)
