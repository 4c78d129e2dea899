"""Speed and memory of building vignette batteries of 5,760, about 100,000 and about 1,000,000 instances.

    .venv/bin/python benchmarks/vignettes.py

The command line builds each size from our templates to a JSON Lines file, in a separate process. In the same run, a
stand-in does what the published generator does for each cell of the design, written anew from its description: shuffle
every pool as a data frame, format one instance, and concatenate it to the battery so far. We may not ship the published
program; its own speed was measured as 80 to 140 instances per CPU second. The last line is JSON; `instances_per_cpu_s`
and `peak_mb` are those of the largest size.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from batteries import intuition

INSTANCES_PER_VARIANT = 1_152
VARIANTS = (5, 87, 869)
STAND_IN_CELLS = 1_152


def main() -> None:
    """Print a line for each size, and one JSON line last."""
    with tempfile.TemporaryDirectory() as folder:
        # Two items: the cost of Python's start, the imports and the check of all templates, at any size.
        start = measured("{ids: [1.1.0.0.a], inference_levels: [2], variants: 1}", 2, Path(folder))
        sizes = [
            measured(f"variants: {n_variants}", n_variants * INSTANCES_PER_VARIANT, Path(folder))
            for n_variants in VARIANTS
        ]
    per_cpu_s = stand_in()
    print(f"one data frame per cell (stand-in): {per_cpu_s:,.0f} instances per CPU second")  # noqa: T201
    largest = sizes[-1]
    summary = {
        "instances_per_cpu_s": largest["instances_per_cpu_s"],
        "peak_mb": largest["peak_mb"],
        "start_cpu_s": start["cpu_s"],
        "stand_in_instances_per_cpu_s": round(per_cpu_s),
        "times_the_stand_in": round(largest["instances_per_cpu_s"] / per_cpu_s, 1),
        "sizes": sizes,
    }
    print(json.dumps(summary))  # noqa: T201


def measured(asked: str, n_instances: int, folder: Path) -> dict[str, float]:
    """Build a battery in a separate process and return its time and memory, including the start of Python."""
    spec = folder / "spec.yaml"
    spec.write_text(f"{asked}\n", encoding="utf-8")
    output = folder / "battery.jsonl"
    command = [sys.executable, "-m", "equipoise", "battery", "build", str(intuition.FOLDER), "--spec", str(spec)]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "-o", str(output)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start
    if status:
        sys.exit(f"the build of {n_instances:,} instances failed")
    cpu_s = usage.ru_utime + usage.ru_stime
    found = {
        "instances": n_instances,
        "cpu_s": round(cpu_s, 2),
        "wall_s": round(wall_s, 2),
        "instances_per_cpu_s": round(n_instances / cpu_s),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
        "file_mb": round(output.stat().st_size / 1e6, 1),
    }
    print(", ".join(f"{name} {value:,}" for name, value in found.items()))  # noqa: T201
    return found


def stand_in() -> float:
    """Return the instances per CPU second with one data frame per cell of the design."""
    rng = random.Random(1)
    pools = {prefix: pd.DataFrame({prefix: [f"{prefix} {n}" for n in range(120)]}) for prefix in "abcd"}
    story = "One day {a} met {b} in the {c}. " * 5 + "What about the {d}?"
    start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    battery = pd.DataFrame()
    for cell in range(STAND_IN_CELLS):
        labels = {
            prefix: pool.sample(frac=1, random_state=rng.randrange(2**31)).reset_index(drop=True)[prefix][0]
            for prefix, pool in pools.items()
        }
        options = pd.DataFrame({"option": list("wxyz"), "answer": [1, 0, 0, 0]}).sample(frac=1, random_state=cell)
        row = {"vignette": story.format(**labels), "options": "".join(options["option"]), "cell": cell}
        row |= {f"demand_{number}": 0 for number in range(30)}
        battery = pd.concat([battery, pd.DataFrame([row])], axis=0).reset_index(drop=True)
    return len(battery) / (resource.getrusage(resource.RUSAGE_SELF).ru_utime - start)


if __name__ == "__main__":
    main()
