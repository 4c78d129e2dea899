"""Settings of the study at Prolific, and Prolific's formulas for the reward and the allowed time.

The formulas and limits come from Prolific's API reference (Studies, mid-2026) and its rules on payment.
"""

import math
from decimal import ROUND_CEILING, Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

HTTPS_SITE_PATTERN = r"https://[^\s{}/?#@]+(/[^\s{}?#]*)?"
LEAST_WAGE_PER_HOUR = {"GBP": 6, "USD": 8}
"""Prolific's minimum payment per hour, by currency."""
SHORT_STUDY_MIN = 5
"""In a study that is shorter than this time, one failed attention check is enough for a rejection. In a longer study,
two failed checks are needed.
"""


class PrescreenerRange(BaseModel):
    """A range of a prescreener, such as an age."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lower: float | None = Field(default=None, allow_inf_nan=False, description="Lowest value; no limit if omitted.")
    upper: float | None = Field(default=None, allow_inf_nan=False, description="Highest value; no limit if omitted.")


class Prescreener(BaseModel):
    """A prescreener: a condition on participants, which Prolific calls a filter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    filter_id: str = Field(min_length=1, description="Prolific's name of the filter, such as `age`.")
    selected_values: tuple[str, ...] | None = Field(
        default=None, min_length=1, description="Prolific's numbers of the accepted answers, in quotes."
    )
    selected_range: PrescreenerRange | None = Field(default=None, description="Range of accepted numbers.")

    @model_validator(mode="after")
    def _has_one_condition(self) -> "Prescreener":
        if (self.selected_values is None) == (self.selected_range is None):
            raise ValueError(
                "a prescreener needs `selected_values` or `selected_range`, and not both. Fix: write one of the two."
            )
        return self


class ProlificSettings(BaseModel):
    """The study at Prolific, for `equipoise recruit prolific`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str = Field(min_length=1, description="Description of the study that participants read at Prolific.")
    address: str | None = Field(
        default=None,
        pattern=f"^{HTTPS_SITE_PATTERN}$",
        description=(
            "Address of this study on your server, such as `https://study.example.org/`; if omitted, "
            "`prolific_secured_url`."
        ),
    )
    minutes: int = Field(ge=1, le=1440, description="Estimated duration of a session, in minutes.")
    wage_per_hour: float = Field(
        gt=0, le=1000, allow_inf_nan=False, description="Payment per hour, in the currency, such as 9.50."
    )
    currency: Literal["GBP", "USD"] = Field(default="GBP", description="Currency of your account at Prolific.")
    places: int | None = Field(
        default=None,
        ge=1,
        description="Number of participants at Prolific; if omitted, `quota`, or `quota_per_group` times the groups.",
    )
    prescreeners: tuple[Prescreener, ...] = Field(default=(), description="Conditions on the participants.")

    @property
    def reward_cents(self) -> int:
        """Payment of a participant in cents, never less than the wage for the estimated minutes.

        Examples
        --------
        >>> ProlificSettings(description="Rays.", minutes=10, wage_per_hour=9.1).reward_cents
        152
        """
        cents = Decimal(str(self.wage_per_hour)) * 100 * self.minutes / 60
        return int(cents.to_integral_value(ROUND_CEILING))

    @property
    def maximum_allowed_min(self) -> int:
        """Shortest time limit that Prolific accepts, in minutes: 2 + 2t + 2 √t for an estimate of t minutes.

        Examples
        --------
        >>> ProlificSettings(description="Rays.", minutes=25, wage_per_hour=9).maximum_allowed_min
        62
        """
        return math.ceil(2 + 2 * self.minutes + 2 * math.sqrt(self.minutes))

    @property
    def checks_for_rejection(self) -> int:
        """Number of failed attention checks after which Prolific allows a rejection."""
        return 1 if self.minutes < SHORT_STUDY_MIN else 2

    @model_validator(mode="after")
    def _pays_enough(self) -> "ProlificSettings":
        least = LEAST_WAGE_PER_HOUR[self.currency]
        if self.wage_per_hour < least:
            raise ValueError(
                f"the wage of {self.wage_per_hour:g} {self.currency} per hour is below Prolific's minimum. Fix: write "
                f"{least} or more."
            )
        return self
