"""Estimation of a model by the package glmm (the engine). No other module imports glmm.

The engine receives only numbers: the columns of the design matrix with generated names, and groups as numbers. So
unusual names of columns or levels cannot change a fit.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import glmm  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.statistics.mixed_models.design_matrix import Codes, Floats
from analysis.statistics.mixed_models.wald_tests import DegreesOfFreedom, Satterthwaite
from batteries.errors import InputError

SAID_OTHERWISE = ("singular", "search_limit", "fit_failed", "glm_diverged", "design_unsolvable", "ill_conditioned",
                  "exact_profile_fallback", "gradient_search_fallback", "non_integer_response")  # fmt: skip
"""Kinds of messages of the engine that are left out of `remarks`. For most of them, another field of `Estimates`
states the same fact. The others do not affect the results.
"""


@dataclass(frozen=True, eq=False)
class GroupedEffect:
    """A random intercept for groups of rows, with or without random slopes."""

    groups: Codes
    slopes: tuple[int, ...]
    """Indices of the columns of the design matrix that have a random slope."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of a fitted model."""

    coefficients: Floats
    """Coefficients of the retained columns, shape (p,)."""
    covariance: Floats
    """Covariance of the coefficients, shape (p, p)."""
    retained: npt.NDArray[np.bool_]
    """True for each column of the design matrix that is not a linear combination of earlier columns."""
    random_covariances: tuple[Floats, ...]
    """Covariance of the intercept and slopes of each random effect. The values are missing if the fit failed."""
    residual_variance: float
    """Residual variance of a linear model; missing for other models."""
    dispersion: float
    """Dispersion of a gamma model: variance of an outcome, divided by its squared mean. Missing for other models."""
    degrees: DegreesOfFreedom
    fitted: Floats
    """Fitted means of the rows, including random effects; empty if the fit failed."""
    loglik: float
    aic: float
    bic: float
    converged: bool
    singular: bool
    nearly_redundant: tuple[int, ...]
    """Indices of the columns of the design matrix that are almost linear combinations of other columns."""
    remarks: tuple[str, ...]
    """Other messages of the engine about a converged fit, as sentences."""


def estimate(
    outcome: Floats,
    columns: Sequence[Floats],
    effects: Sequence[GroupedEffect],
    *,
    family: str,
    reml: bool,
    weights: Floats | None = None,
) -> Estimates:
    """Fit a linear, logistic or gamma model. The gamma model has a log link.

    Parameters
    ----------
    outcome : array of float, shape (n,)
        The outcome of each row.
    columns : sequence of p arrays of float, shape (n,)
        The columns of the design matrix, including the intercept.
    effects : sequence of GroupedEffect
        Random effects, at most one for each grouping of the rows. Empty for a model without random effects.
    family : {"gaussian", "binomial", "gamma"}
    reml : bool
        True to fit a linear mixed model by restricted maximum likelihood.
    weights : array of float, shape (n,), or None
        Weight of each row in the likelihood; 1 if None.

    Raises
    ------
    InputError
        If the engine cannot fit the model.
    """
    # The engine is fastest if the effects with the most levels and slopes come first; lme4 sorts in the same way.
    sizes = [(int(effect.groups.max()) + 1) * (1 + len(effect.slopes)) for effect in effects]
    order = sorted(range(len(effects)), key=lambda place: -sizes[place])
    data: dict[str, Any] = {"y": outcome} | {f"x{place}": values for place, values in enumerate(columns)}
    data |= {f"g{place}": _categories(effect.groups) for place, effect in enumerate(effects)}
    brackets = [
        "({} | g{})".format(" + ".join(["1", *(f"x{slope}" for slope in effects[place].slopes)]), place)
        for place in order
    ]
    formula = "y ~ 0 + " + " + ".join([*(f"x{place}" for place in range(len(columns))), *brackets])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            restricted = reml if effects and family == "gaussian" else None
            link = "log" if family == "gamma" else None
            fit = glmm.fit(data, formula, family, link=link, reml=restricted, weights=weights, anova_test="Wald")
        except (ValueError, RuntimeError) as refusal:
            raise InputError(f"the model cannot be fitted: {refusal}. Fix: try a simpler model.") from None
    return _estimates(fit, effects, order)


def _categories(groups: Codes) -> "pd.Categorical[int]":
    return pd.Categorical.from_codes(groups, categories=pd.RangeIndex(int(groups.max()) + 1))


def _estimates(fit: glmm.Fit, effects: Sequence[GroupedEffect], order: Sequence[int]) -> Estimates:
    retained = ~np.asarray(fit.aliased, dtype=bool)
    # A failed fit has no random effects.
    covariances = [np.full((1 + len(effect.slopes),) * 2, np.nan) for effect in effects]
    if fit.varcorr:
        for place, packed in zip(order, fit.varcorr, strict=True):
            covariances[place] = _unpacked(packed, len(covariances[place]))
    gaussian = fit.family == "gaussian"
    degrees: DegreesOfFreedom = np.nan
    if gaussian and effects:
        degrees = _satterthwaite(fit.satterthwaite_record, int(retained.sum()))
    elif gaussian or (fit.family == "gamma" and not effects):
        degrees = float(fit.nobs - retained.sum())
    return Estimates(
        coefficients=fit.beta[retained],
        covariance=fit.vcov.reshape(len(retained), -1)[np.ix_(retained, retained)],
        retained=retained,
        random_covariances=tuple(covariances),
        residual_variance=float(fit.dispersion) if gaussian else np.nan,
        dispersion=float(fit.dispersion) if fit.family == "gamma" else np.nan,
        degrees=degrees,
        fitted=fit.fitted,
        loglik=fit.loglik,
        aic=fit.aic,
        bic=fit.bic,
        converged=bool(fit.converged),
        singular=bool(fit.singular),
        nearly_redundant=tuple(
            column
            for note in fit.diagnostics["notes"]
            if note["kind"] == "ill_conditioned"
            for column in note["columns"]
        ),
        remarks=tuple(said["message"] for said in fit.warnings if fit.converged and said["kind"] not in SAID_OTHERWISE),
    )


def _unpacked(packed: Sequence[float], size: int) -> Floats:
    """Return the symmetric matrix whose lower triangle is packed column by column."""
    matrix = np.empty((size, size))
    columns, rows = np.triu_indices(size)
    matrix[rows, columns] = matrix[columns, rows] = packed
    return matrix


def _satterthwaite(record: dict[str, Any] | None, p: int) -> DegreesOfFreedom:
    """Return the numbers from which Satterthwaite's degrees of freedom are computed.

    The last variance parameter is the residual variance.
    """
    if record is None:
        return np.nan
    covariance = record["c"].reshape(p, p)
    gradients = [gradient.reshape(p, p) for gradient in record["jac_theta"]]
    gradients.append(covariance / record["tau"])
    return Satterthwaite(np.stack(gradients), record["a_eff"].reshape(len(gradients), len(gradients)))
