"""Randomly generated tables of results without any mistake, printed with 0 to 3 decimals."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats

MOST_ROWS = 6

Cells = dict[str, str]

Row = Callable[[np.random.Generator, int, int], Cells]
"""Function that returns a row. Its arguments are decimals of the numbers, and decimals of the degrees of freedom."""


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


def _interval(center: float, half: float, decimals: int, level: str) -> Cells:
    low, high = fixed(center - half, decimals), fixed(center + half, decimals)
    return {f"{level} CI": f"[{low}, {high}]"}


def mean(rng: np.random.Generator, decimals: int, _df_decimals: int) -> Cells:
    """Return the row of a group with its mean, standard deviation, standard error and confidence interval."""
    values = _values(rng, least=2)
    se = values.std(ddof=1) / np.sqrt(len(values))
    half = float(stats.t.ppf(0.975, len(values) - 1) * se)
    return {"N": str(len(values)), "M": fixed(values.mean(), decimals), "SD": fixed(values.std(ddof=1), decimals),
            "SE": fixed(se, decimals), **_interval(values.mean(), half, decimals, "95%")}  # fmt: skip


def mean_without_error(rng: np.random.Generator, decimals: int, df_decimals: int) -> Cells:
    """Return the row of a group without its standard error, with the bounds of the interval in two columns."""
    cells = mean(rng, decimals, df_decimals)
    low, high = cells.pop("95% CI").strip("[]").split(", ")
    del cells["SE"]
    return {**cells, "95% CI lower": low, "95% CI upper": high}


def linear_coefficient(rng: np.random.Generator, decimals: int, df_decimals: int) -> Cells:
    """Return the row of a coefficient of a linear mixed model."""
    df, se = rng.uniform(4, 200), rng.lognormal(0, 1)
    b = float(se * rng.standard_t(df) + rng.normal(0, se))
    half = float(stats.t.ppf(0.95, df) * se)
    return {"Estimate": fixed(b, decimals), "Std. Error": fixed(se, decimals), "df": fixed(df, df_decimals),
            "t value": fixed(b / se, decimals), "p": printed_p(float(2 * stats.t.sf(abs(b / se), df)), decimals),
            **_interval(b, half, decimals, "90 %")}  # fmt: skip


def logistic_coefficient(rng: np.random.Generator, decimals: int, _df_decimals: int) -> Cells:
    """Return the row of a coefficient of a logistic model with z."""
    b, se = rng.normal(0, 1.5), rng.lognormal(-1, 0.7)
    return {"b": fixed(b, decimals), "SE": fixed(se, decimals), "z": fixed(b / se, decimals),
            "p": printed_p(float(2 * stats.norm.sf(abs(b / se))), decimals),
            **_interval(b, float(stats.norm.ppf(0.975) * se), decimals, "95%")}  # fmt: skip


def odds_ratio(rng: np.random.Generator, decimals: int, _df_decimals: int) -> Cells:
    """Return the row of a coefficient with Wald's chi-square, and the interval of its odds ratio."""
    b, se = rng.normal(0, 0.8), rng.lognormal(-1, 0.4)
    wald = (b / se) ** 2
    low, high = np.exp(b - stats.norm.ppf(0.975) * se), np.exp(b + stats.norm.ppf(0.975) * se)
    return {"B": fixed(b, decimals), "S.E.": fixed(se, decimals), "Wald": fixed(wald, decimals), "df": "1",
            "Sig.": printed_p(float(stats.chi2.sf(wald, 1)), decimals), "Exp(B)": fixed(np.exp(b), decimals),
            "95% CI": f"{fixed(low, decimals)}, {fixed(high, decimals)}"}  # fmt: skip


KINDS: dict[str, tuple[Row, str]] = {
    "Welch": (welch, "Welch's t-test"),
    "nearly equal variances": (equal_welch, "Welch's t-test"),
    "Student": (student, "independent t-test"),
    "one-way": (one_way, "one-way ANOVA"),
    "Welch's analysis of variance": (welch_anova, "one-way Welch ANOVA"),
    "Greenhouse-Geisser": (corrected_within, "repeated-measures ANOVA, Greenhouse-Geisser"),
    "mean": (mean, "descriptive"),
    "mean without its standard error": (mean_without_error, "descriptive"),
    "linear coefficient": (linear_coefficient, "mixed model"),
    "logistic coefficient": (logistic_coefficient, "logistic model"),
    "odds ratio": (odds_ratio, "logistic model"),
}
"""Each kind of row, with the name that a paper gives to its test."""


def clean_table(kind: str, rng: np.random.Generator) -> pd.DataFrame:
    """Return a table without mistakes, printed as a paper could print the table.

    Degrees of freedom that are not whole numbers are printed with decimals, or the row has the name of the test.
    """
    decimals, df_decimals = int(rng.integers(0, 4)), int(rng.integers(0, 4))
    row_of, name = KINDS[kind]
    rows = [row_of(rng, decimals, df_decimals) for _ in range(int(rng.integers(1, MOST_ROWS + 1)))]
    is_named = df_decimals == 0 or rng.random() < 0.5
    return frame([{"Test": name, **row} for row in rows] if is_named else rows)


def frame(rows: list[Cells]) -> pd.DataFrame:
    """Return rows as a table, with the labels `e0`, `e1` and so on."""
    return pd.DataFrame([{"Effect": f"e{number}", **row} for number, row in enumerate(rows)], dtype=str)
