"""`rating`: a question with a scale, such as a Likert scale or a visual analogue scale. The response is a number."""

import random
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from batteries.errors import InputError
from batteries.stimulus.parts import stimulus_words
from batteries.tasks.question import Number, QuestionContent, n_words
from batteries.tasks.replies.reading import Reading
from batteries.tasks.task import Feedback, Score, Task

MOST_POINTS = 1_001
"""Maximum number of points of a scale. A slider from 0 to 100 with steps of 0.1 has this number."""
MOST_BUTTONS = 11
"""Maximum number of points that are shown as buttons. More buttons do not fit on a phone."""


class Scale(BaseModel):
    """A scale of points, such as a Likert scale or a visual analogue scale."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    low: Number = Field(default=1, description="The lowest point of the scale.")
    high: Number = Field(default=7, description="The highest point of the scale.")
    step: Number = Field(default=1, gt=0, description="Distance between two points.")
    labels: tuple[str, ...] = Field(
        default=(), description="Words for the two ends of the scale, or for every point, from `low` to `high`."
    )
    shown_as: Literal["buttons", "slider"] = Field(
        default="buttons",
        description="`buttons`: a button for each point. `slider`: a line, which has no mark before the first click.",
    )

    @model_validator(mode="after")
    def _is_scale(self) -> Self:
        if self.high <= self.low:
            raise ValueError("`high` is not greater than `low`. Fix: increase `high`.")
        if (self.high - self.low) / self.step >= MOST_POINTS:
            raise ValueError(f"the scale has more than {MOST_POINTS:,} points. Fix: increase `step`.")
        points = points_of(self.low, self.high, self.step)
        if points[-1] != self.high:
            raise ValueError("`high` is not a whole number of steps above `low`. Fix: change `step` or `high`.")
        if self.shown_as == "buttons" and len(points) > MOST_BUTTONS:
            raise ValueError(
                f"the scale has {len(points)} points, and at most {MOST_BUTTONS} fit as buttons. Fix: write "
                "`shown_as: slider`, or increase `step`."
            )
        if self.labels and len(self.labels) not in {2, len(points)}:
            raise ValueError(
                f"`labels` has {len(self.labels)} texts, and the scale has {len(points)} points. Fix: write 2 labels "
                "for the ends, or one label for each point."
            )
        return self


class RatingContent(Scale, QuestionContent):
    """Content of an item with the task `rating`."""


class Rating(Task):
    """The response is a point of the scale. The key is a point, or null."""

    name = "rating"
    content_model = RatingContent
    wording = frozenset({"screens", "stimulus", "text", "prompt", "labels"})

    def responses(self, content: dict[str, Any]) -> list[JsonValue]:
        return [*points_of(content["low"], content["high"], content["step"])]

    def check_response(self, content: dict[str, Any], response: JsonValue) -> None:
        check_point(content["low"], content["high"], content["step"], response)

    def score(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Score:
        correct = response == key
        return Score(correct, float(correct))

    def value(self, content: dict[str, Any], response: JsonValue) -> float | None:
        self.check_response(content, response)
        assert isinstance(response, int | float)
        return float(response)

    def draw(self, content: dict[str, Any], rng: random.Random) -> JsonValue:
        return rng.choice(self.responses(content))

    def read_reply(self, content: dict[str, Any], reply: str) -> Reading:
        from batteries.tasks.replies import numbers  # noqa: PLC0415  (only imports of models' replies need it)

        return numbers.read(reply, lambda number: _is_point(content, number))

    def n_words(self, content: dict[str, Any]) -> int:
        return n_words(stimulus_words(content), content["text"], content["prompt"], *content["labels"])

    def feedback(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Feedback:
        correct = response == key
        return Feedback(correct, "choice_right" if correct else "choice_wrong", {"answer": str(key)}, key)


def check_point(low: float, high: float, step: float, response: JsonValue) -> None:
    """Raise an InputError if a response is not a point of the scale."""
    if isinstance(response, bool) or response not in points_of(low, high, step):
        raise InputError(
            f"the response must be a point of the scale from {low} to {high} in steps of {step} (it is {response!r}). "
            "Fix: use a point of the scale."
        )


def points_of(low: float, high: float, step: float) -> list[int | float]:
    """Return the points of a scale in order, without errors of rounding. A whole number is an `int`.

    Examples
    --------
    >>> points_of(0, 0.3, 0.1)
    [0, 0.1, 0.2, 0.3]
    """
    exact = (float(f"{low + index * step:.12g}") for index in range(int((high - low) / step + 1.000001)))
    return [int(point) if point.is_integer() else point for point in exact]


def _is_point(content: dict[str, Any], number: float) -> bool:
    return number in points_of(content["low"], content["high"], content["step"])
