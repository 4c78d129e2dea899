"""Commands in processes of their own, which are forks of `tests.fork_server`."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from tests.fork_server import fork_server

PATIENCE_S = 180
"""Longest wait for the end of a command."""


class StartedCommand:
    """A command of `equipoise` in a process, with this process's environment and without input.

    Parameters
    ----------
    arguments
        The arguments of the command.
    cwd
        The working folder; by default, that of this process.
    environment
        Environment variables, added to those of this process.
    """

    def __init__(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._command = [str(argument) for argument in arguments]
        self._folder = TemporaryDirectory()
        self._printed = [Path(self._folder.name) / "stdout", Path(self._folder.name) / "stderr"]
        variables = {**os.environ, **environment}
        self._process = fork_server().Process(
            target=_run, args=(self._command, cwd or Path.cwd(), variables, self._printed)
        )
        self._process.start()

    def kill(self) -> None:
        """Kill the process (SIGKILL), and wait for its end."""
        self._process.kill()
        self._process.join()
        self._folder.cleanup()

    def finished(self) -> subprocess.CompletedProcess[str]:
        """Wait for the end of the command, and return what it printed."""
        self._process.join(PATIENCE_S)
        if self._process.exitcode is None:
            self.kill()
            raise subprocess.TimeoutExpired(self._command, PATIENCE_S)
        printed = [path.read_text("utf-8") for path in self._printed]
        self._folder.cleanup()
        return subprocess.CompletedProcess(self._command, self._process.exitcode, *printed)


def equipoise(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of `equipoise` to its end, and return what it printed."""
    return StartedCommand(*arguments, cwd=cwd).finished()


def _run(command: list[str], cwd: Path, environment: dict[str, str], printed: list[Path]) -> None:
    from equipoise.cli.main import main

    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream, path in enumerate(printed, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
    main(command, prog_name="equipoise")
