"""Silent peers of the PostgreSQL store: a frozen or unplugged database, and another server that is frozen."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import psycopg
import pytest

from experiment.study.definition import Study
from server.app import create_app
from server.security.secret_files import Secrets
from server.serve import free_port
from server.settings import Settings
from server.store import StoreUnavailable
from server.store.postgres.store import PostgresStore
from tests.postgres import PostgresCluster
from tests.server.stores import Person, at_once, of, problems
from tests.server_process import ServerProcess
from tests.silent_network import SilentNetwork
from tests.waiting import wait_until_it_replies

pytestmark = pytest.mark.skipif(os.name != "posix", reason="freezes processes, which Windows cannot do")

GIVES_UP_S = 60
"""Seconds within which a request must fail if the database is silent, on a busy machine."""
CHECK_S = 5.0
"""Seconds within which a load balancer must get a reply, on an idle machine."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


@contextmanager
def frozen(postgres: PostgresCluster) -> Iterator[None]:
    postgres.freeze()
    try:
        yield
    finally:
        postgres.thaw()


@pytest.fixture
def store(postgres_store: PostgresStore, small_study: Study) -> PostgresStore:
    postgres_store.register_study(small_study)
    return postgres_store


@pytest.fixture
def network(postgres: PostgresCluster) -> Iterator[SilentNetwork]:
    with SilentNetwork(postgres.port) as network:
        yield network


@pytest.fixture
def remote(store: PostgresStore, network: SilentNetwork, shared_database: str) -> Iterator[PostgresStore]:
    """A server whose cable to the database can be unplugged."""
    del store  # Its tables are made.
    with closing(
        PostgresStore(f"postgresql://postgres@127.0.0.1:{network.port}/{Path(shared_database).name}")
    ) as remote:
        yield remote


# A silent database.


def operations(store: PostgresStore, study: Study, person: Person) -> list[Callable[[], object]]:
    return [person.answer, partial(store.responses, person.session), partial(store.why_full, study), person.begin]


def test_a_frozen_database_is_given_up_and_used_after_it_continues(
    postgres: PostgresCluster, store: PostgresStore, small_study: Study
) -> None:
    person = Person(store, small_study)
    with frozen(postgres), within(GIVES_UP_S):
        outcomes = at_once(*operations(store, small_study, person))
    assert of(StoreUnavailable, outcomes) == 4, outcomes
    assert any("the database has sent nothing for" in str(outcome) for outcome in outcomes)
    with within(GIVES_UP_S):
        works_again(store)
    assert sum(person.answer()) == 1
    assert problems(store) == []


def works_again(store: PostgresStore) -> None:
    deadline = time.monotonic() + 30
    while True:
        with suppress(StoreUnavailable):
            return store.check()
        assert time.monotonic() < deadline


def test_an_unplugged_database_is_given_up_and_used_after_it_is_plugged_in(
    network: SilentNetwork, remote: PostgresStore, small_study: Study
) -> None:
    person = Person(remote, small_study)
    network.unplug()
    with within(GIVES_UP_S):
        outcomes = at_once(*operations(remote, small_study, person))
    assert of(StoreUnavailable, outcomes) == 4, outcomes
    network.plug_in()
    with within(2 * GIVES_UP_S):
        works_again(remote)
    assert person.answer() == [True]
    assert problems(remote) == []


def test_one_silence_is_enough_to_leave_all_connections_of_the_pool(
    network: SilentNetwork, remote: PostgresStore, small_study: Study
) -> None:
    """Otherwise each of sixteen connections would cost one request, one after the other."""
    at_once(*[partial(Person, remote, small_study)] * 40)
    assert remote._pool.get_stats()["pool_size"] > 8
    person = Person(remote, small_study)
    network.unplug()
    with within(GIVES_UP_S), pytest.raises(StoreUnavailable):
        person.answer()
    network.plug_in()
    with within(GIVES_UP_S):
        works_again(remote)
    with within(5):
        assert sum(sum(person.answer()) for _ in range(2)) == 2


@pytest.mark.parametrize("how", ["frozen", "unplugged"])
def test_the_readiness_check_replies_within_seconds_when_the_database_is_silent(
    postgres: PostgresCluster, network: SilentNetwork, remote: PostgresStore, small_study: Study, how: str
) -> None:
    app = create_app(small_study, remote, Secrets("a signing key for tests", "token"), Settings())
    assert app.test_client().get("/readyz").status_code == 200
    (postgres.freeze if how == "frozen" else network.unplug)()
    try:
        waits_s = []
        for _ in range(3):
            began = time.monotonic()
            assert app.test_client().get("/readyz").status_code == 503
            waits_s.append(time.monotonic() - began)
        assert min(waits_s) < CHECK_S
        assert max(waits_s) < GIVES_UP_S
    finally:
        postgres.thaw()


def test_long_work_is_not_cut_short_by_the_limits_of_requests(store: PostgresStore) -> None:
    """A copy of millions of responses takes minutes, within one statement and between two statements."""
    with store.snapshot() as db:
        limits = [db.execute(f"SHOW {name}").fetchone()[0] for name in LIMITS]
    assert limits == ["0", "10s", "10min"]


LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")


