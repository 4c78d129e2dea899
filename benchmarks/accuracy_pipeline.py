"""Time and memory from a million stored responses to tables: reading, exclusions, accuracies, differences, writing.

    .venv/bin/python -m benchmarks.accuracy_pipeline

First, `answered_store.py` makes stores of a sample study with 100,000, 300,000 and 1,000,000 responses of people and
three model runs. Making them takes longer than the measurement. A separate process analyses each store and reports its
seconds by step and its peak memory. The largest stores are also analysed as `equipoise analyze` does it. In the same
run, plain pandas and, where it is installed, R process the same rows as CSV: they read the file, compare response and
key, and average by kind and factor. This is what many labs use today. It has no exclusions, intervals, differences or
checks. The last line is JSON.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from analysis.data.tidy_table import read_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy
from analysis.measures.differences import differences
from analysis.output_files import csv_bytes
from analysis.provenance.changed_items import refuse_changed_items
from analysis.provenance.record import data_digest
from benchmarks.answered_store import export, make_store
from experiment.load_study import load_study

STUDIES = Path(__file__).parents[1] / "equipoise" / "studies"
SIZES = (("intuition-single", 100_000), ("intuition-single", 300_000), ("intuition-single", 1_000_000),
         ("blackbox-predict", 1_000_000))  # fmt: skip
LARGEST = 1_000_000
WITH_PEERS = ("intuition-single", 100_000)
PIPELINE = ("read", "exclusions", "accuracy", "differences", "tables")
"""Steps from the store to the tables; later steps are not part of the comparison."""

Result = TypeVar("Result")


def main() -> None:
    """Print a line for each size, and one JSON line last."""
    if len(sys.argv) > 1:
        step, study, path = sys.argv[1:]
        print(json.dumps(MEASURES[step](study, Path(path))))  # noqa: T201
        return
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for study, size in SIZES:
            store = Path(folder) / "equipoise.db"
            n_answers = make_store(store, load_study(STUDIES / study), size)
            runs.append(told({"study": study, "from": "store", "answers": n_answers, **measured("ours", study, store)}))
            if size == LARGEST:
                runs.append(told({"study": study, "from": "store", "answers": n_answers, **whole(study, store)}))
            if (study, size) == WITH_PEERS:
                rows = Path(folder) / "trials.csv"
                export(store, rows)
                for what in ["ours", "pandas", *(["r"] if shutil.which("Rscript") else [])]:
                    found = {"study": study, "from": "csv", "answers": n_answers, **measured(what, study, rows)}
                    runs.append(told(found))
                rows.unlink()
            store.unlink()
    print(json.dumps(summary(runs)))  # noqa: T201


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the numbers that represent all turns."""
    largest = [run for run in runs if run["answers"] > 900_000 and run["what"] == "ours"]
    wholes = [run for run in runs if run["what"] == "analyze"]
    from_csv = {run["what"]: run["total_s"] for run in runs if run["from"] == "csv"}
    return {
        "seconds": max(run["total_s"] for run in largest),
        "peak_mb": max(run["peak_mb"] for run in largest),
        "answers_per_s": min(run["answers_per_s"] for run in largest),
        "analyze_s": max(run["all_s"] for run in wholes),
        "analyze_peak_mb": max(run["all_peak_mb"] for run in wholes),
        "times_pandas": round(from_csv["ours"] / from_csv["pandas"], 2),
        "times_r": round(from_csv["ours"] / from_csv["r"], 2) if "r" in from_csv else None,
        "runs": runs,
    }


def told(run: dict[str, Any]) -> dict[str, Any]:
    """Print a run, and return it."""
    print(", ".join(f"{name} {value:,}" if isinstance(value, (int, float)) else f"{name} {value}"  # noqa: T201
                    for name, value in run.items()), flush=True)  # fmt: skip
    return run


