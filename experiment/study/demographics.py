"""Questions about the participant, asked once on one page; each may be skipped."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, field_validator, model_validator

from batteries.errors import InputError

LONGEST_TEXT = 500


class DemographicQuestion(BaseModel):
    """One question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="Name of its column: small letters, digits and underscores, at most 40 of them.")
    ask: str = Field(min_length=1, description="The question in the participant's words.")
    answer: Literal["number", "choice", "text"] = Field(
        description="A whole number, one of `options`, or a line of text."
    )
    options: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(
        default=(), max_length=300, description="The options of a choice."
    )
    low: int = Field(default=0, description="Least number.")
    high: int = Field(default=1_000_000, description="Greatest number.")

    @field_validator("name")
    @classmethod
    def _can_name_a_column(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            raise ValueError(
                f"`{name}` is not a valid column name. Fix: begin with a small letter, then small letters, digits "
                "and underscores."
            )
        return name

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "DemographicQuestion":
        if (self.answer == "choice") != (len(self.options) >= 2):
            raise ValueError(
                "`options` do not fit the kind of question. Fix: give a choice two or more `options`, and other "
                "questions none."
            )
        if len(set(self.options)) < len(self.options):
            raise ValueError("two options are the same. Fix: make each one different.")
        if self.low > self.high:
            raise ValueError("`low` is greater than `high`. Fix: exchange them.")
        return self

    def check(self, answer: JsonValue) -> None:
        """Refuse an invalid answer to this question.

        Raises
        ------
        InputError
            If it is invalid; None, for a skipped question, is always valid.
        """
        if answer is None:
            return
        if self.answer == "number":
            if isinstance(answer, bool) or not isinstance(answer, int) or not self.low <= answer <= self.high:
                raise InputError(
                    f"`{self.name}` takes a whole number from {self.low} to {self.high}, not {answer!r}. "
                    "Fix: enter such a number, or skip the question."
                )
        elif not isinstance(answer, str) or (self.options and answer not in self.options):
            wanted = "one of its options" if self.options else "a text"
            raise InputError(
                f"`{self.name}` takes {wanted}, not {answer!r}. Fix: enter {wanted}, or skip the question."
            )
        elif self.answer == "text" and len(answer) > LONGEST_TEXT:
            raise InputError(f"`{self.name}` is longer than {LONGEST_TEXT} characters. Fix: shorten it.")


class Questionnaire(BaseModel):
    """A file with questions about the participant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: tuple[DemographicQuestion, ...] = Field(
        min_length=1, max_length=30, description="The questions, in order."
    )

    @model_validator(mode="after")
    def _names_are_distinct(self) -> "Questionnaire":
        names = [question.name for question in self.questions]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"duplicate question name `{name}`. Fix: give each its own.")
        return self
