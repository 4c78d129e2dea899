"""Measure the coverage of the intervals of effect sizes in the table of tests.

An interval covers if it contains the effect size of the population. The intervals come from the functions that the
report calls. For comparison, the column `effectsize` has the coverage of the interval of the same effect size in R's
package effectsize, where it is another interval: the pooled d for Welch's test, and Fisher's z for rank tests.

    .venv/bin/python benchmarks/effect_size_coverage.py
    .venv/bin/python benchmarks/effect_size_coverage.py --simulations 400 --csv effect_size_coverage.csv
"""

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr

from analysis.statistics.count_tests import chi_square
from analysis.statistics.hypothesis_test import HypothesisTest
from analysis.statistics.rank_tests import mann_whitney, wilcoxon_signed_rank
from analysis.statistics.t_tests import independent_t, paired_t
from batteries.errors import InputError

Floats = npt.NDArray[np.float64]
Cell = tuple[str, float, Callable[[np.random.Generator], tuple[HypothesisTest, tuple[float, float, float] | None]]]
"""Description, effect size of the population, and a function that returns a test. If the interval of effectsize is
another interval, the function also returns this interval with its effect size of the population."""

SIZES = ((8, 8), (20, 20), (30, 10), (10, 30))
Z = 1.959964


def t_cells() -> Iterator[Cell]:
    """Yield two groups with equal or unequal variances, and pairs."""
    for n_first, n_second in SIZES:
        for ratio in (1, 2):
            for difference in (0.0, 0.8, 2.0):
                unit = math.sqrt((1 + ratio**2) / 2)
                pooled_unit = math.sqrt((n_first - 1 + (n_second - 1) * ratio**2) / (n_first + n_second - 2))

                def welch(
                    rng: np.random.Generator, n: tuple[int, int] = (n_first, n_second), difference: float = difference,
                    ratio: int = ratio, pooled_unit: float = pooled_unit,
                ) -> tuple[HypothesisTest, tuple[float, float, float] | None]:  # fmt: skip
                    first, second = rng.normal(difference, 1, n[0]), rng.normal(0, ratio, n[1])
                    pooled = independent_t(first, second, equal_variances=True)
                    return independent_t(first, second), (*_bounds(pooled), difference / pooled_unit)

                words = f"Welch, n = {n_first} and {n_second}, SD 1 and {ratio}"
                yield words, difference / unit, welch
    for n in (6, 20):
        for difference in (0.0, 0.8, 2.0):

            def paired(
                rng: np.random.Generator, n: int = n, difference: float = difference
            ) -> tuple[HypothesisTest, None]:
                return paired_t(rng.normal(difference, 1, n), np.zeros(n)), None

            yield f"paired t, n = {n}", difference, paired


def rank_cells() -> Iterator[Cell]:
    """Yield normal values of two groups, and normal differences of pairs."""
    for n_first, n_second in SIZES:
        for ratio in (1, 3):
            for difference in (0.0, 0.8, 1.5, 2.5):

                def groups(
                    rng: np.random.Generator, n: tuple[int, int] = (n_first, n_second), difference: float = difference,
                    ratio: int = ratio,
                ) -> tuple[HypothesisTest, tuple[float, float, float]]:  # fmt: skip
                    test = mann_whitney(rng.normal(difference, 1, n[0]), rng.normal(0, ratio, n[1]))
                    half = Z * math.sqrt((n[0] + n[1] + 1) / (3 * n[0] * n[1]))
                    return test, (*_fisher(test, half), 2 * ndtr(difference / math.hypot(1, ratio)) - 1)

                true = 2 * float(ndtr(difference / math.hypot(1, ratio))) - 1
                yield f"Mann-Whitney, n = {n_first} and {n_second}, SD 1 and {ratio}", true, groups
    for n in (8, 20, 40):
        for difference in (0.0, 0.5, 1.0):
            true = 2 * float(ndtr(difference * math.sqrt(2))) - 1

            def pairs(
                rng: np.random.Generator, n: int = n, difference: float = difference, true: float = true
            ) -> tuple[HypothesisTest, tuple[float, float, float]]:
                test = wilcoxon_signed_rank(rng.normal(difference, 1, n), np.zeros(n))
                half = Z * math.sqrt((2 * n**3 + 3 * n**2 + n) / 6) / ((n**2 + n) / 2)
                return test, (*_fisher(test, half), true)

            yield f"Wilcoxon, n = {n}", true, pairs


def count_cells() -> Iterator[Cell]:
    """Yield tables of counts."""
    for columns in (2, 3):
        for n in (40, 100):
            for v in (0.0, 0.1, 0.3, 0.5):
                slope = np.linspace(-1, 1, columns)
                slope /= math.sqrt(float((slope**2).mean()))
                shares = (1 + v * np.outer([1, -1], slope)) / (2 * columns)

                def table(rng: np.random.Generator, n: int = n, shares: Floats = shares) -> tuple[HypothesisTest, None]:
                    return chi_square(pd.DataFrame(rng.multinomial(n, shares.ravel()).reshape(shares.shape))), None

                yield f"chi-square, 2 x {columns}, n = {n}", v, table


def _bounds(test: HypothesisTest) -> tuple[float, float]:
    missing = math.nan
    return (
        missing if test.effect_ci_low is None else test.effect_ci_low,
        missing if test.effect_ci_high is None else test.effect_ci_high,
    )


def _fisher(test: HypothesisTest, half: float) -> tuple[float, float]:
    assert test.effect is not None
    with np.errstate(divide="ignore"):
        middle = float(np.arctanh(test.effect))
    return math.tanh(middle - half), math.tanh(middle + half)


def measured(cell: Cell, simulations: int, seed: int) -> dict[str, object]:
    """Return the shares of intervals that cover, and of tests without an interval."""
    words, true, simulate = cell
    rng = np.random.default_rng(seed)
    covered, covered_by_theirs, n_missing = [], [], 0
    for _ in range(simulations):
        try:
            test, theirs = simulate(rng)
        except InputError:
            continue
        low, high = _bounds(test)
        if math.isnan(high):
            n_missing += 1
        else:
            covered.append(low <= true <= high)
        if theirs is not None:
            covered_by_theirs.append(theirs[0] <= theirs[2] <= theirs[1])
    return {
        "test": words,
        "effect": round(true, 3),
        "coverage": round(float(np.mean(covered)), 3),
        "effectsize": round(float(np.mean(covered_by_theirs)), 3) if covered_by_theirs else None,
        "without_interval": round(n_missing / simulations, 3),
    }


def main() -> None:
    """Print the table, and the lowest and highest coverage of each test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=2_000, help="simulated studies per cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", type=Path, help="file for the table")
    asked = parser.parse_args()
    cells = [*t_cells(), *rank_cells(), *count_cells()]
    table = pd.DataFrame([measured(cell, asked.simulations, asked.seed + place) for place, cell in enumerate(cells)])
    if asked.csv is not None:
        table.to_csv(asked.csv, index=False)
    print(table.to_string(index=False))  # noqa: T201
    kinds = table["test"].str.extract(r"^([^,]+)")[0]
    print(table.groupby(kinds)[["coverage", "effectsize"]].agg(["min", "max"]).to_string())  # noqa: T201


if __name__ == "__main__":
    main()
