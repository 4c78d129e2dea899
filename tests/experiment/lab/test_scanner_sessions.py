"""A session in a real window while a scanner presses a key for each volume."""

import csv
import re
import threading
from contextlib import closing

from tests.experiment.lab.scripted_participant import ScriptedParticipant
from tests.experiment.lab.xvfb import Fingers
from tests.timed_study import choice, make_timed_study

TR_S = 0.35
"""Time from one volume to the next."""


class _Scanner(threading.Thread):
    """Presses the key 5 for each volume, and records the times of the presses."""

    def __init__(self, display):
        super().__init__(daemon=True)
        self._display, self._ends = display, threading.Event()
        self.pressed_ns = []

    def run(self):
        with closing(Fingers(self._display)) as fingers:
            while not self._ends.wait(TR_S):
                self.pressed_ns.append(fingers.press("5", 0.02))

    def stop(self):
        self._ends.set()
        self.join()


def test_pulses_start_the_trials_are_counted_with_their_times_and_are_never_answers(screen, fingers, tmp_path):
    five = ["one", "two", "three", "four", "five"]
    items = [choice(f"item-{number}", options=five) for number in range(4)]
    folder = make_timed_study(tmp_path / "study", items)
    answers = {item["item_id"]: ["2"] for item in items}
    participant = ScriptedParticipant(screen, fingers, folder, answers)
    scanner = _Scanner(screen.display)
    scanner.start()
    rows = participant.run(options=["--scanner", "5,discard=1"])
    scanner.stop()
    assert {row["response"] for row in rows.values()} == {2}
    (table,) = (folder / "data" / "lab" / "events").glob("*_events.tsv")
    events = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines(), delimiter="\t"))
    pulses = [row for row in events if row["trial_type"] == "pulse"]
    assert [int(row["volume"]) for row in pulses] == list(range(1, len(pulses) + 1))
    (start,) = [row for row in events if row["trial_type"] == "scanner_start"]
    assert start["onset"] in [row["onset"] for row in pulses]
    n_early = int(re.search(r"before the program waited for it: (\d+)\.", participant.output())[1])
    assert start["onset"] == pulses[n_early + 1]["onset"], "one pulse is discarded"
    first = next(row for row in events if row["trial_type"] == "fixation")
    assert float(first["onset"]) > float(start["onset"])
    # The window opens after the first presses and closes before the last. The recorded pulses have no gap.
    given = [at_ns / 1e9 for at_ns in scanner.pressed_ns]
    recorded = [float(row["onset"]) for row in pulses]
    assert len(recorded) > 8
    offset = min(range(len(given) - len(recorded) + 1), key=lambda n: _spread(given[n:], recorded))
    assert _spread(given[offset:], recorded) < 0.03, "the machine may be busy"


def _spread(given, recorded):
    """Return the largest difference between two series of times after their first times are made equal."""
    pairs = zip(given, recorded, strict=False)
    return max(abs((there - given[0]) - (here - recorded[0])) for there, here in pairs)
