"""Firth's bias reduction of a logistic model, whose estimates are finite even if the outcome is perfectly predicted."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from analysis.statistics.mixed_models.design_matrix import Floats
from analysis.statistics.mixed_models.engine import Estimates, GroupedEffect, estimate

MOST_STEPS = 100
SMALLEST_STEP = 1e-6
"""The search ends when no row's log-odds change by more than this number."""
SMALLEST_WEIGHT = 1e-12
"""Smallest additional weight of a row. If a predicted probability is 0 or 1 to the last digit, the weight would be 0,
but glmm needs positive weights.
"""


def bias_reduced_estimate(
    outcome: Floats, columns: Sequence[Floats], effects: Sequence[GroupedEffect], retained: npt.NDArray[np.bool_]
) -> Estimates:
    r"""Fit a logistic model with Firth's bias reduction.

    Parameters
    ----------
    outcome : array of float, shape (n,)
        The outcome of each row, 0 or 1.
    columns : sequence of p arrays of float, shape (n,)
        The columns of the design matrix.
    effects : sequence of GroupedEffect
        Random effects; empty for a model without random effects.
    retained : array of bool, shape (p,)
        True for each column that is not a linear combination of earlier columns.

    Raises
    ------
    InputError
        If the package glmm cannot fit the model.

    Notes
    -----
    The weight of each row is increased by :math:`h_i / 2`. A copy of the row with the other outcome and the weight
    :math:`h_i / 2` is added, where

    .. math:: h_i = w_i\, x_i^\top (X^\top W X)^{-1} x_i, \quad w_i = \pi_i (1 - \pi_i), \quad \pi_i =
        \frac{1}{1 + e^{-x_i^\top \beta}}.

    The model is fitted to these rows again and again, until the coefficients do not change. Without random effects,
    the result solves Firth's equations :math:`\sum_i (y_i - \pi_i + h_i (1/2 - \pi_i))\, x_i = 0`. So the penalty is
    Jeffreys' prior of the fixed effects. With random effects, the additional rows belong to the same groups as the
    original rows, as in Greenland and Mansournia's data augmentation. The sum of all additional weights is the number
    of coefficients. Without random effects, the covariance is :math:`(X^\top W X)^{-1}`. With random effects, it is
    the covariance of the fit to the weighted rows. Likelihood, AIC and BIC are missing.

    References
    ----------
    Firth, D. (1993). Bias reduction of maximum likelihood estimates. Biometrika, 80, 27-38.
    Heinze, G., & Schemper, M. (2002). A solution to the problem of separation in logistic regression. Statistics in
    Medicine, 21, 2409-2419.
    Greenland, S., & Mansournia, M. A. (2015). Penalization, bias reduction, and default priors in logistic and related
    categorical and survival regressions. Statistics in Medicine, 34, 3133-3143.
    """
    n = len(outcome)
    design = np.column_stack(columns)[:, retained]
    outcomes = np.concatenate([outcome, 1 - outcome])
    both = [np.tile(column, 2) for column in columns]
    groups = [GroupedEffect(np.tile(effect.groups, 2), effect.slopes) for effect in effects]
    coefficients = np.zeros(design.shape[1])
    for _ in range(MOST_STEPS):
        half = np.maximum(_leverages(design, coefficients) / 2, SMALLEST_WEIGHT)
        weights = np.concatenate([1 + half, half])
        found = estimate(outcomes, both, groups, family="binomial", reml=False, weights=weights)
        step, coefficients = design @ (found.coefficients - coefficients), found.coefficients
        if not np.isfinite(step).all() or np.abs(step).max() <= SMALLEST_STEP:
            break
    else:
        found = replace(found, converged=False)
    covariance = found.covariance
    if not effects and np.isfinite(coefficients).all():
        covariance = np.asarray(np.linalg.inv(_information(design, coefficients)), dtype=float)
    return replace(found, covariance=covariance, fitted=found.fitted[:n], loglik=np.nan, aic=np.nan, bic=np.nan)


def _weights(design: Floats, coefficients: Floats) -> Floats:
    probabilities = expit(design @ coefficients)
    return np.asarray(probabilities * (1 - probabilities))


def _information(design: Floats, coefficients: Floats) -> Floats:
    return np.asarray((design.T * _weights(design, coefficients)) @ design)


def _leverages(design: Floats, coefficients: Floats) -> Floats:
    solved = np.linalg.solve(_information(design, coefficients), design.T)
    return np.asarray(_weights(design, coefficients) * (design.T * solved).sum(axis=0))
