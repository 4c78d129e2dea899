"""The tidy table: one row per trial, one column per factor, and scores by the graders of `batteries`."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.cell_parsing import Cells, json_object, json_value
from analysis.data.columns import (
    AFTER_FACTORS,
    ALLOWED,
    BEFORE_FACTORS,
    DECIMAL,
    FIXED_COLUMNS,
    LAB_SIGNALS,
    LAB_TIMING,
    NEVER_EMPTY,
    PATTERNS,
    PEOPLE,
    SIGNALS,
    TEXT,
    VIEW_COLUMNS,
    WHOLE,
    YES_NO,
)
from analysis.data.compact_columns import NOTES, OFTEN_NEW, categories, notes_of
from analysis.data.response_patterns import patterns
from analysis.data.subjects import DescribedRun, subjects_of_runs
from analysis.data.time_columns import compact_times
from analysis.data.trials_reader import read_raw_rows
from batteries.errors import InputError
from batteries.tasks import task_named

MISSING_NUMBER = {"", "NA", "NaN", "nan"}
PATTERN_INPUTS = ("kind", "session", "trial_index", "phase", "task", "content", "response", "rt_ms")
"""The columns from which `analysis.data.response_patterns` computes the patterns."""


def read_trials(path: Path) -> pd.DataFrame:
    """Return the tidy table of a store, or of a CSV export of its view `trials`.

    The table has every trial of each session plan, also practice trials and attention checks (`phase`). The grader of
    the item's task computes `correct` and `score`, in the same way for people and models. `correct` and `score` are
    missing if there is no response. An invalid response of a model (`valid` is false) is kept unchanged; then `correct`
    is false and `score` is 0. `chance` is the accuracy of a random response. For an ungraded item (its key is null),
    `correct`, `score` and `chance` are always missing. `value` is the response as a number, such as a rating. It is
    missing for tasks without numbers (`Task.value`), and for invalid responses.

    `subject` is `people`, `simulated participants`, or a model under one condition. Runs that differ only in the epoch
    have the same subject (`analysis.data.subjects`), and `epoch` is the number of the repetition. `prompt`, `thinking`
    and `thinking_budget` are settings of the run. People have no epoch and no settings.

    Columns of text are categories in alphabetical order. `shown_at` and `received_at` are UTC times. If a time in such
    a column is not written as in the store (`2026-03-02T10:00:00.000+00:00`), the column contains texts. Factors keep
    the type and text that they have in the battery (`"01"` is not `1`). If an item does not have a factor, the value of
    this factor is missing.

    Parameters
    ----------
    path : Path
        A store (SQLite, opened read-only) or a `.csv` file.

    Raises
    ------
    InputError
        If the file cannot be read as trials. The message states the file, the row and the correction.
    """
    return tidy_trials(read_raw_rows(path), str(path))


def tidy_trials(rows: pd.DataFrame, where: str = "trials") -> pd.DataFrame:
    """Return the tidy table (see `read_trials`) from rows of the view `trials`.

    Parameters
    ----------
    rows : DataFrame
        Rows with the columns of the view. JSON values are texts.
    where : str
        The name of the data in error messages.
    """
    if rows.empty:
        raise InputError(f"{where}: there are no trials yet. Fix: collect or import responses first.")
    rows = rows.reset_index(drop=True)
    notes = notes_of(rows["jspsych"], where) if "jspsych" in rows else {column: rows[column] for column in NOTES}
    raw = {column: _as_text(rows[column]) if column in TEXT else rows[column] for column in VIEW_COLUMNS
           if column != "jspsych"}  # fmt: skip
    del rows  # The memory of the raw columns is released column by column.
    table = {column: compact_times(raw.pop(column)) for column in OFTEN_NEW}
    table |= {column: raw.pop(column) for column in DECIMAL if _is_finite(raw[column])}
    cells = {column: Cells.of(column, raw.pop(column)) for column in tuple(raw)}
    for column in NEVER_EMPTY:
        if (cells[column].number < 0).any():
            row = cells[column].first_row(-1)
            raise InputError(f"{where}, row {row + 1}: `{column}` is empty. Fix: export the data again.")
    table |= {column: cells[column].texts() for column in TEXT if column in cells}
    for columns, convert, dtype, what in (
        (WHOLE, _whole, "Int64", "a whole number"),
        (DECIMAL, _decimal, "float64", "a number"),
        (YES_NO, _yes_no, "boolean", "0 or 1"),
    ):
        for column in [column for column in columns if column in cells]:
            numbers = cells.pop(column)
            table[column] = numbers.spread(numbers.converted(convert, what, where), dtype)
    values = {column: cells[column].converted(json_value, "JSON", where)
              for column in ("factors", "content", "key", "response")}  # fmt: skip
    table |= {column: cells[column].spread(values[column], "object") for column in ("content", "key", "response")}
    table |= _signals(cells.pop("signals"), table, where)
    table |= _presentation(cells["presentation"], where)
    table |= _lab_timing(cells["device"], where)
    table |= {column: Cells.of(column, notes[column]).texts() for column in ("trial_type", "plugin_version")}
    table |= {"time_elapsed": notes["time_elapsed"], "rt": table["rt_ms"].where(notes["is_noted"]).round()}
    _refuse_unknown_words(cells, where)
    _refuse_contradictions(cells, table["trial_index"], where)
    table |= _subjects(cells, table, where)
    found = patterns(pd.DataFrame({column: table[column] for column in PATTERN_INPUTS}, copy=False))
    table |= {column: found[column] for column in PATTERNS}
    factors = _factors(cells["factors"], values["factors"], table["item_id"], where)
    table |= _scores(cells, values, table, where)
    ordered = {column: table[column] for column in BEFORE_FACTORS} | factors
    return pd.DataFrame(ordered | {column: table[column] for column in AFTER_FACTORS}, copy=False)


def _as_text(cells: pd.Series) -> pd.Series:
    if isinstance(cells.dtype, pd.DatetimeTZDtype):
        return cells
    distinct = cells.cat.categories if isinstance(cells.dtype, pd.CategoricalDtype) else cells
    if pd.api.types.infer_dtype(distinct, skipna=True) in {"string", "empty"}:
        return cells
    return cells.astype(object).map(str, na_action="ignore")


def _is_finite(cells: pd.Series) -> bool:
    """Return True if the column has only finite numbers and missing values."""
    return cells.dtype == "float64" and not np.isinf(cells).any()


def _whole(cell: Any) -> int | None:
    if isinstance(cell, str):
        if cell in MISSING_NUMBER:
            return None
        cell = float(cell) if "." in cell or "e" in cell.lower() else int(cell)
    if int(cell) != cell or not -(2**63) <= cell < 2**63:
        raise ValueError
    return int(cell)


def _decimal(cell: Any) -> float | None:
    if cell in MISSING_NUMBER:
        return None
    number = float(cell)
    if not math.isfinite(number):
        raise ValueError
    return number


def _yes_no(cell: Any) -> bool | None:
    if cell in MISSING_NUMBER:
        return None
    words = {"0": False, "0.0": False, "false": False, "1": True, "1.0": True, "true": True}
    try:
        return words[str(cell).lower()]
    except KeyError:
        raise ValueError from None


def _refuse_unknown_words(cells: dict[str, Cells], where: str) -> None:
    for column, allowed in ALLOWED.items():
        for number, word in enumerate(cells[column].distinct):
            if word not in allowed:
                raise InputError(
                    f"{where}, row {cells[column].first_row(number) + 1}: `{column}` is {word!r}. Fix: write one of "
                    f"{', '.join(allowed)}."
                )
    is_model = cells["kind"].spread([kind == "model" for kind in cells["kind"].distinct], "bool", empty=False)
    unnamed = is_model.to_numpy() & (cells["run"].number < 0)
    if unnamed.any():
        raise InputError(
            f"{where}, row {int(np.argmax(unnamed)) + 1}: a trial of a model has no `run`. Fix: write the label of the "
            "run in the column `run`."
        )


def _refuse_contradictions(cells: dict[str, Cells], trial_index: pd.Series, where: str) -> None:
    session = cells["session"]
    doubled = pd.DataFrame({"session": session.number, "trial_index": trial_index}, copy=False).duplicated().to_numpy()
    if doubled.any():
        row = int(np.argmax(doubled))
        raise InputError(
            f"{where}: session `{session.distinct[session.number[row]]}` has more than one row for trial "
            f"{trial_index.iloc[row]}. Fix: remove the duplicate row, or export the data again."
        )
    for whole, part, sentence in (
        ("session", "participant", "session `{0}` belongs to more than one participant"),
        ("session", "kind", "session `{0}` has more than one kind of participant"),
        ("session", "status", "session `{0}` has more than one status"),
        ("participant", "kind", "participant `{0}` is of more than one kind"),
        ("run", "session", "more than one run has the label `{0}`"),
    ):
        n_parts = max(len(cells[part].distinct), 1)
        both = (cells[whole].number >= 0) & (cells[part].number >= 0)
        pairs = pd.unique(cells[whole].number[both].astype("int64") * n_parts + cells[part].number[both])
        mixed = pd.Series(pairs // n_parts).duplicated().to_numpy()
        if mixed.any():
            name = cells[whole].distinct[pairs[mixed][0] // n_parts]
            raise InputError(
                f"{where}: {sentence.format(name)}. Fix: give each session, participant and run a unique name."
            )


def _subjects(cells: dict[str, Cells], table: dict[str, pd.Series], where: str) -> dict[str, pd.Series]:
    """Return the subject of each trial, and the epoch and the settings of each trial of a model."""
    parameters = cells["run_parameters"].converted(json_object, "a JSON object", where)
    names, run = cells["run"].distinct, cells["run"].number
    with_run = np.flatnonzero(run >= 0)
    first_rows = with_run[_first_rows(run[with_run], len(names))] if names else with_run

    def text(column: str, row: int) -> str | None:
        cell = table[column].iloc[row]
        return None if pd.isna(cell) else str(cell)

    runs = []
    for name, row in zip(names, first_rows.tolist(), strict=True):
        temperature, number = table["temperature"].iloc[row], cells["run_parameters"].number[row]
        runs.append(
            DescribedRun(
                name,
                str(table["source"].iloc[row]),
                text("model", row),
                text("model_version", row),
                None if pd.isna(temperature) else float(temperature),
                text("prompt_digest", row),
                (parameters[number] if number >= 0 else None) or {},
            )
        )
    kinds = cells["kind"].distinct
    is_model = cells["kind"].spread([kind == "model" for kind in kinds], "bool", empty=False).to_numpy()
    subjects = [*(PEOPLE.get(kind, kind) for kind in kinds), *subjects_of_runs(runs)]
    number = np.where(is_model, len(kinds) + run.astype("int64"), cells["kind"].number)
    of_model = Cells("run", names, np.where(is_model, run, -1))
    settings = {
        "thinking": of_model.spread([described.thinking for described in runs], "boolean"),
        "thinking_budget": of_model.spread([described.thinking_budget for described in runs], "Int64"),
        "epoch": of_model.spread([described.epoch for described in runs], "Int64"),
    }
    prompts = _texts([*(described.prompt for described in runs), None], of_model.number)  # -1: people have no prompt.
    return {"subject": _texts(subjects, number), "prompt": prompts} | settings


def _factors(cells: Cells, distinct: list[Any], item_ids: pd.Series, where: str) -> dict[str, pd.Series]:
    """Return one column per factor. If the levels of a factor have several types, they become text."""
    names: dict[str, None] = {}
    for levels, item in zip(distinct, item_ids.iloc[_first_rows(cells.number, len(distinct))], strict=True):
        if not isinstance(levels, dict):
            raise InputError(
                f"{where}: the cell with the factors of item `{item}` is damaged (it is not a JSON object). Fix: "
                "export the data again."
            )
        for name, level in levels.items():
            if name in FIXED_COLUMNS:
                raise InputError(
                    f"{where}: item `{item}` has a factor `{name}`, which is the name of a column of the tidy "
                    "table. Fix: rename the factor in the battery."
                )
            if isinstance(level, (dict, list)):
                raise InputError(
                    f"{where}: item `{item}`: the factor `{name}` has a list or a group of values as a level, not a "
                    "single value. Fix: write this level as text."
                )
            names[name] = None
    columns = {}
    for name in sorted(names):
        levels, dtype = _one_type([levels.get(name) for levels in distinct], name, where)
        columns[name] = _texts(levels, cells.number) if dtype == "str" else cells.spread(levels, dtype)
    return columns


def _texts(values: list[Any], number: npt.NDArray[Any]) -> pd.Series:
    return Cells.of("", categories(values, number)).texts()


def _one_type(levels: list[Any], name: str, where: str) -> tuple[list[Any], str]:
    kinds = {type(level) for level in levels if level is not None}
    if kinds <= {str}:
        return levels, "str"
    if kinds == {bool}:
        return levels, "boolean"
    if kinds == {int}:
        return levels, "Int64"
    if kinds <= {int, float}:
        return levels, "Float64"
    written: dict[str, Any] = {}
    for level in levels:
        text = level if isinstance(level, str) else json.dumps(level)
        if level is not None and type(written.setdefault(text, level)) is not type(level):
            raise InputError(
                f"{where}: the factor `{name}` has the level {text} as a text in some items, and as a number in other "
                "items. Fix: write this level in the same way in all items."
            )
    return [None if v is None else v if isinstance(v, str) else json.dumps(v) for v in levels], "str"


def _signals(cells: Cells, table: dict[str, pd.Series], where: str) -> dict[str, pd.Series]:
    """Return one column per signal. A signal that did not occur is 0. A signal that was not recorded is missing."""
    is_recorded = table["received_at"].notna() & (table["missing"] != "interrupted")
    from_browser, from_lab = (is_recorded & (table["source"] == source) for source in ("web", "lab"))
    recorded = [signals or {} for signals in cells.converted(json_object, "a JSON object", where)]
    columns = {}
    for column in SIGNALS:
        counts = [signals.get(column.removeprefix("signal_"), 0) for signals in recorded]
        columns[column] = cells.spread(counts, "Int64", empty=0).where(
            from_browser | from_lab if column in LAB_SIGNALS else from_browser
        )
    return columns


def _presentation(cells: Cells, where: str) -> dict[str, pd.Series]:
    """Return the column `presentation`, and the columns that summarize it (`PRESENTATION`)."""
    recorded = cells.converted(json_object, "a JSON object", where)
    columns = {"presentation": cells.spread(recorded, "object")}
    for column, summary in _SUMMARIES.items():
        columns[column] = cells.spread([summary(presentation) for presentation in recorded], "float64")
    mappings = [presentation.get("response_mapping") for presentation in recorded]
    return columns | {"response_mapping": cells.spread(mappings, "Int64")}


def _lab_timing(cells: Cells, where: str) -> dict[str, pd.Series]:
    """Return the columns in `LAB_TIMING`. Only the device of a laboratory has a text as its keyboard."""
    devices = [device or {} for device in cells.converted(json_object, "a JSON object", where)]
    columns = {}
    for column in LAB_TIMING:
        found = [device.get(column.removeprefix("device_")) for device in devices]
        columns[column] = _texts([*(one if isinstance(one, str) else None for one in found), None], cells.number)
    return columns


def _frames_off(presentation: Mapping[str, Any]) -> int | None:
    """Return the largest difference between an actual and an intended duration in a trial, in frames."""
    shown = [*presentation.get("screens", []), presentation.get("stimulus"), presentation.get("mask")]
    timed = [one for one in shown if one and one.get("frames_intended") is not None]
    return max((abs(one["frames"] - one["frames_intended"]) for one in timed), default=None)


def _of_first_sound(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    return lambda presentation: next((sound.get(name) for sound in presentation.get("sounds", [])), None)


_SUMMARIES: dict[str, Callable[[Mapping[str, Any]], float | None]] = {
    "stimulus_duration_ms": lambda presentation: (presentation.get("stimulus") or {}).get("duration_ms"),
    "presentation_frames_off": _frames_off,
    "sound_onset_ms": _of_first_sound("onset_ms"),
    "sound_latency_ms": _of_first_sound("latency_ms"),
}


def _scores(
    cells: dict[str, Cells], values: dict[str, list[Any]], table: dict[str, pd.Series], where: str
) -> dict[str, pd.Series]:
    """Return `correct`, `score`, `chance` and `value`. Equal responses to equal items are graded only once."""
    is_valid = table["valid"].fillna(True).to_numpy(dtype=bool)
    parts = [*(cells[column].number for column in ("task", "content", "key", "response")), is_valid.astype("intp")]
    responses = _together(parts)
    chances: dict[tuple[int, int], float] = {}
    correct, score, chance, value = [], [], [], []
    for row in responses.distinct:
        task_number, content_number, key_number, response_number, valid = (int(part[row]) for part in parts)
        task, content = cells["task"].distinct[task_number], values["content"][content_number]
        response = None if response_number < 0 else values["response"][response_number]
        key = values["key"][key_number]
        try:
            right, credit = _grade(task, bool(valid), content, key, response)
            if key is not None and (task_number, content_number) not in chances:
                chances[task_number, content_number] = task_named(task).chance(content)
            value.append(task_named(task).value(content, response) if response is not None and valid else None)
        except (InputError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{where}: item `{table['item_id'].iloc[row]}` cannot be scored: {error}") from error
        correct.append(right)
        score.append(credit)
        chance.append(None if key is None else chances[task_number, content_number])
    return {
        "correct": responses.spread(correct, "boolean"),
        "score": responses.spread(score, "float64"),
        "chance": responses.spread(chance, "float64"),
        "value": responses.spread(value, "float64"),
    }


def _together(parts: Sequence[npt.NDArray[np.intp]]) -> Cells:
    """Return several columns as one column. Two rows have the same cell if they are equal in all columns in `parts`.

    The value of a cell is the index of the first row that has this cell.
    """
    number = np.zeros(len(parts[0]), dtype="int64")
    for part in parts:
        number = pd.factorize(number * (int(part.max()) + 2) + part + 1)[0]
    return Cells("answer", _first_rows(number, int(number.max()) + 1).tolist(), number)


def _first_rows(number: npt.NDArray[Any], n_distinct: int) -> npt.NDArray[np.int64]:
    """Return, for each index from 0, the first row with this index."""
    first = np.zeros(n_distinct, dtype="int64")
    first[number[::-1]] = np.arange(len(number))[::-1]
    return first


def _grade(task: str, valid: bool, content: Any, key: Any, response: Any) -> tuple[bool | None, float | None]:
    if response is None or key is None:
        return None, None
    if not valid:
        return False, 0.0
    score = task_named(task).score(content, key, response)
    return score.correct, score.score
