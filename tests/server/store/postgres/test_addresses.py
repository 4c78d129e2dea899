"""Addresses of PostgreSQL databases: several servers, mistakes and outages, and no password in a message."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from batteries.errors import InputError
from experiment.study.definition import Study
from server.store import StoreAway, StoreUnavailable
from server.store.open import open_store
from server.store.postgres.address import read_address
from server.store.postgres.store import PostgresStore
from tests import postgres as cluster_module
from tests.postgres import PostgresCluster
from tests.postgres_standby import PostgresStandby
from tests.server.stores import Person

# Valid addresses.


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://h1:5432,h2:5433/db",
        "postgresql://u:p@h1:5432,h2:5433/db?target_session_attrs=read-write",
        "postgresql://u:p@h1,h2,h3:5433/db",
        "postgres://u@[::1]:5432,[2001:db8::2],db.example.org/db",
        "postgresql://u:p,q@h1:5432,h2:5433/db",
    ],
)
def test_an_address_names_several_servers(address: str) -> None:
    parameters = conninfo_to_dict(read_address(address))
    n_servers = str(parameters["host"]).count(",") + 1
    assert n_servers == len(address.partition("://")[2].rpartition("@")[2].split(","))
    assert parameters["target_session_attrs"] == "read-write"


def test_parameters_of_an_address_override_the_defaults() -> None:
    address = "postgresql://h1,h2/db?target_session_attrs=any&connect_timeout=20&tcp_user_timeout=1000&keepalives=0"
    parameters = conninfo_to_dict(read_address(address))
    names = ("target_session_attrs", "connect_timeout", "tcp_user_timeout", "keepalives")
    assert [parameters[name] for name in names] == ["any", "20", "1000", "0"]


def test_one_server_may_be_a_standby_that_is_only_read() -> None:
    assert "target_session_attrs" not in conninfo_to_dict(read_address("postgresql://h1/db"))


@pytest.mark.parametrize(
    "user", ["me:se@same", "me:sesame/x", "me:ses#ame", "me:sesame?x", "me:ses ame", "me:ses%zzame"]
)
@pytest.mark.parametrize("servers", ["127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2"])
def test_a_password_that_makes_an_address_ambiguous_is_not_shown(user: str, servers: str) -> None:
    with pytest.raises(InputError, match="of the form postgresql://user:password@host") as refused:
        PostgresStore(f"postgresql://{user}@{servers}/nothing")
    assert not any(part in str(refused.value) for part in ("ses", "same", "se@"))


@pytest.mark.parametrize("tail", ["1:2/x", "1,127.0.0.1:/x", "1/x?nonsense=1", "1/"])
def test_no_part_of_an_address_that_cannot_be_read_is_shown(tail: str) -> None:
    with pytest.raises(InputError, match=r"^the address of the database") as refused:
        PostgresStore(f"postgresql://me:sesame@127.0.0.1:{tail}")
    assert "sesame" not in str(refused.value)


def test_a_message_about_a_database_shows_no_password(postgres: PostgresCluster) -> None:
    url = postgres.url("nobody-made-this").replace("postgres@", "postgres:sesame@")
    for several in (url, url.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1")):
        with pytest.raises(InputError, match="nobody-made-this") as refused:
            PostgresStore(several)
        assert "sesame" not in str(refused.value)


def test_a_store_is_opened_by_its_address(postgres: PostgresCluster) -> None:
    url = postgres.new_database()
    for location in (url, url.replace("postgresql://", "postgres://")):
        with closing(open_store(location)) as store:
            assert isinstance(store, PostgresStore)
    with pytest.raises(InputError, match="unknown kind of store"):
        open_store("mysql://somewhere/else")


# Outages and mistakes.


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_stopped_database_is_unavailable() -> None:
    with pytest.raises(StoreAway, match=r"cannot be used now .*Fix: start the database, or wait"):
        PostgresStore("postgresql://nobody@127.0.0.1:1/nothing")


def test_a_silent_database_is_unavailable(silent_port: int) -> None:
    began = time.monotonic()
    with pytest.raises(StoreAway, match="timeout"):
        PostgresStore(f"postgresql://nobody@127.0.0.1:{silent_port},127.0.0.1:1/nothing")
    assert time.monotonic() - began < 30


def test_a_host_with_an_unknown_name_is_unavailable() -> None:
    """Among containers, the database's host name exists only with its container."""
    with pytest.raises(StoreAway, match="resolve"):
        PostgresStore("postgresql://nobody@no-such-host.invalid/nothing")


