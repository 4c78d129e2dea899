"""Commands in processes of their own: forks of a server that has already imported pandas and matplotlib.

The imports of a command that analyzes data need two seconds of processor time, and dozens of tests run such a command.
"""

import os
import subprocess
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from tests.paths import ROOT

PATIENCE_S = 180
"""Longest wait for the end of a command."""


def equipoise(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command of `equipoise` with this process's environment and without input, and return what it printed."""
    command = [str(argument) for argument in arguments]
    with TemporaryDirectory() as folder:
        printed = [Path(folder) / "stdout", Path(folder) / "stderr"]
        process = _fork_server().Process(target=_run, args=(command, cwd or Path.cwd(), dict(os.environ), printed))
        process.start()
        process.join(PATIENCE_S)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(command, PATIENCE_S)
        return subprocess.CompletedProcess(command, process.exitcode, *(path.read_text("utf-8") for path in printed))


@cache
def _fork_server() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(
        ["equipoise.cli.main", "equipoise.commands.analyze", "experiment.simulated_participants"]
    )
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
