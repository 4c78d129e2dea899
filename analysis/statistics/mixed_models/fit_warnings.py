"""Warnings about a fitted model, as sentences. The report shows them before the numbers."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.statistics.mixed_models.design_matrix import DesignColumn, Floats
from analysis.statistics.mixed_models.engine import Estimates
from analysis.statistics.mixed_models.formulas import Formula
from analysis.statistics.mixed_models.model_frame import ModelFrame

NEGLIGIBLE_SHARE = 1e-4
"""A standard deviation below this share of the residual standard deviation counts as zero, as in lme4's
`isSingular`."""
SEPARATED_LOG_ODDS = 10.0
"""Larger log-odds (odds above 22,000 to 1) suggest a perfectly predicted outcome, because no experiment can measure
them.
"""
SMALL_SPREAD = 1e-6
"""A covariate whose SD is below this share of its mean can hardly be distinguished from the intercept."""
MOST_NAMED = 5


def fit_warnings(estimates: Estimates, random: pd.DataFrame) -> tuple[str, ...]:
    """Return sentences on problems of the search for the estimates.

    Parameters
    ----------
    estimates : Estimates
        The result of the fit.
    random : DataFrame
        The random effects, with the columns `group`, `term`, `sd`.
    """
    said = []
    if not np.isfinite(estimates.coefficients).all():
        said.append(
            "The fit failed and has no estimates. Fix: check that the predictors do not predict the outcome exactly, "
            "and fit a simpler model."
        )
    elif not estimates.converged:
        said.append(
            "The fit did not converge: do not use its estimates, intervals or p values. Fix: fit a simpler model."
        )
    if estimates.singular:
        said.append(
            "The fit is singular: a random effect has no variance, or is fully correlated with another random "
            "effect. The random effects are too complex for these data; do not rely on p values and intervals. Fix: "
            "simplify the random effects."
        )
    residual = np.sqrt(estimates.residual_variance) if np.isfinite(estimates.residual_variance) else 1.0
    for effect in random[random["sd"] < NEGLIGIBLE_SHARE * residual].itertuples():
        said.append(f"The random effect `{effect.term}` of `{effect.group}` is estimated as zero.")
    return (*said, *estimates.remarks)


def redundancy_warnings(
    columns: Sequence[DesignColumn], names: Sequence[str], estimates: Estimates, frame: ModelFrame
) -> tuple[str, ...]:
    """Return sentences on redundant and almost redundant coefficients, and on duplicate names of coefficients."""
    said = []
    left_out = [name for name, retained in zip(names, estimates.retained, strict=True) if not retained]
    if left_out:
        empty = _empty_cells(columns, frame)
        why = f" No row has {_cells_in_words(empty, frame)}." if empty else ""
        said.append(
            f"These coefficients are redundant and were left out: {_quoted(left_out)}. Each of these coefficients is a "
            f"combination of other coefficients.{why} Means and contrasts that need these coefficients are missing."
        )
    small = [
        name for name, values in frame.covariates.items() if 0 < values.std() < SMALL_SPREAD * abs(float(values.mean()))
    ]
    if left_out and small:
        said.append(
            f"These covariates are too far from 0, compared with their variation: {_quoted(small)}. Fix: subtract the "
            "mean of each of these covariates before the fit."
        )
    if estimates.nearly_redundant:
        nearly = _quoted([names[place] for place in estimates.nearly_redundant])
        said.append(
            f"These coefficients are almost redundant: {nearly}. The data hardly distinguish these coefficients from "
            "other coefficients."
        )
    twice = dict.fromkeys(name for name in names if names.count(name) > 1)
    if twice:
        said.append(f"Several coefficients have the same name: {_quoted(list(twice))}. Fix: rename columns or levels.")
    return tuple(said)


def separation(
    formula: Formula, columns: Sequence[DesignColumn], names: Sequence[str], estimates: Estimates, frame: ModelFrame
) -> tuple[str, ...]:
    r"""Return parts of sentences on cells in which a logistic model predicts the outcome perfectly (separation).

    Without separation, the result is empty.

    Notes
    -----
    A cell is a combination of levels of the factors in a fixed effect. If all outcomes in a cell are the same, its
    log-odds have no finite estimate (Albert & Anderson, 1984).

    For covariates, the criterion is a coefficient or standard error above 10 on the log-odds scale, for a change of
    one standard deviation. The criterion does not apply to a term that is part of an interaction with a covariate. The
    coefficients of such a term are estimated where the covariate is 0, which may be far from all data.

    References
    ----------
    Albert, A., & Anderson, J. A. (1984). On the existence of maximum likelihood estimates in logistic regression
    models. Biometrika, 71, 1-10.
    """
    said = []
    cells = _constant_cells(formula, frame)
    for value, which in itertools.groupby(sorted(cells, key=lambda cell: cells[cell]), key=lambda cell: cells[cell]):
        said.append(f"every outcome is {value:g} at {_cells_in_words(list(which), frame)}")
    retained = [place for place, kept in enumerate(estimates.retained) if kept]
    with_covariates = [frozenset(c.term) for c in columns if any(level is None for _, level in c.parts)]
    beyond = []
    for place, coefficient, variance in zip(
        retained, estimates.coefficients, np.diag(estimates.covariance), strict=True
    ):
        term = frozenset(columns[place].term)
        if any(term < other and (other - term) & frame.covariates.keys() for other in with_covariates):
            continue
        spread = float(columns[place].product(lambda v, level: frame.covariates[v].std() if level is None else 1.0))
        if max(abs(coefficient), np.sqrt(variance)) * spread > SEPARATED_LOG_ODDS:
            beyond.append(names[place])
    diverged = not np.isfinite(estimates.covariance).all()
    if not cells and (beyond or diverged):
        sign = f"estimates or standard errors are beyond {SEPARATED_LOG_ODDS:g} log-odds: {_quoted(beyond)}"
        said.append(f"the outcome is probably predicted perfectly, because {sign if beyond else 'the search diverged'}")
    return tuple(said)


def separation_warnings(separated: Sequence[str]) -> tuple[str, ...]:
    """Return warnings about a model that was fitted with bias reduction. `separated` is the result of `separation`."""
    return tuple(
        f"{clause[:1].upper()}{clause[1:]} (separation), so the likelihood has no finite maximum. For this reason, all "
        "results of this model are from a fit with Firth's bias reduction, not from maximum likelihood."
        for clause in separated
    )


def duplicate_warnings(data: pd.DataFrame, formula: Formula, frame: ModelFrame) -> tuple[str, ...]:
    """Return a sentence if some rows are equal to other rows in every column of the data.

    If the data have only the formula's columns, an outcome with few values can have equal rows without a mistake. Then
    the function returns no sentence.
    """
    # Rows that are equal in all columns are equal in the formula's columns, which are faster to compare.
    codes = [factor.codes for factor in frame.factors.values()]
    used = pd.DataFrame(dict(enumerate([frame.outcome, *frame.covariates.values(), *codes, *frame.groups])))
    alike = np.zeros(len(data), dtype=bool)
    alike[frame.kept] = used.duplicated(keep=False)
    candidates = data.loc[alike, ~data.columns.duplicated()]
    for name in candidates.columns[[dtype.kind == "O" for dtype in candidates.dtypes]]:
        # Lists and mappings are compared as text.
        if pd.api.types.infer_dtype(candidates[name], skipna=True) == "mixed":
            candidates = candidates.assign(**{name: candidates[name].map(repr)})
    n_again = int(candidates.duplicated().sum())
    if not n_again:
        return ()
    n_values = data[formula.outcome].nunique()
    if set(data.columns) <= set(formula.columns) and n_values <= (frame.n - n_again) / 2:
        return ()
    return (
        f"{n_again} of {frame.n} rows are equal to an earlier row in every column. Fix: remove these rows if they are "
        "copies.",
    )


_Cell = frozenset[tuple[str, int]]


def _constant_cells(formula: Formula, frame: ModelFrame) -> dict[_Cell, float]:
    """Return the cells in which all outcomes are the same, and the outcome of each cell.

    A cell is left out if it is part of a larger returned cell.
    """
    found: dict[_Cell, float] = {}
    for term in formula.terms:
        if any(variable in frame.covariates for variable in term):
            continue
        counts, ones = _cell_counts(term, frame, None), _cell_counts(term, frame, frame.outcome)
        for places in np.argwhere((counts > 0) & ((ones == 0) | (ones == counts))).tolist():
            cell = frozenset(zip(term, places, strict=True))
            if not any(larger <= cell for larger in found):
                found[cell] = float(ones[tuple(places)] > 0)
    return found


def _empty_cells(columns: Sequence[DesignColumn], frame: ModelFrame) -> list[_Cell]:
    """Return the combinations of factor levels without data, for each term of the formula.

    If a combination of fewer levels has no data either, only this shorter combination is returned.
    """
    found: list[_Cell] = []
    for term in dict.fromkeys(column.term for column in columns):
        if not term or any(variable in frame.covariates for variable in term):
            continue
        for places in np.argwhere(_cell_counts(term, frame, None) == 0).tolist():
            cell = frozenset(zip(term, places, strict=True))
            if not any(larger <= cell for larger in found):
                found.append(cell)
    return found


def _cell_counts(term: Sequence[str], frame: ModelFrame, weights: Floats | None) -> Floats:
    """Return the number of rows, or the sum of weights, in each cell of a term of factors."""
    factors = [frame.factors[variable] for variable in term]
    shape = tuple(len(factor.levels) for factor in factors)
    cells = np.ravel_multi_index(tuple(factor.codes for factor in factors), shape)
    return np.bincount(cells, weights, minlength=int(np.prod(shape))).reshape(shape).astype(float)


def _cells_in_words(cells: Sequence[_Cell], frame: ModelFrame) -> str:
    levels: Mapping[str, Sequence[object]] = frame.levels
    words = [
        " and ".join(f"`{variable}` {levels[variable][place]}" for variable, place in sorted(cell))
        for cell in cells[:MOST_NAMED]
    ]
    more = len(cells) - MOST_NAMED
    return "; ".join(words) + (f"; and {more} more" if more > 0 else "")


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
