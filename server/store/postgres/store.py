"""The store for several servers: a pool of connections to PostgreSQL, or to a database with PostgreSQL's protocol.

Each server process commits the responses of many requests together. Every other change is a separate transaction,
which locks the log of the study. If the database cancels a transaction because of a conflict, the transaction is
repeated. When a connection is lost, all connections are renewed, because another database server may be in use.
"""

import random
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
from server.store.database import Database, Rows, insert_sql, now
from server.store.errors import StoreAway, StoreUnavailable
from server.store.postgres import schema
from server.store.postgres.address import LONG_WORK, OF_CONNECTIONS, away, connect, read_address, reason, refused
from server.store.postgres.connections import CHECK, LONG, REQUEST, SCHEMA, Connection, Limits, transaction
from server.store.sql import identities, responses, sessions
from server.store.sql.actions import NewAction
from server.store.sql.group_commit import GroupCommit, run_batch
from server.store.sql.responses import ResponseBatch
from server.store.sql.store import SqlStore
from server.store.sql.studies import add_content_digests
from server.store.tables import TABLES

Result = TypeVar("Result")
MAX_CONNECTIONS = 16
"""Largest number of connections of one server process. By default PostgreSQL allows 100 connections in all."""
PATIENCE_S = 5.0
"""Longest time in seconds for which a request waits for a connection, or is repeated after conflicts."""
CHECK_S = 2.0
"""Longest time in seconds for which a health check waits."""
ROWS_PER_STATEMENT = 500
"""Number of rows that one statement inserts."""
SCHEMA_LOCK = 0x65717569
"""Number of the lock that lets only one server at a time make the tables."""
BYTES_OF_DELETED_ROWS = (
    "The database keeps the bytes of deleted rows in its files and in its write-ahead log for some time, and "
    "backups keep these bytes too. Fix: if these bytes must be deleted now, run the statements in "
    "docs/how-to/deploy.md, under “With PostgreSQL”."
)


class PostgresDatabase:
    """A PostgreSQL connection inside a transaction."""

    for_update = " FOR UPDATE"

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        return self.connection.execute(_with_percent_s(sql), parameters)

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], skip_known: bool = False
    ) -> None:
        for first in range(0, len(rows), ROWS_PER_STATEMENT):
            some = rows[first : first + ROWS_PER_STATEMENT]
            self.execute(insert_sql(table, columns, len(some), skip_known), [value for row in some for value in row])

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

    def damage(self) -> list[str]:
        return []  # PostgreSQL checks its pages when it reads them.


@lru_cache(maxsize=2048)
def _with_percent_s(statement: str) -> bytes:
    return statement.replace("?", "%s").encode()


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database.

    Parameters
    ----------
    url
        `postgresql://user:password@host:port/database`. With several servers (`host1:port,host2:port`), the present
        primary is used.
    must_exist
        True to refuse a database without a store; False to make the tables.

    Raises
    ------
    StoreAway
        If the database cannot be used now, but another attempt may succeed soon.
    InputError
        If the database refuses this user, does not sync its commits, was written by a newer Equipoise, or has no store
        although `must_exist` is True.
    """

    def __init__(self, url: str, must_exist: bool = False) -> None:
        super().__init__()
        self._url = url
        self._conninfo_for_long_work = read_address(url, **LONG_WORK)
        _prepare(self._conninfo_for_long_work, must_exist)
        self._renewed_at = 0.0
        # After an outage a pool retries for `reconnect_timeout`, at growing intervals. After this time, the next
        # request makes the pool try at once. So a short time is configured.
        self._pool = ConnectionPool(
            read_address(url),
            connection_class=Connection,
            min_size=1,
            max_size=MAX_CONNECTIONS,
            timeout=PATIENCE_S,
            reconnect_timeout=1.0,
            kwargs=OF_CONNECTIONS,
            open=True,
        )
        self._group: GroupCommit[ResponseBatch | NewAction] = GroupCommit(self._commit)

    def _write(self, job: Callable[[Database], Result]) -> Result:
        return self._transaction(job, again_after=(psycopg.errors.UniqueViolation,))

    def _add_batch(self, new: ResponseBatch | NewAction) -> Any:
        return self._group.do(new)

    def _commit(self, batch: Sequence[ResponseBatch | NewAction]) -> Sequence[Any]:
        def job(db: Database) -> list[Any]:
            return run_batch(db, batch, of_one_alone=psycopg.IntegrityError, of_all=psycopg.Error)

        return self._transaction(job)

    def _transaction(
        self,
        job: Callable[[Database], Result],
        again_after: tuple[type[psycopg.Error], ...] = (),
        limits: Limits = REQUEST,
        patience_s: float | None = None,
    ) -> Result:
        """Run a job in a transaction. Repeat the job after a conflict, such as simultaneous starts of one session."""
        again_after = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected, *again_after)
        patience_s = PATIENCE_S if patience_s is None else patience_s
        deadline = time.monotonic() + patience_s
        attempt = 0
        while True:
            try:
                with self._lent(limits, patience_s) as db:
                    return job(db)
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
            with self._lent(REQUEST, PATIENCE_S) as db:
                yield db
        except psycopg.Error as error:
            raise _unavailable(error) from error

    @contextmanager
    def _lent(self, limits: Limits, patience_s: float) -> Iterator[Database]:
        """Yield a connection of the pool inside a transaction."""
        began_at = time.monotonic()
        with self._pool.connection(patience_s) as connection:
            try:
                with transaction(connection, limits):
                    yield PostgresDatabase(connection)
            except psycopg.errors.ReadOnlySqlTransaction:  # This server is no longer the primary.
                connection.close()
                raise
            finally:
                if connection.closed and began_at > self._renewed_at:
                    # The other connections lead to the same server: each would fail in turn, after some time.
                    self._renewed_at = time.monotonic()
                    self._pool.drain()

    def check(self) -> None:
        # The statement changes nothing, but it writes: only a write shows if there is still space on the disk.
        self._transaction(
            lambda db: db.execute("UPDATE logs SET n_events = n_events").rowcount, limits=CHECK, patience_s=CHECK_S
        )

    def kept_traces(self) -> list[str]:
        """Return a warning that PostgreSQL's files may still contain deleted data, which a client cannot check."""
        return [BYTES_OF_DELETED_ROWS]

    def check_integrity(self) -> None:
        """Check nothing, because PostgreSQL itself checks each page of its files when it reads the page."""

    @contextmanager
    def snapshot(self) -> Iterator[Database]:
        with self._own_connection("ISOLATION LEVEL REPEATABLE READ READ ONLY") as db:
            yield db

    @contextmanager
    def filling(self) -> Iterator[Database]:
        with self._own_connection() as db:
            yield db

    @contextmanager
    def _own_connection(self, mode: str = "") -> Iterator[Database]:
        """Yield a connection outside the pool, inside a transaction, for long work."""
        try:
            with connect(self._conninfo_for_long_work) as connection, transaction(connection, LONG, mode):
                yield PostgresDatabase(connection)
        except StoreAway as error:
            raise StoreUnavailable(str(error)) from None
        except psycopg.DataError as error:
            raise _cannot_hold(error) from None
        except psycopg.Error as error:
            raise _unavailable(error) from error

    def close(self) -> None:
        self._group.close()
        self._pool.close()


