"""A thread that reads the presses of a response box while the program draws or waits."""

import queue
import sys
import threading
from collections.abc import Callable, Iterable

from batteries.errors import InputError
from experiment.lab.hardware.stamped import Stamped

SWITCH_S = 0.0002
"""Time after which Python lets a waiting thread run, in seconds. By default, the thread could wait for 5 ms while the
program polls the keyboard or draws, and the times of presses would be late.
"""


class BackgroundReader:
    """A thread that reads a box again and again, until it is stopped or the box is disconnected.

    Parameters
    ----------
    read
        Function that waits briefly, and returns the presses since its last call. It raises an exception if the box was
        disconnected.
    name
        Name of the box, for messages.
    """

    def __init__(self, read: Callable[[], Iterable[Stamped]], name: str) -> None:
        self._read, self._name = read, name
        self._heard: queue.SimpleQueue[Stamped] = queue.SimpleQueue()
        self._problem: str | None = None
        self._ends = threading.Event()
        self._switch_before_s = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def taken(self) -> list[Stamped]:
        """Return the presses since the last call, and forget them.

        Raises
        ------
        InputError
            If the box was disconnected. Only the first call after this raises the error.
        """
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise InputError(
                f"The response box {self._name} was disconnected ({problem}). Fix: check the cable, and run the same "
                "command again to resume the session."
            )
        return [self._heard.get() for _ in range(self._heard.qsize())]

    def stop(self) -> None:
        """Stop the thread."""
        self._ends.set()
        self._thread.join()
        sys.setswitchinterval(self._switch_before_s)

    def _run(self) -> None:
        while not self._ends.is_set():
            try:
                for each in self._read():
                    self._heard.put(each)
            except Exception as error:  # The errors of the drivers have no common class.
                self._problem = str(error) or type(error).__name__
                return
