"""Analysis of confidence ratings: confidence compared with accuracy, for each subject."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.data.row_filters import chosen_rows, require_columns
from analysis.planned.run_groups import who_of
from analysis.planned.tables import numeric, planned_table
from analysis.sentences import level_words
from analysis.statistics.confidence_ratings import bins_of, calibration, ece_if_calibrated
from analysis.statistics.factor_levels import level_text
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedAnalyses, PlannedConfidence, PlannedTable

FULL_SCALE = {"share": 1.0, "percent": 100.0}
"""The highest possible confidence rating on each scale."""
BOUNDS = {"confidence": (0.0, 1.0), "overconfidence": (-1.0, 1.0), "brier": (0.0, 1.0)}
"""Lowest and highest possible value of each mean with an interval from the t distribution."""
NAMES = {"confidence": "mean_confidence", "accuracy": "accuracy", "overconfidence": "overconfidence", "brier": "brier"}
"""The averaged columns, and the names of the means in the result table."""
OF_UNITS = ("n", "n_participants", "n_runs", "unit")
EVERYONE = "everyone"


@dataclass(frozen=True)
class ConfidenceRatings:
    """The result tables of one entry under `confidence_ratings` in the plan."""

    planned: PlannedConfidence
    by: tuple[str, ...]
    """The factors of the tables: the subject, and the factors of the plan."""
    table: pd.DataFrame
    """One row for each subject and combination of levels; see `confidence_ratings`."""
    bins: pd.DataFrame
    """One row for each bin of each row of `table`: the factors, `bin_low`, `bin_high`, `n`, `mean_confidence`,
    `accuracy`, `ci_low`, `ci_high`. Bins without responses have no row."""
    who: str
    """The origin of the trials: `people`, `models` or `everyone`; empty for data that are not from a study."""


def confidence_ratings(
    data: pd.DataFrame, name: str, planned: PlannedConfidence, plan: PlannedAnalyses, item_cluster: str | None = None
) -> ConfidenceRatings:
    """Return the tables of the confidence ratings `name` of the plan.

    Parameters
    ----------
    data : DataFrame
        The rows to analyze, one per response.
    name : str
        Name of the entry in the plan.
    planned : PlannedConfidence
        The entry: columns of correctness and confidence, scale, factors and number of bins.
    plan : PlannedAnalyses
        The plan. It states the column of the subject, the confidence level of the intervals, and the seed for
        `ece_if_calibrated`.
    item_cluster : str, optional
        Column with the groups of related items, as in the analysis plan of a study.

    Returns
    -------
    ConfidenceRatings
        The tables. The columns of `table` are:

        - the factors
        - `n`, `unit`, and the numbers of participants and runs, as in `planned_table`
        - `n_unrated`: rows without confidence or without correctness, which are left out
        - `mean_confidence`, `accuracy`, `overconfidence` (confidence minus accuracy) and `brier`, each with
          `..._ci_low` and `..._ci_high`
        - the other fields of `Calibration`, and `ece_if_calibrated`. They have no intervals, because they are biased
          in small samples

    Raises
    ------
    InputError
        A column is missing or has invalid values, or no row has both confidence and correctness.
    """
    what = f"the confidence ratings `{name}`"
    subject = plan.subject if plan.subject is not None else "subject"
    by = tuple(dict.fromkeys((*([subject] if subject in data else []), *planned.by)))
    require_columns(data, [*by, planned.of, planned.rating], what)
    rows = chosen_rows(data, planned.where, what)
    correct, rated = numeric(rows, planned.of, what), numeric(rows, planned.rating, what)
    _check(planned, correct, rated, what)
    there = correct.notna() & rated.notna()
    if not there.any():
        raise InputError(f"{what}: no row has both `{planned.of}` and `{planned.rating}`. Fix: choose other rows.")
    shares = rated / FULL_SCALE[planned.scale]
    # Without factors, all rows are one cell.
    factors = {factor: rows[factor] for factor in by} or {EVERYONE: pd.Series(EVERYONE, rows.index)}
    needed = ["participant", "item_id", "kind", "subject", *([item_cluster] if item_cluster else [])]
    units = {column: rows[column] for column in needed if column in rows and column not in factors}
    measured = pd.DataFrame({**factors, **units}).assign(
        confidence=shares, accuracy=correct, overconfidence=shares - correct, brier=(shares - correct) ** 2
    )
    cells = tuple(factors)
    measured = measured.assign(**{_BIN: bins_of(shares.fillna(0.0).to_numpy(), planned.bins)})[there]
    n_unrated = pd.Series((~there).astype("int64")).groupby(list(factors.values()), dropna=False, sort=False).sum()

    def table_of(by: tuple[str, ...], of: tuple[str, ...]) -> pd.DataFrame:
        asked = PlannedTable(by=by, of=of)
        table = planned_table(measured, name, asked, plan.confidence, item_cluster=item_cluster)
        for column, (low, high) in BOUNDS.items():
            if column in of:
                bounds = [f"{column}_ci_low", f"{column}_ci_high"]
                table[bounds] = table[bounds].clip(low, high)
        return table

    means = table_of(cells, tuple(NAMES))
    columns = [*cells, *(column for column in OF_UNITS if column in means)]
    table = means[columns].copy()
    table["n_unrated"] = _at(n_unrated, table, cells)
    for column, shown in NAMES.items():
        table[shown] = means[f"{column}_mean"]
        table[[f"{shown}_ci_low", f"{shown}_ci_high"]] = means[[f"{column}_ci_low", f"{column}_ci_high"]]
    parts = []
    of_cells = measured.groupby(list(cells), dropna=False, sort=False, observed=True)
    found = {_key(cell): rows for cell, rows in of_cells}
    for cell in table[list(cells)].itertuples(index=False):
        own = found[_key(cell)]
        confidence, right = own["confidence"].to_numpy(), own["accuracy"].to_numpy()
        part = vars(calibration(confidence, right, planned.bins))
        parts.append(part | {"ece_if_calibrated": ece_if_calibrated(confidence, planned.bins, plan.seed)})
    table = table.join(pd.DataFrame(parts).drop(columns="brier"))

    bins = table_of((*cells, _BIN), ("confidence", "accuracy"))
    of_bins = bins[list(cells)].assign(
        bin_low=bins[_BIN] / planned.bins, bin_high=(bins[_BIN] + 1) / planned.bins, n=bins["n"],
        mean_confidence=bins["confidence_mean"], accuracy=bins["accuracy_mean"],
        ci_low=bins["accuracy_ci_low"], ci_high=bins["accuracy_ci_high"],
    )  # fmt: skip
    if not by:
        table, of_bins = table.drop(columns=EVERYONE), of_bins.drop(columns=EVERYONE)
    return ConfidenceRatings(planned, by, table, of_bins, who_of(rows, [planned.of, planned.rating]))


_BIN = "bin"


def cell_name(row: Mapping[Any, Any], by: Sequence[str]) -> str:
    """Return the levels of a row in words, such as `people, has_beliefs: yes`; empty without factors."""
    words = {factor: level_words(row[factor]) for factor in by}
    return ", ".join(f"{factor}: {word}" if word in ("yes", "no") else word for factor, word in words.items())


def _key(cell: object) -> tuple[str, ...]:
    """Return a cell's levels as texts, which can be compared. A missing level (NaN) is not equal to itself."""
    return tuple(map(level_text, cell)) if isinstance(cell, tuple) else (level_text(cell),)


def _at(counts: pd.Series, table: pd.DataFrame, cells: tuple[str, ...]) -> list[int]:
    by_key = {_key(cell): int(n) for cell, n in counts.items()}
    return [by_key[_key(cell)] for cell in table[list(cells)].itertuples(index=False)]


def _check(planned: PlannedConfidence, correct: pd.Series, rated: pd.Series, what: str) -> None:
    if not correct.dropna().isin([0, 1]).all():
        raise InputError(
            f"{what}: the column `{planned.of}` has values other than 0 and 1 (or no and yes). Fix: set `of` to the "
            "name of the column that states whether a response is correct."
        )
    highest = FULL_SCALE[planned.scale]
    outside = rated[(rated < 0) | (rated > highest)]
    if len(outside):
        fix = "write `scale: percent`" if planned.scale == "share" and rated.max() <= 100 else "correct these values"
        raise InputError(
            f"{what}: the column `{planned.rating}` has the value {outside.iloc[0]:g}, but the scale `{planned.scale}` "
            f"is from 0 to {highest:g}. Fix: {fix}."
        )
