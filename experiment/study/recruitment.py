"""Recruitment: who may take part, and how many participants.

Recruitment can change during data collection, because it changes neither the content nor the analysis of a study.
"""

import re
import warnings
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from experiment.study.prolific import HTTPS_SITE_PATTERN, ProlificSettings

LINK_PATTERN = r"https://[^\s{}/?#]+(/([^\s{}]|\{code\}|\{id\})*)?"
PROLIFIC_PARAMETER = "PROLIFIC_PID"
PROLIFIC_KEPT_PARAMETERS = ("STUDY_ID", "SESSION_ID")
"""Parameters with Prolific's ids of the study and of the submission."""
PROLIFIC_ID_PATTERN = "[0-9a-f]{24}"
"""A participant id of Prolific: 24 hexadecimal digits, in small letters."""
PANEL_ID_PATTERN = r"[\x21-\x7e]{1,128}"
"""A participant id of any panel: at most 128 letters, digits and signs, without spaces."""
PLACEHOLDER_PATTERN = r"\{.*\}|\$\{.*\}|\[.*\]|<.*>|%.+%|#.+#|ASSIGNMENT_ID_NOT_AVAILABLE|undefined|null"
"""A placeholder that a panel did not replace with the participant's id.

The forms are those of Prolific (`{{%PROLIFIC_PID%}}`), Qualtrics and Mechanical Turk (`${e://Field/PID}`,
`${assignmentId}`, `ASSIGNMENT_ID_NOT_AVAILABLE` in a preview), Cint (`[%MID%]`), Sona (`%SURVEY_CODE%`), and of other
panels: `[id]`, `<id>`, `#id#`. Scripts write `undefined` and `null`.
"""
PARAMETER_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"


class Exit(BaseModel):
    """Completion code and return link for one outcome of a session."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str | None = Field(
        default=None,
        min_length=4,
        max_length=64,
        description="Code to show, the same for all participants with this outcome.",
    )
    link: str | None = Field(
        default=None,
        description="Return link with https; `{code}` is replaced with the code and `{id}` with the panel id.",
    )

    @field_validator("code")
    @classmethod
    def _has_no_spaces(cls, code: str | None) -> str | None:
        if code is not None and re.search(r"\s", code):
            raise ValueError("the code contains a space. Fix: write the code as the panel knows it.")
        return code

    @field_validator("link")
    @classmethod
    def _is_an_address(cls, link: str | None) -> str | None:
        if link is not None and not re.fullmatch(LINK_PATTERN, link):
            raise ValueError(
                "this is not a valid return link. Fix: write the whole address, such as "
                "https://panel.example.org/end?cc={code}, with no other placeholders than {code} and {id}."
            )
        return link


class Exits(BaseModel):
    """Completion codes and return links for a panel, one entry for each outcome of a session."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    completed: Exit = Field(default_factory=Exit, description="The participant responded to all questions.")
    failed_checks: Exit | None = Field(
        default=None,
        description=(
            "The participant responded to all questions, but failed more attention checks than the preregistered rule "
            "allows; if omitted, the same as `completed`."
        ),
    )
    practice_not_passed: Exit = Field(
        default_factory=Exit,
        description="The participant did not pass the practice, and the study then ends the session.",
    )
    not_resumed: Exit = Field(
        default_factory=Exit, description="The participant came back too late or too often for the rules of `resume`."
    )
    no_consent: Exit = Field(default_factory=Exit, description="The participant did not agree.")
    incompatible_device: Exit = Field(
        default_factory=Exit, description="The device does not meet the requirements of `device`."
    )

    def at_completion(self, passed_checks: bool) -> Exit:
        """Return the exit of a participant who has responded to all questions."""
        return self.completed if passed_checks or self.failed_checks is None else self.failed_checks

    @model_validator(mode="after")
    def _links_have_their_codes(self) -> "Exits":
        for name in ("practice_not_passed", "not_resumed", "no_consent", "incompatible_device"):
            exit_: Exit = getattr(self, name)
            if exit_.code is None and "{code}" in (exit_.link or ""):
                raise ValueError(
                    f"the link of `{name}` has a placeholder for a code, but there is no code. Fix: add `code`."
                )
        return self