def test_a_starting_database_is_unavailable_in_any_language(
    postgres: PostgresCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    del postgres
    monkeypatch.setitem(cluster_module.SETTINGS, "hot_standby", "off")
    with PostgresCluster() as cluster:
        cluster.stop()
        (cluster.folder / "data" / "standby.signal").touch()
        monkeypatch.setattr(PostgresCluster, "wait_until_ready", lambda _: None)
        cluster.start()  # It recovers without end, and accepts no connections.
        wait_until_refused(cluster)
        with pytest.raises(StoreAway, match=r"starting up|not (yet )?accepting"):
            PostgresStore(cluster.url("postgres"))


def wait_until_refused(cluster: PostgresCluster) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            psycopg.connect(cluster.url("postgres")).close()
        except psycopg.OperationalError as error:
            if "refused" not in str(error):
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("change", [("postgres@", "stranger@"), ("/test", "/not-there")])
def test_a_wrong_user_or_database_is_a_mistake_not_an_outage(
    postgres: PostgresCluster, change: tuple[str, str]
) -> None:
    wrong = postgres.new_database().replace(*change)
    for address in (wrong, wrong.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1")):
        with pytest.raises(InputError, match=r"cannot be used .*Fix: check") as refused:
            PostgresStore(address)
        assert not isinstance(refused.value, StoreAway)


def test_missing_rights_are_a_mistake_not_an_outage(postgres: PostgresCluster) -> None:
    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE ROLE guest LOGIN")
    with pytest.raises(InputError, match="permission denied") as refused:
        PostgresStore(url.replace("postgres@", "guest@"))
    assert not isinstance(refused.value, StoreAway)


def test_a_database_without_a_free_connection_is_unavailable(postgres: PostgresCluster) -> None:
    url = postgres.new_database()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE ROLE crowded LOGIN SUPERUSER CONNECTION LIMIT 1")
        db.execute("ALTER ROLE crowded NOSUPERUSER")
        crowded = url.replace("postgres@", "crowded@")
        with closing(psycopg.connect(crowded)), pytest.raises(StoreAway, match="too many connections"):
            PostgresStore(crowded)


def test_a_server_that_starts_while_another_is_stuck_must_wait(postgres: PostgresCluster) -> None:
    """Tables are made under a lock; a process that keeps the lock must not block other servers for ever."""
    url = postgres.new_database()
    with closing(psycopg.connect(url)) as stuck:
        stuck.execute("SELECT pg_advisory_xact_lock(%s)", (0x65717569,))
        began = time.monotonic()
        with pytest.raises(StoreAway, match="lock timeout"):
            PostgresStore(url)
        assert time.monotonic() - began < 30


# Several servers, one of which is the primary.


def test_the_primary_is_found_at_any_position_in_the_address_and_after_a_failover(
    postgres: PostgresCluster, small_study: Study
) -> None:
    del postgres
    with PostgresCluster() as primary, PostgresStandby(primary) as standby:
        database = primary.new_database().rpartition("/")[2]
        address = f"postgresql://postgres@127.0.0.1:{standby.port},127.0.0.1:{primary.port}/{database}"
        with closing(PostgresStore(address)) as store:
            store.register_study(small_study)
            person = Person(store, small_study)
            assert person.answer() == [True]
            with pytest.raises(StoreAway, match=r"read-only.*refused"):  # The message of each server.
                PostgresStore(address.replace(str(primary.port), "1"))
            with pytest.raises(StoreAway, match="read-only"):
                PostgresStore(standby.url("postgres"))  # There it would have to make the tables.
            demote(primary)
            with pytest.raises(StoreUnavailable, match="read-only"):
                person.answer()
            primary.stop()
            threading.Timer(1, standby.promote).start()
            deadline = time.monotonic() + 20
            while True:
                with suppress(StoreUnavailable):
                    assert person.answer() == [True]
                    break
                assert time.monotonic() < deadline
            assert person.now.n_answered == 2


def demote(primary: PostgresCluster) -> None:
    """Make the primary read-only, as an administrator does before a change."""
    with psycopg.connect(primary.url("postgres"), autocommit=True) as db:
        db.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        db.execute("SELECT pg_reload_conf()")
    deadline = time.monotonic() + 10
    while True:
        with psycopg.connect(primary.url("postgres")) as db:
            if db.execute("SHOW transaction_read_only").fetchone() == ("on",):
                return
        assert time.monotonic() < deadline


def test_a_store_can_be_read_from_a_standby(postgres: PostgresCluster, small_study: Study) -> None:
    """An analysis then does not burden the primary."""
    del postgres
    with PostgresCluster() as primary, PostgresStandby(primary) as standby:
        url = primary.new_database()
        with closing(PostgresStore(url)) as store:
            store.register_study(small_study)
            Person(store, small_study).complete()
        database = Path(url).name
        with psycopg.connect(primary.url(database), autocommit=True) as db:
            db.execute("SET synchronous_commit = remote_apply")
            db.execute("CREATE TABLE applied ()")
        with closing(PostgresStore(standby.url(database))) as copy:
            assert len(copy.trials(small_study)) == 3
            with pytest.raises(StoreUnavailable, match="read-only"):
                copy.check()
