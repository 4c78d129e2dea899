"""Former names of the keys and columns of an analysis plan, so that older plans can be read."""

import re
import warnings
from typing import Any

FORMER_NAMES = {"calibration": "difficulty", "bootstrap_seed": "seed", "bootstrap_resamples": "resamples"}
"""Renamed keys of an analysis plan: the former name and the present name of each key."""
FORMER_COLUMNS = {"occasion": "session_number", "run_epoch": "epoch"}
"""Renamed columns of a study's data: the former name and the present name of each column."""

_COLUMNS = {"by", "demands", "of", "order_by", "per", "between", "within", "difficulty", "item_cluster", "subject"}
"""Keys of an analysis plan whose values are names of columns."""
_LEVELS = {"where", "reference", "signal", "noise"}
"""Keys of an analysis plan whose values are mappings. The keys of these mappings are names of columns."""


def with_present_names(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the content of an analysis plan with present names in place of the former names of keys and columns."""
    present = {FORMER_NAMES.get(name, name): value for name, value in plan.items()}
    return {name: _with_present_columns(name, value) for name, value in present.items()}


def _with_present_columns(key: str, value: Any) -> Any:
    if isinstance(value, str) and key == "formula":
        for former, column in FORMER_COLUMNS.items():
            value = re.sub(rf"(?<![\w.]){former}(?![\w.])", column, value)
        return value
    if isinstance(value, str) and key in _COLUMNS:
        name = value.removeprefix("-")  # Before a name, `-` sorts from high to low.
        return value.removesuffix(name) + FORMER_COLUMNS.get(name, name)
    if isinstance(value, dict) and key in _LEVELS:
        for former, column in FORMER_COLUMNS.items():
            if former in value and column in value:
                raise ValueError(
                    f"`{former}` is the former name of `{column}`, and both are given. Fix: delete `{former}`."
                )
        return {FORMER_COLUMNS.get(name, name): levels for name, levels in value.items()}
    if isinstance(value, dict):
        inner = "where" if key == "flags" else None
        return {name: _with_present_columns(inner or name, content) for name, content in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_present_columns(key, content) for content in value]
    return value


def _as_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_lists(content) for name, content in value.items()}
    return [_as_lists(content) for content in value] if isinstance(value, (list, tuple)) else value


def _warn_of_name(path: Any, former: str, present: str) -> None:
    sentence = f"{path}: `{former}` is now called `{present}`. Fix: use the new name in the file."
    warnings.warn(sentence, FutureWarning, stacklevel=3)


def renamed_plan(plan: Any, path: Any) -> Any:
    """Return the content of a plan with present names.

    Parameters
    ----------
    plan
        The content, as YAML or JSON.
    path
        The file of the plan: each former name has a warning that names this file. None for stored data, which have no
        warning.

    Raises
    ------
    ValueError
        If a key is there with both its names.
    """
    if not isinstance(plan, dict):
        return plan
    for former, present in FORMER_NAMES.items():
        if former in plan and present in plan:
            raise ValueError(
                f"`{former}` is the former name of `{present}`, and both are given. Fix: delete `{former}`."
            )
        if former in plan and path is not None:
            _warn_of_name(path, former, present)
    renamed = with_present_names(plan)
    if path is not None:
        before = {FORMER_NAMES.get(name, name): value for name, value in plan.items()}
        for former, present in FORMER_COLUMNS.items() if _as_lists(renamed) != _as_lists(before) else ():
            _warn_of_name(path, former, present)
    return renamed
