"""Former names of the keys and columns of an analysis plan, so that older plans can be read."""

import re
import warnings
from collections.abc import Mapping
from typing import Any

FORMER_NAMES = {"calibration": "difficulty", "bootstrap_seed": "seed", "bootstrap_resamples": "resamples"}
"""Renamed keys of an analysis plan: the former name and the present name of each key."""
FORMER_COLUMNS = {"occasion": "session_number", "run_epoch": "epoch"}
"""Renamed columns of a study's data: the former name and the present name of each column."""

_COLUMNS = {"by", "demands", "of", "order_by", "per", "between", "within", "difficulty", "item_cluster", "subject"}
"""Keys of an analysis plan whose values are names of columns."""
_LEVELS = {"where", "reference", "signal", "noise"}
"""Keys of an analysis plan whose values are mappings from names of columns."""


def with_present_names(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the content of an analysis plan. Present names replace the former names of keys and columns."""
    present = {FORMER_NAMES.get(name, name): value for name, value in plan.items()}
    return {name: _renamed(name, value, FORMER_COLUMNS) for name, value in present.items()}


def _renamed(key: str, value: Any, columns: Mapping[str, str]) -> Any:
    """Return the value of a key with present names of columns. `columns` maps each former name to the present name."""
    if isinstance(value, str) and key == "formula":
        for former, column in columns.items():
            value = re.sub(rf"(?<![\w.]){former}(?![\w.])", column, value)
        return value
    if isinstance(value, str) and key in _COLUMNS:
        name = value.removeprefix("-")  # Before a name, `-` sorts from high to low.
        return value.removesuffix(name) + columns.get(name, name)
    if isinstance(value, dict) and key in _LEVELS:
        for former, column in columns.items():
            if former in value and column in value:
                raise ValueError(
                    f"`{former}` is the former name of `{column}`, and both are given. Fix: delete `{former}`."
                )
        return {columns.get(name, name): levels for name, levels in value.items()}
    if isinstance(value, dict):
        inner = "where" if key == "flags" else None
        return {name: _renamed(inner or name, content, columns) for name, content in value.items()}
    if isinstance(value, (list, tuple)):
        return [_renamed(key, content, columns) for content in value]
    return value


def _as_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_lists(content) for name, content in value.items()}
    return [_as_lists(content) for content in value] if isinstance(value, (list, tuple)) else value


def _warn_of_name(path: Any, former: str, present: str) -> None:
    sentence = f"{path}: `{former}` is now called `{present}`. Fix: use the new name in the file."
    warnings.warn(sentence, FutureWarning, stacklevel=3)


def with_present_keys(plan: Any, path: Any) -> Any:
    """Return the content of a plan with the present names of keys.

    Parameters
    ----------
    plan
        The content, as YAML or JSON.
    path
        The file of the plan, for a warning about each former name. None for no warnings, because the plan comes from a
        store.

    Raises
    ------
    ValueError
        If the plan contains both the former and the present name of a key.
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
    return {FORMER_NAMES.get(name, name): value for name, value in plan.items()}


def with_present_columns(plan: Any, path: Any) -> Any:
    """Return the content of a study's plan with the present names of columns. See `with_present_keys`."""
    if not isinstance(plan, dict):
        return plan
    for former, present in FORMER_COLUMNS.items():
        renamed = {name: _renamed(name, value, {former: present}) for name, value in plan.items()}
        if path is not None and _as_lists(renamed) != _as_lists(plan):
            _warn_of_name(path, former, present)
        plan = renamed
    return plan
