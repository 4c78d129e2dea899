"""A private PostgreSQL server for tests, which a test may stop and kill at any time.

The server needs only PostgreSQL's programs, and never changes a server of the system. Its cluster is in a temporary
folder, uses a free port of 127.0.0.1, and is removed after the tests. The server runs on POSIX systems.
"""

import atexit
import itertools
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg import sql

SUPERUSER = "postgres"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    # PostgreSQL's defaults, stated because tests of durability depend on them.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # After a kill, put the whole file system on the disk at once, not thousands of files of many databases one by one.
    **({"recovery_init_sync_method": "syncfs"} if sys.platform.startswith("linux") else {}),
}
# Below the ports of outgoing connections on Linux and macOS, so that none uses this port while the server is down.
PORTS = range(15_000, 32_000)
PATIENCE_S = 60.0

# Waits for the end of the test run, even by SIGKILL, and removes what that run could not remove. It reads the server's
# process id when the server starts, and an empty line when the server has ended.
GUARD = """
while read -r line; do server=$line; done
if [ -n "$server" ] && kill -QUIT "$server" && kill -CONT "$server"; then
  tries=0
  while kill -0 "$server" && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
fi 2>/dev/null
rm -rf "$1"
"""


def find_binaries() -> Path | None:
    """Find the folder with PostgreSQL's programs.

    Returns
    -------
    Path or None
        The folder that `EQUIPOISE_POSTGRES_BIN` names. Without this variable, the folder of the `initdb` on the PATH,
        the folder that `pg_config` prints, or the newest folder of Debian's packages. None if the server's programs are
        missing, and always on Windows.
    """
    if os.name != "posix":
        return None
    if named := os.environ.get("EQUIPOISE_POSTGRES_BIN"):
        candidates = [Path(named)]
    else:
        candidates = []
        if initdb := shutil.which("initdb"):
            candidates.append(Path(initdb).resolve().parent)
        if pg_config := shutil.which("pg_config"):
            found = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
            candidates.append(Path(found.stdout.strip()))
        debian = Path("/usr/lib/postgresql").glob("*/bin")
        candidates += sorted(debian, key=lambda folder: _version(folder.parent.name), reverse=True)
    return next((folder for folder in candidates if _is_program(folder, "initdb", "postgres")), None)


def _is_program(folder: Path, *names: str) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in names)


