"""A session whose event codes another process records through the Lab Streaming Layer, as an EEG recorder does."""

import csv
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.experiment.lab.window_processes import equipoise_command
from tests.experiment.lab.xvfb import Fingers, VirtualScreen
from tests.paths import ROOT
from tests.timed_study import keypress, make_timed_study

STREAM = "EquipoiseTest"
LSL_SETTINGS = "[multicast]\nResolveScope = machine\n[ports]\nIPv6 = disable\n[log]\nlevel = -2\n"
CODES = """\
timing: {fixation_ms: 50}
event_codes:
  events: {session_start: 1001, session_end: 1002, fixation: 1, stimulus: 2, response: 3, time_out: 4}
  phases: {test: 100}
  factors: {topic: {test: 2000}}
"""
PATIENCE_S = 60
RECORDER = """
import sys, pylsl
found = []
while not found:
    found = pylsl.resolve_byprop("name", sys.argv[1], timeout=1)
inlet = pylsl.StreamInlet(found[0])
inlet.open_stream(timeout=20)
print("ready", flush=True)
code = None
while code != 1002:
    (code,), stamp_s = inlet.pull_sample()
    print(code, repr(stamp_s), repr(pylsl.local_clock()), flush=True)
"""


@dataclass(frozen=True)
class Recording:
    """The recorded codes of a session, and its table of events."""

    codes: list[tuple[int, float, float]]
    """Each code with its time stamp and the time at which the recorder received it, both by LSL's clock, in s."""
    events: list[dict[str, str]]
    """The rows of the table of events."""

    @property
    def sent(self) -> list[dict[str, str]]:
        """The events with a code."""
        return [row for row in self.events if row["value"] != "n/a"]


def record(screen: VirtualScreen, folder: Path, n_trials: int) -> Recording:
    """Run a session of fast trials; a participant presses a key now and then. Return what was recorded.

    Parameters
    ----------
    screen
        The virtual screen.
    folder
        An empty folder.
    n_trials
        Number of trials.
    """
    settings = folder / "lsl.cfg"
    settings.write_text(LSL_SETTINGS)
    items = [keypress(f"word-{number}", "word", stimulus_ms=100, window_ms=150) for number in range(n_trials)]
    study = make_timed_study(folder / "study", items, more=CODES)
    environment = {"LSLAPICFG": str(settings)}
    arguments = ["lab", str(study), "--participant", "P01", "--trigger", f"lsl:{STREAM}"]
    with _recorder(settings) as recorder, closing(Fingers(screen.display)) as fingers:
        process = equipoise_command(screen.display, screen.group, arguments, folder / "output", environment)
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == "ready\n"
        pause = random.Random(1)
        deadline_s = time.monotonic() + PATIENCE_S + n_trials
        for number in range(10**6):
            if not process.is_alive():
                break
            assert time.monotonic() < deadline_s, "the session does not end"
            fingers.press(("f", "space")[number % 2], 0.02)
            time.sleep(pause.uniform(0.1, 0.4))
        assert process.exitcode == 0, (folder / "output").read_text()
        lines = [line.split() for line in recorder.communicate(timeout=PATIENCE_S)[0].splitlines()]
    (table,) = (study / "data" / "lab" / "events").glob("*_events.tsv")
    return Recording(
        [(int(code), float(stamp_s), float(received_s)) for code, stamp_s, received_s in lines],
        list(csv.DictReader(table.read_text(encoding="utf-8").splitlines(), delimiter="\t")),
    )


@contextmanager
def _recorder(settings: Path) -> Iterator["subprocess.Popen[str]"]:
    environment = {"LSLAPICFG": str(settings), "PYTHONPATH": str(ROOT), "PATH": ""}
    process = subprocess.Popen(
        [sys.executable, "-c", RECORDER, STREAM], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
