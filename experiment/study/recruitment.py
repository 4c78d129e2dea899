"""How people come to a study and how many are wanted: what may change while data come in.

Nothing here changes what is shown or how it is analyzed, so none of it is part of a study's digest.
"""

import re
import warnings
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

LINK_PATTERN = r"https://[^\s{}/?#]+(/([^\s{}]|\{code\}|\{id\})*)?"
HTTPS_SITE_PATTERN = r"https://[^\s{}/?#@]+(/[^\s{}?#]*)?"
PROLIFIC_PARAMETER = "PROLIFIC_PID"
PROLIFIC_ID_PATTERN = "[0-9a-f]{24}"
"""An id of Prolific: 24 hexadecimal digits, in small letters."""
PANEL_ID_PATTERN = r"[\x21-\x7e]{1,128}"
"""Any panel's id: at most 128 letters, digits and signs, without spaces."""
PARAMETER_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"


class Exit(BaseModel):
    """Completion code and redirect URL of an outcome."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str | None = Field(
        default=None, min_length=4, max_length=64, description="Code to show, the same for all who leave this way."
    )
    link: str | None = Field(
        default=None,
        description="Address to return to, with https; `{code}` stands for the code and `{id}` for the panel's id.",
    )

    @field_validator("code")
    @classmethod
    def _has_no_spaces(cls, code: str | None) -> str | None:
        if code is not None and re.search(r"\s", code):
            raise ValueError("a code has no spaces in it. Fix: write it as the panel knows it.")
        return code

    @field_validator("link")
    @classmethod
    def _is_an_address(cls, link: str | None) -> str | None:
        if link is not None and not re.fullmatch(LINK_PATTERN, link):
            raise ValueError(
                "this is not an address to return to. Fix: write it whole, such as "
                "https://panel.example.org/end?cc={code}, with no other places than {code} and {id}."
            )
        return link


class Exits(BaseModel):
    """Codes and return links by outcome, such as a panel wants them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    completed: Exit = Field(default_factory=Exit, description="All questions answered.")
    failed_checks: Exit | None = Field(
        default=None,
        description="All questions answered, and the preregistered attention checks failed; "
        "if left out, the same as `completed`.",
    )
    practice_not_passed: Exit = Field(
        default_factory=Exit, description="Practice not passed, where the study ends then."
    )
    not_resumed: Exit = Field(
        default_factory=Exit, description="Came back too late or too often for the study's rules (`resume`)."
    )
    no_consent: Exit = Field(default_factory=Exit, description="Not agreed to take part.")
    incompatible_device: Exit = Field(default_factory=Exit, description="A device that the study does not work on.")

    @model_validator(mode="after")
    def _links_have_their_codes(self) -> "Exits":
        for name in ("practice_not_passed", "not_resumed", "no_consent", "incompatible_device"):
            exit_: Exit = getattr(self, name)
            if exit_.code is None and "{code}" in (exit_.link or ""):
                raise ValueError(
                    f"the link of `{name}` has a place for a code, and there is none. Fix: add its `code`."
                )
        return self


class Recruitment(BaseModel):
    """How people come in, and how many are wanted; it may change while data come in, and holds from the next start."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entry: Literal["open", "panel", "link"] = Field(
        default="open",
        description="Who may begin: `open`, everybody; `panel`, anyone who comes with a panel's id in the address; "
        "`link`, anyone who comes by a personal link (`equipoise links`). With panel and link, each takes part once.",
    )
    panel_parameter: str = Field(
        default="PROLIFIC_PID",
        pattern=PARAMETER_PATTERN,
        description="Parameter of the address that holds the panel's id of a person.",
    )
    kept_parameters: tuple[str, ...] = Field(
        default=("STUDY_ID", "SESSION_ID"),
        max_length=10,
        description="Further parameters of the address that are kept beside that id. Who comes again in another "
        "browser must bring the same `SESSION_ID` as at the start.",
    )
    panel_id_pattern: str | None = Field(
        default=None,
        max_length=200,
        description="Regular expression of a whole panel id. Left out: 24 hexadecimal digits for `PROLIFIC_PID`, "
        "1 to 128 printable characters without spaces for another parameter.",
    )
    panel_ids: str | None = Field(
        default=None,
        description="File of the study's folder, such as `data/ids.txt`, with the panel ids that may begin, one a "
        "line; read when the server starts. "
        "Left out, every id may begin.",
    )
    prolific_secured_url: str | None = Field(
        default=None,
        description="Address of this study on your server, such as `https://study.example.org/`. With it, nobody "
        "begins without a valid `prolific_token`, which Prolific adds to a secured external URL.",
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

    exits: Exits = Field(default_factory=Exits, description="Codes and return links, by outcome.")

    @property
    def id_pattern(self) -> re.Pattern[str]:
        """The form of a panel's id."""
        default = PROLIFIC_ID_PATTERN if self.panel_parameter == PROLIFIC_PARAMETER else PANEL_ID_PATTERN
        return re.compile(self.panel_id_pattern or default)

    @field_validator("panel_id_pattern")
    @classmethod
    def _is_a_regular_expression(cls, pattern: str | None) -> str | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", FutureWarning)
                re.compile(pattern or "")
        except FutureWarning as warning:
            raise ValueError(
                f"ambiguous regular expression ({warning}). Fix: write a backslash before each sign that stands for "
                "itself, such as `\\[`."
            ) from None
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"not a regular expression ({error}). Fix: correct it, such as `[0-9]{{6}}`.") from None
        return pattern

    @field_validator("prolific_secured_url")
    @classmethod
    def _is_a_site(cls, url: str | None) -> str | None:
        if url is not None and not re.fullmatch(HTTPS_SITE_PATTERN, url):
            raise ValueError(
                "not an address of a study. Fix: write the address without parameters, such as "
                "https://study.example.org/."
            )
        return url

    @model_validator(mode="after")
    def _panel_fields_have_a_panel(self) -> "Recruitment":
        for name in ("panel_id_pattern", "panel_ids", "prolific_secured_url"):
            if self.entry != "panel" and getattr(self, name) is not None:
                raise ValueError(f"`{name}` needs `entry: panel`. Fix: set `entry: panel`, or delete `{name}`.")
        if self.prolific_secured_url is not None and self.panel_parameter != PROLIFIC_PARAMETER:
            raise ValueError(
                f"`prolific_secured_url` needs `panel_parameter: {PROLIFIC_PARAMETER}`. Fix: delete `panel_parameter`."
            )
        return self

    @model_validator(mode="after")
    def _ids_are_known(self) -> "Recruitment":
        for name in Exits.model_fields:
            exit_: Exit | None = getattr(self.exits, name)
            if self.entry == "open" and exit_ is not None and "{id}" in (exit_.link or ""):
                raise ValueError(
                    f"the link of `exits.{name}` has a place for a panel's id, which nobody has with `entry: open`. "
                    "Fix: take `{id}` out or choose `entry: panel`."
                )
        return self

    @model_validator(mode="after")
    def _parameters_are_distinct(self) -> "Recruitment":
        if len({self.panel_parameter, *self.kept_parameters}) < 1 + len(self.kept_parameters):
            raise ValueError("a parameter of the address appears twice. Fix: name each once.")
        return self
