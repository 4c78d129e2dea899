"""Tables in the report: rounded numbers, and headings in words. The CSV files keep every digit."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pandas as pd

from analysis.planned.units_of_tests import SHARE, is_in_ms
from analysis.sentences import level_words, percent, points

HEADINGS = {
    "std_error": "SE", "p_value": "p", "p_holm": "p, Holm",
    "p_bh": "p, Benjamini-Hochberg", "p_adjusted": "p, adjusted", "chisq": "χ²", "sd": "SD",
    "loglik": "log-likelihood", "aic": "AIC", "bic": "BIC", "icc_adjusted": "ICC, adjusted", "rmse": "RMSE",
    "r2_marginal": "R², marginal", "r2_conditional": "R², conditional", "n": "n", "or": "odds ratio",
    "bayes_factor_10": "Bayes factor, for a difference", "people": "participants",
    "n_participants": "n participants", "n_trials": "trials",
    "n_correct": "correct", "accuracy_people": "accuracy, participants", "accuracy_model": "accuracy, model",
    "accuracy_models": "accuracy, models",
    "accuracy_ratio": "model's accuracy / participants' accuracy",
    "n_items_left_out": "items left out",
    "chance_corrected": "chance-corrected accuracy", "normalized_accuracy": "model's normalized accuracy",
    "n_items_only_model": "items, model only", "n_items_only_people": "items, participants only",
    "is_equivalent": "equivalent", "pearson": "Pearson's r",
    "spearman": "Spearman's rho", "kappa": "Cohen's kappa",
    "n_pairs_few_items": "pairs with too few items",
    "n_pairs_always_right_or_wrong": "pairs with a subject always right or always wrong",
    "n_signal": "signals", "n_noise": "noise", "n_invalid": "invalid",
    "n_unanswered": "unanswered", "n_items_repeated": "items repeated",
    "n_participants_excluded": "participants excluded by the rule", "n_trials_excluded": "trials excluded by the rule",
    "n_participants_excluded_without": "of these participants, excluded by other steps without the rule",
    "n_trials_excluded_without": "of these trials, excluded by other steps without the rule",
    "n_trials_changed": "trials in or out without the rule",
    "n_unit": "unit of n", "n_unrated": "rows without rating", "brier": "Brier score",
    "ece": "ECE", "ece_if_calibrated": "ECE if calibrated", "overconfidence": "over-confidence",
    "estimate_unit": "unit of estimate and CI", "d_prime": "d'",
    "n_completed": "completed", "n_included": "in the analysis", "sd_between_runs": "SD between runs",
    "sd_between_runs_by_chance": "SD between runs, by chance", "p_between_runs": "p, runs differ",
    "partial_eta_squared": "partial η²", "partial_omega_squared": "partial ω²", "cohens_f": "Cohen's f",
    "geometric_mean": "geometric mean", "n_chosen": "chosen", "choice": "response",
}  # fmt: skip


SHARES = {"accuracy", "accuracy_people", "accuracy_model", "accuracy_models", "accuracy_1", "accuracy_2",
          "lowest_accuracy_of_a_run",
          "highest_accuracy_of_a_run", "consistency",
          "accuracy_if_wrong", "accuracy_if_left_out", "accuracy_if_chance", "accuracy_original", "accuracy_variants",
          "surviving_accuracy", "chosen", "share", "right", "accuracy_perturbed", "accuracy_unperturbed",
          "observed", "expected", "hit_rate", "false_alarm_rate", "accuracy_ratio", "chance", "chance_corrected",
          "normalized_accuracy"}  # fmt: skip
"""Columns of a study's tables with shares, which the report shows as percentages."""
DIFFERENCES_OF_SHARES = {"difference", "change", "slope", "slope_difference", "equivalence"}
"""Columns of a study's tables with differences of shares, which the report shows in percentage points."""


LARGE = 1000
"""Estimates of this size have one decimal. If a column or an interval has such an estimate, its
estimates of `NEARLY_LARGE` or more also have one decimal.
"""
NEARLY_LARGE = 10
"""Smaller estimates always have three decimals, because one decimal could hide whether an interval includes 0 or 1."""


@dataclass(frozen=True)
class ShownColumn:
    """The heading of a column. `is_number` is true for a column of numbers, which is right-aligned."""

    heading: str
    is_number: bool


@dataclass(frozen=True)
class ShownTable:
    """A table with rounded numbers and with headings in words."""

    columns: list[ShownColumn]
    rows: list[list[str]]


