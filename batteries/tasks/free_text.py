"""`free_text`: a question with a typed text as its answer."""

import random
import unicodedata
from collections.abc import Callable
from typing import Any

from pydantic import Field, JsonValue

from batteries.errors import InputError
from batteries.stimulus.parts import stimulus_words
from batteries.tasks.question import QuestionContent, n_characters, n_words
from batteries.tasks.replies.reading import Reading
from batteries.tasks.task import Feedback, Score, Task


class FreeTextContent(QuestionContent):
    """Content of an item with the task `free_text`."""

    most_characters: int = Field(default=2_000, ge=1, le=20_000, description="Largest number of characters.")
    lines: int = Field(
        default=3, ge=1, le=30, description="Height of the field, in lines. With 1 line, the Enter key submits."
    )


class FreeText(Task):
    """The response is a text, as it was typed. The key is the list of right answers, or null.

    A response is right if it equals a right answer. Capital letters, spaces, and the punctuation at both ends do not
    matter, and the two ways to store a letter with an accent are equal. Every other difference matters, such as a
    spelling mistake.
    """

    name = "free_text"
    content_model = FreeTextContent
    wording = frozenset({"screens", "stimulus", "text", "prompt"})
    has_open_answers = True

    def responses(self, content: dict[str, Any]) -> list[JsonValue]:
        return []

    def check_response(self, content: dict[str, Any], response: JsonValue) -> None:
        most = content["most_characters"]
        if not isinstance(response, str) or not response.strip():
            raise InputError(f"the response must be a text with words (it is {response!r}). Fix: send such a text.")
        if n_characters(response) > most:
            raise InputError(f"the response has more than {most:,} characters. Fix: send a shorter text.")

    def check_key(self, content: dict[str, Any], key: JsonValue) -> None:
        if not isinstance(key, list) or not key:
            raise InputError(f"the key must be a list of right answers (it is {key!r}). Fix: write `key: [text]`.")
        for answer in key:
            self.check_response(content, answer)
            if not comparable(str(answer)):
                raise InputError(f"the right answer {answer!r} has no letters or digits. Fix: correct this answer.")

    def score(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Score:
        assert isinstance(key, list)
        correct = isinstance(response, str) and comparable(response) in {comparable(str(answer)) for answer in key}
        return Score(correct, float(correct))

    def open_answer(self, content: dict[str, Any], response: JsonValue) -> str | None:
        return response if isinstance(response, str) and response.strip() else None

    def right_response(self, content: dict[str, Any], key: JsonValue) -> JsonValue:
        assert isinstance(key, list)
        return key[0]

    def without_free_texts(
        self, content: dict[str, Any], key: JsonValue, response: JsonValue, pseudonym: Callable[[str], str]
    ) -> JsonValue:
        """Return the right answer that the response equals, or else a pseudonym."""
        for answer in key if isinstance(key, list) else []:
            if comparable(str(answer)) == comparable(str(response)):
                return answer
        return pseudonym(str(response))

    def draw(self, content: dict[str, Any], rng: random.Random) -> JsonValue:
        return f"simulated answer {rng.randint(1, 1_000)}"[: content["most_characters"]]

    def read_reply(self, content: dict[str, Any], reply: str) -> Reading:
        from batteries.tasks.replies import texts  # noqa: PLC0415  (only imports of models' replies need it)

        return texts.read(reply, content["most_characters"])

    def n_words(self, content: dict[str, Any]) -> int:
        return n_words(stimulus_words(content), content["text"], content["prompt"])

    def feedback(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Feedback:
        right = str(self.right_response(content, key))
        correct = self.score(content, key, response).correct
        return Feedback(correct, "choice_right" if correct else "choice_wrong", {"answer": right}, right)


def comparable(text: str) -> str:
    """Return a text in the form in which answers are compared.

    Examples
    --------
    >>> comparable("  The  Mountain. ")
    'the mountain'
    """
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    ends = [index for index, sign in enumerate(words) if sign.isalnum() or unicodedata.category(sign)[0] in "MS"]
    return words[ends[0] : ends[-1] + 1] if ends else ""
