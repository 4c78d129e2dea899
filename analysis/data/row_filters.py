"""Filters of rows by levels, as in the YAML of an analysis plan: `{one_shot: 0}`, `{model: [Haiku, Opus]}`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.sentences import listed
from analysis.statistics.factor_levels import level_order, level_text
from batteries.errors import InputError
from experiment.study.planned_analyses import Level, Where


def levels_of(data: pd.DataFrame, column: str, what: str) -> dict[str, Any]:
    """Return the levels of a column in natural order. The keys are the texts of the levels.

    `what` is the part of the plan that needs the column, such as "the test `warm_up`", for error messages.
    """
    require_columns(data, [column], what)
    distinct = sorted(data[column].dropna().unique().tolist(), key=level_order)
    return {level_text(level): level for level in distinct}


def require_columns(data: pd.DataFrame, columns: Iterable[str], what: str) -> None:
    """Raise InputError if a column is not in the data."""
    for column in columns:
        if column not in data.columns:
            there = ", ".join(map(str, data.columns))
            raise InputError(f"{what}: there is no column `{column}` in the data. Fix: choose one of {there}.")


def matching(data: pd.DataFrame, where: Where, what: str) -> pd.Series:
    """Return True for each row with the requested levels. A missing value matches no level.

    Parameters
    ----------
    data : DataFrame
        Any rows.
    where : mapping
        The requested level or levels of each column.
    what : str
        A part of the plan, such as "the test `warm_up`", for error messages.

    Raises
    ------
    InputError
        If a column or a level is not in the data.
    """
    return _matching(data, where, what).fillna(False).astype(bool)


def _matching(data: pd.DataFrame, where: Where, what: str) -> pd.Series:
    """Return True, False or a missing value for each row. But `matching` returns only True or False.

    The value is missing if the level of a column is missing and the levels of the other columns match.
    """
    chosen = pd.Series(True, index=data.index, dtype="boolean")
    for column, asked in where.items():
        known = levels_of(data, column, what)
        wanted = [known[text] for text in _known(asked, known, column, what)]
        chosen &= data[column].isin(wanted).astype("boolean").mask(data[column].isna())
    return chosen


def _known(asked: Level | Sequence[Level], known: Mapping[str, Any], column: str, what: str) -> list[str]:
    texts = [level_text(level) for level in (asked if isinstance(asked, (tuple, list)) else (asked,))]
    if not texts:
        raise InputError(
            f"{what}: the list of levels of `{column}` is empty. Fix: write a level, or delete `{column}`."
        )
    for text in texts:
        if text not in known:
            raise InputError(f"{what}: `{column}` has no level {text}. Fix: choose one of {listed(list(known))}.")
    return texts


def ordered_levels(data: pd.DataFrame, column: str, asked: Sequence[Level], what: str) -> list[Any]:
    """Return the levels in the requested order. If no levels are requested, return all levels in natural order."""
    known = levels_of(data, column, what)
    if not asked:
        return list(known.values())
    texts = _known(tuple(asked), known, column, what)
    twice = [text for text in texts if texts.count(text) > 1]
    if twice:
        raise InputError(f"{what}: duplicate level {twice[0]} of `{column}` in `levels`. Fix: write each level once.")
    return [known[text] for text in texts]


def add_flags(data: pd.DataFrame, flags: Mapping[str, Where]) -> pd.DataFrame:
    """Return the data with a yes-no column for each flag.

    The keys of `flags` are the new columns, and the values are row filters. A flag is true if the row matches the
    filter. It is missing if a missing level makes the result unknown.
    """
    for name, where in flags.items():
        if not where:
            raise InputError(f"the flag `{name}` has no columns. Fix: write a line `COLUMN: LEVEL` under `{name}`.")
        if name in data.columns:
            raise InputError(
                f"the flag `{name}` has the name of a column of the data. Fix: give the flag another name."
            )
    return data.assign(**{name: _matching(data, where, f"the flag `{name}`") for name, where in flags.items()})


def chosen_rows(data: pd.DataFrame, where: Where, what: str) -> pd.DataFrame:
    """Return the rows with the requested levels. Raise InputError if no row has these levels."""
    if data.empty:
        raise InputError(f"{what}: there are no rows to choose from. Fix: collect or export the data again.")
    rows = data[matching(data, where, what)]
    if rows.empty:
        raise InputError(
            f"{what}: no row has all of these levels: {where_words(where)}. Fix: correct the levels in `where`."
        )
    return rows


def where_words(where: Where) -> str:
    """Return a row filter in words.

    Examples
    --------
    >>> where_words({"one_shot": 1, "model": ("Haiku", "Opus")})
    'one_shot = 1; model = Haiku, Opus'
    """
    return "; ".join(
        f"{column} = {', '.join(map(level_text, asked if isinstance(asked, (tuple, list)) else (asked,)))}"
        for column, asked in where.items()
    )