def measured(what: str, study: str, path: Path) -> dict[str, Any]:
    """Analyse the rows in a separate process and return its time and memory, including the start of Python."""
    output, spent = run_measured([sys.executable, "-m", "benchmarks.accuracy_pipeline", what, study, str(path)])
    return {"what": what, **json.loads(output), **spent}


def whole(study: str, store: Path) -> dict[str, Any]:
    """Analyse a store by the command line, with report, figures and all files, and return what it took."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "equipoise", "analyze", str(STUDIES / study), "--store", str(store)]
        return {"what": "analyze", **run_measured([*command, "-o", f"{folder}/results"])[1]}


def run_measured(command: list[str]) -> tuple[bytes, dict[str, float]]:
    """Run a command; return its output, its seconds of wall and CPU time, and its peak memory."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return output, {"all_s": round(wall_s, 2), "all_cpu_s": round(usage.ru_utime + usage.ru_stime, 1),
                    "all_peak_mb": round(usage.ru_maxrss / 1024)}  # fmt: skip


def ours(study: str, path: Path) -> dict[str, Any]:
    """Do the steps of `equipoise analyze` up to its tables; then its further checks and files."""
    plan = load_study(STUDIES / study).definition.analysis
    seconds: dict[str, float] = {}

    def timed(step: str, work: Callable[[], Result]) -> Result:
        start = time.perf_counter()
        result = work()
        seconds[step] = time.perf_counter() - start
        return result

    factors = [[], list(plan.by), *([factor] for factor in plan.by)]
    trials = timed("read", lambda: read_trials(path))
    n_test = int(((trials["phase"] == "test") & (trials["kind"] != "model") & trials["response"].notna()).sum())
    exclusions = timed("exclusions", lambda: apply_exclusions(trials, plan))
    marked = exclusions.trials
    tables = timed("accuracy", lambda: [accuracy(marked, by, plan) for by in factors])
    tables += timed("differences", lambda: [differences(marked, by, plan) for by in factors[:2]])
    tables += [exclusions.flow, exclusions.participants]
    timed("tables", lambda: [csv_bytes(table) for table in tables])
    total_s = sum(seconds[step] for step in PIPELINE)
    peak_mb = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    timed("digest", lambda: (data_digest(trials), refuse_changed_items(trials)))
    timed("trials", lambda: csv_bytes(marked.drop(columns="content")))
    steps = {f"{step}_s": round(taken, 2) for step, taken in seconds.items()}
    return {"total_s": round(total_s, 2), "answers_per_s": round(n_test / total_s), "peak_mb": peak_mb, **steps}


def plain_pandas(study: str, path: Path) -> dict[str, float]:
    """Average by kind and factor in pandas."""
    factor = load_study(STUDIES / study).definition.analysis.by[0]
    start = time.perf_counter()
    rows = pd.read_csv(path, low_memory=False)
    rows = rows[(rows["phase"] == "test") & rows["response"].notna()]
    correct = rows["response"] == rows["key"]
    level = rows["factors"].map(lambda text: json.loads(text)[factor])
    correct.groupby([rows["kind"], level]).mean()
    return {"total_s": round(time.perf_counter() - start, 2)}


def plain_r(study: str, path: Path) -> dict[str, float]:
    """Average by kind and factor in R."""
    factor = load_study(STUDIES / study).definition.analysis.by[0]
    script = f"""
        rows <- read.csv("{path}")
        rows <- rows[rows$phase == "test" & !is.na(rows$response), ]
        rows$correct <- rows$response == rows$key
        rows$level <- sub('.*"{factor}":"([^"]*)".*', "\\\\1", rows$factors)
        print(aggregate(correct ~ kind + level, rows, mean))
    """
    start = time.perf_counter()
    subprocess.run([str(shutil.which("Rscript")), "-e", script], check=True, capture_output=True)
    return {"total_s": round(time.perf_counter() - start, 2)}


MEASURES: dict[str, Callable[[str, Path], dict[str, Any]]] = {"ours": ours, "pandas": plain_pandas, "r": plain_r}


if __name__ == "__main__":
    main()
