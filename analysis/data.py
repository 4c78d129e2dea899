"""The one tidy table: a row a trial, its factors as columns, scored by the graders of `batteries`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.columns import (
    AFTER_FACTORS,
    ALLOWED,
    BEFORE_FACTORS,
    DECIMAL,
    FIXED_COLUMNS,
    JSON,
    NEVER_EMPTY,
    SIGNALS,
    TEXT,
    WHOLE,
    YES_NO,
)
from analysis.patterns import patterns
from analysis.raw_rows import read_raw_rows
from batteries.errors import InputError
from batteries.tasks import task_named

NUMBER_NOT_THERE = {"", "NA", "NaN", "nan"}


def read_trials(path: Path) -> pd.DataFrame:
    """Return the tidy table of a store, or of a CSV export of its view `trials`.

    Every planned trial is there, practice and attention checks too (`phase`). `correct` and `score` are made anew by
    the one grader of the item's task, the same for people and models; they are missing where nothing was answered.
    A model's invalid answer (`valid` false) is kept as it came, with `correct` false and `score` 0. `chance` is the
    accuracy of a random answer. Factors keep the type and text they have in the battery (`"01"` is not `1`); an item
    without a factor has a missing value there.

    Parameters
    ----------
    path : Path
        A store (SQLite, opened read-only) or a `.csv` file.

    Raises
    ------
    InputError
        If the file cannot be read as trials; the message names the file, the row and the mend.
    """
    return tidy_trials(read_raw_rows(path), str(path))


def tidy_trials(rows: pd.DataFrame, where: str = "trials") -> pd.DataFrame:
    """Return the tidy table of rows shaped like the view `trials`; see `read_trials`.

    Parameters
    ----------
    rows : DataFrame
        The columns of the view, JSON as text.
    where : str
        The name of the data in error messages.
    """
    if rows.empty:
        raise InputError(f"{where}: there are no trials yet; collect or import answers first.")
    rows = rows.reset_index(drop=True).astype(object)
    rows = rows.where(rows.notna(), None)
    for column in NEVER_EMPTY:
        if rows[column].isna().any():
            raise InputError(f"{where}, row {_first(rows[column].isna())}: `{column}` is empty; export the data again.")
    typed: dict[str, Any] = {column: rows[column].map(str, na_action="ignore").astype("str") for column in TEXT}
    typed |= {column: _converted(rows[column], _whole, "Int64", "a whole number", where) for column in WHOLE}
    typed |= {column: _converted(rows[column], _decimal, "float64", "a number", where) for column in DECIMAL}
    typed |= {column: _converted(rows[column], _yes_no, "boolean", "0 or 1", where) for column in YES_NO}
    typed |= {column: _converted(rows[column], json.loads, "object", "JSON", where) for column in JSON}
    table = pd.DataFrame(typed)
    _refuse_unknown_words(table, where)
    _refuse_unbalanced_books(table, where)
    factors = _factors(table["factors"], table["item_id"], where)
    scores = _scores(rows, table, where)
    table = pd.concat([table, scores, _signals(table), _jspsych(table), patterns(table)], axis=1)
    return pd.concat([table[list(BEFORE_FACTORS)], factors, table[list(AFTER_FACTORS)]], axis=1)


def _first(mask: pd.Series) -> int:
    return int(np.flatnonzero(mask.to_numpy(dtype=bool))[0]) + 1


def _converted(cells: pd.Series, convert: Callable[[Any], Any], dtype: str, what: str, where: str) -> pd.Series:
    """Return the cells converted, each distinct cell once; None stays missing."""
    known: dict[Any, Any] = {}
    values: list[Any] = []
    for row, cell in enumerate(cells.tolist(), start=1):
        if cell is None:
            values.append(None)
            continue
        identity = (type(cell), cell)
        if identity not in known:
            try:
                known[identity] = convert(cell)
            except (ValueError, TypeError, OverflowError, RecursionError):
                shown = str(cell) if len(str(cell)) < 60 else f"{str(cell)[:60]}..."
                raise InputError(
                    f"{where}, row {row}: `{cells.name}` is {shown!r}, which is not {what}; export the data again."
                ) from None
        values.append(known[identity])
    return pd.Series(values, dtype=dtype, index=cells.index)


def _whole(cell: Any) -> int | None:
    if isinstance(cell, str):
        if cell in NUMBER_NOT_THERE:
            return None
        cell = float(cell) if "." in cell or "e" in cell.lower() else int(cell)
    if int(cell) != cell or not -(2**63) <= cell < 2**63:
        raise ValueError
    return int(cell)


def _decimal(cell: Any) -> float | None:
    if cell in NUMBER_NOT_THERE:
        return None
    number = float(cell)
    if not np.isfinite(number):
        raise ValueError
    return number


def _yes_no(cell: Any) -> bool | None:
    if cell in NUMBER_NOT_THERE:
        return None
    words = {"0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}
    try:
        return words[str(cell).lower()]
    except KeyError:
        raise ValueError from None


def _refuse_unknown_words(table: pd.DataFrame, where: str) -> None:
    for column, allowed in ALLOWED.items():
        strange = ~table[column].isin(allowed)
        if strange.any():
            raise InputError(
                f"{where}, row {_first(strange)}: `{column}` is {table[column][strange].iloc[0]!r}; "
                f"it must be one of {', '.join(allowed)}."
            )
    unnamed = (table["kind"] == "model") & table["run"].isna()
    if unnamed.any():
        raise InputError(f"{where}, row {_first(unnamed)}: a model's trial without `run`; label the run.")


def _refuse_unbalanced_books(table: pd.DataFrame, where: str) -> None:
    doubled = table.duplicated(["session", "trial_index"])
    if doubled.any():
        row = table[doubled].iloc[0]
        raise InputError(
            f"{where}: session `{row['session']}` has more than one row for trial {row['trial_index']}; "
            "a trial is one row: take the double out, or export again."
        )
    for whole, part, sentence in (
        ("session", "participant", "session `{0}` belongs to more than one participant"),
        ("session", "kind", "session `{0}` has more than one kind of participant"),
        ("session", "status", "session `{0}` has more than one status"),
        ("participant", "kind", "participant `{0}` is of more than one kind"),
        ("run", "session", "the label `{0}` names more than one run"),
    ):
        pairs = table[[whole, part]].dropna().drop_duplicates()
        mixed = pairs[whole][pairs[whole].duplicated()]
        if not mixed.empty:
            raise InputError(f"{where}: {sentence.format(mixed.iloc[0])}; give each its own name.")


def _factors(cells: pd.Series, item_ids: pd.Series, where: str) -> pd.DataFrame:
    """Return a column a factor; levels of one type keep it, levels of mixed types become text."""
    names: dict[str, None] = {}
    distinct = {id(levels): (levels, item) for levels, item in zip(cells.tolist(), item_ids.tolist(), strict=True)}
    for levels, item in distinct.values():
        if not isinstance(levels, dict):
            raise InputError(f"{where}: the factors of item `{item}` are no JSON object; export the data again.")
        for name, level in levels.items():
            if name in FIXED_COLUMNS:
                raise InputError(
                    f"{where}: item `{item}` has a factor `{name}`, which is the name of a column of the tidy table; "
                    "rename the factor in the battery."
                )
            if isinstance(level, (dict, list)):
                raise InputError(f"{where}: item `{item}`: a level of `{name}` is no single value; give it as text.")
            names[name] = None
    columns = {}
    for name in sorted(names):
        levels_of = {place: levels.get(name) for place, (levels, _) in distinct.items()}
        columns[name] = _one_type([levels_of[id(levels)] for levels in cells.tolist()], name, where)
    return pd.DataFrame(columns, index=cells.index)


def _one_type(levels: list[Any], name: str, where: str) -> pd.Series:
    kinds = {type(level) for level in levels if level is not None}
    if kinds <= {str}:
        return pd.Series(levels, dtype="str")
    if kinds == {bool}:
        return pd.Series(levels, dtype="boolean")
    if kinds == {int}:
        return pd.Series(levels, dtype="Int64")
    if kinds <= {int, float}:
        return pd.Series(levels, dtype="Float64")
    written: dict[str, Any] = {}
    for level in levels:
        text = level if isinstance(level, str) else json.dumps(level)
        if level is not None and type(written.setdefault(text, level)) is not type(level):
            raise InputError(
                f"{where}: the factor `{name}` has a level {text} as text and as number; write it in one way."
            )
    return pd.Series([None if v is None else v if isinstance(v, str) else json.dumps(v) for v in levels], dtype="str")


def _signals(table: pd.DataFrame) -> pd.DataFrame:
    """Return a column a signal: zero where a browser answered and told of none, missing where none answered."""
    from_browser = (table["source"] == "web") & table["received_at"].notna() & (table["missing"] != "interrupted")
    told = [signals or {} for signals in table["signals"].where(table["signals"].notna(), None)]
    columns = {
        column: pd.Series([signals.get(column.removeprefix("signal_"), 0) for signals in told], dtype="Int64")
        for column in SIGNALS
    }
    return pd.DataFrame({column: values.where(from_browser) for column, values in columns.items()})


def _jspsych(table: pd.DataFrame) -> pd.DataFrame:
    told = [noted or {} for noted in table["jspsych"].where(table["jspsych"].notna(), None)]
    return pd.DataFrame(
        {
            "trial_type": pd.Series([noted.get("trial_type") for noted in told], dtype="str"),
            "plugin_version": pd.Series([noted.get("plugin_version") for noted in told], dtype="str"),
            "time_elapsed": pd.Series([noted.get("time_elapsed_ms") for noted in told], dtype="float64"),
            "rt": table["rt_ms"].where(table["jspsych"].notna()).round(),
        }
    )


def _scores(rows: pd.DataFrame, table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return `correct`, `score` and `chance`; equal answers to equal items are graded once."""
    grades: dict[tuple[Any, ...], tuple[bool | None, float | None]] = {}
    chances: dict[tuple[str, str], float] = {}
    correct, score, chance = [], [], []
    texts = zip(rows["content"].tolist(), rows["key"].tolist(), rows["response"].tolist(), strict=True)
    values = zip(table["content"].tolist(), table["key"].tolist(), table["response"].tolist(), strict=True)
    named = zip(table["task"].tolist(), table["valid"].fillna(True).tolist(), table["item_id"].tolist(), strict=True)
    for text, (content, key, response), (task, valid, item_id) in zip(texts, values, named, strict=True):
        identity = (task, valid, *text)
        try:
            if identity not in grades:
                grades[identity] = _grade(task, valid, content, key, response)
            if (task, text[0]) not in chances:
                chances[task, text[0]] = task_named(task).chance(content)
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{where}: item `{item_id}` cannot be scored: {error}") from error
        correct.append(grades[identity][0])
        score.append(grades[identity][1])
        chance.append(chances[task, text[0]])
    return pd.DataFrame(
        {
            "correct": pd.Series(correct, dtype="boolean"),
            "score": pd.Series(score, dtype="float64"),
            "chance": pd.Series(chance, dtype="float64"),
        }
    )


def _grade(task: str, valid: bool, content: Any, key: Any, response: Any) -> tuple[bool | None, float | None]:
    if response is None:
        return None, None
    if not valid:
        return False, 0.0
    score = task_named(task).score(content, key, response)
    return score.correct, score.score
