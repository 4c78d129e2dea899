"""Tables of a fitted model: random effects, and a test for each term."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from analysis.statistics.mixed_models.design_matrix import INTERCEPT, DesignColumn, design_columns
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


def type_three_tests(columns: Sequence[DesignColumn], found: Estimates) -> pd.DataFrame:
    """Return the Wald chi-square test of each term."""
    terms = [column.term for column, kept in zip(columns, found.retained, strict=True) if kept]
    rows = []
    for term in dict.fromkeys(terms):
        places = [place for place, other in enumerate(terms) if other == term]
        covariance = found.covariance[np.ix_(places, places)]
        errors = np.sqrt(np.diag(covariance))
        chisq = np.nan
        if np.isfinite(covariance).all():
            # Compute in units of the standard errors, so that the scales of covariates do not matter.
            z, correlation = found.coefficients[places] / errors, covariance / np.outer(errors, errors)
            chisq = float(z @ np.linalg.lstsq(correlation, z)[0])
        rows.append((":".join(term) or INTERCEPT, chisq, len(places), float(stats.chi2.sf(chisq, len(places)))))
    return pd.DataFrame(rows, columns=["term", "chisq", "df", "p_value"])
