"""Processes of `equipoise serve`, which are forks of `tests.fork_server`.

Tests of the start itself run `python -m equipoise serve`.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import set_start_method
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from server.serve import free_port
from tests.fork_server import fork_server
from tests.waiting import wait_until_it_replies

UNLIMITED = {
    "EQUIPOISE_STARTS_PER_MINUTE": "1000000",
    "EQUIPOISE_REQUESTS_PER_SECOND": "100000",
}
"""Settings without limits: all clients of a test have the same address, and respond faster than people do."""


class ServerProcess:
    """A process of `equipoise serve` in a process group of its own, used like `subprocess.Popen`.

    Parameters
    ----------
    folder
        The study's folder.
    port
        The port to listen on.
    options
        Further options of the command.
    environment
        Environment variables, in addition to the test's.
    log
        The file to which the process appends its standard error; by default the test's standard error.
    """

    def __init__(
        self,
        folder: Path,
        port: int,
        *options: str,
        environment: Mapping[str, str] = UNLIMITED,
        log: Path | None = None,
    ) -> None:
        arguments = ["serve", str(folder), "--port", str(port), "--quiet", *options]
        self._process: ForkServerProcess = fork_server().Process(
            target=_serve, args=(arguments, dict(os.environ) | environment, log)
        )
        self._process.start()

    @property
    def pid(self) -> int:
        """The id of the process and of its group."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, or None while the process is running."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process and return its exit code."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("equipoise serve", timeout or 0)
        return self._process.exitcode

    def terminate(self) -> None:
        """Ask the server to stop."""
        self._process.terminate()

    def kill_group(self) -> None:
        """Kill the process and its workers."""
        with suppress(ProcessLookupError):  # The process has ended, or has no group yet.
            os.killpg(self.pid, signal.SIGKILL)
        self._process.kill()
        self.wait()


@contextmanager
def running_server(folder: Path, *options: str) -> Iterator[str]:
    """Serve a study on a free port, and yield the URL. At the end, kill the server.

    A server that stops would wait for the open connections of the test's browser.
    """
    port = free_port()
    process = ServerProcess(folder, port, *options)
    try:
        wait_until_it_replies(f"http://127.0.0.1:{port}/readyz", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill_group()


def _serve(arguments: list[str], environment: dict[str, str], log: Path | None) -> None:
    from equipoise.cli.main import main

    set_start_method("fork", force=True)  # Workers are forks too: a new interpreter would import the server again.
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    if log is not None:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
    main(arguments)
