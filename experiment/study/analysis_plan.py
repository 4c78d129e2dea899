"""What is fixed before data are seen: exclusions in their order, tables, models, tests, comparisons and intervals.

This is the part of a study that the analysis reads.
"""

from collections import Counter

from pydantic import Field, field_validator

from experiment.study.exclusion_rules import ExclusionRule
from experiment.study.planned_analyses import Name, PlannedAnalyses, PlannedComparison, PlannedSignal


class AnalysisPlan(PlannedAnalyses):
    """The analysis of a study, fixed beforehand."""

    exclusions: tuple[ExclusionRule, ...] = Field(default=(), description="Exclusion rules, applied in this order.")
    by: tuple[str, ...] = Field(default=(), description="Factors whose levels the tables and figures set apart.")
    calibration: str | None = Field(
        default=None,
        description="Factor with ordered levels, such as `inference_level`: does accuracy fall alike?",
    )
    signals: dict[Name, PlannedSignal] = Field(
        default_factory=dict, description="Hits and false alarms of an answer, by name."
    )
    comparisons: dict[Name, PlannedComparison] = Field(
        default_factory=dict, description="Comparisons of people with models beside those by `by`, by name."
    )

    @field_validator("exclusions")
    @classmethod
    def _each_rule_once(cls, rules: tuple[ExclusionRule, ...]) -> tuple[ExclusionRule, ...]:
        for name, count in Counter(rule.rule for rule in rules).items():
            if count > 1:
                raise ValueError(f"the rule {name} stands {count} times; state it once.")
        return rules

    @field_validator("by")
    @classmethod
    def _each_factor_once(cls, factors: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(factors)) < len(factors):
            raise ValueError("a factor stands twice; name each once.")
        return factors
