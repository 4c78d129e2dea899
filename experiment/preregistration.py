"""What is fixed before data are seen: exclusion rules in their order, the factors of the tables, the intervals.

This is the part of a study that the analysis reads. Times are in milliseconds.
"""

from collections import Counter
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class AttentionCheckRule(BaseModel):
    """Leave out participants who fail more attention checks than `max_failed`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: Literal["attention_check"]
    max_failed: int = Field(default=0, ge=0, description="Failed attention checks that are still allowed.")


class _RtRule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    min_ms: float | None = Field(default=None, ge=0, description="Response times under this are left out, in ms.")
    max_ms: float | None = Field(default=None, gt=0, description="Response times over this are left out, in ms.")

    @model_validator(mode="after")
    def _has_bounds(self) -> "_RtRule":
        if self.min_ms is None and self.max_ms is None:
            raise ValueError("the rule needs min_ms, max_ms or both.")
        if self.min_ms is not None and self.max_ms is not None and self.min_ms >= self.max_ms:
            raise ValueError(f"min_ms ({self.min_ms:g}) must be under max_ms ({self.max_ms:g}).")
        return self


class MedianRtRule(_RtRule):
    """Leave out participants whose median response time over their answered test trials is out of bounds."""

    rule: Literal["median_rt"]


class TrialRtRule(_RtRule):
    """Leave out single test trials whose response time is out of bounds."""

    rule: Literal["trial_rt"]


ExclusionRule = Annotated[AttentionCheckRule | MedianRtRule | TrialRtRule, Field(discriminator="rule")]


class AnalysisPlan(BaseModel):
    """The analysis, fixed beforehand."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    exclusions: tuple[ExclusionRule, ...] = Field(default=(), description="Exclusion rules, applied in this order.")
    by: tuple[str, ...] = Field(default=(), description="Factors whose levels the tables and figures set apart.")
    confidence: float = Field(default=0.95, gt=0.5, lt=1, description="Coverage of the intervals.")
    bootstrap_resamples: int = Field(
        default=10_000, ge=1_000, le=1_000_000, description="Resamples of the participant bootstrap."
    )
    bootstrap_seed: int = Field(
        default=1, ge=0, le=2**31 - 1, description="Seed of the bootstrap, so that tables can be remade."
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
