"""Randomly generated tables of results without any mistake, printed with 0 to 3 decimals."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats

MOST_ROWS = 6

Cells = dict[str, str]


def fixed(value: float, decimals: int) -> str:
    """Return a number with this number of decimals; `-0.0` is `0.0`."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def printed_p(p: float, decimals: int) -> str:
    """Return a p value with at least two decimals; a small p value is printed as `< .001`."""
    return "< .001" if p < 0.001 and decimals > 1 else fixed(p, max(2, decimals))


def _values(rng: np.random.Generator, least: int = 4) -> np.ndarray:
    return rng.normal(rng.uniform(-5, 60), rng.uniform(0.5, 12), int(rng.integers(least, 60)))


def welch(rng: np.random.Generator, decimals: int, df_decimals: int) -> Cells:
    """Return the row of a Welch t test with the sizes of its groups."""
    first, second = _values(rng), _values(rng)
    second = second - second.mean() + first.mean() + rng.normal(0, 3)
    result = stats.ttest_ind(first, second, equal_var=False)
    return {"n1": str(len(first)), "n2": str(len(second)), "t": fixed(result.statistic, decimals),
            "df": fixed(result.df, df_decimals), "p": printed_p(result.pvalue, decimals)}  # fmt: skip


def equal_welch(rng: np.random.Generator, decimals: int, df_decimals: int) -> Cells:
    """Return the row of a Welch t test whose degrees of freedom are nearly a whole number."""
    n = int(rng.integers(5, 40))
    first = rng.normal(size=n)
    second = rng.permutation(first) * rng.uniform(0.98, 1.02) + rng.normal(0, 0.5)
    result = stats.ttest_ind(first, second, equal_var=False)
    return {"n1": str(n), "n2": str(n), "t": fixed(result.statistic, decimals),
            "df": fixed(result.df, df_decimals), "p": printed_p(result.pvalue, decimals)}  # fmt: skip


def student(rng: np.random.Generator, decimals: int, df_decimals: int) -> Cells:
    """Return the row of Student's t test."""
    first, second = _values(rng), _values(rng)
    second = second - second.mean() + first.mean() + rng.normal(0, 3)
    result = stats.ttest_ind(first, second)
    return {"n1": str(len(first)), "n2": str(len(second)), "t": fixed(result.statistic, decimals),
            "df": fixed(result.df, df_decimals), "p": printed_p(result.pvalue, decimals)}  # fmt: skip


def one_way(rng: np.random.Generator, decimals: int, df_decimals: int) -> Cells:
    """Return the row of a one-way analysis of variance."""
    groups = [rng.normal(rng.normal(0, 0.4), 1, int(rng.integers(3, 25))) for _ in range(int(rng.integers(2, 6)))]
    result = stats.f_oneway(*groups)
    n = sum(map(len, groups))
    return {"N": str(n), "k": str(len(groups)), "F": fixed(result.statistic, decimals),
            "df1": fixed(len(groups) - 1, df_decimals), "df2": fixed(n - len(groups), df_decimals),
            "p": printed_p(result.pvalue, decimals)}  # fmt: skip


def welch_anova(rng: np.random.Generator, decimals: int, df_decimals: int) -> Cells:
    """Return the row of Welch's analysis of variance (Welch, 1951)."""
    groups = [
        rng.normal(rng.normal(0, 0.4), rng.uniform(0.5, 2), int(rng.integers(4, 25)))
        for _ in range(int(rng.integers(2, 6)))
    ]
    k, n = len(groups), np.array([len(group) for group in groups])
    weights = n / np.array([group.var(ddof=1) for group in groups])
    means = np.array([group.mean() for group in groups])
    spread = (weights * (means - (weights * means).sum() / weights.sum()) ** 2).sum() / (k - 1)
    tail = ((1 - weights / weights.sum()) ** 2 / (n - 1)).sum()
    f, df2 = spread / (1 + 2 * (k - 2) / (k**2 - 1) * tail), (k**2 - 1) / (3 * tail)
    return {"N": str(n.sum()), "k": str(k), "F": fixed(f, decimals), "df1": str(k - 1),
            "df2": fixed(df2, df_decimals), "p": printed_p(float(stats.f.sf(f, k - 1, df2)), decimals)}  # fmt: skip


def corrected_within(rng: np.random.Generator, decimals: int, df_decimals: int) -> Cells:
    """Return the row of a repeated-measures analysis of variance with corrected degrees of freedom."""
    n, k = int(rng.integers(6, 40)), int(rng.integers(3, 6))
    epsilon, f = rng.uniform(1 / (k - 1), 1), rng.f(k - 1, (n - 1) * (k - 1))
    df1, df2 = epsilon * (k - 1), epsilon * (k - 1) * (n - 1)
    return {"N": str(n), "k": str(k), "F": fixed(f, decimals), "df1": fixed(df1, df_decimals),
            "df2": fixed(df2, df_decimals), "p": printed_p(float(stats.f.sf(f, df1, df2)), decimals)}  # fmt: skip


Row = Callable[[np.random.Generator, int, int], Cells]

TESTS: dict[str, tuple[Row, str]] = {
    "Welch": (welch, "Welch's t-test"),
    "nearly equal variances": (equal_welch, "Welch's t-test"),
    "Student": (student, "independent t-test"),
    "one-way": (one_way, "one-way ANOVA"),
    "Welch's analysis of variance": (welch_anova, "one-way Welch ANOVA"),
    "Greenhouse-Geisser": (corrected_within, "repeated-measures ANOVA, Greenhouse-Geisser"),
}
"""Each kind of test, with the name that a paper gives to this test."""


def clean_table(kind: Row, name: str, rng: np.random.Generator) -> pd.DataFrame:
    """Return a table without mistakes, printed as a paper could print the table.

    Degrees of freedom that are not whole numbers are printed with decimals, or the row has the name of the test.
    """
    decimals, df_decimals = int(rng.integers(0, 4)), int(rng.integers(0, 4))
    rows = [kind(rng, decimals, df_decimals) for _ in range(int(rng.integers(1, MOST_ROWS + 1)))]
    is_named = df_decimals == 0 or rng.random() < 0.5
    return pd.DataFrame([{"Effect": f"e{number}", **({"Test": name} if is_named else {}), **row}
                         for number, row in enumerate(rows)], dtype=str)  # fmt: skip