def _version(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


class PostgresCluster:
    """A private PostgreSQL cluster, as a context manager: made and started on entry, removed on exit.

    While the cluster runs, every user of this machine can log in as its superuser without a password.

    Parameters
    ----------
    binaries : Path, optional
        The folder with PostgreSQL's programs; found by `find_binaries` if not given.

    Attributes
    ----------
    folder : Path
        The temporary folder with the cluster's `data` and its `log`.
    port : int
        The port on 127.0.0.1. It stays the same when the server is started again.

    Raises
    ------
    RuntimeError
        On entry, if PostgreSQL's programs are missing or fail; the message has their output.
    """

    folder: Path
    port: int

    def __init__(self, binaries: Path | None = None) -> None:
        self._given_binaries = binaries
        self._server: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[str] | None = None
        self._lifeline = -1
        self._was_killed = False
        self._numbers = itertools.count(1)

    def __enter__(self) -> Self:
        binaries = self._given_binaries or find_binaries()
        if binaries is None:
            raise RuntimeError("PostgreSQL's server programs were not found")
        self._binaries = binaries
        self._account = server_account()
        self.folder = Path(tempfile.mkdtemp(prefix="equipoise-postgres-", dir=_reachable_folder()))
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "guard", str(self.folder)],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C must not end the guard
        )
        atexit.register(self.close)
        try:
            self._make()
            self._start_on_a_free_port()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_running(self) -> bool:
        """True if the server's first process is running."""
        return self._server is not None and self._server.poll() is None

    def url(self, database: str) -> str:
        """Return the address of a database, as psycopg and SQLAlchemy accept it."""
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make an empty database that no other test has, and return its address.

        A server that an earlier test left stopped or killed is started again.
        """
        if not self.is_running:
            self.start()
        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def start(self) -> None:
        """Start the server, which must not be running, and wait until it accepts connections.

        After a kill, the wait includes the server's recovery.

        Raises
        ------
        RuntimeError
            If the server does not start, with the end of its log.
        """
        if self.is_running:
            raise RuntimeError("the PostgreSQL server runs already")
        settings = [argument for name, value in SETTINGS.items() for argument in ("-c", f"{name}={value}")]
        lifeline, servers_end = os.pipe()
        try:
            with (self.folder / "log").open("ab") as log:
                self._server = subprocess.Popen(
                    [self._binaries / "postgres", "-D", self._data, "-p", str(self.port), *settings],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[servers_end],
                    start_new_session=True,  # Ctrl-C ends the tests, which then stop the server in order
                    **self._child_options(),
                )
        except BaseException:
            os.close(lifeline)
            raise
        finally:
            os.close(servers_end)
        self._lifeline = lifeline
        self._tell_guard(str(self._server.pid))
        self.wait_until_ready()
        self._was_killed = False

    def wait_until_ready(self) -> None:
        """Wait until the server accepts connections.

        Raises
        ------
        RuntimeError
            If the server ended before; the message has the end of its log.
        TimeoutError
            If the server needed more than a minute.
        """
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if not self.is_running:
                self._ended()
                raise RuntimeError(f"the PostgreSQL server did not start:\n{self._end_of_log()}")
            if self._says_ready():
                return
            time.sleep(0.01)
        raise TimeoutError(f"the PostgreSQL server was not ready after {PATIENCE_S:.0f} s:\n{self._end_of_log()}")

    def stop(self) -> None:
        """Stop the server in order, but at once: open transactions are rolled back, and connections are closed."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill all processes of the server at once, and wait until they are gone.

        Nothing is flushed or removed, as in a crash. The operating system still writes the data that the server passed
        to it. So a kill does less damage than a power cut; for this reason `fsync` is on.
        """
        if self._server is None or not self.is_running:
            return
        # Stopped first, so that the server cannot start a process that is not in the list.
        os.kill(self._server.pid, signal.SIGSTOP)
        self._signal_all(signal.SIGKILL)
        self._server.wait(PATIENCE_S)
        self._was_killed = True
        self._ended()

    def freeze(self) -> None:
        """Suspend all processes of the server; the kernel still accepts and acknowledges data for them."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen server continue."""
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> None:
        if self._server is None or not self.is_running:
            return
        for process in (self._server.pid, *_children(self._server.pid)):
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def close(self) -> None:
        """End the server and remove all its files; a second call does nothing."""
        if self._guard is None:
            return
        atexit.unregister(self.close)
        try:
            self.thaw()
            if self._was_killed:
                # The shared memory of a killed server remains in the system until the next start.
                self.start()
            self._end(signal.SIGQUIT)  # without the last flush to disk, because the files are removed
        finally:
            self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
            self._guard.communicate()
            self._guard = None

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _child_options(self) -> dict[str, Any]:
        # Without the PG variables, which would change the server's settings.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        return {"cwd": self.folder, "env": environment, **self._account}

    def _make(self) -> None:
        if self._account:
            os.chown(self.folder, self._account["user"], self._account["group"])
        command = self._command_to_make()
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            **self._child_options(),
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}")

    def _command_to_make(self) -> list[str]:
        """Return the command that makes the cluster's folder `data`."""
        return [
            *(str(self._binaries / "initdb"), "-D", str(self._data), f"--username={SUPERUSER}", "--auth=trust"),
            *("--encoding=UTF8", "--locale=C"),
            "--no-sync",  # for initdb only; the server itself syncs
        ]

    def _start_on_a_free_port(self) -> None:
        """Start for the first time; another program can occupy a port between the check and the start."""
        tries = 5
        for left in reversed(range(tries)):
            self.port = free_port()
            try:
                return self.start()
            except RuntimeError:
                if not left:
                    raise
        return None

    def _says_ready(self) -> bool:
        """Read the server's pid file, as `pg_ctl` does: the first line is its process id, the eighth its state.

        A connection would prove less: if another server has occupied the port, the connection would reach that server.
        """
        assert self._server is not None
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self._server.pid) and lines[7].strip() == "ready"

    def _end_of_log(self) -> str:
        return "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-20:])

    def _end(self, with_signal: signal.Signals) -> None:
        if self._server is None or not self.is_running:
            return
        self._server.send_signal(with_signal)
        self._server.wait(PATIENCE_S)
        self._ended()

    def _ended(self) -> None:
        """Wait until the last process of the server has ended, and record this."""
        if self._lifeline < 0:
            return
        # Each process has the other end of this pipe open, and reading returns when the last process closes it. Only
        # the first process is our child, so this process could not wait for the others.
        ended, _, _ = select.select([self._lifeline], [], [], PATIENCE_S)
        if not ended:
            raise TimeoutError(f"processes of the PostgreSQL server are left after {PATIENCE_S:.0f} s")
        os.close(self._lifeline)
        self._lifeline = -1
        self._tell_guard("")

    def _tell_guard(self, line: str) -> None:
        assert self._guard is not None and self._guard.stdin is not None
        self._guard.stdin.write(f"{line}\n")
        self._guard.stdin.flush()


def server_account() -> Mapping[str, Any]:
    """Return the user of the server, for `subprocess`; PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    import pwd  # missing on Windows

    for name in (SUPERUSER, "nobody"):
        with suppress(KeyError):
            account = pwd.getpwnam(name)
            return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    raise RuntimeError("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody")


def _reachable_folder() -> Path:
    """Return a folder for temporary files that another user can reach; root's folder may not be reachable."""
    folder = Path(tempfile.gettempdir())
    if os.geteuid() == 0 and not all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents)):
        return Path("/tmp")
    return folder


def free_port() -> int:
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):  # two workers may have the same seed
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"no port is free between {PORTS.start} and {PORTS.stop}")


def _children(parent: int) -> list[int]:
    # PostgreSQL gives each of its processes a process group, so `killpg` would not reach them.
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = (map(int, line.split()) for line in listed.stdout.splitlines())
    return [pid for pid, ppid in pairs if ppid == parent]
