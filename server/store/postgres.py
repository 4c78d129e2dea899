"""The store for more than one server: PostgreSQL, or what speaks its protocol, through a pool of connections.

Answers go through a group commit of their own in each server process; everything else is a transaction by itself, under
the lock of the study's log. A transaction that the database calls off, to keep others apart, is done again.
"""

import random
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg import sql
from psycopg_pool import ConnectionPool, PoolTimeout

from batteries.errors import InputError
from batteries.store_format import KNOWN_MIGRATIONS
from server.store import postgres_schema
from server.store.answers import Answers
from server.store.batch import do_batch
from server.store.database import Database, Rows
from server.store.sql_store import SqlStore
from server.store.tables import TABLES
from server.store.times import now
from server.store.values import StoreUnavailable
from server.store.writer import GroupCommit

Result = TypeVar("Result")
Connection = psycopg.Connection[tuple[Any, ...]]

MAX_CONNECTIONS = 16
"""Of one server process; PostgreSQL allows 100 in all as it is installed."""
PATIENCE_S = 5.0
"""How long a request waits for a connection, or tries again when it collides with others."""
WORD = r"(?:[^:@/?#\[\]\s%]|%[0-9A-Fa-f]{2})"
ADDRESS = re.compile(
    rf"postgres(?:ql)?://(?:{WORD}+(?::{WORD}*)?@)?(?:{WORD}*|\[[0-9A-Fa-f:]+\])(?::\d+)?/{WORD}+(?:\?[^@\s]*)?"
)
"""An address that PostgreSQL reads as its writer meant it."""
SCHEMA_LOCK = 0x65717569
"""Number of the lock under which servers that start together make the tables one after the other."""


class PostgresDatabase:
    """A PostgreSQL connection inside a transaction."""

    for_update = " FOR UPDATE"

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        return self.connection.execute(_with_percent_s(sql), parameters)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        rows = list(rows)
        if rows:
            self.connection.cursor().executemany(_with_percent_s(sql), rows)

    def stream(self, sql: str) -> Iterator[tuple[Any, ...]]:
        with self.connection.cursor(name=f"equipoise_{secrets.token_hex(4)}") as cursor:
            cursor.itersize = 5_000
            yield from cursor.execute(sql.encode())

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
        with self.connection.cursor().copy(statement) as copy:
            for row in rows:
                copy.write_row(row)


@lru_cache(maxsize=2048)
def _with_percent_s(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database.

    Parameters
    ----------
    url
        `postgresql://user:password@host:port/database`.

    Raises
    ------
    InputError
        If the database cannot be reached or used, does not sync its commits, or was written by a newer Equipoise.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        _prepare(url)
        # After an outage a pool tries again for `reconnect_timeout`, at ever longer intervals; when it has given up,
        # the next request makes it try at once. So it is told to give up soon.
        self._pool = ConnectionPool(
            url,
            min_size=1,
            max_size=MAX_CONNECTIONS,
            timeout=PATIENCE_S,
            reconnect_timeout=1.0,
            kwargs={"connect_timeout": 5, "application_name": "equipoise"},
            configure=_configure,
            open=True,
        )
        self._group: GroupCommit[Answers] = GroupCommit(self._commit)

    def _write(self, job: Callable[[Database], Result]) -> Result:
        return self._transaction(job, again_after=(psycopg.errors.UniqueViolation,))

    def _add_answers(self, new: Answers) -> list[bool]:
        is_new: list[bool] = self._group.do(new)
        return is_new

    def _commit(self, batch: Sequence[Answers]) -> Sequence[Any]:
        def job(db: Database) -> list[Any]:
            return do_batch(db, batch, of_one_alone=psycopg.IntegrityError, of_all=psycopg.Error)

        return self._transaction(job)

    def _transaction(
        self, job: Callable[[Database], Result], again_after: tuple[type[psycopg.Error], ...] = ()
    ) -> Result:
        """Do a job in a transaction, again when it collided with another; two that begin the same thing collide too."""
        again_after = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected, *again_after)
        deadline = time.monotonic() + PATIENCE_S
        attempt = 0
        while True:
            try:
                with self._pool.connection() as connection, connection.transaction():
                    return job(PostgresDatabase(connection))
            except again_after as error:
                if time.monotonic() > deadline:
                    raise _unavailable(error) from error
                time.sleep(random.uniform(0, min(0.1, 0.005 * 2**attempt)))
                attempt += 1
            except psycopg.DataError as error:
                raise _cannot_hold(error) from None
            except psycopg.Error as error:
                raise _unavailable(error) from error

    @contextmanager
    def _reading(self) -> Iterator[Database]:
        try:
            with self._pool.connection() as connection:
                yield PostgresDatabase(connection)
        except psycopg.Error as error:
            raise _unavailable(error) from error

    def check_integrity(self) -> None:
        """PostgreSQL checks its pages itself, as it reads them."""

    @contextmanager
    def snapshot(self) -> Iterator[Database]:
        with self._own_connection() as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            with connection.transaction():
                yield PostgresDatabase(connection)

    @contextmanager
    def filling(self) -> Iterator[Database]:
        with self._own_connection() as connection, connection.transaction():
            yield PostgresDatabase(connection)

    @contextmanager
    def _own_connection(self) -> Iterator[Connection]:
        """Lend a connection outside the pool, for work that takes long."""
        try:
            with psycopg.connect(self._url) as connection:
                _configure(connection)
                yield connection
        except psycopg.DataError as error:
            raise _cannot_hold(error) from None
        except psycopg.Error as error:
            raise _unavailable(error) from error

    def close(self) -> None:
        self._group.close()
        self._pool.close()


