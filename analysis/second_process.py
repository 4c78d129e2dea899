"""Draw figures in a second Python process, while this process computes tables and draws the other figures.

Drawing takes a third of the time of an analysis of a usual study, and Python uses only one processor for a process.
The second process starts with the analysis, so it has imported matplotlib when the first tables are ready. The result
is the same as in one process, because the bytes of a figure depend only on its data.

This module imports nothing large. So the command line can start the second process before its own imports.
"""

import gc
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Any

Task = Callable[[], Any]
"""A function of `analysis.figures` with its arguments, as `functools.partial`. It returns a `Drawing`, or None if
nothing is drawn. The arguments are copied to another process, so they must be small: results, not all trials.
"""


class Drawer:
    """Draws figures in this process."""

    def __init__(self) -> None:
        self._tasks: list[Task] = []

    def add(self, tasks: Iterable[Task]) -> None:
        """Add figures that will be drawn."""
        self._tasks += tasks

    def drawn(self) -> list[Any]:
        """Return all figures in the order in which they were added. Call this method once."""
        return [task() for task in self._tasks]


@contextmanager
def second_process() -> Iterator[Drawer]:
    """Start a second process, and yield a `Drawer` that draws in both processes.

    If the second process cannot be used, this process draws all figures.
    """
    command = [sys.executable, "-c", f"from {__name__} import _draw_for_other_process as draw; draw()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        other = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError:
        yield Drawer()
        return
    with other:
        drawer = _DrawerInTwo(other)
        try:
            yield drawer
        finally:
            drawer.stop()


class _DrawerInTwo(Drawer):
    """Draws in two processes: the second begins with the first figure at once, this one with the last when asked.

    This process never waits. So a second process that hangs changes nothing, but one figure may be drawn twice.
    """

    def __init__(self, other: "subprocess.Popen[bytes]") -> None:
        super().__init__()
        self._other = other
        self._to_send: SimpleQueue[Task | None] = SimpleQueue()
        self._received: list[Any] = []
        self._threads = [Thread(target=work, daemon=True) for work in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def add(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            self._tasks.append(task)
            self._to_send.put(task)

    def drawn(self) -> list[Any]:
        here: list[Any] = []
        n_missing = len(self._tasks)
        while n_missing > len(self._received):
            n_missing -= 1
            here.insert(0, self._tasks[n_missing]())
        self.stop()
        return [*self._received[:n_missing], *here]

    def stop(self) -> None:
        """End the second process and the two threads."""
        self._to_send.put(None)
        self._other.kill()
        for thread in self._threads:
            thread.join(1)  # They end at once, because the pipes are broken.

    # Whatever goes wrong in a thread ends it, because this process draws every figure that does not arrive.

    def _send(self) -> None:
        assert self._other.stdin is not None
        with suppress(Exception), self._other.stdin as pipe:
            for task in iter(self._to_send.get, None):
                pickle.dump(task, pipe)
                pipe.flush()

    def _receive(self) -> None:
        assert self._other.stdout is not None
        with suppress(Exception):
            while True:
                self._received.append(pickle.load(self._other.stdout))  # noqa: S301  (from our own process)


def _draw_for_other_process() -> None:
    """Read tasks from standard input, and write each figure to standard output. An error ends the process.

    The first process then draws the figure itself, and raises the error.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The first process ends this process.
    gc.disable()  # The process is short, and a search for garbage is a fifth of the time of the imports.
    import_module("analysis.figures")  # Imported while the first process reads the data.
    while True:
        pickle.dump(pickle.load(sys.stdin.buffer)(), sys.stdout.buffer)  # noqa: S301  (from our own process)
        sys.stdout.buffer.flush()
