"""Measure the coverage of the intervals in the report, for few and many participants and near the ceiling.

Participants differ in ability (logit-normal). The items are fixed, except for `random_items`. An interval covers if it
contains the value of the whole population of participants, and of items if these are random. The intervals come from
the functions that the report calls.

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
from scipy.stats import norm, rankdata

from analysis.measures.error_consistency import consistency_among_people, consistency_with_model
from analysis.statistics.agreement_measures import (
    mean_agreement_interval,
    pearson,
    repeated_agreement,
    spearman,
)
from analysis.statistics.intervals import Interval, mover_difference, weighted_accuracy
from analysis.statistics.participant_intervals import pooled_proportions, proportion_interval
from analysis.statistics.random_items import correlation_over_items, crossed_proportion
from analysis.statistics.trends import trend_weights
from experiment.study.analysis_plan import AnalysisPlan

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


Cells = dict[str, Coverage]


def accuracy(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> Cells:
    """Measure people's accuracy, also with very different participants and with unequal numbers of trials."""
    names = {"accuracy": ABILITY_SD, "accuracy, SD 2": 2.0, "accuracy, unequal numbers of trials": ABILITY_SD}
    found = {name: Coverage() for name in names}
    for name, sd in names.items():
        logits = item_logits(mean, normal_quantiles(m), sd)
        n_trials = np.full(n, m)
        if "unequal" in name:
            n_trials = np.resize([m, m // 2, m // 4], n)
        for right in correct(rng, logits, n, sd, simulations):
            order = rng.permuted(np.tile(np.arange(m), (n, 1)), axis=1)
            answered = order < n_trials[:, None]
            n_correct = (right * answered).sum(axis=1).astype("int64")
            found[name].add(proportion_interval(n_correct, n_trials, CONFIDENCE), mean)
    return found


def differences(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> Cells:
    """Measure people minus a model that was asked each item once."""
    found = {"difference, model .9": Coverage(), "difference, model always right": Coverage()}
    logits = item_logits(mean, normal_quantiles(m), ABILITY_SD)
    at_items = {"difference, model .9": expit(item_logits(0.9, normal_quantiles(m), 0.0)),
                "difference, model always right": np.ones(m)}  # fmt: skip
    ones = np.ones(m, dtype="int64")
    for right in correct(rng, logits, n, ABILITY_SD, simulations):
        n_correct = right.sum(axis=1).astype("int64")
        people = proportion_interval(n_correct, np.full(n, m), CONFIDENCE)
        for name, probabilities in at_items.items():
            model, interval = weighted_accuracy((rng.random(m) < probabilities).astype("int64"), ones, n * ones)
            difference = mover_difference(n_correct.sum() / (n * m), people, model, interval)
            found[name].add(difference, mean - float(probabilities.mean()))
    return found


def random_items(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> Cells:
    """Measure accuracy, and people minus a model, with `items: random`: each study draws its own items."""
    names = ["accuracy, random items", "accuracy, random items in four groups", "difference, random items"]
    found = {name: Coverage() for name in names}
    of_people = item_logits(mean, np.zeros(1), float(np.hypot(1, ABILITY_SD)))[0]
    of_model = item_logits(0.9, np.zeros(1), 1.0)[0]
    people, items, ones = np.repeat(np.arange(n), m), np.tile(np.arange(m), n), np.ones(m, dtype="int64")
    in_group = people % 4 == items % 4
    for _ in range(simulations):
        difficulty = rng.standard_normal(m)
        logits = of_people + difficulty + rng.normal(0, ABILITY_SD, (n, 1))
        right = (rng.random((n, m)) < expit(logits)).astype("float64").ravel()
        pooled = crossed_proportion(right, people, items)
        interval = pooled.interval(CONFIDENCE)
        found[names[0]].add(interval, mean)
        _, known = np.unique(items[in_group], return_inverse=True)
        found[names[1]].add(crossed_proportion(right[in_group], people[in_group], known).interval(CONFIDENCE), mean)
        replies = (rng.random(m) < expit(of_model + difficulty)).astype("int64")
        model, around_model = weighted_accuracy(replies, ones, n * ones)
        r = correlation_over_items(pooled, (replies - model) / m)
        found[names[2]].add(mover_difference(pooled.proportion, interval, model, around_model, r), mean - 0.9)
    return found


def repetitions(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> Cells:
    """Measure the consistency of a model with n epochs. `mean` is the consistency of four options over all items."""
    found = Coverage()
    share = np.sqrt((mean - 0.25) / 0.75) if mean > 0.25 else 0.0  # Of replies that are the item's own option.
    for _ in range(simulations):
        shares = rng.beta(8 * share, 8 * (1 - share), m) if share < 1 else np.ones(m)
        own = rng.random((m, n)) < shares[:, None]
        labels = np.where(own, 0, rng.integers(0, 4, (m, n)))
        agreement = repeated_agreement(np.repeat(np.arange(m), n), labels.ravel()).to_numpy()
        spread = share * (1 - share) / 9
        truth = (share**2 + spread) * 0.75 + 0.25
        found.add(mean_agreement_interval(agreement, np.full(m, float(n)), np.arange(m), CONFIDENCE), truth)
    return {"consistency of a model (n: epochs)": found}


def model_clusters(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> Cells:
    """Measure the accuracy of a model over n clusters of m items. The clusters are random, with a beta distribution."""
    found = {}
    labels, ones = np.repeat(np.arange(n), m), np.ones(n * m, dtype="int64")
    for icc in (0.05, 0.2, 0.4):
        found[f"accuracy of a model, ICC {icc:g} (n: clusters)"] = cell = Coverage()
        scale = (1 - icc) / icc
        for _ in range(simulations):
            accuracies = rng.beta(scale * mean, scale * (1 - mean), n)
            right = (rng.random(n * m) < np.repeat(accuracies, m)).astype("int64")
            cell.add(weighted_accuracy(right, ones, ones, labels)[1], mean)
    return found


def trends(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> Cells:
    """Measure the slope of people's accuracy over three levels of difficulty."""
    found = Coverage()
    level = np.repeat([0, 1, 2], m // 3)
    logits = item_logits(mean, np.tile(normal_quantiles(m // 3), 3) - 0.6 * (level - 1), ABILITY_SD)
    weights = trend_weights([0, 1, 2], [1, 1, 1])
    truth = float(weights @ population_accuracies(logits, ABILITY_SD).reshape(3, -1).mean(axis=1))
    for right in correct(rng, logits, n, ABILITY_SD, simulations):
        n_correct = right.reshape(n, 3, -1).sum(axis=2)
        pooled = pooled_proportions(n_correct, np.full((n, 3), m // 3))
        found.add(pooled.contrast(weights, CONFIDENCE), truth)
    return {"slope": found}


def signals(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> Cells:
    """Measure hits, hits minus false alarms, d' and the criterion. `mean` is the hit rate."""
    found = {name: Coverage() for name in ("hit rate", "hits - false alarms", "d'", "criterion")}
    half, sd = m // 2, ABILITY_SD
    hit_logits = item_logits(mean, normal_quantiles(half), sd)
    false_logits = item_logits(1 - mean, normal_quantiles(half), sd)
    z_hit, z_false = norm.ppf(mean), norm.ppf(1 - mean)
    truth = [mean, 2 * mean - 1, z_hit - z_false, -(z_hit + z_false) / 2]
    for _ in range(simulations):
        # Participants differ in sensitivity and in bias.
        sensitivity, bias = rng.normal(0, sd / np.sqrt(2), (2, n, 1))
        hits = (rng.random((n, half)) < expit(hit_logits + sensitivity + bias)).sum(axis=1)
        false_alarms = (rng.random((n, half)) < expit(false_logits - sensitivity + bias)).sum(axis=1)
        pooled = pooled_proportions(np.column_stack([hits, false_alarms]), np.full((n, 2), half))
        intervals = (
            pooled.intervals(CONFIDENCE)[0],
            pooled.contrast([1, -1], CONFIDENCE),
            pooled.z_contrast([1, -1], CONFIDENCE),
            pooled.z_contrast([-0.5, -0.5], CONFIDENCE),
        )
        for coverage, interval, value in zip(found.values(), intervals, truth, strict=True):
            coverage.add(interval, value)
    return found


def consistency(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> Cells:
    """Measure the kappas of people with each other, and with a model that errs on a fifth of the items."""
    found = {"kappa among people": Coverage(), "kappa with a model": Coverage()}
    logits = item_logits(mean, normal_quantiles(m), ABILITY_SD)
    model = np.roll(np.arange(m) >= m // 5, 2).astype("float64")
    plan = AnalysisPlan()

    def kappas(right: Floats) -> Iterator[dict[str, Any]]:
        ones = np.ones_like(right)
        yield consistency_among_people(ones, right, plan)
        agreed = (right == model).sum(axis=1)
        yield consistency_with_model(ones.sum(axis=1), agreed, right.sum(axis=1), ones @ model, plan)

    populations = correct(rng, logits, 500, ABILITY_SD, 10)
    truth = np.mean([[row["kappa"] for row in kappas(right)] for right in populations], axis=0)
    for right in correct(rng, logits, n, ABILITY_SD, simulations):
        for coverage, row, value in zip(found.values(), kappas(right), truth, strict=True):
            coverage.add(Interval(row["ci_low"], row["ci_high"]) if "ci_low" in row else None, value)
    return found


def correlations(rng: np.random.Generator, n: int, m: int, mean: float, simulations: int) -> Cells:
    """Measure the correlations over random items between n people and a model with an accuracy of about .8."""
    found = {"Pearson, items": Coverage(), "Spearman, items": Coverage()}
    level = float(item_logits(mean, np.zeros(1), float(np.hypot(1, ABILITY_SD)))[0])
    of_model = float(item_logits(0.8, np.zeros(1), 1.0)[0])

    def drawn(n_items: int) -> tuple[Floats, Floats]:
        ease = rng.normal(size=n_items)
        right = rng.random((n, n_items)) < expit(level + ease + rng.normal(0, ABILITY_SD, (n, 1)))
        return right.mean(axis=0), (rng.random(n_items) < expit(of_model + ease)).astype("float64")

    many = [drawn(4_000) for _ in range(60)]
    truth = [float(np.mean([statistic(*both) for both in many])) for statistic in (_pearson, _spearman)]
    for _ in range(simulations):
        x, y = drawn(m)
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            continue
        for coverage, correlate, value in zip(found.values(), (pearson, spearman), truth, strict=True):
            coverage.add(correlate(x, y, CONFIDENCE).interval, value)
    return found


def _pearson(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _spearman(x: Floats, y: Floats) -> float:
    return _pearson(rankdata(x), rankdata(y))


MEASURES: tuple[Callable[[np.random.Generator, int, int, float, int], Cells], ...] = (
    accuracy, differences, random_items, repetitions, model_clusters, signals, trends, consistency, correlations,
)  # fmt: skip


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
    for key, cells in sorted(lines.items()):
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
