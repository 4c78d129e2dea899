"""Processes with a window: forks of a server that has imported PsychoPy already."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.paths import ROOT

PATIENCE_S = 30
"""Longest wait for the next message of a program, and for its end."""

_HOME = tempfile.TemporaryDirectory()
"""Home directory of the processes: PsychoPy writes its preferences there."""


@dataclass(frozen=True)
class Program:
    """One of `window_programs` in its own process; the test and the program exchange messages in JSON."""

    process: ForkServerProcess
    connection: Connection

    def reply(self) -> Any:
        """Return the program's next message."""
        if not self.connection.poll(PATIENCE_S):
            self.process.kill()
            raise RuntimeError(f"the program has sent nothing for {PATIENCE_S} s")
        try:
            return json.loads(self.connection.recv())
        except EOFError:
            self.process.join()
            raise RuntimeError(f"the program ended with {self.process.exitcode} without a message") from None

    def ask(self, **command: object) -> None:
        """Send the program a command."""
        self.connection.send(json.dumps(command))


@contextmanager
def window_program(display: str, group: int, name: str, *arguments: object) -> Iterator[Program]:
    """Start one of `window_programs`, by name; at the end it must end without an error."""
    here, there = _fork_server().Pipe()
    process = _start(display, group, _run_window_program, there, name, arguments)
    there.close()
    try:
        yield Program(process, here)
        here.close()
        process.join(PATIENCE_S)
    finally:
        here.close()
        process.kill()
        process.join()
    if process.exitcode != 0:
        raise RuntimeError(f"the program ended with {process.exitcode}")


def equipoise_command(
    display: str, group: int, arguments: list[str], output: Path, environment: dict[str, str] | None = None
) -> ForkServerProcess:
    """Start the command line with arguments in its own process, and append what it prints to a file."""
    return _start(display, group, _run_equipoise, arguments, output, environment or {})


@cache
def _fork_server() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(["tests.experiment.lab.preloaded"])
    with patch.dict(os.environ, {"HOME": _HOME.name, "PYTHONPATH": str(ROOT)}):
        ensure_running()
    return context


def _start(display: str, group: int, function: Callable[..., None], *arguments: object) -> ForkServerProcess:
    process = _fork_server().Process(target=_run, args=(display, group, function, *arguments))
    process.start()
    return process


def prefer(pid: int) -> None:
    """Run a process in real time if possible, so that other programs of the machine do not change its timing."""
    with suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))


def _run(display: str, group: int, function: Callable[..., None], *arguments: object) -> None:
    import pyglet

    os.setpgid(0, group)
    os.environ["DISPLAY"] = display
    pyglet.gl._create_shadow_window()
    function(*arguments)


def _run_window_program(connection: Connection, name: str, arguments: tuple[object, ...]) -> None:
    from tests.experiment.lab import window_programs

    window_programs.run(connection, name, *arguments)


def _run_equipoise(arguments: list[str], output: Path, environment: dict[str, str]) -> None:
    from equipoise.cli.main import main

    os.environ.update(environment)

    with output.open("a") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    main(arguments)
