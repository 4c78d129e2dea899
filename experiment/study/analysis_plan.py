"""The preregistered analysis: exclusions in order, tables, statistical models, tests, comparisons and intervals.

The package `analysis` reads this part of a study.
"""

from collections import Counter
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from experiment.study.answer_coding import Coding, CodingName
from experiment.study.exclusion_rules import ExclusionRule
from experiment.study.former_names import with_present_columns
from experiment.study.planned_analyses import Name, PlannedAnalyses, PlannedComparison, PlannedSignal

OF_RUNS = ("model", "model_version", "temperature", "prompt", "thinking", "thinking_budget", "epoch")
"""Columns with the settings of a model's run, and with the number of the repetition (`epoch`).

A plan can use these columns like factors of the items. Rows of people and simulated participants have no values in
these columns.
"""


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
    coding: dict[CodingName, Coding] = Field(
        default_factory=dict,
        description=(
            "Codings of open answers, by name. The column `coded_as` has the code of each answer. For each code, "
            "there is a yes-no column such as `code_physical`."
        ),
    )

    @model_validator(mode="before")
    @classmethod
    def _rename_former_columns(cls, plan: Any, info: ValidationInfo) -> Any:
        return with_present_columns(plan, None if info.context is None else info.context["path"])

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
