"""Columns of a formula's design matrix, with R's treatment contrasts and R's names of the coefficients."""

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.statistics.mixed_models.formulas import Term

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

INTERCEPT = "(Intercept)"


@dataclass(frozen=True, eq=False)
class Factor:
    """The levels of a factor in the rows of the data."""

    levels: tuple[object, ...]
    """The levels, with the reference level first."""
    codes: Codes
    """Index of each row's level in `levels`."""


@dataclass(frozen=True)
class DesignColumn:
    """One column of a design matrix: a product of covariates and of indicators of levels."""

    parts: tuple[tuple[str, int | None], ...]
    """Each variable of the term, with the index of its level, or None for a covariate. The intercept has no parts."""

    @property
    def term(self) -> Term:
        return tuple(variable for variable, _ in self.parts)

    def name(self, levels: Mapping[str, Sequence[object]]) -> str:
        """Return the name of the coefficient as in R: each variable with its level, joined by `:`."""
        named = (v if level is None else f"{v}{levels[v][level]}" for v, level in self.parts)
        return ":".join(named) or INTERCEPT

    def words(self, levels: Mapping[str, Sequence[object]], level_words: Callable[[object], str]) -> str:
        """Return the name of the coefficient for a reader: each variable with its level, joined by `×`."""
        named = (v if level is None else f"{v}: {level_words(levels[v][level])}" for v, level in self.parts)
        return " × ".join(named) or INTERCEPT

    def product(self, value_of: Callable[[str, int | None], Floats | float]) -> Floats | float:
        """Return the product of `value_of(variable, level)` over all parts. Return 1 for the intercept."""
        return math.prod((value_of(variable, level) for variable, level in self.parts), start=1.0)


def design_columns(intercept: bool, terms: Sequence[Term], n_levels: Mapping[str, int]) -> tuple[DesignColumn, ...]:
    r"""Return the columns of a design matrix in R's order.

    Parameters
    ----------
    intercept : bool
        True if the model has an intercept.
    terms : sequence of tuple of str
        The terms in R's order; see `parse_formula`.
    n_levels : mapping of str to int
        The number of levels of each factor. A variable that is not in this mapping is a covariate.

    Notes
    -----
    Let :math:`f` be a factor in a term :math:`T`, and let :math:`T \setminus f` be the term without this factor. If
    :math:`T \setminus f` is empty or is part of an earlier term, :math:`f` has an indicator (a column of 0 and 1) for
    each level except the reference level. Otherwise :math:`f` has an indicator for each level. Without an intercept,
    there is one exception: the first factor of the first term with a factor has an indicator for each level. In an
    interaction, the level of the first factor changes fastest.

    References
    ----------
    Chambers, J. M., & Hastie, T. J. (1992). Statistical models in S. Wadsworth. Page 38.

    Examples
    --------
    >>> columns = design_columns(True, [("a",), ("a", "x")], {"a": 3})
    >>> [column.name({"a": ["p", "q", "r"]}) for column in columns]
    ['(Intercept)', 'aq', 'ar', 'ap:x', 'aq:x', 'ar:x']
    """
    columns = [DesignColumn(())] if intercept else []
    for places in _level_places(intercept, terms, n_levels):
        # itertools.product changes the last factor fastest, but R changes the first factor fastest.
        columns += [
            DesignColumn(tuple(zip(places, reversed(chosen), strict=True)))
            for chosen in itertools.product(*reversed(places.values()))
        ]
    return tuple(columns)


def n_design_columns(intercept: bool, terms: Sequence[Term], n_levels: Mapping[str, int]) -> int:
    """Return the number of columns that `design_columns` would return, without making them."""
    return intercept + sum(math.prod(map(len, places.values())) for places in _level_places(intercept, terms, n_levels))


def _level_places(
    intercept: bool, terms: Sequence[Term], n_levels: Mapping[str, int]
) -> list[dict[str, Sequence[int | None]]]:
    """Return the indices of the levels that have a column, for each variable of each term.

    A covariate has None instead of indices.
    """
    coded: list[dict[str, Sequence[int | None]]] = []
    first_factor_is_coded = intercept
    for place, term in enumerate(terms):
        earlier = [set(other) for other in terms[:place]]
        places: dict[str, Sequence[int | None]] = {}
        for variable in term:
            if variable not in n_levels:
                places[variable] = (None,)
                continue
            margin = set(term) - {variable}
            has_margin = not margin or any(margin <= other for other in earlier)
            places[variable] = range(1 if has_margin and first_factor_is_coded else 0, n_levels[variable])
            first_factor_is_coded = True
        coded.append(places)
    return coded


def column_values(
    column: DesignColumn, factors: Mapping[str, Factor], covariates: Mapping[str, Floats], n: int
) -> Floats:
    """Return the column's values in the `n` rows of the data."""

    def value(variable: str, level: int | None) -> Floats:
        return covariates[variable] if level is None else (factors[variable].codes == level).astype(float)

    return np.broadcast_to(np.asarray(column.product(value)), n)


def averaged_row(
    columns: Sequence[DesignColumn],
    levels: Mapping[str, Sequence[object]],
    covariates: Mapping[str, float],
    cell: Mapping[str, int],
    slopes: Collection[str] = (),
) -> Floats:
    """Return one weight for each coefficient. The weighted sum of the coefficients is a marginal mean.

    With `slopes`, the weighted sum is a marginal slope.

    Parameters
    ----------
    columns : sequence of DesignColumn
        The columns of the design matrix.
    levels : mapping of str to sequence
        Levels of each factor.
    covariates : mapping of str to float
        Value of each covariate.
    cell : mapping of str to int
        The index of one level, for each factor that is fixed at this level. The mean is taken over all levels of other
        factors.
    slopes : collection of str
        Covariates for a marginal slope: the change of the mean if the product of these covariates grows by 1.
    """

    def weight(variable: str, level: int | None) -> float:
        if level is None:
            return 1.0 if variable in slopes else covariates[variable]
        if variable in cell:
            return float(cell[variable] == level)
        return 1 / len(levels[variable])

    # Levels of different factors are combined in all ways, so the average of a product is the product of averages.
    weights = [column.product(weight) if set(slopes) <= set(column.term) else 0.0 for column in columns]
    return np.array(weights, dtype=float)
