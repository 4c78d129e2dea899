"""The checked data of a model: outcome, factors, covariates and groups, from the rows that the model uses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.statistics.factor_levels import level_order
from analysis.statistics.mixed_models.design_matrix import Codes, Factor, Floats, n_design_columns
from analysis.statistics.mixed_models.formulas import Formula, RandomTerm
from batteries.errors import InputError

FAMILIES = ("gaussian", "binomial", "gamma", "ordinal")
MODELS = {"gaussian": "a linear model", "gamma": "a gamma model", "ordinal": "an ordinal model"}
LOG_IS_GAUSSIAN = (
    "`log({outcome})` is only for linear models, but the family is `{family}`. Fix: delete `family`, or write "
    "`{outcome}` without `log()`."
)
NUMBER_KINDS = ("integer", "floating", "mixed-integer-float")
"""The names of pandas for the types of columns with numbers."""
LARGEST = 1e30
"""Largest number in the data. Powers and products of numbers up to this size can still be computed."""
MOST_COEFFICIENTS = 1_000
MOST_CELLS = 200_000_000
"""Largest number of rows times coefficients. A design matrix of this size needs 1.6 GB of memory."""
MOST_NAMED = 20
"""Largest number of names that an error message lists."""


@dataclass(frozen=True, eq=False)
class ModelFrame:
    """The data of a fit: the rows without a missing value in the formula's columns."""

    n: int
    kept: npt.NDArray[np.bool_]
    """True for each row of the data that the fit uses."""
    outcome: Floats
    """The outcome, or its natural logarithm if the formula has `log()`."""
    factors: Mapping[str, Factor]
    covariates: Mapping[str, Floats]
    groups: tuple[Codes, ...]
    """One array for each random effect of the formula, with the number of each row's group."""
    warnings: tuple[str, ...]

    @property
    def levels(self) -> dict[str, tuple[object, ...]]:
        return {name: factor.levels for name, factor in self.factors.items()}

    @property
    def n_levels(self) -> dict[str, int]:
        return {name: len(factor.levels) for name, factor in self.factors.items()}


