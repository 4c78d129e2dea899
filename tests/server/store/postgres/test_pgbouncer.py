"""The PostgreSQL store through PgBouncer in transaction mode: each transaction gets another database session."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest

from experiment.models.baselines import run_baseline
from experiment.study.definition import Study
from server.store import Identity, SqliteStore, StoreAway, StoreUnavailable
from server.store.copying import copy_store
from server.store.postgres.store import PostgresStore
from tests.pgbouncer import PgBouncer
from tests.postgres import PostgresCluster
from tests.server.stores import Person, at_once, of, problems, response, responses_of, verified


@pytest.fixture
def url(postgres: PostgresCluster, pgbouncer: PgBouncer) -> str:
    """The address, through PgBouncer, of an empty database."""
    return pgbouncer.url(Path(postgres.new_database()).name)


@pytest.fixture
def stores(url: str, small_study: Study) -> Iterator[list[PostgresStore]]:
    """Two servers, which share two connections of PgBouncer."""
    with closing(PostgresStore(url)) as one, closing(PostgresStore(url)) as other:
        one.register_study(small_study)
        other.register_study(small_study)
        yield [one, other]


def take(store: PostgresStore, study: Study, number: int) -> Person:
    """Take part in every possible way, so that each statement runs several times."""
    person = Person(store, study, identity=Identity("panel", f"person-{number}"))
    for index in range(person.n_trials):
        sent = response(index)
        assert person.send(sent) == [True]
        assert person.send(sent) == [False]
        person.sent.append(sent)
        assert person.now.n_answered == index + 1
    if number % 5:
        person.complete()
    else:
        person.withdraw()
    return person


def test_the_statements_that_are_sent_are_executed(stores: list[PostgresStore], small_study: Study) -> None:
    for round_ in range(3):
        people = at_once(*(partial(take, stores[n % 2], small_study, 10 * round_ + n) for n in range(10)))
        assert of(Person, people) == 10, people
        for person in people:
            expected = [(index, one.response_id) for index, one in enumerate(person.sent)]
            assert responses_of(stores[0], person.session) == (
                expected if person.now.session.status == "completed" else []
            )
    stores[0].add_runs(small_study, [run_baseline(small_study, "baseline/tracer")])
    assert Counter(row["status"] for row in stores[1].sessions(small_study)) == {"completed": 24, "withdrawn": 6}
    assert problems(stores[0]) == []


def test_no_setting_reaches_the_transactions_of_another_program(
    stores: list[PostgresStore], small_study: Study, url: str
) -> None:
    at_once(*(partial(take, stores[n % 2], small_study, n) for n in range(6)))
    with stores[0].snapshot():
        pass
    names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout", "transaction_isolation")
    query = f"SELECT pg_backend_pid(), {', '.join(f'current_setting({name!r})' for name in names)}".encode()
    with closing(psycopg.connect(url)) as one, closing(psycopg.connect(url)) as other:
        found = [connection.execute(query).fetchone() for connection in (one, other)]  # Both are inside a transaction.
    assert len({row[0] for row in found if row}) == 2, "not both of PgBouncer's connections were looked at"
    assert [row[1:] for row in found if row] == [("0", "0", "0", "read committed")] * 2


def test_a_store_is_copied_in_and_out(
    stores: list[PostgresStore], small_study: Study, url: str, tmp_path: Path
) -> None:
    at_once(*(partial(take, stores[n % 2], small_study, n) for n in range(6)))
    with closing(SqliteStore(tmp_path / "copy.db")) as file:
        copied = copy_store(stores[0], file)
        assert copied == verified(stores[0])
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("CREATE DATABASE second")
        with closing(PostgresStore(url.rpartition("/")[0] + "/second")) as second:
            assert copy_store(file, second) == copied


def test_a_frozen_database_behind_pgbouncer_is_given_up(
    postgres: PostgresCluster, stores: list[PostgresStore], small_study: Study
) -> None:
    person = Person(stores[0], small_study)
    postgres.freeze()
    try:
        for operation in (person.answer, stores[1].check):
            with pytest.raises(StoreUnavailable):
                operation()
    finally:
        postgres.thaw()


def test_a_stopped_database_behind_pgbouncer_is_unavailable(postgres: PostgresCluster, url: str) -> None:
    PostgresStore(url).close()
    postgres.stop()
    with pytest.raises(StoreAway):
        PostgresStore(url)
    postgres.start()
