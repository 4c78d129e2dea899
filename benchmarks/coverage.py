"""Measure the coverage of the intervals in the report, for few and many participants and near the ceiling.

Participants differ in ability (logit-normal). The items are fixed. An interval covers if it contains the value of the
whole population of participants. The intervals come from the functions that the report calls.

    .venv/bin/python benchmarks/coverage.py
    .venv/bin/python benchmarks/coverage.py --simulations 400 --csv coverage.csv
"""

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from analysis.statistics.intervals import Interval
from analysis.statistics.participant_intervals import proportion_interval

Floats = npt.NDArray[np.float64]

N_ITEMS = (24, 48)
N_PARTICIPANTS = (5, 10, 20, 40)
ACCURACIES = (0.5, 0.8, 0.95, 0.98)
ABILITY_SD = 0.7
CONFIDENCE = 0.95
TARGET = (0.93, 0.97)


def normal_quantiles(n: int) -> Floats:
    """Return the quantiles of n equally spaced probabilities: the difficulties of n items."""
    quantiles: Floats = norm.ppf((np.arange(n) + 0.5) / n)
    return quantiles


def population_accuracies(logits: Floats, sd: float) -> Floats:
    """Return the mean accuracy of the whole population at each item, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    accuracies: Floats = weights / weights.sum() @ expit(logits + sd * nodes[:, None])
    return accuracies


def item_logits(accuracy: float, shape: Floats, sd: float) -> Floats:
    """Return `shape` plus a constant, so that the mean accuracy of the population over the items is `accuracy`."""
    constant = brentq(lambda shift: population_accuracies(shift + shape, sd).mean() - accuracy, -20, 20)
    return constant + shape


def correct(rng: np.random.Generator, logits: Floats, n: int, sd: float, simulations: int) -> Iterator[Floats]:
    """Yield the correctness of n participants at each item, for each simulated study."""
    for _ in range(simulations):
        ability = rng.normal(0, sd, (n, 1))
        yield (rng.random((n, len(logits))) < expit(logits + ability)).astype("float64")


class Coverage:
    """Counts of intervals that include the true value, that miss it, and that the report refuses."""

    def __init__(self) -> None:
        self.covered = self.given = self.asked = 0
        self.width = 0.0

    def add(self, interval: Interval | None, truth: float) -> None:
        """Count one interval. None is an interval that the report refuses."""
        self.asked += 1
        if interval is not None:
            self.given += 1
            self.covered += bool(interval.low - 1e-12 <= truth <= interval.high + 1e-12)
            self.width += interval.high - interval.low

    def row(self) -> dict[str, float]:
        """Return the share of given intervals that cover, the mean width, and the share of refused intervals."""
        given = max(self.given, 1)
        covered = self.covered / given if self.given else float("nan")
        return {"coverage": covered, "width": self.width / given, "refused": 1 - self.given / self.asked}


def accuracy(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> dict[str, Coverage]:
    """Measure the interval of people's accuracy."""
    found = Coverage()
    logits = item_logits(mean, normal_quantiles(m), ABILITY_SD)
    for right in correct(rng, logits, n, ABILITY_SD, simulations):
        n_correct = right.sum(axis=1).astype("int64")
        found.add(proportion_interval(n_correct, np.full(n, m), CONFIDENCE), mean)
    return {"accuracy": found}


MEASURES: tuple[Callable[[np.random.Generator, int, int, float, int], dict[str, Coverage]], ...] = (accuracy,)


def rows(simulations: int, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the coverage of each interval in each cell."""
    for measure in MEASURES:
        if names and measure.__name__ not in names:
            continue
        for m in N_ITEMS:
            for n in N_PARTICIPANTS:
                for mean in ACCURACIES:
                    rng = np.random.default_rng(20)
                    for name, found in measure(rng, n, m, mean, simulations).items():
                        yield {"interval": name, "items": m, "participants": n, "accuracy": mean} | found.row()


def print_markdown(table: list[dict[str, Any]]) -> None:
    """Print one line for each interval, number of items and number of participants."""
    print("| interval | items | n | " + " | ".join(f"{mean:g}" for mean in ACCURACIES) + " |")  # noqa: T201
    print("|---|" + "---:|" * (2 + len(ACCURACIES)))  # noqa: T201
    lines: dict[tuple[Any, ...], list[str]] = {}
    for row in table:
        cell = f"{row['coverage']:.3f}".replace("nan", "–")
        if row["refused"] > 0.005:
            cell += f" ({row['refused']:.0%} refused)"
        lines.setdefault((row["interval"], row["items"], row["participants"]), []).append(cell)
    for key, cells in lines.items():
        print("| " + " | ".join([*map(str, key), *cells]) + " |")  # noqa: T201


def main() -> None:
    """Simulate studies, and print the coverage of each interval."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=2000, help="simulated studies in each cell")
    parser.add_argument("--only", nargs="*", default=[], choices=[measure.__name__ for measure in MEASURES])
    parser.add_argument("--csv", type=Path, help="file for the table, with the mean widths")
    options = parser.parse_args()
    start = time.perf_counter()
    table = list(rows(options.simulations, options.only))
    print_markdown(table)
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
    covered = [row["coverage"] for row in table if row["coverage"] == row["coverage"]]
    summary = {
        "simulations": options.simulations,
        "seconds": round(time.perf_counter() - start, 1),
        "lowest": min(covered),
        "highest": max(covered),
        "below_target": sum(value < TARGET[0] for value in covered),
        "above_target": sum(value > TARGET[1] for value in covered),
    }
    print(json.dumps(summary))  # noqa: T201


if __name__ == "__main__":
    main()
