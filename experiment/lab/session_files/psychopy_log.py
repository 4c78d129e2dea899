"""PsychoPy's log of a visit: a line for each event of the visit, together with PsychoPy's warnings and errors."""

from collections.abc import Callable
from pathlib import Path

from batteries.files.private_files import open_private
from experiment.lab.visit_events import VisitEvent, VisitEvents

LEVELS = frozenset({"WARNING", "ERROR", "CRITICAL"})
"""Levels of PsychoPy's messages in the log. At lower levels, PsychoPy logs each pressed key."""
KEY_MESSAGE = "keypress"
"""Word in PsychoPy's messages about a pressed key, in small letters. They are left out at every level."""


class PsychoPyLog:
    """The log of a visit. The lines stay in memory until they are written to a file.

    PsychoPy's `LogFile` can write to this object as to a stream. The log has no key that the participant pressed,
    because the keys can be a typed text.

    Parameters
    ----------
    collect
        Function that makes PsychoPy write its messages so far to this object.
    """

    def __init__(self, collect: Callable[[], None] = lambda: None) -> None:
        self._collect = collect
        self._lines: list[tuple[float, str]] = []
        self._n_events = self._n_pulses = 0
        self.problem: str | None = None
        """The error of the last write, or None if it did not fail. A failed write does not stop the session."""

    def write(self, line: str) -> None:
        """Receive a line from PsychoPy: the time in seconds, the level and the message, separated by tabs."""
        time_s, level, message = (*line.split("\t", 2), "", "")[:3]
        if level.strip() in LEVELS and KEY_MESSAGE not in message.lower():
            self._lines.append((float(time_s), line))

    def append_to(self, path: Path, events: VisitEvents) -> None:
        """Append the new events of the visit and PsychoPy's new messages to a file, in the order of their times.

        Only the owner can read a new file. If the write fails, the next call writes these lines again.
        """
        self._collect()
        for each in events.recorded[self._n_events :]:
            self._log(each.event.onset_us, _message(each))
        pulses_us = events.pulses_us
        for number, us in enumerate(pulses_us[self._n_pulses :], start=self._n_pulses + 1):
            self._log(us, f"pulse: volume={number}")
        self._n_events, self._n_pulses = len(events.recorded), len(pulses_us)
        self.problem = None
        try:
            with open(path, "a", encoding="utf-8", newline="", opener=open_private) as file:
                file.write("".join(line for _, line in sorted(self._lines, key=lambda each: each[0])))
        except OSError as error:
            self.problem = f"{path}: this file cannot be written ({error.strerror}). Every response is in the store."
        else:
            self._lines.clear()

    def _log(self, us: int, message: str) -> None:
        self._lines.append((us / 1e6, f"{us / 1e6:.4f} \tEXP \t{message}\n"))


def _message(visit_event: VisitEvent) -> str:
    """Return the message of an event, such as `stimulus: trial_index=3, phase=test, item_id=q17, code=22`."""
    event, trial = visit_event.event, visit_event.trial
    values = {} if trial is None else {
        "trial_index": trial.trial_index, "phase": trial.phase.value, "item_id": trial.item_id
    }  # fmt: skip
    values |= {} if event.code is None else {"code": event.code}
    details = ", ".join(f"{name}={value}" for name, value in values.items())
    return f"{event.event}: {details}" if details else event.event