def shown(
    table: pd.DataFrame, confidence: float | None = None, *, of_study: bool = False,
    units: Mapping[str, str] = MappingProxyType({}),
) -> ShownTable:  # fmt: skip
    """Return a table with rounded numbers and with headings in words, for the report.

    Parameters
    ----------
    table
        Any table of an analysis.
    confidence
        Confidence level of the intervals, for the headings. None if it differs between rows.
    of_study
        True for a table of a study's measures: `SHARES` and their intervals are shown as percentages, and differences
        of shares in percentage points.
    units
        The units of further columns of shares: `percent`, `points` (percentage points with a sign), or `size`
        (percentage points without a sign).

    Returns
    -------
    ShownTable
        The table for the report. Both bounds of an interval are in one column.
    """
    of_columns: dict[Hashable, str] = _units(table) if of_study else {}
    of_columns.update((column, unit) for column, unit in units.items())
    names = [str(name) for name in table.columns]
    bounds = {low: high for low in names if low.endswith("ci_low") and (high := f"{low[:-3]}high") in names}
    columns, cells = [], []
    for name in names:
        if name in bounds.values():
            continue  # The column of the lower bound has both bounds.
        together = [name, bounds[name]] if name in bounds else [name]
        is_large = any(_has_large(table[column]) for column in together)
        own, words = _cells(table, name, of_columns, is_large=is_large), heading(name, confidence)
        if name in bounds:
            upper = _cells(table, bounds[name], of_columns, is_large=is_large)
            own = [_bounds(*pair) for pair in zip(own, upper, strict=True)]
            words = words.removesuffix(" low")
        is_number = pd.api.types.is_numeric_dtype(table[name]) and not pd.api.types.is_bool_dtype(table[name])
        unit = ", points" if of_columns.get(name) in {"points", "size"} else ""
        columns.append(ShownColumn(words + unit, is_number))
        cells.append(own)
    return ShownTable(columns, [list(row) for row in zip(*cells, strict=True)])


def _has_large(cells: "pd.Series[Any]") -> bool:
    """Return True if a column has an estimate of `LARGE` or more."""
    return any(isinstance(cell, float) and LARGE <= abs(cell) < math.inf for cell in cells.tolist())


def _cells(table: pd.DataFrame, name: str, units: dict[Hashable, str], *, is_large: bool) -> list[str]:
    """Return the texts of a column's cells. `is_large` is true if the column or interval has a large estimate."""
    of_cells = _units_of_cells(table, name, units.get(name))
    cells = table[name].tolist()
    return [
        "points" if name == "estimate_unit" and cell == SHARE else _in_unit(name, cell, unit, _digits(cell, is_large))
        for cell, unit in zip(cells, of_cells, strict=True)
    ]


def _digits(cell: Any, is_large: bool) -> int:
    """Return the number of decimals of an estimate. `is_large` is true if its column has a large estimate."""
    return 1 if is_large and isinstance(cell, float) and abs(cell) >= NEARLY_LARGE else 3


def _bounds(low: str, high: str) -> str:
    """Return an interval as text, such as [65.0, 77.2]. A dash replaces a missing bound."""
    if not low and not high:
        return ""
    return "[" + ", ".join((bound or "–").removesuffix("\u00a0%") for bound in (low, high)) + "]"


def _units(table: pd.DataFrame) -> dict[Hashable, str]:
    """Return the unit, `percent` or `points`, of each column that has one.

    A column such as `ci_low` belongs to the last measure before it. A factor may have the same name as a
    measure, such as `expected`. So that a factor has no unit, only columns of floating-point numbers have one.
    """
    units: dict[Hashable, str] = {}
    measure = ""
    for column in table.columns:
        name = str(column)
        own = name.removesuffix("ci_low").removesuffix("ci_high").removesuffix("_")
        if own == name:
            measure = name
        of = own or measure
        if not pd.api.types.is_float_dtype(table[column]):
            continue
        if of in SHARES:
            units[column] = "percent"
        elif of in DIFFERENCES_OF_SHARES:
            units[column] = "points"
    return units


def _units_of_cells(table: pd.DataFrame, column: str, unit: str | None) -> list[str | None]:
    """Return the unit of each cell of a column. In the table of tests, the unit can differ between rows."""
    if column in {"estimate", "ci_low", "ci_high"} and "estimate_unit" in table:
        return [_unit_of_estimate(of_row) for of_row in table["estimate_unit"].tolist()]
    return [unit] * len(table)


def _unit_of_estimate(estimate_unit: object) -> str | None:
    if estimate_unit == SHARE:
        return "points"
    return "ms" if is_in_ms(estimate_unit) else None


