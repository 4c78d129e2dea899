"""`psychopy`: a trial that a Python class of the laboratory draws in PsychoPy's window."""

import random
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from batteries.canonical_json import canonical_json
from batteries.errors import InputError
from batteries.stimulus.parts import AssetPath, Digest
from batteries.tasks.json_answers import (
    answer_name,
    check_distinct,
    check_key_is_answer,
    matches,
    with_files,
    without_other_texts,
)
from batteries.tasks.replies import reading
from batteries.tasks.replies.reading import Reading
from batteries.tasks.task import Feedback, Score, Task


class PsychoPyContent(BaseModel):
    """Content of an item with the task `psychopy`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trial: str = Field(
        min_length=1, description="Name of a class that is listed under `psychopy_trials` in study.yaml."
    )
    parameters: dict[str, JsonValue] = Field(default={}, description="The parameters that the class receives.")
    answers: tuple[JsonValue, ...] = Field(
        default=(),
        description="The possible answers: texts, numbers or other JSON values. An answer that is an object, such as "
        "{side: left}, matches all responses with its fields. An ungraded item can omit this field.",
    )
    # Empty files are left out, as in items of jsPsych plugins.
    files: dict[AssetPath, Digest | None] = Field(
        default={},
        description="SHA-256 of each file that `parameters` or `answers` name. Reading the battery fills it in.",
        exclude_if=lambda files: not files,
    )

    @field_validator("answers")
    @classmethod
    def _are_distinct(cls, answers: tuple[JsonValue, ...]) -> tuple[JsonValue, ...]:
        check_distinct(answers, "an entry of `answers` is empty. Fix: write a field of the response into this entry.")
        if None in answers:
            raise ValueError("an entry of `answers` is null, but null is not a response. Fix: delete this entry.")
        return answers


class PsychoPyTask(Task):
    """The response is the JSON value that the class returns. The key is the entry of `answers` that is right.

    If the item lists `answers`, each response must match one of them. An object matches an answer if it has all fields
    of the answer, with the same values, so a response can contain further data. An ungraded item has the key null, and
    can omit `answers`.
    """

    name = "psychopy"
    content_model = PsychoPyContent

    def responses(self, content: dict[str, Any]) -> list[JsonValue]:
        return list(content["answers"])

    def checked_content(self, content: dict[str, JsonValue], key: JsonValue) -> dict[str, JsonValue]:
        whole = super().checked_content(content, None)  # The sentence of the next line is clearer about keys.
        check_key_is_answer(self.responses(whole), key)
        return with_files(whole)

    def check_response(self, content: dict[str, Any], response: JsonValue) -> None:
        canonical_json(response)  # Refuses values that cannot be compared with the key, such as huge numbers.
        if response is None:
            raise InputError("the response is null. Fix: use another JSON value as the response.")
        answers = self.responses(content)
        if answers and not any(matches(response, answer) for answer in answers):
            names = ", ".join(f"`{answer_name(answer)}`" for answer in answers)
            raise InputError(
                f"the response {response!r} is none of the item's `answers`: {names}. Fix: use one of the answers as "
                "the response, or add the response to `answers`."
            )

    def score(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Score:
        correct = matches(response, key)
        return Score(correct, float(correct))

    def feedback(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Feedback:
        correct = self.score(content, key, response).correct
        return Feedback(correct, "answer_right" if correct else "answer_wrong", {}, None)

    def read_reply(self, content: dict[str, Any], reply: str) -> Reading:
        """Return no response: a language model cannot see what the class draws."""
        return Reading.invalid(reading.NO_ANSWER)

    def value(self, content: dict[str, Any], response: JsonValue) -> float | None:
        """Return a response that is a number, or the number in the field `response` of an object.

        With `answers`, the response is one of several answers, and a number is only the name of an answer. None is
        returned then.
        """
        given = response.get("response") if isinstance(response, dict) else response
        if content["answers"] or isinstance(given, bool) or not isinstance(given, int | float):
            return None
        return float(given)

    def choice(self, content: dict[str, Any], response: JsonValue) -> str | None:
        return next((answer_name(answer) for answer in content["answers"] if matches(response, answer)), None)

    def without_free_texts(
        self, content: dict[str, Any], key: JsonValue, response: JsonValue, pseudonym: Callable[[str], str]
    ) -> JsonValue:
        """Return the response with pseudonyms for all texts that are not texts of a possible answer."""
        return without_other_texts(response, content.get("answers", ()), pseudonym)

    def draw(self, content: dict[str, Any], rng: random.Random) -> JsonValue:
        """Draw one of the `answers`, or else a number from 0 to 100. Only the class knows its possible responses."""
        return rng.choice(self.responses(content)) if content["answers"] else rng.randint(0, 100)
