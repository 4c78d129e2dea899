"""The analyses of variance with several factors in a plan."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.planned.unit_values import VALUE, incomplete_units_note, unit_values
from analysis.sentences import count
from analysis.statistics.factorial_anova import Effect, factorial_anova
from analysis.statistics.hypothesis_test import HypothesisTest
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedTest

MOST_CELLS = 1_000
"""Largest number of combinations of levels of the factors within units."""


def factorial_test(
    rows: pd.DataFrame, levels: Mapping[str, Sequence[Any]], planned: PlannedTest, confidence: float
) -> tuple[dict[Effect, HypothesisTest], tuple[str, ...]]:
    """Run an analysis of variance with several factors.

    Parameters
    ----------
    rows
        Data with a level of each factor in each row.
    levels
        The levels of each factor.
    planned
        The test, as written in the plan.
    confidence
        Confidence level of the intervals of partial eta squared.

    Returns
    -------
    dict of HypothesisTest
        The test of each main effect and interaction. The key is the tuple of the factors.
    tuple of str
        Sentences on rows and units that are left out.

    Raises
    ------
    InputError
        If a unit has several levels of a factor in `between`, or if there are too many combinations of levels. Also if
        the analysis cannot be computed from the values.
    """
    between, within = [*planned.between_factors], [*planned.within_factors]
    if (n_cells := math.prod(len(levels[factor]) for factor in within)) > MOST_CELLS:
        raise InputError(
            f"the factors within units have {n_cells:,} combinations of levels, which need too much memory. Fix: fit a "
            "mixed model, with a random effect such as `(1 | item_id)` for a factor with many levels."
        )
    table, notes = unit_values(rows, levels, planned)
    _refuse_varying(table, between)
    values = table[VALUE]
    if within:
        cells = values.unstack(within)
        wanted = (
            pd.Index(levels[within[0]], name=within[0])
            if len(within) == 1
            else pd.MultiIndex.from_product([levels[factor] for factor in within], names=within)
        )
        units = cells.reindex(columns=wanted)
    else:
        units = values.to_frame()
    complete = units.dropna()
    if complete.empty:
        raise InputError(
            f"no unit has a value at every combination of levels of {' and '.join(within)}. Fix: move factors with one "
            "level per unit to `between`, or leave out levels with `where`."
        )
    notes += incomplete_units_note(len(units) - len(complete))
    groups = complete.index.to_frame(index=False)[between] if between else None
    return factorial_anova(complete.reset_index(drop=True), groups, confidence=confidence), notes


def _refuse_varying(table: pd.DataFrame, between: Sequence[str]) -> None:
    """Raise InputError if a unit, such as a participant, has several levels of a factor in `between`."""
    index = table.index.to_frame(index=False)
    for factor in between:
        n_several = int((index.groupby(index.columns[0], observed=True)[factor].nunique() > 1).sum())
        if n_several:
            raise InputError(
                f"{count(n_several, 'unit has', 'units have')} values at more than one level of `{factor}`, so it is "
                f"not a factor between units. Fix: move `{factor}` to `within`."
            )