def test_requests_have_limits_and_leave_no_limit_in_the_database_session(store: PostgresStore) -> None:
    with store._reading() as db:
        assert [db.execute(f"SHOW {name}").fetchone()[0] for name in LIMITS] == ["6s", "5s", "7s"]
    with store._pool.connection() as connection:
        assert [connection.execute(f"SHOW {name}".encode()).fetchone() for name in LIMITS] == [("0",)] * 3


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has this option of TCP")
def test_the_kernel_is_asked_to_notice_an_unplugged_server_on_every_connection(store: PostgresStore) -> None:
    def options(connection: psycopg.Connection) -> list[int]:
        with socket.socket(fileno=os.dup(connection.pgconn.socket)) as one:
            return [
                one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
                one.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
                one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
            ]

    with store._pool.connection() as connection:
        assert options(connection) == [1, 5, 6_000]
    with store.snapshot() as db:
        assert options(db.connection) == [1, 5, 30_000]  # type: ignore[attr-defined]


# A row that another program has locked.


def test_waiting_for_a_lock_ends(store: PostgresStore, small_study: Study, shared_database: str) -> None:
    person = Person(store, small_study)
    with closing(psycopg.connect(shared_database)) as other:
        other.execute("SELECT 1 FROM sessions FOR UPDATE")
        with within(GIVES_UP_S), pytest.raises(StoreUnavailable, match="lock timeout"):
            person.answer()
    assert sum(person.answer()) == 1


# Another, frozen server.


@contextmanager
def server(folder: Path, location: str) -> Iterator[tuple[ServerProcess, str]]:
    port = free_port()
    process = ServerProcess(folder, port, "--store", location)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_it_replies(f"{url}/readyz", process)
        yield process, url
    finally:
        os.killpg(process.pid, signal.SIGCONT)
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def begin(url: str, timeout: float) -> int:
    """Begin a session, for which the study's log is locked; return the status."""
    with httpx.Client(base_url=url, timeout=timeout) as http:
        start = {
            "start_id": str(uuid.uuid4()),
            "consent_digest": http.get("/api/study").json()["consent_digest"],
            "kind": "human",
        }
        return http.post("/api/session", json=start).status_code


def begin_repeatedly(url: str, is_over: threading.Event) -> None:
    while not is_over.is_set():
        with suppress(httpx.HTTPError):
            begin(url, timeout=3)


def holds_the_log(database: psycopg.Connection) -> bool:
    """Return True if a transaction waits for its server process while no other process can lock the study's log."""
    try:
        database.execute("SELECT 1 FROM logs FOR UPDATE NOWAIT")
    except psycopg.errors.LockNotAvailable:
        return True
    finally:
        database.rollback()
    return False


def test_a_frozen_server_with_the_log_locked_blocks_other_servers_only_briefly(
    postgres: PostgresCluster, study_folder: Path
) -> None:
    location = postgres.new_database()
    with (
        server(study_folder, location) as (process, url),
        server(study_folder, location) as (_, other),
        psycopg.connect(location) as database,
    ):
        is_over = threading.Event()
        load = [threading.Thread(target=begin_repeatedly, args=(url, is_over)) for _ in range(4)]
        for thread in load:
            thread.start()
        try:
            for _ in range(300):
                time.sleep(0.02)
                os.killpg(process.pid, signal.SIGSTOP)
                time.sleep(0.05)  # PostgreSQL has done everything that it received.
                if holds_the_log(database):
                    break
                os.killpg(process.pid, signal.SIGCONT)
            else:
                pytest.fail("the server was never caught with the log locked")
            frozen_at = time.monotonic()
            while begin(other, timeout=15) != 201:
                assert time.monotonic() - frozen_at < GIVES_UP_S
                time.sleep(0.2)
            assert time.monotonic() - frozen_at < GIVES_UP_S
        finally:
            is_over.set()
            os.killpg(process.pid, signal.SIGCONT)
            for thread in load:
                thread.join()
        assert begin(url, timeout=15) == 201, "the frozen server does not continue"
    with closing(PostgresStore(location)) as store:
        assert problems(store) == []


INSERTS_WITH_THE_LOG_LOCKED = """
import sys
from server.store.postgres.address import connect
from server.store.postgres.connections import Limits, transaction
from server.store.postgres.store import PostgresDatabase
connection = connect(sys.argv[1])
with transaction(connection, Limits(silence_s=60, statement_s=1, lock_s=1, idle_s=1)):
    database = PostgresDatabase(connection)
    database.execute("SELECT 1 FROM logs FOR UPDATE")
    print("locked", flush=True)
    for battery in range(1_000_000):
        rows = [(str(battery), str(item), "t", "{}", "{}", "{}") for item in range(1_000)]
        database.insert("items", ("battery_digest", "item_id", "task", "factors", "content", "key"), rows)
"""


@pytest.mark.usefixtures("store")
def test_a_server_frozen_during_an_insertion_does_not_keep_the_log_locked(shared_database: str) -> None:
    command = [sys.executable, "-c", INSERTS_WITH_THE_LOG_LOCKED, shared_database]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        psycopg.connect(shared_database, options=f"-c lock_timeout={GIVES_UP_S}s") as database,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        try:
            time.sleep(0.3)  # it inserts
            process.send_signal(signal.SIGSTOP)
            assert holds_the_log(database)
            database.execute("SELECT 1 FROM logs FOR UPDATE")
        finally:
            process.kill()
