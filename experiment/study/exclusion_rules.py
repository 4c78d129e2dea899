"""Exclusion rules of an analysis plan. Times are in milliseconds. Rules apply to people, never to language models."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class AttentionCheckRule(_Rule):
    """Exclude participants who fail more attention checks than `max_failed`."""

    rule: Literal["attention_check"]
    max_failed: int = Field(default=0, ge=0, description="Largest allowed number of failed attention checks.")


class _RtRule(_Rule):
    min_ms: float | None = Field(
        default=None, ge=0, description="Lower bound, in ms. Shorter response times are out of bounds."
    )
    max_ms: float | None = Field(
        default=None, gt=0, description="Upper bound, in ms. Longer response times are out of bounds."
    )

    @model_validator(mode="after")
    def _has_bounds(self) -> "_RtRule":
        if self.min_ms is None and self.max_ms is None:
            raise ValueError("the rule has no bound. Fix: set min_ms, max_ms or both.")
        if self.min_ms is not None and self.max_ms is not None and self.min_ms >= self.max_ms:
            raise ValueError(
                f"min_ms ({self.min_ms:g}) is not less than max_ms ({self.max_ms:g}). Fix: correct one of the two."
            )
        return self


class MedianRtRule(_RtRule):
    """Exclude participants whose median response time is out of bounds.

    The median is over test trials with a response.
    """

    rule: Literal["median_rt"]


class TrialRtRule(_RtRule):
    """Exclude single test trials whose response time is out of bounds."""

    rule: Literal["trial_rt"]


class MissingRule(_Rule):
    """Exclude participants whose share of test trials without a response is greater than `max_share`."""

    rule: Literal["missing"]
    max_share: float = Field(
        default=0.0, ge=0, lt=1, description="Largest allowed share of test trials without a response."
    )


class DuplicatesRule(_Rule):
    """Keep only the first completed session of a participant who completed the study more than once."""

    rule: Literal["duplicates"]


class FocusLostRule(_Rule):
    """Exclude participants who left the page more than `max_times` during their test trials."""

    rule: Literal["focus_lost"]
    max_times: int = Field(
        default=0, ge=0, description="Largest allowed number of times that a participant leaves the page."
    )


class TrialFocusLostRule(_Rule):
    """Exclude single test trials during which the participant left the page."""

    rule: Literal["trial_focus_lost"]


class ImplausiblyFastRule(_Rule):
    """Exclude participants whose share of implausibly fast responses is greater than `max_share`."""

    rule: Literal["implausibly_fast"]
    max_share: float = Field(
        default=0.0, ge=0, lt=1, description="Largest allowed share of implausibly fast responses."
    )


class SameResponseRunRule(_Rule):
    """Exclude participants who gave the same response more than `max_length` times in a row."""

    rule: Literal["same_response_run"]
    max_length: int = Field(ge=1, description="Longest allowed run of equal responses, in trials.")


class DroppedFramesRule(_Rule):
    """Exclude single test trials with more than `max_frames` dropped frames during the fixation."""

    rule: Literal["dropped_frames"]
    max_frames: int = Field(default=0, ge=0, description="Largest allowed number of dropped frames in a trial.")


class FixationOffByMsRule(_Rule):
    """Exclude single test trials whose fixation differs from its intended duration by more than `max_ms`.

    The intended duration is the planned number of frames, multiplied by the frame interval of the display.
    """

    rule: Literal["fixation_off_by_ms"]
    max_ms: float = Field(ge=0, description="Largest allowed difference, in ms.")


ExclusionRule = Annotated[
    AttentionCheckRule
    | MedianRtRule
    | TrialRtRule
    | MissingRule
    | DuplicatesRule
    | FocusLostRule
    | TrialFocusLostRule
    | ImplausiblyFastRule
    | SameResponseRunRule
    | DroppedFramesRule
    | FixationOffByMsRule,
    Field(discriminator="rule"),
]