def _in_unit(column: str, cell: Any, unit: str | None, digits: int) -> str:
    if unit is None or cell is None or pd.isna(cell):
        return cell_words(column, cell, digits)
    if unit == "size":
        return f"{100 * float(cell):.1f}"
    if unit == "ms":
        return number(float(cell), 1)
    return percent(float(cell)) if unit == "percent" else points(float(cell))


def heading(name: str, confidence: float | None = None) -> str:
    r"""Return a column's name in words.

    For an equivalence test, the heading states a smaller confidence level than `confidence`, such as 90 % instead of
    95 %.

    Examples
    --------
    >>> heading("std_error"), heading("atoms_correct_mean"), heading("n_items")
    ('SE', 'atoms_correct, mean', 'items')
    >>> heading("ci_low", 0.95), heading("slope_ci_high", 0.95), heading("ci_low")
    ('95\xa0% CI low', 'slope, 95\xa0% CI high', 'CI low')
    """
    if name in HEADINGS:
        return HEADINGS[name]
    for ending, bound in (("ci_low", "CI low"), ("ci_high", "CI high")):
        if name == ending or name.endswith(f"_{ending}"):
            measure = name.removesuffix(ending).removesuffix("_")
            coverage = 2 * confidence - 1 if confidence and measure == "equivalence" else confidence
            words = bound if coverage is None else f"{percent(coverage, 0)} {bound}"
            return f"{heading(measure)}, {words}" if measure else words
    for ending, words in (("_mean", "mean"), ("_sd", "SD"), ("_se", "SE"), ("_n", "values"),
                          ("_n_participants", "participants"), ("_n_runs", "runs")):  # fmt: skip
        if name.endswith(ending):
            return f"{name.removesuffix(ending)}, {words}"
    counted = name.startswith("n_") and name.endswith("s")
    return name.removeprefix("n_" if counted else "").replace("_", " ")


def cell_words(column: str, cell: Any, digits: int = 3) -> str:
    """Return the text of a cell in the report. `digits` is the number of decimals of an estimate.

    Examples
    --------
    >>> cell_words("p_value", 0.0004), cell_words("p_value", 0.4906), cell_words("df", 453.6), cell_words("n", 1200)
    ('< .001', '.491', '453.6', '1,200')
    >>> cell_words("estimate", -0.12345), cell_words("estimate", 0.00002), cell_words("converged", True)
    ('−0.123', '0.00002', 'yes')
    >>> cell_words("temperature", 0.7)
    '0.7'
    """
    if cell is None or (not isinstance(cell, str) and pd.isna(cell)):
        return ""
    if isinstance(cell, (str, bool)):
        return level_words(cell)
    if column in {"p_value", "p_holm", "p_bh", "p_adjusted", "p_between_runs"}:
        return p_words(float(cell))
    if isinstance(cell, int) and column != "n" and not column.startswith("n_"):
        return str(cell)
    if isinstance(cell, int) or (column in {"df", "df_error"} and cell == int(cell)):
        return f"{cell:,.0f}"
    if column == "temperature":
        return f"{cell:g}"
    return number(float(cell), 1 if column in {"df", "df_error"} else digits)


def p_words(p_value: float) -> str:
    """Return a p value with three decimals, in APA style.

    Examples
    --------
    >>> p_words(0.0499), p_words(1.0), p_words(0.00049)
    ('.050', '1.000', '< .001')
    """
    return "< .001" if p_value < 0.001 else f"{p_value:.3f}".removeprefix("0")


def number(value: float, digits: int = 3) -> str:
    """Return a number as text with `digits` decimals.

    A number that would round to 0 has two significant digits. A number of `LARGE` or more has one decimal.
    """
    if math.isnan(value):
        return ""
    if not math.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if value != 0 and abs(value) < 0.5 * 10**-digits:
        text = f"{abs(value):.{1 - math.floor(math.log10(abs(value)))}f}".rstrip("0")
    else:
        text = f"{abs(value):,.{digits if abs(value) < LARGE else 1}f}"
    return f"−{text}" if value < 0 else text


def minute(time: str) -> str:
    """Return a time (ISO 8601, UTC) to the minute.

    Examples
    --------
    >>> minute("2026-11-22T10:00:31+00:00")
    '2026-11-22 10:00 UTC'
    """
    return f"{time[:16].replace('T', ' ')} UTC"


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table as one dictionary per row, for the templates."""
    return table.to_dict("records")  # type: ignore[return-value]
