"""What a laboratory notes of a session beside its answers: how often each trial was begun, and every frame."""

import csv
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

FRAMES_HEADER = ("visit", "trial_index", "attempt", "frame", "interval_ms")


class Notes:
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
        if begun.exists():
            for line in begun.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # an empty line, or one of which a power cut left only the begin
                    self._count(json.loads(line)["trial_index"])

    def begin(self, trial_index: int) -> int:
        """Note that a trial begins; return which attempt at it this is."""
        with self._begun_file.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps({"trial_index": trial_index}))
        return self._count(trial_index)

    def n_begun(self, trial_index: int) -> int:
        """Return how often a trial was begun."""
        return self._n_begun.get(trial_index, 0)

    def note_frames(self, visit: int, trial_index: int, attempt: int, intervals_ms: Sequence[float]) -> None:
        """Note the intervals between the frames of a trial, from the first of the fixation to the onset."""
        is_new = not self._frames_file.exists()
        with self._frames_file.open("a", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            if is_new:
                table.writerow(FRAMES_HEADER)
            table.writerows(
                (visit, trial_index, attempt, frame, f"{interval_ms:.3f}")
                for frame, interval_ms in enumerate(intervals_ms, 1)
            )

    def _count(self, trial_index: int) -> int:
        self._n_begun[trial_index] = self.n_begun(trial_index) + 1
        return self._n_begun[trial_index]
