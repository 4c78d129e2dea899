"""Draw figures in a second Python process, while this process draws the others.

Drawing takes a third of the time of an analysis of a usual study, and Python uses only one processor for a process.
The second process starts with the analysis, so it has imported matplotlib when the tables are ready. The result is the
same as in one process, because the bytes of a figure depend only on its data.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import IO

from analysis.figures.drawing.sheet import Drawing

Task = Callable[[], Drawing | None]
"""A function of `analysis.figures` with its arguments, as `functools.partial`. None means that there is no figure."""
DrawAll = Callable[[Sequence[Task], Sequence[Task]], list[Drawing | None]]
"""A function that draws figures of small tables, then figures of all trials, and returns all in this order."""


def draw_all(of_tables: Sequence[Task], of_trials: Sequence[Task]) -> list[Drawing | None]:
    """Draw all figures in this process."""
    return [task() for task in (*of_tables, *of_trials)]


@contextmanager
def second_process() -> Iterator[DrawAll]:
    """Start a second process. Yield a function that draws in both processes; call this function once.

    Figures of all trials are drawn in this process, so that a large table is never copied. If the second process cannot
    be used, this process draws all figures.
    """
    command = [sys.executable, "-c", f"from {__name__} import _draw_for_other_process as draw; draw()"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        other = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except OSError:
        yield draw_all
        return
    with other:
        try:
            yield lambda of_tables, of_trials: _draw_in_both(other, of_tables, of_trials)
        finally:
            other.kill()


def _draw_in_both(
    other: "subprocess.Popen[bytes]", of_tables: Sequence[Task], of_trials: Sequence[Task]
) -> list[Drawing | None]:
    """Draw the figures in two processes: the second begins at the start of the list `of_tables`, this one at its end.

    This process never waits. So a second process that hangs changes nothing, but one figure may be drawn twice.
    """
    from_other: list[Drawing | None] = []
    exchange = Thread(target=_exchange, args=(other, of_tables, from_other), daemon=True)
    exchange.start()
    try:
        here = [task() for task in of_trials]
        n_missing = len(of_tables)
        while n_missing > len(from_other):
            n_missing -= 1
            here.insert(0, of_tables[n_missing]())
    finally:
        other.kill()
        exchange.join(1)  # It ends at once, because the pipes are broken.
    return [*from_other[:n_missing], *here]


def _exchange(other: "subprocess.Popen[bytes]", tasks: Sequence[Task], drawn: list[Drawing | None]) -> None:
    """Send the tasks to the second process, and append its figures to a list.

    Whatever goes wrong here ends the exchange, because the first process draws every figure that does not arrive.
    """
    assert other.stdin is not None
    assert other.stdout is not None
    with suppress(Exception):
        with other.stdin:
            pickle.dump(tasks, other.stdin)
        for _ in tasks:
            drawn.append(pickle.load(other.stdout))  # noqa: S301  (from our own process)


def _draw_for_other_process() -> None:
    """Read tasks from standard input, and write each figure to standard output. An error ends the process.

    The first process then draws the figure itself, and raises the error.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The first process ends this process.
    import analysis.figures  # noqa: F401, PLC0415  (imported while the first process makes the tables)

    to_first: IO[bytes] = sys.stdout.buffer
    for task in pickle.load(sys.stdin.buffer):  # noqa: S301  (from our own process)
        pickle.dump(task(), to_first)
        to_first.flush()
