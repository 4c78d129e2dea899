"""A private PostgreSQL server for tests, which they may stop and kill as they like.

It needs only PostgreSQL's programs, and never touches a server of the system: its cluster lives in a temporary folder,
listens on a free port of 127.0.0.1 and is gone when the tests are. It runs on POSIX systems.
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
    # PostgreSQL's own defaults, written out because tests of durability rest on them.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
}
# Below the ports that Linux and macOS give to outgoing connections, so that none takes ours while the server is down.
PORTS = range(15_000, 32_000)
PATIENCE_S = 60.0

# Waits for the end of the test run, even by SIGKILL, and removes what that run could not. It is told the server's
# process id when the server starts, and an empty line when it has ended.
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
        What `EQUIPOISE_POSTGRES_BIN` names; or else the folder of the `initdb` on the PATH, the one that `pg_config`
        tells, or the newest in Debian's place. None if the server's programs are not there, and always on Windows.
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
            told = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
            candidates.append(Path(told.stdout.strip()))
        debian = Path("/usr/lib/postgresql").glob("*/bin")
        candidates += sorted(debian, key=lambda folder: _version(folder.parent.name), reverse=True)
    return next((folder for folder in candidates if _is_program(folder, "initdb", "postgres")), None)


def _is_program(folder: Path, *names: str) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in names)


def _version(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


class PostgresCluster:
    """A PostgreSQL cluster of its own, as a context manager: made and started on entry, gone after exit.

    Anybody on this machine can log in to it while it runs, as its superuser and without a password.

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
        On entry, if PostgreSQL's programs are not there or fail; with what they said.
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
            start_new_session=True,  # a Ctrl-C is not for it
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
        """Whether the server's first process lives."""
        return self._server is not None and self._server.poll() is None

    def url(self, database: str) -> str:
        """Return the address of a database, as psycopg and SQLAlchemy take it."""
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
        """Start the server, which must not run, and wait until it takes connections.

        After a kill that includes its recovery.

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
                    start_new_session=True,  # a Ctrl-C is for the tests, which then stop the server in order
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
        """Wait until the server takes connections.

        Raises
        ------
        RuntimeError
            If it ended before, with the end of its log.
        TimeoutError
            If it took longer than a minute.
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
        """Stop the server in order, but at once: open transactions are rolled back and connections closed."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill all processes of the server at once, and wait until they are gone.

        Nothing is flushed or tidied, as in a crash. What the server has handed to the operating system is still
        written, so this is not the whole of a power cut; that is why `fsync` is on.
        """
        if self._server is None or not self.is_running:
            return
        # Held still first, so that it cannot start a process that the list of them does not have.
        os.kill(self._server.pid, signal.SIGSTOP)
        self._signal_all(signal.SIGKILL)
        self._server.wait(PATIENCE_S)
        self._was_killed = True
        self._ended()

    def freeze(self) -> None:
        """Stop all processes of the server where they are; the kernel goes on to accept and acknowledge for them."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen server go on."""
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> None:
        if self._server is None or not self.is_running:
            return
        for process in (self._server.pid, *_children(self._server.pid)):
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def close(self) -> None:
        """End the server and remove all that it has left; nothing happens the second time."""
        if self._guard is None:
            return
        atexit.unregister(self.close)
        try:
            self.thaw()
            if self._was_killed:
                # The shared memory of a killed server remains in the system until the next start takes it over.
                self.start()
            self._end(signal.SIGQUIT)  # without the last flush to disk, as all goes anyway
        finally:
            self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
            self._guard.communicate()
            self._guard = None

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _child_options(self) -> dict[str, Any]:
        # Without the PG variables, which would bend the server to the tester's own habits.
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
            "--no-sync",  # of initdb alone; the server itself syncs
        ]

    def _start_on_a_free_port(self) -> None:
        """Start for the first time; a port can be lost to another program between the look at it and the start."""
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

        A connection would prove less: on a port lost to a race it would reach another server.
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
        """Wait until the last process of the server is gone; take note that it is."""
        if self._lifeline < 0:
            return
        # Each of them holds the other end of this pipe, which reads as ended when the last one lets go. Only the first
        # process is our child and could be waited for.
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
    """Return whom to run as, for `subprocess`; PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return {}
    import pwd  # which Windows does not have

    for name in (SUPERUSER, "nobody"):
        with suppress(KeyError):
            account = pwd.getpwnam(name)
            return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    raise RuntimeError("PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody")


def _reachable_folder() -> Path:
    """Return a folder for temporary files that another user can reach, which root's own may not be."""
    folder = Path(tempfile.gettempdir())
    if os.geteuid() == 0 and not all(part.stat().st_mode & 0o001 for part in (folder, *folder.parents)):
        return Path("/tmp")
    return folder


def free_port() -> int:
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):  # the same seed in two workers must not matter
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"no port is free between {PORTS.start} and {PORTS.stop}")


def _children(parent: int) -> list[int]:
    # PostgreSQL gives each of its processes a process group, so `killpg` would not reach them.
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = (map(int, line.split()) for line in listed.stdout.splitlines())
    return [pid for pid, ppid in pairs if ppid == parent]
