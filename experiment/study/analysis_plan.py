"""The preregistered analysis: exclusions in order, tables, statistical models, tests, comparisons and intervals.

The package `analysis` reads this part of a study.
"""

import warnings
from collections import Counter
from typing import Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from experiment.study.exclusion_rules import ExclusionRule
from experiment.study.planned_analyses import Name, PlannedAnalyses, PlannedComparison, PlannedSignal

FORMER_NAMES = {"calibration": "difficulty"}
"""Former names of the keys of an analysis plan, with the present names."""


def with_present_names(plan: dict[str, Any]) -> dict[str, Any]:
    """Return the content of an analysis plan with the present names of its keys."""
    return {FORMER_NAMES.get(name, name): value for name, value in plan.items()}


class AnalysisPlan(PlannedAnalyses):
    """The analysis of a study, fixed before the researchers see data."""

    exclusions: tuple[ExclusionRule, ...] = Field(default=(), description="Exclusion rules, applied in this order.")
    by: tuple[str, ...] = Field(default=(), description="Factors whose levels the tables and figures separate.")
    difficulty: str | None = Field(
        default=None,
        description=(
            "Factor with ordered levels, such as `inference_level`. The report shows whether accuracy falls equally in "
            "people and models."
        ),
    )
    signals: dict[Name, PlannedSignal] = Field(
        default_factory=dict, description="Hits and false alarms of a response, by name."
    )
    comparisons: dict[Name, PlannedComparison] = Field(
        default_factory=dict,
        description="Comparisons of people with models, in addition to the comparison by `by`, by name.",
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
                warnings.warn(
                    f"{info.context['path']}: `{former}` is now called `{present}`. Fix: rename it in the file.",
                    FutureWarning,
                    stacklevel=2,
                )
        return with_present_names(plan)

    @field_validator("exclusions")
    @classmethod
    def _each_rule_once(cls, rules: tuple[ExclusionRule, ...]) -> tuple[ExclusionRule, ...]:
        for name, count in Counter(rule.rule for rule in rules).items():
            if count > 1:
                raise ValueError(f"duplicate rule {name} ({count} times). Fix: state the rule once.")
        return rules

    @field_validator("by")
    @classmethod
    def _each_factor_once(cls, factors: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(factors)) < len(factors):
            raise ValueError("duplicate factor. Fix: name each factor once.")
        return factors
