"""The preregistered analysis: exclusions in order, tables, statistical models, tests, comparisons and intervals.

The package `analysis` reads this part of a study.
"""

import re
import warnings
from collections import Counter
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from experiment.study.exclusion_rules import ExclusionRule
from experiment.study.planned_analyses import Name, PlannedAnalyses, PlannedComparison, PlannedSignal

FORMER_NAMES = {"calibration": "difficulty"}
"""Renamed keys of an analysis plan: the former name and the present name of each key."""
FORMER_COLUMNS = {"occasion": "session_number", "run_epoch": "epoch"}
"""Renamed columns of a study's data: the former name and the present name of each column."""

OF_RUNS = ("model", "model_version", "temperature", "prompt", "thinking", "thinking_budget", "epoch")
"""Columns with the settings of a model's run, and with the number of its repetition. A plan can use these columns like
factors of the items. People and simulated participants have no values in these columns."""

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


class AnalysisPlan(PlannedAnalyses):
    """The analysis of a study, fixed before the researchers see data."""

    exclusions: tuple[ExclusionRule, ...] = Field(default=(), description="Exclusion rules, applied in this order.")
    by: tuple[str, ...] = Field(
        default=(),
        description=(
            "Factors of the tables and figures, which show each level separately: factors of the items, or settings of "
            "the models' runs, such as `prompt` and `temperature`."
        ),
    )
    demands: tuple[str, ...] = Field(
        default=(),
        description=(
            "Factors that count the demands of an item, such as `beliefs`: an item has the demand if the number is at "
            "least 1. The accuracy is reported for the items with each demand, also by the factors in `by`. An item "
            "can have several demands. Tables, models and tests of the plan can use yes-no columns such as "
            "`has_beliefs`."
        ),
    )
    item_cluster: str | None = Field(
        default=None,
        description=(
            "Factor whose levels are groups of related items, such as `scenario_number`. In the intervals of models, "
            "responses to items of one group are not independent. By default, only responses to the same item are not "
            "independent."
        ),
    )
    items: Literal["fixed", "random"] = Field(
        default="fixed",
        description=(
            "Scope of the intervals of people's accuracy and of differences from models. `fixed`: people's intervals "
            "generalize to other participants with the same items. `random`: they also generalize to other items of "
            "the same kind (with `item_cluster`, to other clusters), so they are wider."
        ),
    )
    invalid: Literal["wrong", "left_out", "chance"] = Field(
        default="wrong",
        description=(
            "How invalid and missing responses of models enter their accuracy. `wrong`: as not correct. `left_out`: "
            "these trials are excluded. `chance`: as the probability that a random response to the item is correct."
        ),
    )
    difficulty: str | None = Field(
        default=None,
        description=(
            "Factor with ordered levels, such as `inference_level`. The report shows whether accuracy falls equally "
            "over these levels in people and in models."
        ),
    )
    signals: dict[Name, PlannedSignal] = Field(
        default_factory=dict, description="Analyses of how often one response is a hit or a false alarm, by name."
    )
    comparisons: dict[Name, PlannedComparison] = Field(
        default_factory=dict,
        description="Comparisons of people with models, by name, in addition to the comparison by the factors in `by`.",
    )

    @model_validator(mode="before")
    @classmethod
    def _rename_former_names(cls, plan: Any, info: ValidationInfo) -> Any:
        """Accept the former names of keys. Warn of former names in a file, but not in stored data."""
        if not isinstance(plan, dict):
            return plan
        for former, present in FORMER_NAMES.items():
            if former in plan and present in plan:
                raise ValueError(
                    f"`{former}` is the former name of `{present}`, and both are given. Fix: delete `{former}`."
                )
            if former in plan and info.context is not None:
                _warn_of_name(info.context["path"], former, present)
        renamed = with_present_names(plan)
        if info.context is not None:
            before = {FORMER_NAMES.get(name, name): value for name, value in plan.items()}
            for former, present in FORMER_COLUMNS.items() if _as_lists(renamed) != _as_lists(before) else ():
                _warn_of_name(info.context["path"], former, present)
        return renamed

    @field_validator("exclusions")
    @classmethod
    def _each_rule_once(cls, rules: tuple[ExclusionRule, ...]) -> tuple[ExclusionRule, ...]:
        for name, count in Counter(rule.rule for rule in rules).items():
            if count > 1:
                raise ValueError(f"duplicate rule {name} ({count} times). Fix: state the rule once.")
        return rules

    @field_validator("by", "demands")
    @classmethod
    def _each_factor_once(cls, factors: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(factors)) < len(factors):
            raise ValueError("duplicate factor. Fix: name each factor once.")
        return factors
