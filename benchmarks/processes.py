"""Servers under test as real processes: started, watched, stopped and killed, with all their children."""

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.load import HOST, LoadError, Usage

START_PATIENCE_S = 600.0
"""Time-out for a start; some servers read all stored data first."""
END_PATIENCE_S = 15.0
CLOCK_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ServerProcess:
    """A server in a process group of its own, as a context manager: started on entry, gone after exit.

    Parameters
    ----------
    command
        Command that starts it.
    folder
        Its working folder; its output goes to `server-output.txt` there.
    port
        Port on which it listens.
    environment
        Environment variables, added to those of this process.
    ready_path
        Path whose GET is answered as soon as the server is ready.

    Attributes
    ----------
    start_s : float
        Seconds from the last start to the first answer.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, port: int, environment: Mapping[str, str], ready_path: str = "/"
    ) -> None:
        self.port = port
        self._command = command
        self._folder = folder
        self._environment = os.environ | environment
        self._ready_path = ready_path
        self._process: subprocess.Popen[bytes] | None = None
        self.start_s = 0.0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._end(signal.SIGTERM, END_PATIENCE_S):
            self.kill()

    def start(self) -> None:
        """Start it and wait until it answers."""
        begin = time.monotonic()
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() - begin > START_PATIENCE_S:
                self.kill()
                raise LoadError(f"{self._command[0]} did not start:\n{self._output.read_text()[-2000:]}")
            time.sleep(0.02)
        self.start_s = time.monotonic() - begin

    def kill(self) -> None:
        """Kill the server and all its children with SIGKILL, so that they cannot clean up."""
        if not self._end(signal.SIGKILL, END_PATIENCE_S):
            raise LoadError(f"{self._command[0]} could not be killed")

    def usage(self) -> Usage:
        """Return the usage of the server and its children so far."""
        cpu_s = memory_kb = 0.0
        for pid in self._tree():
            with suppress(OSError):  # a process may end while it is measured
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                cpu_s += (int(fields[11]) + int(fields[12])) / CLOCK_TICKS_PER_S
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                memory_kb += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        return Usage(cpu_s, memory_kb / 1024)

    @property
    def _output(self) -> Path:
        return self._folder / "server-output.txt"

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"http://{HOST}:{self.port}{self._ready_path}", timeout=5).close()
        except urllib.error.HTTPError:
            return True  # a refusal is a reply, too
        except OSError:
            return False
        return True

    def _tree(self) -> list[int]:
        assert self._process is not None
        found = [self._process.pid]
        for pid in found:
            with suppress(OSError):
                for children in Path(f"/proc/{pid}/task").glob("*/children"):
                    found += map(int, children.read_text().split())
        return found

    def _end(self, number: signal.Signals, seconds: float) -> bool:
        """Send a signal; return whether all processes ended in time, so that none holds the port or the data."""
        assert self._process is not None
        pids = self._tree()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        deadline = time.monotonic() + seconds
        while any(map(_is_alive, pids)):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        self._process.wait()
        return True


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # ended, but its parent has not read its status
