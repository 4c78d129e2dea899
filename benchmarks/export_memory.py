"""Time and peak memory of the export and the import of a million responses.

    .venv/bin/python -m benchmarks.export_memory [FORMAT ...]

First, `answered_store.py` makes a store of the sample study `intuition-single` with a million responses of people and
three model runs. Then `equipoise export` and `equipoise import` run in separate processes. The script prints the
seconds and the peak of the resident memory of each process. The last line is JSON. Without a format, `csv` is measured.
"""

import json
import sys
import tempfile
from pathlib import Path

from benchmarks.accuracy_pipeline import STUDIES, run_measured
from benchmarks.answered_store import make_store
from experiment.load_study import load_study

STUDY = STUDIES / "intuition-single"
N_RESPONSES = 1_000_000


def main() -> None:
    """Print one line for each command, and one JSON line last."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_responses = make_store(folder / "equipoise.db", load_study(STUDY), N_RESPONSES)
        for form in sys.argv[1:] or ["csv"]:
            out, table = folder / form, folder / f"{form}.csv"
            export = ["export", str(STUDY), "--store", str(folder / "equipoise.db"), "--format", form, "-o", str(out)]
            for command in (export, ["import", str(out), "-o", str(table)]):
                spent = run_measured([sys.executable, "-m", "equipoise", *command])[1]
                line = {"command": command[0], "format": form, "responses": n_responses, **spent}
                print(", ".join(f"{key} {value}" for key, value in line.items()), flush=True)  # noqa: T201
                found.append(line)
            table.unlink()
    print(json.dumps(found))  # noqa: T201


if __name__ == "__main__":
    main()