def model_frame(data: pd.DataFrame, formula: Formula, family: str, reference: Mapping[str, object]) -> ModelFrame:
    """Return the rows and columns of the data that the formula uses.

    Parameters
    ----------
    data : DataFrame, shape (rows, columns)
        Numbers are covariates, except in `factor()`. Yes-no columns, text, categories and mixed columns are factors,
        with levels in natural order (`analysis.statistics.factor_levels`).
    formula, family
        The formula and the family of the model. The outcome of `binomial` is 0 and 1, or no and yes. The outcome of
        `gamma` is above 0. The outcome of `ordinal` is ordered numbers.
    reference : mapping of str to object
        The reference level of each factor. It becomes the first level of the factor. A level with the same text also
        matches: `1` matches `"1"`. Columns that are not in the formula are ignored.

    Raises
    ------
    InputError
        If the data do not allow the model. The message names the column.
    """
    if family not in FAMILIES:
        raise InputError(f"the family `{family}` is unknown. Fix: write one of {_listed(FAMILIES)}.")
    _check_columns(data, formula, reference)
    factor_names = [name for name in formula.predictors if is_factor(data[name]) or name in formula.factors]
    covariate_names = [name for name in formula.predictors if name not in factor_names]
    for name in covariate_names:
        if name in reference:
            raise InputError(
                f"`{name}` is a column of numbers, so it is a covariate and has no reference level. Fix: if the "
                f"numbers are levels, write `factor({name})` in the formula."
            )
    group_columns = [name for random in formula.random for name in random.group]
    coded = {name: _coded(data[name]) for name in dict.fromkeys((*factor_names, *group_columns))}
    coded |= {name: _with_whole_levels(*coded[name]) for name in factor_names if name in formula.factors}
    numbers = {name: _numbers(data[name]) for name in covariate_names}
    numbers[formula.outcome] = _outcome(data[formula.outcome], family)
    missing = {name: codes < 0 for name, (codes, _) in coded.items()}
    missing |= {name: np.isnan(values) for name, values in numbers.items()}
    kept, warnings = _complete_rows(formula, missing)
    if not kept.all():
        coded = {name: (codes[kept], levels) for name, (codes, levels) in coded.items()}
        numbers = {name: values[kept] for name, values in numbers.items()}
    for name, values in numbers.items():
        _check_numbers(name, values, family if name == formula.outcome else None)
    factors = {}
    for name in factor_names:
        factors[name], without_rows = _factor(name, *coded[name], reference.get(name))
        if without_rows:
            warnings += (
                f"These levels of `{name}` were left out, because no fitted row has them: {_listed(without_rows)}.",
            )
    outcome = _on_scale_of_model(formula, numbers.pop(formula.outcome), family)
    groups = tuple(_group_codes([coded[name] for name in random.group]) for random in formula.random)
    frame = ModelFrame(len(outcome), kept, outcome, factors, numbers, groups, warnings)
    n_columns = n_design_columns(formula.intercept, formula.terms, frame.n_levels)
    if n_columns >= frame.n:
        raise InputError(
            f"the formula `{formula.text}` has {n_columns} coefficients, which are too many for {frame.n} rows. Fix: "
            "use fewer terms or fewer levels."
        )
    if n_columns > MOST_COEFFICIENTS or n_columns * frame.n > MOST_CELLS:
        raise InputError(
            f"the formula `{formula.text}` has {n_columns:,} coefficients for {frame.n:,} rows, which need too much "
            "memory. Fix: use fewer terms, or a random effect such as `(1 | item_id)` for a factor with many levels."
        )
    for place, (random, codes) in enumerate(zip(formula.random, groups, strict=True)):
        _check_random(random, codes, frame)
        for other, same in zip(formula.random[:place], groups[:place], strict=True):
            if np.array_equal(codes, same):
                raise InputError(
                    f"`{other.group_name}` and `{random.group_name}` divide the rows into the same groups, so their "
                    "random effects cannot be distinguished. Fix: leave out one of these random effects."
                )
    return frame


def is_factor(column: pd.Series) -> bool:
    """Return True if the values of a column are levels, and False if they are numbers.

    Raises
    ------
    InputError
        If the values are neither levels nor numbers, for example if they are dates.
    """
    if pd.api.types.is_bool_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return True
    if pd.api.types.is_object_dtype(column.dtype) or pd.api.types.is_string_dtype(column.dtype):
        return True
    if pd.api.types.is_any_real_numeric_dtype(column.dtype):
        return False
    raise InputError(
        f"`{column.name}` has values of the type {column.dtype}, which a model cannot use. Fix: convert the values to "
        "numbers or text."
    )


def _check_columns(data: pd.DataFrame, formula: Formula, reference: Mapping[str, object]) -> None:
    if data.empty:
        raise InputError(f"the data have no rows, so `{formula.text}` cannot be fitted. Fix: choose data with rows.")
    for name in (*formula.columns, *reference):
        if name not in data.columns:
            asking = f"the formula `{formula.text}`" if name in formula.columns else "the list of reference levels"
            raise InputError(
                f"{asking} has the column `{name}`, which is not in the data. Fix: use one of the columns "
                f"{_listed(data.columns)}."
            )
        if isinstance(data[name], pd.DataFrame):
            raise InputError(f"the data have more than one column `{name}`. Fix: rename all but one of these columns.")


