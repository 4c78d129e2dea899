"""Connections to PostgreSQL with time limits for the parts of a transaction, so that a silent peer blocks nothing.

A peer is silent if its process is frozen or its cable is unplugged: no error arrives, and TCP alone waits for hours.
Two kinds of limits end the wait. First, this process closes a connection on which nothing arrives for
`Limits.silence_s`. Nothing else detects a frozen server, because its kernel still acknowledges TCP packets. Second, the
server ends the transaction of a client that sends nothing (`Limits.idle_s`), so that a frozen client's locks are
released.

The server's limits are sent with every `BEGIN`, as `SET LOCAL`, and need no further round trip. These limits also work
with PgBouncer in transaction mode, where a setting of the database session would affect other clients' transactions.
"""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg


@dataclass(frozen=True)
class Limits:
    """Limits on the parts of a transaction, in seconds; None for no limit.

    If there is a limit of statements, it is shorter than `silence_s`. So the database server ends a slow statement, and
    reports it, before this process takes the silence for a lost connection. The limit is also shorter than `idle_s`,
    because a frozen client may have a lock in one transaction, and wait for this lock in another transaction. After
    `idle_s`, the database server releases the lock. By then, the waiting statement has ended, so the frozen client does
    not get the lock again.
    """

    silence_s: float
    """Time without a byte from the server."""
    statement_s: float | None
    """Duration of one statement. PostgreSQL does not apply this limit to a commit, which may wait for a standby server.
    """
    lock_s: float
    """Duration of a wait for a lock."""
    idle_s: float
    """Time without a statement from this process."""

    def begin(self, mode: str = "") -> bytes:
        """Return one message with the statements that begin a transaction and set these limits.

        If the server is set so that commits do not wait for the disk, one of the statements makes the commit of this
        transaction wait.
        """
        return (
            f"BEGIN {mode}; SET LOCAL statement_timeout = {_ms(self.statement_s)}; "
            f"SET LOCAL lock_timeout = {_ms(self.lock_s)}; "
            f"SET LOCAL idle_in_transaction_session_timeout = {_ms(self.idle_s)}; "
            "SELECT set_config('synchronous_commit', 'on', true) "
            "WHERE current_setting('synchronous_commit', true) = 'off'"
        ).encode()


def _ms(seconds: float | None) -> int:
    return 0 if seconds is None else int(seconds * 1000)


REQUEST = Limits(silence_s=7, statement_s=6, lock_s=5, idle_s=7)
"""Limits for requests, because a participant waits for the reply."""
CHECK = Limits(silence_s=2, statement_s=1.8, lock_s=1.5, idle_s=7)
"""Limits for the health check, which asks if responses can be stored now."""
SCHEMA = Limits(silence_s=600, statement_s=None, lock_s=5, idle_s=7)
"""Limits for making the tables. Other servers that start at the same time wait until the tables are made."""
LONG = Limits(silence_s=600, statement_s=None, lock_s=10, idle_s=600)
"""Limits for backups, copies, exports and checks of the whole store."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that closes itself when the server is silent for too long."""

    silence_s: float = REQUEST.silence_s

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:
        """Wait for the server as psycopg does, but end the wait if the server is silent for too long."""
        return super().wait(self._unless_silent(gen), *arguments, **options)

    def _unless_silent(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Pass events from psycopg's wait to `gen`. Several times a second, psycopg reports whether there was an event.

        Close the connection if the server is silent for too long.
        """
        heard_at = time.monotonic()
        try:
            waits_for = next(gen)
            while True:
                ready = yield waits_for
                if ready:
                    heard_at = time.monotonic()
                elif time.monotonic() - heard_at > self.silence_s:
                    self.close()  # A rollback would wait for the silent server again.
                    raise psycopg.OperationalError(f"the database has sent nothing for {self.silence_s:g} s")
                waits_for = gen.send(ready)
        except StopIteration as end:
            return end.value


@contextmanager
def transaction(connection: Connection, limits: Limits, mode: str = "") -> Iterator[None]:
    """Run a block in a transaction, and commit it; the connection must be in autocommit mode.

    After an exception the transaction is still open. The caller, who provided the connection, must roll the
    transaction back.
    """
    connection.silence_s = min(limits.silence_s, REQUEST.silence_s)
    connection.execute(limits.begin(mode))
    connection.silence_s = limits.silence_s
    yield
    outcome = connection.execute(b"COMMIT").statusmessage
    if outcome != "COMMIT":  # After a failed statement PostgreSQL replies ROLLBACK, and raises nothing.
        raise psycopg.OperationalError("the database rolled the transaction back")
