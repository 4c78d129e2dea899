"""Event codes as another process records them, beside the session's own table of events.

    python benchmarks/lab_events.py
    python benchmarks/lab_events.py --trials 100

A session of fast trials runs in a window on a virtual display (Xvfb). It sends its event codes to the Lab Streaming
Layer, and a second process records them, as a recorder of EEG does. The script compares the codes and their times with
the exported `events.tsv`, and also with the times at which the recorder received the codes.

Needs Linux, root, Xvfb, PsychoPy and pylsl. Prints a table, and one JSON line last.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from tests.experiment.lab.recorded_codes import record
from tests.experiment.lab.xvfb import missing, virtual_screen

SIZE_PX = (1024, 768)


def main() -> None:
    """Record a session, compare it with its table of events, and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=500, help="number of trials (default: 500)")
    n_trials = parser.parse_args().trials
    if lacking := missing():
        parser.exit(1, f"This needs {lacking}.\n")
    with tempfile.TemporaryDirectory() as home, virtual_screen(Path(home), SIZE_PX) as screen:
        recording = record(screen, Path(home), n_trials)
    codes = [code for code, _, _ in recording.codes]
    are_equal = codes == [int(row["value"]) for row in recording.sent]
    found = {"trials": n_trials, "codes": len(codes), "codes are equal": are_equal}
    pairs = list(zip(recording.codes, recording.sent, strict=are_equal))
    differences_ms = {
        "recorded time stamp - events.tsv": [
            1000 * (stamp_s - float(row["lsl_time"])) for (_, stamp_s, _), row in pairs
        ],
        "received - events.tsv": [1000 * (received_s - float(row["lsl_time"])) for (_, _, received_s), row in pairs],
    }
    print(found)  # noqa: T201
    print(f"{'difference in ms':>34} {'mean':>8} {'SD':>8} {'least':>8} {'most':>8}")  # noqa: T201
    for name, each in differences_ms.items():
        row = (statistics.fmean(each), statistics.stdev(each), min(each), max(each))
        found[name] = row
        print(f"{name:>34} " + " ".join(f"{value:8.3f}" for value in row))  # noqa: T201
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    main()
