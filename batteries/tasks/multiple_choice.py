"""`multiple_choice`: a stimulus, a question, and two to nine options, which are texts or pictures.

The response is the number of an option, or a list of numbers if participants may choose several options.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    field_validator,
    model_validator,
)

from batteries.errors import InputError
from batteries.stimulus.parts import ImagePart, StimulusBeside, StimulusContent, option_words, stimulus_words
from batteries.tasks.replies.reading import Reading
from batteries.tasks.task import Feedback, Score, Task

FULL_STOPS = (".", "。", "।")

Option = Annotated[
    Annotated[str, StringConstraints(min_length=1), Tag("(text)")] | Annotated[ImagePart, Tag("(image)")],
    Discriminator(lambda option: "(image)" if isinstance(option, dict | ImagePart) else "(text)"),
]
"""An option: a text, or a picture."""


class Several(BaseModel):
    """The allowed numbers of chosen options."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at_least: int = Field(ge=0, description="Smallest number of options that a participant must choose.")
    at_most: int = Field(ge=2, le=9, description="Largest number of options that a participant may choose.")


class MultipleChoiceContent(StimulusContent):
    """Content of an item with the task `multiple_choice`."""

    stimulus_beside: StimulusBeside = False
    text: str = Field(default="", description="The story or stimulus. An empty line begins a new paragraph.")
    prompt: str = Field(min_length=1, description="The question.")
    options: tuple[Option, ...] = Field(
        min_length=2,
        max_length=9,
        description="The options in the order shown, numbered from 1. An option is a text, or a picture with `image` "
        "and `alt`.",
    )
    several: Several | None = Field(
        default=None,
        description="Numbers of options that a participant may choose. Without it, a participant chooses one option.",
        exclude_if=lambda several: several is None,
    )

    @field_validator("options")
    @classmethod
    def _distinct(cls, options: tuple[str | ImagePart, ...]) -> tuple[str | ImagePart, ...]:
        # Screen readers and models without pictures know a picture only by its description.
        if len({option if isinstance(option, str) else option.alt for option in options}) < len(options):
            raise ValueError("two options have the same text. Fix: make the two options different.")
        pictures = [option for option in options if isinstance(option, ImagePart)]
        if any((picture.x_deg, picture.y_deg) != (None, None) for picture in pictures):
            raise ValueError("an option has a position. Fix: delete `x_deg` and `y_deg` from the options.")
        return options

    @model_validator(mode="after")
    def _enough_options(self) -> Self:
        several = self.several
        if several and not several.at_least <= several.at_most <= len(self.options):
            raise ValueError(
                f"`several` allows {several.at_least} to {several.at_most} of {len(self.options)} options. Fix: make "
                "`at_least` at most `at_most`, and `at_most` at most the number of options."
            )
        return self


class MultipleChoice(Task):
    """The response is the chosen option's number. The key is the right option's number. Numbers begin at 1.

    If the content has `several`, response and key are lists of numbers in ascending order. A response is right if it
    has all numbers of the key and no other number. The partial credit is the share of options that are marked as in the
    key: chosen and right, or not chosen and wrong. This is the scoring of multiple true-false questions by the number
    of right marks (Albanese & Sabers, 1988, Journal of Educational Measurement 25, 111-123).
    """

    name = "multiple_choice"
    content_model = MultipleChoiceContent
    wording = frozenset({"screens", "stimulus", "text", "prompt", "options"})

    def responses(self, content: dict[str, Any]) -> list[JsonValue]:
        numbers = range(1, len(content["options"]) + 1)
        if several := content.get("several"):
            sizes = range(several["at_least"], several["at_most"] + 1)
            return [list(chosen) for size in sizes for chosen in combinations(numbers, size)]
        return list(numbers)

    def check_response(self, content: dict[str, Any], response: JsonValue) -> None:
        n_options = len(content["options"])
        if several := content.get("several"):
            _check_several(several, n_options, response)
        elif not _is_number(response, n_options):
            raise InputError(
                f"the response must be the number of an option, from 1 to {n_options} (it is {response!r}). Fix: use "
                "one of these numbers."
            )

    def score(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Score:
        if isinstance(key, list) and isinstance(response, list):
            n_wrong_marks = len(set(map(str, key)) ^ set(map(str, response)))
            return Score(n_wrong_marks == 0, 1 - n_wrong_marks / len(content["options"]))
        correct = response == key
        return Score(correct, float(correct))

    def chance(self, content: dict[str, Any]) -> float:
        """Return the probability that a random response is correct.

        With `several`, all allowed sets of options are equally likely.
        """
        n_options, several = len(content["options"]), content.get("several")
        if several is None:
            return 1 / n_options
        return 1 / sum(comb(n_options, size) for size in range(several["at_least"], several["at_most"] + 1))

    def read_reply(self, content: dict[str, Any], reply: str) -> Reading:
        from batteries.tasks.replies import multiple_choice  # noqa: PLC0415  (only imports of models' replies need it)

        return multiple_choice.read(content, reply)

    def choice(self, content: dict[str, Any], response: JsonValue) -> str | None:
        self.check_response(content, response)
        words = option_words(content)
        if isinstance(response, list):
            return " + ".join(words[int(str(number)) - 1] for number in response) or "(none)"
        return words[int(str(response)) - 1]

    def n_words(self, content: dict[str, Any]) -> int:
        shown = [option for option in content["options"] if isinstance(option, str)]
        texts = [stimulus_words(content), content.get("text", ""), content["prompt"], *shown]
        return len(" ".join(texts).split())

    def feedback(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Feedback:
        self.check_response(content, key)
        words = option_words(content)
        right = ", ".join(_within_sentence(words[number - 1]) for number in _numbers(key))
        correct = self.score(content, key, response).correct
        return Feedback(correct, "choice_right" if correct else "choice_wrong", {"answer": right}, key)


def _numbers(key: Any) -> Sequence[int]:
    return key if isinstance(key, list) else [key]


def _is_number(value: object, n_options: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= n_options


def _check_several(several: dict[str, int], n_options: int, response: JsonValue) -> None:
    at_least, at_most = several["at_least"], several["at_most"]
    is_list = isinstance(response, list) and all(_is_number(number, n_options) for number in response)
    if not is_list or sorted(set(response)) != response or not at_least <= len(response) <= at_most:  # type: ignore
        raise InputError(
            f"the response must be a list of {at_least} to {at_most} numbers of options, from 1 to {n_options}, in "
            f"ascending order (it is {response!r}). Fix: use such a list, for example {list(range(1, at_most + 1))}."
        )


def _within_sentence(option: str) -> str:
    """Return an option without its full stop, because the surrounding sentence has its own full stop."""
    return option[:-1] if option.endswith(FULL_STOPS) else option
