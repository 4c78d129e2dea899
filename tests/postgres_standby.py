"""A standby of a private PostgreSQL server: every commit of the primary waits until it is on the standby's disk too."""

import time
from typing import Self

import psycopg

from tests.postgres import PATIENCE_S, SUPERUSER, PostgresCluster

NAME = "standby"


class PostgresStandby(PostgresCluster):
    """A synchronous standby on 127.0.0.1, as a context manager; docs/how-to/survive-a-database-failure.md says how.

    Parameters
    ----------
    primary : PostgresCluster
        The server to follow, which must be running. It is reconfigured to wait for the standby.
    """

    def __init__(self, primary: PostgresCluster) -> None:
        super().__init__()
        self._primary = primary

    def __enter__(self) -> Self:
        super().__enter__()
        with psycopg.connect(self._primary.url("postgres"), autocommit=True) as db:
            db.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{NAME}'")
            db.execute("SELECT pg_reload_conf()")
            deadline = time.monotonic() + PATIENCE_S
            while db.execute("SELECT sync_state FROM pg_stat_replication").fetchall() != [("sync",)]:
                if time.monotonic() > deadline:
                    raise TimeoutError("the standby does not follow its primary")
                time.sleep(0.05)
        return self

    def promote(self) -> None:
        """Promote the standby to primary, and wait for the end of the promotion."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            assert db.execute(f"SELECT pg_promote(true, {PATIENCE_S:.0f})").fetchone() == (True,)

    def _command_to_make(self) -> list[str]:
        source = f"host=127.0.0.1 port={self._primary.port} user={SUPERUSER} application_name={NAME}"
        return [
            *(str(self._binaries / "pg_basebackup"), "--dbname", source, "--pgdata", str(self._data)),
            *("--write-recovery-conf", "--checkpoint=fast", "--no-sync"),
        ]
