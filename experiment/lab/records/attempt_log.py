"""What a laboratory notes of a session beside its answers: how often each trial was begun, and every frame."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from batteries.files.csv_files import write_rows
from batteries.files.private_files import open_private

FRAMES_HEADER = ("visit", "trial_index", "attempt", "frame", "interval_ms")


class AttemptLog:
    """Notes of a session, kept in files so that the next visit knows them too.

    Parameters
    ----------
    begun
        File of the trials that were begun.
    frames
        CSV file of the frame intervals.
    """

    def __init__(self, begun: Path, frames: Path) -> None:
        self._begun_file = begun
        self._frames_file = frames
        self._n_begun: dict[int, int] = {}
        self.problem: str | None = None
        """Why something could not be noted, the last time; a session does not stop for it."""
        if begun.exists():
            for line in begun.read_bytes().splitlines():
                # An empty line, or one of which a power cut left only the begin, or something else altogether.
                with suppress(ValueError, TypeError, KeyError):
                    self._count(int(json.loads(line)["trial_index"]))

    def begin(self, trial_index: int) -> int:
        """Note that a trial begins; return which attempt at it this is."""
        with self._telling(self._begun_file), _appended(self._begun_file) as file:
            file.write("\n" + json.dumps({"trial_index": trial_index}))
        return self._count(trial_index)

    def n_begun(self, trial_index: int) -> int:
        """Return how often a trial was begun."""
        return self._n_begun.get(trial_index, 0)

    def note_frames(self, visit: int, trial_index: int, attempt: int, intervals_ms: Sequence[float]) -> None:
        """Note the intervals between the frames of a trial, from the first of the fixation to the onset."""
        is_new = not self._frames_file.exists()
        rows = [
            (visit, trial_index, attempt, frame, f"{interval_ms:.3f}")
            for frame, interval_ms in enumerate(intervals_ms, 1)
        ]
        with self._telling(self._frames_file), _appended(self._frames_file) as file:
            write_rows(file, [FRAMES_HEADER, *rows] if is_new else rows)

    @contextmanager
    def _telling(self, path: Path) -> Iterator[None]:
        """Note why a file could not be written, and go on."""
        try:
            yield
        except OSError as error:
            self.problem = f"{path}: it could not be written ({error.strerror}); every answer is in the store."

    def _count(self, trial_index: int) -> int:
        self._n_begun[trial_index] = self.n_begun(trial_index) + 1
        return self._n_begun[trial_index]


def _appended(path: Path) -> TextIO:
    """Open a file to add to its end; a new one is for its owner only."""
    return open(path, "a", encoding="utf-8", newline="", opener=open_private)
