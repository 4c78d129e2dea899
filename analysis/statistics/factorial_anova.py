"""Analyses of variance with several factors: between units, within units, or both (mixed)."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy
from scipy.linalg import helmert

from analysis.statistics.anova import epsilon_of, sphericity_warning
from analysis.statistics.effect_sizes import (
    effect_sizes_of_f,
    partial_omega_squared_between,
    partial_omega_squared_within,
)
from analysis.statistics.factor_levels import level_text
from analysis.statistics.hypothesis_test import HypothesisTest
from analysis.statistics.t_tests import LARGEST, Floats, is_constant
from batteries.errors import InputError

Effect = tuple[str, ...]
"""The factors of an effect: one for a main effect, several for an interaction."""


def factorial_anova(
    values: pd.DataFrame, groups: pd.DataFrame | None = None, *, confidence: float = 0.95
) -> dict[Effect, HypothesisTest]:
    r"""Test all main effects and interactions of several factors, with type III tests.

    Parameters
    ----------
    values : DataFrame, shape (units, cells)
        One row per unit, such as a participant, and one column per combination of the levels of the factors within
        units. The columns are a MultiIndex with the names of these factors. Without factors within units, there is one
        column with any name. Every cell has a number.
    groups : DataFrame, shape (units, factors), optional
        One column for each factor between units, with the level of each unit. It has the same index as `values`.
    confidence : float
        Confidence level of the two-sided interval of partial eta squared.

    Returns
    -------
    dict of HypothesisTest
        One test for each effect, main effects first. The key of a test is the tuple of the effect's factors. If an
        effect has factors within units, `df` and `df_error` are multiplied by the Greenhouse-Geisser epsilon of the
        effect. The multiplied degrees of freedom are used for `p_value` and for the interval of `effect` (partial eta
        squared). If epsilon is below 1, a warning states epsilon. `estimate` is missing.

    Raises
    ------
    InputError
        A cell is missing, a factor has only one level, a combination of levels between units has no unit, there are too
        few units, or an error variance is 0.

    Notes
    -----
    The matrix :math:`Y` has the values of :math:`n` units (rows) in :math:`K` cells (columns). The design matrix
    :math:`X` has sum-to-zero contrasts for the :math:`p` combinations of levels between units. For a set :math:`w` of
    factors within units, :math:`M_w` has orthonormal contrasts of the cells, averaged over the other factors. The
    regression of :math:`Y M_w` on :math:`X` gives the coefficients :math:`B` and the matrix :math:`E` of residual sums
    of squares and products. For a set :math:`b` of factors between units, with the coefficients :math:`B_b` and their
    unscaled covariance :math:`V_b`,

    .. math::
        SS = \operatorname{tr} B_b^T V_b^{-1} B_b, \quad SS_e = \operatorname{tr} E, \quad
        F = \frac{SS / \nu_1}{SS_e / \nu_2}, \quad
        \hat\varepsilon = \frac{(\operatorname{tr} E)^2}{d \operatorname{tr} E^2},

    where :math:`d` is the number of contrasts in :math:`M_w`, :math:`\nu_1` is :math:`d` times the number of
    coefficients in :math:`B_b`, and :math:`\nu_2 = d (n - p)`. R's ``afex::aov_ez`` with its defaults gives the same
    results. If :math:`n - p < d`, afex has no correction, but the formula above still has a value.

    Partial and generalized eta squared are :math:`SS / (SS + SS_e)` and :math:`SS / (SS + \sum SS_e)`, with the sum
    over all error terms of the design. Generalized eta squared treats all factors as manipulated, not as observed
    properties of units. Partial omega squared is computed by `partial_omega_squared_within` for effects with factors
    within units, and by `partial_omega_squared_between` for other effects.

    References
    ----------
    Greenhouse, S. W., & Geisser, S. (1959). On methods in the analysis of profile data. Psychometrika, 24, 95-112.
    Olejnik, S., & Algina, J. (2003). Generalized eta and omega squared statistics: Measures of effect size for some
    common research designs. Psychological Methods, 8, 434-447.
    Singmann, H., Bolker, B., Westfall, J., Aust, F., & Ben-Shachar, M. S. (2022). afex: Analysis of factorial
    experiments. R package.

    Examples
    --------
    Four groups of two units have the means 1, 3, 2 and 8. Each value is 1 above or below its mean, so the error has a
    mean square of 2. The sums of squares are 18 for `a`, 32 for `b` and 8 for the interaction:

    >>> values = pd.DataFrame({"y": [0.0, 2, 2, 4, 1, 3, 7, 9]})
    >>> groups = pd.DataFrame({"a": [*"ppppqqqq"], "b": [*"rrssrrss"]})
    >>> {":".join(effect): round(test.statistic, 6) for effect, test in factorial_anova(values, groups).items()}
    {'a': 9.0, 'b': 16.0, 'a:b': 4.0}
    """
    design = _design(values, groups)
    cells = _numbers(values)
    cells = cells - cells.mean()
    if design.df_error < 1:
        n_cells = design.x.shape[1]
        raise InputError(
            f"an analysis of variance with {n_cells} combinations of levels between units needs at least {n_cells + 1} "
            f"units, but there are {len(cells)}. Fix: use fewer factors, or collect more data."
        )
    strata = [_Stratum.of(within, cells @ contrasts, design) for within, contrasts in design.contrasts.items()]
    largest = float(np.abs(_numbers(values)).max())
    for stratum in strata:
        if is_constant(math.sqrt(stratum.error / stratum.n_contrasts / design.df_error), largest):
            of = f"differences between levels of {' and '.join(stratum.within)}" if stratum.within else "means of units"
            raise InputError(
                f"the {of} do not vary between the units of a group, so an analysis of variance cannot be computed. "
                "Fix: leave the test out, and report the mean of each level."
            )
    tests = {
        (*between, *stratum.within): _tested(stratum, design, between, strata, confidence)
        for stratum in strata
        for between in design.columns
        if between or stratum.within
    }
    return {effect: tests[effect] for effect in sorted(tests, key=len)}


@dataclass(frozen=True, eq=False)
class _Design:
    """The design matrix of the factors between units, and the contrasts of the factors within units."""

    x: Floats
    """Design matrix with sum-to-zero contrasts, shape (units, combinations of levels between units)."""
    columns: dict[Effect, slice]
    """The columns of `x` that belong to each effect between units. The empty effect is the intercept."""
    contrasts: dict[Effect, Floats]
    """The contrasts of each effect within units, shape (cells, contrasts). The empty effect is the mean over cells."""
    test: str
    """Name of the analysis."""

    @property
    def df_error(self) -> int:
        """Degrees of freedom of the error between units."""
        n_units, n_columns = self.x.shape
        return int(n_units - n_columns)

    @property
    def inverse(self) -> Floats:
        """The unscaled covariance of the coefficients of `x`."""
        return np.asarray(np.linalg.inv(self.x.T @ self.x), dtype=float)


@dataclass(frozen=True, eq=False)
class _Stratum:
    """The regression of the contrasts of one effect within units on the design matrix, with its error."""

    within: Effect
    coefficients: Floats
    products: Floats
    """Residual sums of squares and products of the contrasts, shape (contrasts, contrasts)."""

    @classmethod
    def of(cls, within: Effect, contrasts: Floats, design: _Design) -> "_Stratum":
        coefficients = design.inverse @ design.x.T @ contrasts
        residuals = contrasts - design.x @ coefficients
        return cls(within, coefficients, residuals.T @ residuals)

    @property
    def n_contrasts(self) -> int:
        return len(self.products)

    @property
    def error(self) -> float:
        """The error sum of squares."""
        return float(np.trace(self.products))


def _tested(
    stratum: _Stratum, design: _Design, between: Effect, strata: Sequence[_Stratum], confidence: float
) -> HypothesisTest:
    """Return the test of one effect: the factors `between` units with the factors of `stratum` within units."""
    every_error = sum(one.error for one in strata)
    rows = design.columns[between]
    coefficients = stratum.coefficients[rows]
    explained = float(np.trace(coefficients.T @ np.linalg.solve(design.inverse[rows, rows], coefficients)))
    epsilon = epsilon_of(stratum.products)
    df, df_error = stratum.n_contrasts * len(coefficients), stratum.n_contrasts * design.df_error
    f = explained / df / (stratum.error / df_error)
    p_value = float(scipy.stats.f.sf(f, epsilon * df, epsilon * df_error))
    sizes = effect_sizes_of_f(f, epsilon * df, epsilon * df_error, confidence=confidence)
    if stratum.within:
        omega = partial_omega_squared_within(
            explained, stratum.error, strata[0].error, df=df, df_error=df_error, df_units=design.df_error
        )
    else:
        omega = partial_omega_squared_between(f, df, n=len(design.x))
    return HypothesisTest(
        test=design.test,
        statistic_name="F",
        statistic=f,
        p_value=p_value,
        n=len(design.x),
        df=epsilon * df,
        df_error=epsilon * df_error,
        effect_name="partial eta squared",
        effect=explained / (explained + stratum.error),
        effect_ci_low=sizes.eta_ci_low,
        effect_ci_high=sizes.eta_ci_high,
        generalized_eta_squared=explained / (explained + every_error),
        partial_omega_squared=omega,
        cohens_f=math.sqrt(explained / stratum.error),
        warnings=sphericity_warning(epsilon, p_value, float(scipy.stats.f.sf(f, df, df_error))),
    )


def _design(values: pd.DataFrame, groups: pd.DataFrame | None) -> _Design:
    between = {} if groups is None else _codes_between(groups)
    coded = {name: _sum_to_zero(int(codes.max()) + 1)[codes] for name, codes in between.items()}
    blocks = {effect: _products([coded[name] for name in effect], len(values)) for effect in _effects([*between])}
    ends = np.cumsum([block.shape[1] for block in blocks.values()]).tolist()
    within = _n_levels_within(values)
    kind = "Mixed analysis" if between and within else "Repeated-measures analysis" if within else "Analysis"
    return _Design(
        x=np.hstack([*blocks.values()]),
        columns={
            effect: slice(end - block.shape[1], end) for (effect, block), end in zip(blocks.items(), ends, strict=True)
        },
        contrasts={effect: _contrasts(effect, within) for effect in _effects([*within])},
        test=f"{kind} of variance with {len(between) + len(within)} factors (type III)",
    )


def _codes_between(groups: pd.DataFrame) -> dict[str, npt.NDArray[np.intp]]:
    """Return the index of each unit's level, for each factor between units."""
    found = {str(name): pd.factorize(groups[name]) for name in groups}
    for name, (_, levels) in found.items():
        if len(levels) < 2:
            raise InputError(f"`{name}` has only one level in these units. Fix: take `{name}` out of the test.")
    codes = {name: codes for name, (codes, _) in found.items()}
    there = set(zip(*codes.values(), strict=True))
    for cell in itertools.product(*(range(len(levels)) for _, levels in found.values())):
        if cell not in there:
            named = [f"{name} = {level_text(found[name][1][place])}" for name, place in zip(found, cell, strict=True)]
            raise InputError(
                f"no unit has {' and '.join(named)}, so the effects cannot be separated. Fix: leave out a level with "
                "`where`, or use fewer factors."
            )
    return codes


