"""Questions about the participant. The participant sees them once, and may skip any question."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, field_validator, model_validator

from batteries.errors import InputError

LONGEST_TEXT = 500


class DemographicQuestion(BaseModel):
    """A question about the participant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="Name of the data column: at most 40 small letters, digits and underscores.")
    ask: str = Field(min_length=1, description="The question, as the participant reads it.")
    answer: Literal["number", "choice", "text"] = Field(
        description="A whole number, one of `options`, or a line of text."
    )
    options: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(
        default=(), max_length=300, description="The options of a choice."
    )
    low: int = Field(default=0, description="Smallest valid number.")
    high: int = Field(default=1_000_000, description="Largest valid number.")

    @field_validator("name")
    @classmethod
    def _can_name_a_column(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name):
            raise ValueError(
                f"`{name}` is not a valid column name. Fix: write a small letter first, and then only small "
                "letters, digits and underscores."
            )
        return name

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "DemographicQuestion":
        if (self.answer == "choice") != (len(self.options) >= 2):
            raise ValueError(
                "`options` do not fit the kind of question. Fix: write two or more `options` for a choice, and no "
                "`options` for any other question."
            )
        if len(set(self.options)) < len(self.options):
            raise ValueError("two options are the same. Fix: make each option different.")
        if self.low > self.high:
            raise ValueError("`low` is greater than `high`. Fix: exchange the two numbers.")
        return self

    def check(self, answer: JsonValue) -> None:
        """Raise an InputError if an answer to this question is invalid. None, for a skipped question, is valid."""
        if answer is None:
            return
        if self.answer == "number":
            if isinstance(answer, bool) or not isinstance(answer, int) or not self.low <= answer <= self.high:
                raise InputError(
                    f"`{self.name}` needs a whole number from {self.low} to {self.high}, not {answer!r}. "
                    "Fix: enter such a number, or skip the question."
                )
        elif not isinstance(answer, str) or (self.options and answer not in self.options):
            wanted = "one of the options" if self.options else "a text"
            raise InputError(
                f"`{self.name}` needs {wanted}, not {answer!r}. Fix: enter {wanted}, or skip the question."
            )
        elif self.answer == "text" and len(answer) > LONGEST_TEXT:
            raise InputError(f"`{self.name}` is longer than {LONGEST_TEXT} characters. Fix: shorten the text.")


class Questionnaire(BaseModel):
    """The content of a file with questions about the participant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: tuple[DemographicQuestion, ...] = Field(
        min_length=1, max_length=30, description="The questions, in order."
    )

    @model_validator(mode="after")
    def _names_are_distinct(self) -> "Questionnaire":
        names = [question.name for question in self.questions]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"duplicate question name `{name}`. Fix: give each question its own name.")
        return self