def _complete_rows(
    formula: Formula, missing: Mapping[str, npt.NDArray[np.bool_]]
) -> tuple[npt.NDArray[np.bool_], tuple[str, ...]]:
    """Return True for each complete row, and a sentence about the incomplete rows."""
    kept = ~np.logical_or.reduce(list(missing.values()))
    lacking = {name: count for name in formula.columns if (count := int(missing[name].sum()))}
    counts = ", ".join(f"{count} in `{name}`" for name, count in lacking.items())
    if not kept.any():
        raise InputError(
            f"every row lacks a value that `{formula.text}` needs (missing values: {counts}). Fix: fill in "
            "missing values."
        )
    dropped = len(kept) - int(kept.sum())
    if not dropped:
        return kept, ()
    return kept, (f"{dropped} of {len(kept)} rows were left out because a value is missing ({counts}).",)


def _factor(name: str, codes: Codes, levels: Sequence[object], reference: object) -> tuple[Factor, list[object]]:
    """Return a factor with the reference level first, and the levels that no row has."""
    present = np.bincount(codes, minlength=len(levels)) > 0
    try:
        order = sorted(range(len(levels)), key=lambda place: level_order(levels[place]))
    except (TypeError, ValueError):
        raise InputError(
            f"`{name}` has values that are neither text nor numbers. Fix: convert all values of this column to text."
        ) from None
    without_rows = [levels[place] for place in order if not present[place]]
    order = [place for place in order if present[place]]
    texts = [str(levels[place]) for place in order]
    if len(order) < 2:
        raise InputError(f"`{name}` has only one level, `{texts[0]}`. Fix: take this factor out of the formula.")
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise InputError(
            f"`{name}` has `{twice}` as a text, and also as another type, such as a number. "
            "Fix: convert all values of this column to text."
        )
    if reference is not None:
        matching = [place for place in order if _same_level(levels[place], reference)]
        if not matching:
            raise InputError(
                f"`{reference}` is not a level of `{name}`. Fix: choose the reference level from {_listed(texts)}."
            )
        order = [matching[0], *(place for place in order if place != matching[0])]
    places = np.full(len(levels), -1, dtype=np.intp)
    places[order] = np.arange(len(order))
    return Factor(tuple(levels[place] for place in order), places[codes]), without_rows


def _coded(column: pd.Series) -> tuple[Codes, list[object]]:
    """Return the index of the value of each row (-1 if the value is missing), and the distinct values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return np.asarray(column.cat.codes, dtype=np.intp), column.cat.categories.tolist()
    try:
        codes, values = pd.factorize(column)
    except TypeError:
        raise InputError(
            f"some cells of the column `{column.name}` contain a list or another collection, but a factor needs a "
            "single value in each cell. Fix: convert the values to text."
        ) from None
    levels: list[object] = values.tolist()
    return np.asarray(codes, dtype=np.intp), levels


def _with_whole_levels(codes: Codes, levels: list[object]) -> tuple[Codes, list[object]]:
    """Return levels such as 2 instead of 2.0, because pandas stores whole numbers as 2.0 if cells are missing."""
    return codes, [int(level) if isinstance(level, float) and level.is_integer() else level for level in levels]


def _same_level(level: object, named: object) -> bool:
    """Return True if a level is the requested level. YAML's `true`, `True` and `"True"` are equal."""
    text, wanted = str(level), str(named)
    return text == wanted or level == named or (text.lower() == wanted.lower() and text.lower() in ("true", "false"))


def _numbers(column: pd.Series) -> Floats:
    return column.to_numpy(dtype=float, na_value=np.nan)


