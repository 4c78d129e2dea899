"""A serial port for tests: a pseudoterminal, to which the test writes as a response box does."""

import os
import time
import tty
from contextlib import contextmanager


class BoxPort:
    """The end of a pseudoterminal at which the test writes; `name` is the port of the program."""

    def __init__(self):
        self._mine, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        self.name = os.ttyname(self._theirs)

    def send(self, text):
        """Send bytes, and return the time, by `time.perf_counter_ns`."""
        at_ns = time.perf_counter_ns()
        os.write(self._mine, text.encode())
        return at_ns

    def disconnect(self):
        """Disconnect the box. The program then gets an error when it reads."""
        if self._mine is not None:
            os.close(self._mine)
            self._mine = None

    def close(self):
        self.disconnect()
        os.close(self._theirs)


@contextmanager
def box_port():
    port = BoxPort()
    try:
        yield port
    finally:
        port.close()
