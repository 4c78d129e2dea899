"""Fit an ordinal model, and return its estimates in the form of other models, with a table of thresholds."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.statistics.mixed_models.cumulative_logit import fit_cumulative_logit
from analysis.statistics.mixed_models.design_matrix import Floats
from analysis.statistics.mixed_models.engine import Estimates, GroupedEffect, estimate
from analysis.statistics.mixed_models.wald_tests import wald_table
from batteries.errors import InputError

MOST_CATEGORIES = 20
LARGEST_LOG_ODDS = 10.0
"""If a coefficient or a standard error is larger than this number, the outcome is probably predicted perfectly."""
NEEDS_INTERCEPT = (
    "an ordinal model has thresholds instead of an intercept, so the intercept cannot be removed. Fix: delete `0` or "
    "`- 1` from the formula."
)
NO_SLOPES = (
    "an ordinal model can have random intercepts, but no random slopes. Fix: write `(1 | group)`, or use the family "
    "`gaussian`."
)
SEPARATED = (
    "The outcome is probably predicted perfectly (separation), because estimates or standard errors are beyond "
    f"{LARGEST_LOG_ODDS:g} log-odds."
)


@dataclass(frozen=True, eq=False)
class OrdinalEstimates:
    """Estimates of an ordinal model."""

    estimates: Estimates
    """The estimates. The first coefficient (of the constant column) is minus the mean of the thresholds."""
    thresholds: pd.DataFrame
    """Table with the columns `threshold` (such as `1|2`), `estimate`, `std_error`, `ci_low`, `ci_high`."""


def ordinal_estimate(
    outcome: Floats, columns: Sequence[Floats], effects: Sequence[GroupedEffect], confidence: float
) -> OrdinalEstimates:
    r"""Fit an ordinal model: a cumulative logit model, with or without random intercepts.

    Parameters
    ----------
    outcome : array of float, shape (n,)
        The category of each row, as a number. Only the order of the numbers counts.
    columns : sequence of p arrays of float, shape (n,)
        The columns of the design matrix. The first column is constant.
    effects : sequence of GroupedEffect
        The random intercepts.
    confidence : float
        Confidence level of the intervals of thresholds.

    Raises
    ------
    InputError
        If the outcome has too few or too many categories, the first column is not constant, or a random effect has
        slopes.

    Notes
    -----
    See `fit_cumulative_logit`. The thresholds replace the intercept, so the zero point of the latent scale must be
    chosen. As in emmeans, it is the mean :math:`\bar\alpha` of the thresholds. So the coefficient of the constant
    column is :math:`-\bar\alpha`.
    """
    values, categories = np.unique(outcome, return_inverse=True)
    _check(values, columns, effects)
    # A linear model of the same columns finds those that are combinations of earlier columns.
    retained = estimate(outcome, columns, [], family="gaussian", reml=False).retained
    others = np.flatnonzero(retained)[1:]
    design = np.column_stack([columns[place] for place in others]) if len(others) else np.empty((len(outcome), 0))
    found = fit_cumulative_logit(categories, design, [effect.groups for effect in effects])

    n_thresholds, n_slopes = len(found.thresholds), len(found.slopes)
    rows = np.zeros((1 + n_slopes, n_thresholds + n_slopes))
    rows[0, :n_thresholds] = -1 / n_thresholds
    rows[1:, n_thresholds:] = np.eye(n_slopes)
    fixed = np.concatenate([found.thresholds, found.slopes])
    covariance = rows @ found.covariance @ rows.T
    is_separated = _is_separated(found.slopes, covariance[1:, 1:], design)
    n_parameters = len(fixed) + len(effects)
    table = wald_table(fixed, found.covariance, np.nan, np.eye(len(fixed))[:n_thresholds], confidence)
    names = [f"{low:g}|{high:g}" for low, high in itertools.pairwise(values)]
    return OrdinalEstimates(
        Estimates(
            coefficients=rows @ fixed,
            covariance=covariance,
            retained=retained,
            random_covariances=tuple(np.array([[sd**2]]) for sd in found.sds),
            residual_variance=np.nan,
            dispersion=np.nan,
            degrees=np.nan,
            fitted=np.empty(0),
            loglik=found.loglik,
            aic=2 * n_parameters - 2 * found.loglik,
            bic=np.log(len(outcome)) * n_parameters - 2 * found.loglik,
            converged=found.converged and not is_separated,
            singular=bool((found.sds == 0).any()),
            nearly_redundant=(),
            remarks=(SEPARATED,) if is_separated else (),
        ),
        table.assign(threshold=names)[["threshold", "estimate", "std_error", "ci_low", "ci_high"]],
    )


def _check(values: Floats, columns: Sequence[Floats], effects: Sequence[GroupedEffect]) -> None:
    if not 3 <= len(values) <= MOST_CATEGORIES:
        family = "`binomial`" if len(values) < 3 else "`gaussian`"
        raise InputError(
            f"the outcome of an ordinal model has {len(values):,} categories, but it must have 3 to {MOST_CATEGORIES}. "
            f"Fix: use the family {family}."
        )
    if not (columns and (columns[0] == 1).all()):
        raise InputError(NEEDS_INTERCEPT)
    if any(effect.slopes for effect in effects):
        raise InputError(NO_SLOPES)


def _is_separated(slopes: Floats, covariance: Floats, design: Floats) -> bool:
    if not len(slopes):
        return False
    errors: npt.NDArray[np.float64] = np.sqrt(np.diag(covariance))
    # Indicators of levels are not scaled: their coefficient is the difference between two levels.
    spread = np.where(((design == 0) | (design == 1)).all(axis=0), 1.0, design.std(axis=0))
    return bool((np.maximum(np.abs(slopes), errors) * spread > LARGEST_LOG_ODDS).any())
