"""A private PgBouncer in transaction mode, in front of the tests' PostgreSQL server."""

import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from tests.postgres import PATIENCE_S, SUPERUSER, PostgresCluster, free_port, server_account

CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={server_port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {n_connections}
logfile = {folder}/log
"""


def find_pgbouncer() -> str | None:
    """Return the path of the program, or None if it is not installed. In Debian it is not on the PATH of users."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


class PgBouncer:
    """A PgBouncer on a free port of 127.0.0.1, as a context manager.

    Parameters
    ----------
    program : str
        Path of the program.
    cluster : PostgresCluster
        The server behind it; PgBouncer uses the temporary folder of this server too.
    n_connections : int
        Number of connections to the server for each database. It is smaller than the number of clients, so that clients
        share connections.
    """

    def __init__(self, program: str, cluster: PostgresCluster, n_connections: int = 2) -> None:
        self._program = program
        self._cluster = cluster
        self._n_connections = n_connections

    def __enter__(self) -> Self:
        self.port = free_port()
        account = server_account()
        folder = Path(self._cluster.folder) / f"pgbouncer-{self.port}"
        folder.mkdir()
        if account:
            os.chown(folder, account["user"], account["group"])
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(
            CONFIGURATION.format(
                server_port=self._cluster.port,
                user=SUPERUSER,
                port=self.port,
                n_connections=self._n_connections,
                folder=folder,
            )
        )
        self._process = subprocess.Popen(
            [self._program, "--quiet", str(configuration)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **account,
        )
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with suppress(psycopg.OperationalError):
                psycopg.connect(self.url("postgres")).close()
                return self
            time.sleep(0.05)
        raise TimeoutError("PgBouncer does not take connections")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def url(self, database: str) -> str:
        """Return the address of a database through PgBouncer."""
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}/{database}"