def _outcome(column: pd.Series, family: str) -> Floats:
    """Return the outcome as numbers, or raise InputError if its type does not fit the family."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    yes_no = kind == "boolean"
    if family == "binomial" and not (yes_no or kind in NUMBER_KINDS):
        raise InputError(
            f"the outcome `{column.name}` of a logistic model has values of the type {kind}, but it must have the "
            "values 0 and 1, or no and yes. Fix: convert the values."
        )
    if family in MODELS and kind not in NUMBER_KINDS:
        advice = "use the family `binomial` for an outcome of yes and no" if yes_no else "give numbers"
        raise InputError(
            f"the outcome `{column.name}` of {MODELS[family]} has values of the type {kind}, but it must have "
            f"numbers. Fix: {advice}."
        )
    return _numbers(column)


def _check_numbers(name: str, values: Floats, outcome_of: str | None) -> None:
    """Raise InputError if numbers are too large, or if the outcome does not vary or does not fit the family."""
    largest = float(np.abs(values).max())
    if np.isinf(largest):
        raise InputError(f"`{name}` has infinite values. Fix: correct these values or make them missing.")
    if not (largest == 0 or 1 / LARGEST < largest < LARGEST):
        raise InputError(
            f"the largest absolute value of `{name}` is {largest:.3g}, which is too large or too small for the "
            f"computation. Fix: use other units for `{name}`."
        )
    if outcome_of is None:
        return
    other = values[(values != 0) & (values != 1)]
    if outcome_of == "binomial" and len(other):
        raise InputError(
            f"the outcome `{name}` of a logistic model has the value {other[0]:g}, but it must have the values 0 "
            "and 1. Fix: use 0 and 1 only."
        )
    if values.min() == values.max():
        raise InputError(
            f"the outcome `{name}` is {values[0]:g} in every row, so there is nothing to explain. Fix: choose other "
            "rows or another outcome."
        )


def _on_scale_of_model(formula: Formula, values: Floats, family: str) -> Floats:
    """Return the outcome, or its logarithm if the formula has `log()`.

    Raise InputError if it must be above 0 but is not.
    """
    if not formula.log_outcome and family != "gamma":
        return values
    if formula.log_outcome and family != "gaussian":
        raise InputError(LOG_IS_GAUSSIAN.format(outcome=formula.outcome, family=family))
    n_not_positive = int((values <= 0).sum())
    if n_not_positive:
        model = f"`log({formula.outcome})`" if formula.log_outcome else "the family `gamma`"
        raise InputError(
            f"the outcome `{formula.outcome}` is 0 or negative in {n_not_positive:,} of {len(values):,} rows, but "
            f"{model} needs values above 0. Fix: exclude these rows, or make these values missing."
        )
    return np.log(values) if formula.log_outcome else values


def _group_codes(columns: Sequence[tuple[Codes, Sequence[object]]]) -> Codes:
    """Return the group of each row, as a number. Each combination of values of the columns is a group.

    The groups are numbered in the order of their first rows.
    """
    codes = columns[0][0]
    for more, levels in columns[1:]:
        codes = pd.factorize(codes * len(levels) + more)[0]
    return pd.factorize(codes)[0]


def _check_random(random: RandomTerm, codes: Codes, frame: ModelFrame) -> None:
    """Raise InputError if a random effect cannot be estimated from the data."""
    group = random.group_name
    _, first_rows = np.unique(codes, return_index=True)
    n_groups = len(first_rows)
    if n_groups == 1:
        raise InputError(
            f"`{group}` has only one level, so the variance between levels cannot be estimated. Fix: take this random "
            "effect out of the formula."
        )
    n_effects = n_groups * n_design_columns(random.intercept, random.slopes, frame.n_levels)
    if n_effects >= frame.n:
        raise InputError(
            f"`{group}` has {n_groups} levels and {n_effects} random effects, but the model has only {frame.n} rows. "
            "So the random effects cannot be distinguished from the residual. Fix: use fewer random effects."
        )
    for variable in dict.fromkeys(variable for slope in random.slopes for variable in slope):
        values = frame.factors[variable].codes if variable in frame.factors else frame.covariates[variable]
        if np.array_equal(values[first_rows][codes], values):
            raise InputError(
                f"`{variable}` does not vary within any level of `{group}`, so `{variable}` cannot have a random "
                f"slope for `{group}`. Fix: take this slope out of the formula."
            )


def _listed(names: Iterable[object]) -> str:
    quoted = [f"`{name}`" for name in names]
    more = len(quoted) - MOST_NAMED
    return ", ".join(quoted[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
