"""The common interface of both databases for SQL statements, and the stored form of times.

In a statement, a parameter replaces each `?`.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from server.store.tables import TRIALS

MAX_DAMAGE = 20
"""Largest number of damaged places that a check of the files reports."""


class Rows(Protocol):
    """Result of a statement."""

    @property
    def rowcount(self) -> int:
        """Number of changed rows."""

    @property
    def description(self) -> Any:
        """One sequence per column. The first entry of a sequence is the name of the column."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A connection inside a transaction."""

    for_update: str
    """Text to append to a SELECT that must lock its rows until the end of the transaction."""

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """Run a statement."""

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], skip_known: bool = False
    ) -> None:
        """Insert rows. With `skip_known`, skip rows whose key is in the table already."""

    def stream(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query without keeping all rows in memory."""

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows into a table in the fastest way."""

    def damage(self) -> list[str]:
        """Return the damaged places that the database itself finds in its files."""


class SqliteDatabase:
    """A SQLite connection. SQLite has one writer, which needs no locks on rows."""

    for_update = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        return self.connection.execute(sql, parameters)

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], skip_known: bool = False
    ) -> None:
        self.connection.executemany(insert_sql(table, columns, skip_known=skip_known), rows)

    def stream(self, sql: str) -> Iterator[tuple[Any, ...]]:
        return self.connection.execute(sql)

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self.connection.executemany(insert_sql(table, columns), rows)

    def damage(self) -> list[str]:
        try:
            found = [text for (text,) in self.connection.execute(f"PRAGMA integrity_check({MAX_DAMAGE})")]
            view = self.connection.execute("SELECT sql FROM sqlite_master WHERE name = 'trials'").fetchone()
        except (sqlite3.Error, UnicodeError) as error:
            return [f"the file is damaged: {error}."]
        if view is None or not view[0].rstrip().endswith(TRIALS.strip()):
            found.append("the view `trials` was changed")
        return [f"the file is damaged: {line}." for text in found if text != "ok" for line in text.splitlines()]


def insert_sql(table: str, columns: Sequence[str], n_rows: int = 1, skip_known: bool = False) -> str:
    """Return the statement that inserts rows. With `skip_known`, it skips rows whose key is in the table already."""
    names = ", ".join(f'"{column}"' for column in columns)
    values = ", ".join([f"({marks(columns)})"] * n_rows)
    return f'INSERT INTO "{table}" ({names}) VALUES {values}' + (" ON CONFLICT DO NOTHING" if skip_known else "")


def marks(values: Sequence[Any]) -> str:
    """Return question marks for a statement, one for each value, separated by commas."""
    return ", ".join("?" * len(values))


def now() -> str:
    """Return the present time in its stored form."""
    return as_text(datetime.now(UTC))


def minutes_ago(minutes: float) -> str:
    """Return the time `minutes` minutes ago, in its stored form."""
    return as_text(datetime.now(UTC) - timedelta(minutes=minutes))


def as_text(at: datetime) -> str:
    """Return a time in its stored form: UTC, ISO 8601, with milliseconds, so that texts sort like times."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
