"""Speed and memory of running a mock model on 5,760 items, with 1 and with 10 epochs.

    .venv/bin/python benchmarks/models_run.py
    .venv/bin/python benchmarks/models_run.py --variants 1 --epochs 1 2

`equipoise models run` asks Inspect's interface for each reply, keeps the replies on disk, writes Inspect's log, and
stores the runs in a new store. Each size is a separate process on a new copy of the study. The mock model replies at
once, so the time is the time of Equipoise and Inspect alone. A battery has 1,152 items per variant.

The last line is JSON: `seconds`, `cpu_s` and `peak_mb` are those of the largest size.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

from benchmarks.models_import import made_study, run

ITEMS_PER_VARIANT = 1_152
LIMIT_S = 600
LIMIT_MB = 1_000


def main() -> None:
    """Print a line for each number of epochs, and one JSON line last."""
    parser = argparse.ArgumentParser(description="Speed and memory of running a mock model")
    parser.add_argument("--variants", type=int, default=5)
    parser.add_argument("--epochs", type=int, nargs="+", default=[1, 10])
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")  # noqa: T201
    result: dict[str, float] = {}
    for epochs in options.epochs:
        with tempfile.TemporaryDirectory() as folder:
            study = made_study(Path(folder) / "study", options.variants)
            used = run("models", "run", study, "--model", "mockllm/model", "--epochs", epochs)
            data_mb = sum(path.stat().st_size for path in study.rglob("*") if path.is_file()) / 1e6
        n = options.variants * ITEMS_PER_VARIANT * epochs
        print(  # noqa: T201
            f"{n:,} samples ({epochs} epochs): {used.seconds:.1f} s, {used.cpu_s:.1f} s of CPU, peak "
            f"{used.peak_mb:.0f} MB, files {data_mb:.0f} MB; per 1,000 samples {1000 * used.seconds / n:.2f} s, "
            f"{1000 * used.cpu_s / n:.2f} s of CPU",
            flush=True,
        )
        result = {"samples": n, "seconds": round(used.seconds, 1), "cpu_s": round(used.cpu_s, 1)}
        result["peak_mb"] = round(used.peak_mb, 1)
    print(json.dumps(result | {"limit_s": LIMIT_S, "limit_mb": LIMIT_MB}))  # noqa: T201


if __name__ == "__main__":
    main()
