"""Connections to PostgreSQL with time limits, so that a frozen server or a frozen client blocks nothing.

If the other side is frozen or its cable is unplugged, no error arrives, and TCP alone waits for hours. Two kinds of
limits end the wait. First, this process closes a connection on which nothing arrives for `Limits.silence_s`. Second,
the database server ends the transaction of a client that sends nothing (`Limits.idle_s`), and so releases its locks.

The limits of the database server are sent with every `BEGIN`, as `SET LOCAL`. So they also work with PgBouncer in
transaction mode, where a setting of the database session would affect the transactions of other clients.
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

    `statement_s` is shorter than `silence_s`. So the database server ends and reports a slow statement before this
    process closes the connection. `statement_s` is also shorter than `idle_s`. Suppose that a frozen client has a lock
    in one transaction, and waits for the same lock in another. The wait then ends before the lock is released, so the
    frozen client does not get the lock again.
    """

    silence_s: float
    """Longest time without a byte from the database server."""
    statement_s: float | None
    """Longest duration of one statement. PostgreSQL does not apply this limit to commits, which may wait for a standby
    server.
    """
    lock_s: float
    """Longest wait for a lock."""
    idle_s: float
    """Longest time without a statement from this process."""

    def begin(self, mode: str = "") -> bytes:
        """Return one message with the statements that begin a transaction and set these limits.

        If the database server's setting is that commits do not wait for the disk, the commit of this transaction waits
        nevertheless.
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
"""Limits for requests. They are short, because a participant waits for the reply."""
CHECK = Limits(silence_s=2, statement_s=1.8, lock_s=1.5, idle_s=7)
"""Limits for the health check, which checks that responses can be stored now."""
SCHEMA = Limits(silence_s=600, statement_s=None, lock_s=5, idle_s=7)
"""Limits for making the tables. Other servers that start at the same time wait for this."""
LONG = Limits(silence_s=600, statement_s=None, lock_s=10, idle_s=600)
"""Limits for backups, copies, exports and checks of the whole store."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that closes itself when the server is silent for too long."""

    silence_s: float = REQUEST.silence_s

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:
        """Wait for the server as psycopg does, but end the wait if the server is silent for too long."""
        return super().wait(self._unless_silent(gen), *arguments, **options)

    def _unless_silent(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Pass events from psycopg to `gen`, and close the connection if the server is silent for too long.

        psycopg reports several times a second whether there was an event.
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

    After an exception, the transaction is still open, and the caller must roll it back.
    """
    connection.silence_s = min(limits.silence_s, REQUEST.silence_s)
    connection.execute(limits.begin(mode))
    connection.silence_s = limits.silence_s
    yield
    outcome = connection.execute(b"COMMIT").statusmessage
    if outcome != "COMMIT":  # After a failed statement PostgreSQL replies ROLLBACK, and raises nothing.
        raise psycopg.OperationalError("the database rolled the transaction back")