def _effects(factors: Sequence[str]) -> Iterator[Effect]:
    """Yield all sets of factors: the empty set, then main effects, then interactions."""
    for size in range(len(factors) + 1):
        yield from itertools.combinations(factors, size)


def _contrasts(effect: Effect, n_levels: Mapping[str, int]) -> Floats:
    """Return the orthonormal contrasts of an effect within units, shape (cells, contrasts)."""
    contrasts: Floats = np.ones((1, 1))
    for factor, n in n_levels.items():
        of_factor: Floats = helmert(n).T if factor in effect else np.full((n, 1), n**-0.5)
        contrasts = np.asarray(np.kron(contrasts, of_factor), dtype=float)
    return contrasts


def _sum_to_zero(n_levels: int) -> Floats:
    """Return sum-to-zero contrasts, shape (levels, levels - 1).

    The row of the last level is minus the sum of the other rows.
    """
    return np.vstack([np.eye(n_levels - 1), -np.ones(n_levels - 1)])


def _products(coded: Sequence[Floats], n: int) -> Floats:
    """Return the products of columns of several factors, for each combination of columns; ones without factors."""
    products: Floats = np.ones((n, 1))
    for one in coded:
        products = (products[:, :, None] * one[:, None, :]).reshape(n, -1)
    return products


def _n_levels_within(values: pd.DataFrame) -> dict[str, int]:
    """Return the number of levels of each factor within units."""
    if not isinstance(values.columns, pd.MultiIndex):
        if values.shape[1] == 1:
            return {}
        return {str(values.columns.name): values.shape[1]}
    return {
        str(name): values.columns.get_level_values(place).nunique() for place, name in enumerate(values.columns.names)
    }


def _numbers(values: pd.DataFrame) -> Floats:
    cells = values.to_numpy(dtype=float, na_value=np.nan)
    incomplete = int((~(np.abs(cells) <= LARGEST)).any(axis=1).sum())
    if incomplete:
        raise InputError(
            f"{incomplete} of {len(cells)} units have no value at one or more combinations of levels. Fix: exclude "
            "these units first, or fit a mixed model, which uses incomplete units."
        )
    return cells
