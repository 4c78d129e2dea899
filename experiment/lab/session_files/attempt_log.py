"""Log of a laboratory session: the attempts at each trial, and every frame interval."""

import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from batteries.files.csv_files import write_rows
from batteries.files.private_files import open_private

FRAMES_HEADER = ("visit", "trial_index", "attempt", "frame", "interval_ms")


class AttemptLog:
    """Log of a session in two files. The next visit of the participant reads these files.

    Parameters
    ----------
    begun
        File of the attempts at trials.
    frames
        CSV file of the frame intervals.
    """

    def __init__(self, begun: Path, frames: Path) -> None:
        self._begun_file = begun
        self._frames_file = frames
        self._n_begun: dict[int, int] = {}
        self.problem: str | None = None
        """The error of the last write that failed, or None. A failed write does not stop the session."""
        if begun.exists():
            for line in begun.read_bytes().splitlines():
                # Skip empty lines, lines that a power cut has shortened, and foreign content.
                with suppress(ValueError, TypeError, KeyError):
                    self._count(int(json.loads(line)["trial_index"]))

    def begin(self, trial_index: int) -> int:
        """Log that a trial begins. Return the number of this attempt at the trial.

        The line is put on the disk in a thread, because that takes time, and the participant may already respond.
        """
        with self._keeping_problem(self._begun_file), _appended(self._begun_file) as file:
            file.write("\n" + json.dumps({"trial_index": trial_index}))
            file.flush()
            threading.Thread(target=_sync, args=(os.dup(file.fileno()),)).start()
        return self._count(trial_index)

    def n_begun(self, trial_index: int) -> int:
        """Return the number of attempts at a trial."""
        return self._n_begun.get(trial_index, 0)

    def note_frames(self, visit: int, trial_index: int, attempt: int, intervals_ms: Sequence[float]) -> None:
        """Log the frame intervals of a trial, from the first frame of the fixation to the onset."""
        is_new = not self._frames_file.exists()
        rows = [
            (visit, trial_index, attempt, frame, f"{interval_ms:.3f}")
            for frame, interval_ms in enumerate(intervals_ms, 1)
        ]
        with self._keeping_problem(self._frames_file), _appended(self._frames_file) as file:
            write_rows(file, [FRAMES_HEADER, *rows] if is_new else rows)

    @contextmanager
    def _keeping_problem(self, path: Path) -> Iterator[None]:
        """Store the reason of a failed write in `problem`, and continue."""
        try:
            yield
        except OSError as error:
            self.problem = f"{path}: this file cannot be written ({error.strerror}). Every response is in the store."

    def _count(self, trial_index: int) -> int:
        self._n_begun[trial_index] = self.n_begun(trial_index) + 1
        return self._n_begun[trial_index]


def _sync(descriptor: int) -> None:
    """Put a file on the disk, so that a power cut does not lose it."""
    with suppress(OSError):  # The next write reports a full disk.
        os.fsync(descriptor)
    os.close(descriptor)


def _appended(path: Path) -> TextIO:
    """Open a file for appending. Only the owner can read a new file."""
    return open(path, "a", encoding="utf-8", newline="", opener=open_private)
