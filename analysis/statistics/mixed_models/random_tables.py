"""Tables of the random effects of a fitted model."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.statistics.mixed_models.design_matrix import DesignColumn, design_columns
from analysis.statistics.mixed_models.engine import Estimates, GroupedEffect
from analysis.statistics.mixed_models.formulas import Formula
from analysis.statistics.mixed_models.model_frame import ModelFrame


def random_tables(
    formula: Formula,
    effects: Sequence[GroupedEffect],
    found: Estimates,
    columns: Sequence[DesignColumn],
    frame: ModelFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the standard deviations of the random effects, and their correlations."""
    rows: list[tuple[str, str, float]] = []
    correlations: list[tuple[str, str, str, float]] = []
    for bracket, effect, covariance in zip(formula.random, effects, found.random_covariances, strict=True):
        terms = [DesignColumn(()), *(columns[place] for place in effect.slopes)]
        if not bracket.intercept:
            # Convert the reference level and the differences from this level to the levels themselves.
            sums = np.eye(len(covariance))
            sums[:, 0] = 1.0
            covariance = sums @ covariance @ sums.T  # noqa: PLW2901
            terms = list(design_columns(False, bracket.slopes, frame.n_levels))
        names = [term.name(frame.levels) for term in terms]
        deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        scale = np.outer(deviations, deviations)
        correlation = np.divide(covariance, scale, out=np.full_like(scale, np.nan), where=scale > 0)
        group = bracket.group_name
        rows += [(group, name, float(deviation)) for name, deviation in zip(names, deviations, strict=True)]
        correlations += [
            (group, names[first], names[second], float(correlation[first, second]))
            for first in range(len(names))
            for second in range(first + 1, len(names))
        ]
    if np.isfinite(found.residual_variance):
        rows.append(("Residual", "", float(np.sqrt(found.residual_variance))))
    return (
        pd.DataFrame(rows, columns=["group", "term", "sd"]).astype({"sd": float}),
        pd.DataFrame(correlations, columns=["group", "term_1", "term_2", "correlation"]).astype({"correlation": float}),
    )
