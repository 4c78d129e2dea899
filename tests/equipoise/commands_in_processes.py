"""Commands in processes of their own: forks of a server that has already imported pandas, matplotlib and Inspect.

The imports of a command that analyzes data or asks a language model need seconds of processor time, and dozens of tests
run such a command.
"""

import os
import subprocess
from collections.abc import Mapping
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from unittest.mock import patch

from tests.paths import ROOT

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
        self._process = _fork_server().Process(
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


@cache
def _fork_server() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(
        [
            "equipoise.cli.main", "equipoise.commands.analyze", "experiment.simulated_participants",
            # The server leaves out modules that are not installed.
            "equipoise.commands.models.run", "experiment.models.runs.ask", "experiment.models.runs.run_log", "openai",
            "anthropic",
        ]
    )  # fmt: skip
    with patch.dict(os.environ, {"PYTHONPATH": str(ROOT)}):
        ensure_running()
    return context


def _run(command: list[str], cwd: Path, environment: dict[str, str], printed: list[Path]) -> None:
    from equipoise.cli.main import main

    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream, path in enumerate(printed, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), stream)
    main(command, prog_name="equipoise")
