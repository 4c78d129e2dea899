"""How people come to a study and how many are wanted: what may change while data come in.

Nothing here changes what is shown or how it is analyzed, so none of it is part of a study's digest.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

PARAMETER_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"


class Recruitment(BaseModel):
    """How people come in, and how many are wanted; it may change while data come in, and holds from the next start."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entry: Literal["open", "panel", "link"] = Field(
        default="open",
        description="Who may begin: `open`, everybody; `panel`, whoever comes with a panel's id in the address; "
        "`link`, whoever comes by a personal link (`equipoise links`). With panel and link, each takes part once.",
    )
    panel_parameter: str = Field(
        default="PROLIFIC_PID",
        pattern=PARAMETER_PATTERN,
        description="Parameter of the address that holds the panel's id of a person.",
    )
    kept_parameters: tuple[str, ...] = Field(
        default=("STUDY_ID", "SESSION_ID"),
        max_length=10,
        description="Further parameters of the address that are kept beside that id.",
    )
    quota: int | None = Field(default=None, ge=1, description="People wanted in all; without it, no bound.")
    quota_per_group: int | None = Field(
        default=None, ge=1, description="People wanted in each counterbalance group; without it, no bound."
    )
    time_out_min: float = Field(
        default=60,
        ge=1,
        le=60 * 24 * 60,
        allow_inf_nan=False,
        description="Minutes without an answer after which a place is given to somebody else.",
    )

    @model_validator(mode="after")
    def _parameters_are_distinct(self) -> "Recruitment":
        if len({self.panel_parameter, *self.kept_parameters}) < 1 + len(self.kept_parameters):
            raise ValueError("a parameter of the address stands twice; name each once.")
        return self