def _unavailable(error: psycopg.Error) -> StoreUnavailable:
    what = "no connection to the database" if isinstance(error, PoolTimeout) else str(error).strip()
    return StoreUnavailable(what.partition("\n")[0])


def _cannot_hold(error: psycopg.DataError) -> InputError:
    return InputError(
        f"PostgreSQL cannot hold one of these values ({str(error).strip().splitlines()[0]}); such as a text with the "
        "character NUL: take it out, or use a SQLite store."
    )


def _configure(connection: Connection) -> None:
    """See to it that a commit is on disk when it returns, whatever the server's default."""
    (synchronous,) = _one(connection, "SELECT current_setting('synchronous_commit', true)")
    if synchronous == "off":
        connection.execute("SET synchronous_commit = on")
    connection.commit()


def _prepare(url: str) -> None:
    """Make the tables, or see that they are ours."""
    if not ADDRESS.fullmatch(url):
        # Not passed on: what PostgreSQL says of an address that it misreads may quote the password.
        raise InputError(
            "the address of the database is not of the form postgresql://user:password@host:port/database; mend it, "
            "and write signs such as @ and / in a password as %40 and %2F."
        )
    try:
        with psycopg.connect(url, connect_timeout=10) as connection:
            (fsync,) = _one(connection, "SELECT current_setting('fsync', true)")
            if fsync == "off":
                raise InputError(
                    "the database runs with fsync = off, so that answers are lost when its machine fails; "
                    "switch it on in postgresql.conf."
                )
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
            if postgres_schema.VERSION in _applied(connection):
                return  # not again: a change of tables would wait for whoever reads them, and all writers behind it
            for statement in postgres_schema.STATEMENTS:
                connection.execute(statement.encode())
            connection.execute(
                "INSERT INTO _migrations (name, applied_at) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (postgres_schema.VERSION, now()),
            )
    except psycopg.Error as error:
        raise InputError(
            f"the database cannot be used ({str(error).strip().splitlines()[0]}); check its address, the user's rights "
            "and that it runs."
        ) from None


def _applied(connection: Connection) -> set[str]:
    """Return the versions of our tables that a database has had; refuse one that is another program's, or newer."""

    def is_there(table: str) -> bool:
        return bool(_one(connection, "SELECT to_regclass(%s) IS NOT NULL", (table,))[0])

    if is_there("_migrations"):
        applied = {name for (name,) in connection.execute("SELECT name FROM _migrations")}
        unknown = sorted(applied - set(KNOWN_MIGRATIONS))
        if unknown:
            raise InputError(
                f"this store was written by a newer Equipoise (it has {', '.join(unknown)}); update Equipoise."
            )
        return applied
    if any(map(is_there, [*TABLES, "trials"])):
        raise InputError("this database holds tables of another program; make a database for Equipoise alone.")
    return set()


def _one(connection: Connection, query: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...]:
    row = connection.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row