def _unavailable(error: psycopg.Error) -> StoreUnavailable:
    return StoreUnavailable("no connection to the database" if isinstance(error, PoolTimeout) else reason(error))


def _cannot_hold(error: psycopg.DataError) -> InputError:
    return InputError(
        f"PostgreSQL cannot store one of these values ({str(error).strip().splitlines()[0]}), for instance a text with "
        "the character NUL. Fix: remove this value, or use a SQLite store."
    )


def _prepare(conninfo: str, must_exist: bool) -> None:
    """Make the tables, or check that the existing tables are a store."""
    try:
        with connect(conninfo) as connection, transaction(connection, SCHEMA):
            (fsync,) = _one(connection, "SELECT current_setting('fsync', true)")
            if fsync == "off":
                raise InputError(
                    "the database runs with fsync = off, so responses are lost if the machine of the "
                    "database fails. Fix: set fsync = on in postgresql.conf."
                )
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
            applied = _applied(connection)
            if must_exist and not applied:
                raise InputError(
                    "there is no store in this database. Fix: check the database's name, or collect responses with "
                    "`equipoise serve` first."
                )
            if schema.VERSION in applied:
                return  # A change of tables would wait for all readers, and all writers would wait for the change.
            _rename(connection)
            for statement in schema.STATEMENTS:
                connection.execute(statement.encode())
            identities.add_checksums(PostgresDatabase(connection))
            sessions.rename_reasons(PostgresDatabase(connection))
            responses.count_totals(PostgresDatabase(connection))
            add_content_digests(PostgresDatabase(connection))
            connection.execute(
                "INSERT INTO _migrations (name, applied_at) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (schema.VERSION, now()),
            )
    except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction) as error:
        raise away(error) from None
    except psycopg.Error as error:
        raise refused(error) from None


def _rename(connection: Connection) -> None:
    """Rename the tables and columns of an earlier version."""
    for old, new in schema.RENAMED_TABLES.items():
        connection.execute(f"ALTER TABLE IF EXISTS {old} RENAME TO {new}".encode())
    for table, old, new in schema.RENAMED_COLUMNS:
        query = (
            "SELECT COUNT(*) FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped"
        )
        if _one(connection, query, (table, old))[0]:
            connection.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}".encode())


def _applied(connection: Connection) -> set[str]:
    """Return the versions of the tables that this store has.

    Raise InputError for tables of another program, and for a store of a newer Equipoise.
    """

    def is_there(table: str) -> bool:
        return bool(_one(connection, "SELECT to_regclass(%s) IS NOT NULL", (table,))[0])

    if is_there("_migrations"):
        applied = {name for (name,) in connection.execute("SELECT name FROM _migrations")}
        unknown = sorted(applied - set(KNOWN_MIGRATIONS))
        if unknown:
            raise InputError(
                "this store was written by a newer version of Equipoise (your version does not know the "
                f"changes {', '.join(unknown)}). Fix: update Equipoise."
            )
        return applied
    if any(map(is_there, [*TABLES, "trials"])):
        raise InputError("this database has tables of another program. Fix: make a separate database for Equipoise.")
    return set()


def _one(connection: Connection, query: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...]:
    row = connection.execute(query.encode(), parameters).fetchone()
    assert row is not None
    return row
