"""PsychoPy's own warnings and errors, such as those about the window, by the clock of a visit.

Messages of PsychoPy at lower levels are not used, because they contain the keys that the participant presses. PsychoPy
logs the keys of the window at the level `DATA`, and the keys from psychtoolbox at the level `EXP`.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from psychopy import clock, logging

from experiment.lab.hardware.clock import Anchor


class Receiver(Protocol):
    """Receiver of PsychoPy's warnings and errors."""

    def write(self, line: str) -> None:
        """Receive a line: the time in seconds, the level and the message, separated by tabs."""


def collect_messages() -> None:
    """Make PsychoPy write the messages so far to their receivers. PsychoPy does not write them before this call."""
    logging.flush()


@contextmanager
def psychopy_messages(receiver: Receiver, anchor: Anchor) -> Iterator[None]:
    """Make PsychoPy write its warnings and errors to a receiver. Earlier messages are left out.

    Parameters
    ----------
    receiver
        The receiver. It also receives warnings about unknown keys.
    anchor
        The moment from which the times of the messages count.
    """
    logging.console.setLevel(logging.ERROR)
    logging.flush()
    clock_before = logging.defaultClock
    since_anchor_s = (time.perf_counter_ns() - anchor.at_ns) / 1e9
    logging.setDefaultClock(clock.MonotonicClock(clock.getTime() - since_anchor_s))
    target = logging.LogFile(receiver, level=logging.WARNING)
    try:
        yield
    finally:
        logging.flush()
        logging.root.removeTarget(target)
        logging.setDefaultClock(clock_before)
