"""Time to fit mixed models, beside lme4 in the same run, and growth of that time with the number of rows.

    .venv/bin/python benchmarks/mixed_models.py

25,000 simulated trials of 500 participants with 50 items, both crossed: a linear model with an interaction of three
factors, and a logistic one. Our time is that of `fit_mixed_model`, from a data frame of text to all tables, warnings
and Satterthwaite's degrees of freedom; lme4's time is that of `lmer` and `glmer` alone. Loading packages and reading
data are not timed. Both take turns, and the medians are compared. Then the linear model is fitted to 25,000 to
1,000,000 rows, each size in a separate process to measure its peak memory. Needs R with lme4. The last line is JSON.
"""

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.statistics.mixed_models.fit import fit_mixed_model

TURNS = {"gaussian": 7, "binomial": 3}
ROWS = 25_000
GROWTH = (25_000, 100_000, 1_000_000)
MODELS = {
    "gaussian": "rt ~ model * prompt * thinking + load + (1 | participant) + (1 | item)",
    "binomial": "correct ~ model * prompt + load + (1 | participant) + (1 | item)",
}
PEER = Path(__file__).parent / "peers" / "mixed_models.R"


def main() -> None:
    """Print the turns, a line for each size, and one JSON line last."""
    if len(sys.argv) > 1:
        print(json.dumps(grown(int(sys.argv[1]))))  # noqa: T201
        return
    rscript = shutil.which("Rscript")
    if rscript is None:
        sys.exit("lme4 is missing. Fix: install R and its package lme4")
    print(f"load {os.getloadavg()[0]:.1f}")  # noqa: T201
    data = trials(ROWS)
    summary: dict[str, object] = {"rows": ROWS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trials.csv"
        data.to_csv(path, index=False)
        for family, formula in MODELS.items():
            summary[family] = beside(rscript, data, path, family, formula)
    summary["growth"] = [grown_apart(n) for n in GROWTH]
    print(json.dumps(summary))  # noqa: T201


def trials(n: int) -> pd.DataFrame:
    """Return simulated trials of `n` / 50 participants with 50 items."""
    generator = np.random.default_rng(7)
    people, items = n // 50, 50
    person, item = generator.permuted(np.arange(n) % people), generator.integers(items, size=n)
    data = pd.DataFrame(
        {
            "participant": [f"p{number:05d}" for number in person],
            "item": [f"i{number:02d}" for number in item],
            "model": generator.choice(["Haiku", "Opus", "Sonnet"], n),
            "prompt": generator.choice(["augmented", "baseline"], n),
            "thinking": generator.choice(["no", "yes"], n),
            "load": generator.normal(size=n).round(4),
        }
    )
    eta = 0.4 * (data["model"] == "Opus") - 0.3 * (data["prompt"] == "baseline") * (data["thinking"] == "yes")
    eta += 0.1 * data["load"] + 0.7 * generator.normal(size=people)[person] + 0.5 * generator.normal(size=items)[item]
    data["rt"] = (eta + generator.normal(size=n)).round(5)
    data["correct"] = (generator.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    return data


def beside(rscript: str, data: pd.DataFrame, path: Path, family: str, formula: str) -> dict[str, float]:
    """Fit the model with ours and with lme4, in turns."""
    fit_mixed_model(trials(1000), formula, family=family)
    ours, theirs = [], []
    for _ in range(TURNS[family]):
        start = time.perf_counter()
        model = fit_mixed_model(data, formula, family=family)
        ours.append(time.perf_counter() - start)
        command = [rscript, str(PEER), str(path), formula, family]
        said = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()[-1])
        theirs.append(said["seconds"])
        print(f"{family}: ours {ours[-1]:.3f} s, lme4 {theirs[-1]:.3f} s")  # noqa: T201
    found = {
        "ours_s": round(statistics.median(ours), 4),
        "lme4_s": round(statistics.median(theirs), 4),
        "times_faster": round(statistics.median(theirs) / statistics.median(ours), 1),
        "loglik_difference": float(model.fit["loglik"][0]) - said["loglik"],
    }
    print(", ".join(f"{name} {value:.6g}" for name, value in found.items()))  # noqa: T201
    return found


def grown_apart(n: int) -> dict[str, float]:
    """Fit the linear model to `n` rows in a separate process."""
    said = subprocess.run([sys.executable, __file__, str(n)], capture_output=True, check=True, text=True).stdout
    found: dict[str, float] = json.loads(said)
    print(", ".join(f"{name} {value:,}" for name, value in found.items()))  # noqa: T201
    return found


def grown(n: int) -> dict[str, float]:
    """Fit the linear model to `n` rows twice, and return time and memory of the faster fit."""
    data = trials(n)
    before_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = []
    for _ in range(2):
        start = time.perf_counter()
        fit_mixed_model(data, MODELS["gaussian"])
        took.append(time.perf_counter() - start)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "rows": n,
        "seconds": round(min(took), 3),
        "us_per_row": round(min(took) / n * 1e6, 2),
        "bytes_per_row": round((peak_mb - before_mb) * 1024**2 / n),
    }


if __name__ == "__main__":
    main()