class Recruitment(BaseModel):
    """Rules on who may take part, and the number of participants. Both can change during data collection."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entry: Literal["open", "panel", "link"] = Field(
        default="open",
        description=(
            "Who may begin. `open`: everybody. `panel`: participants with a panel id in the address. `link`: "
            "participants with a personal link (`equipoise links`). With `panel` or `link`, each participant takes "
            "part once."
        ),
    )
    panel_parameter: str = Field(
        default="PROLIFIC_PID",
        pattern=PARAMETER_PATTERN,
        description="Parameter of the address that contains the participant's panel id.",
    )
    kept_parameters: tuple[str, ...] = Field(
        default=PROLIFIC_KEPT_PARAMETERS,
        max_length=10,
        description=(
            "Further parameters of the address, stored with the panel id. To resume in another browser, a participant "
            "needs an address with the same `SESSION_ID` as at the start."
        ),
    )
    panel_id_pattern: str | None = Field(
        default=None,
        max_length=200,
        description=(
            "Regular expression for a whole panel id. If omitted: 24 hexadecimal digits for `PROLIFIC_PID`, and 1 to "
            "128 printable characters without spaces for any other parameter."
        ),
    )
    panel_ids: str | None = Field(
        default=None,
        description=(
            "File in the study's folder, such as `data/ids.txt`, with the accepted panel ids, one per line. The server "
            "reads this file when it starts. If omitted, every id is accepted."
        ),
    )
    prolific_secured_url: str | None = Field(
        default=None,
        description=(
            "Address of this study on your server, such as `https://study.example.org/`. If set, only participants "
            "with a valid `prolific_token` can begin. Prolific adds this token to a secured external URL."
        ),
    )
    quota: int | None = Field(default=None, ge=1, description="Largest number of people; no limit if omitted.")
    quota_per_group: int | None = Field(
        default=None, ge=1, description="Largest number of people in each counterbalance group; no limit if omitted."
    )
    time_out_min: float = Field(
        default=60,
        ge=1,
        le=60 * 24 * 60,
        allow_inf_nan=False,
        description="Minutes without a response or a visit, after which another participant can get the slot.",
    )

    exits: Exits = Field(default_factory=Exits, description="Codes and return links, by outcome.")
    prolific: ProlificSettings | None = Field(
        default=None, description="The study at Prolific, for `equipoise recruit prolific`."
    )

    @property
    def id_pattern(self) -> re.Pattern[str]:
        """The regular expression that a panel id must match."""
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
                f"this regular expression is ambiguous ({warning}). Fix: write a backslash before each literal sign, "
                "such as `\\[`."
            ) from None
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(
                f"this is not a regular expression ({error}). Fix: write a regular expression, such as `[0-9]{{6}}`."
            ) from None
        return pattern

    @field_validator("prolific_secured_url")
    @classmethod
    def _is_a_site(cls, url: str | None) -> str | None:
        if url is not None and not re.fullmatch(HTTPS_SITE_PATTERN, url):
            raise ValueError(
                "this is not an address of a study. Fix: write the address without parameters, such as "
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
                f"with `prolific_secured_url`, `panel_parameter` must be {PROLIFIC_PARAMETER}. Fix: delete the line "
                f"`panel_parameter`; {PROLIFIC_PARAMETER} is the default."
            )
        return self

    @model_validator(mode="after")
    def _prolific_sends_its_ids(self) -> "Recruitment":
        if self.prolific is None:
            return self
        if self.entry != "panel" or self.panel_parameter != PROLIFIC_PARAMETER:
            raise ValueError(
                f"`prolific` needs `entry: panel` and the `panel_parameter` {PROLIFIC_PARAMETER}. Fix: set `entry: "
                "panel`, and delete the line `panel_parameter`."
            )
        if not set(PROLIFIC_KEPT_PARAMETERS) <= set(self.kept_parameters):
            raise ValueError(
                "`prolific` needs STUDY_ID and SESSION_ID in `kept_parameters`, because payments refer to these ids. "
                "Fix: delete the line `kept_parameters`."
            )
        if self.prolific.address is None and self.prolific_secured_url is None:
            raise ValueError("`prolific` has no address of the study. Fix: add `address: https://...` to `prolific`.")
        if self.prolific_secured_url not in {None, self.prolific.address or self.prolific_secured_url}:
            raise ValueError("`prolific.address` and `prolific_secured_url` differ. Fix: delete `address`.")
        return self

    @model_validator(mode="after")
    def _ids_are_known(self) -> "Recruitment":
        for name in Exits.model_fields:
            exit_: Exit | None = getattr(self.exits, name)
            if self.entry == "open" and exit_ is not None and "{id}" in (exit_.link or ""):
                raise ValueError(
                    f"the link of `exits.{name}` has a placeholder for a panel id, but `entry: open` has no panel ids. "
                    "Fix: delete `{id}`, or set `entry: panel`."
                )
        return self

    @model_validator(mode="after")
    def _parameters_are_distinct(self) -> "Recruitment":
        if len({self.panel_parameter, *self.kept_parameters}) < 1 + len(self.kept_parameters):
            raise ValueError(
                "`panel_parameter` and `kept_parameters` name the same parameter of the study's address more than "
                "once. Fix: name each parameter once."
            )
        return self
