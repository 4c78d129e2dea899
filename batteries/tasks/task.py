"""The methods that every task must have."""

import json
import random
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, ClassVar

from pydantic import BaseModel, JsonValue

from batteries.canonical_json import same_json
from batteries.errors import InputError
from batteries.stimulus.parts import kind_of, words_of
from batteries.tasks.replies.reading import Reading

READING_WORDS_PER_MINUTE = 238
"""Mean speed of adults in silent reading of English (Brysbaert, 2019, Journal of Memory and Language 109, 104047)."""


@dataclass(frozen=True)
class Score:
    """The score of one response."""

    correct: bool
    score: float
    """Credit from 0 to 1. In tasks without partial credit, the credit is 1 for a correct response, otherwise 0."""


Sentence = tuple[str, dict[str, str | int]]
"""Key of a sentence in the files of `experiment.texts` (one file per language), and the values for its placeholders."""


@dataclass(frozen=True)
class Feedback:
    """Feedback to a participant after a practice trial."""

    correct: bool
    text: str
    """Key of the feedback sentence in the files of `experiment.texts` (one file per language)."""
    values: dict[str, str | int]
    """Values for the placeholders in the sentence."""
    solution: JsonValue
    """The right answer in a form that the page can show. The server sends it only after the response."""
    explanation: tuple[Sentence, ...] = ()
    """The reasons for the right answer, in order. Empty if the task explains nothing."""


class Task(ABC):
    """A kind of item. Content, key and response are plain JSON values, which are sent and stored unchanged.

    Every task must satisfy three conditions. `responses` lists one response for each outcome that `score`
    distinguishes, unless participants type their response. `score` is a pure function and accepts each of these
    responses. An item that `checked_content` accepts can be shown and scored without an error.
    """

    name: ClassVar[str]
    content_model: ClassVar[type[BaseModel]]
    wording: ClassVar[frozenset[str]] = frozenset()
    """Fields of the content that contain the wording of the question. The other fields define the question itself."""
    categories: ClassVar[tuple[str, ...]] = ()
    """Categories of responses, in the order of the confusion table. Empty if the task has no categories."""
    has_open_answers: ClassVar[bool] = False
    """True if the response is, or contains, a text in a participant's own words (`open_answer`)."""
    allows_no_key: ClassVar[bool] = True
    """True if an item can be ungraded (`key: null`), so that no response is right or wrong."""

    def checked_content(self, content: dict[str, JsonValue], key: JsonValue) -> dict[str, JsonValue]:
        """Check content and key of an item, and return the content with its default values filled in.

        The key None means that the item is ungraded.

        No value is converted. For example, the text "3" for a number is an error, because graders and pages use the
        value as it is in the file.

        Raises
        ------
        pydantic.ValidationError
            If the content does not have the task's fields.
        InputError
            If the answer key is not a possible response, or contradicts the content.
        """
        whole = self.content_model.model_validate_json(json.dumps(content), strict=True).model_dump(mode="json")
        if key is None:
            if not self.allows_no_key:
                raise InputError(
                    f"the key is null, but an item of the task `{self.name}` has a right answer. Fix: add the right "
                    "answer as `key`."
                )
            return whole
        try:
            self.check_key(whole, key)
        except InputError as error:
            raise InputError(f"the answer key is not a possible response: {error}") from None
        return whole

    @abstractmethod
    def responses(self, content: dict[str, Any]) -> list[JsonValue]:
        """Return one response for each outcome that `score` distinguishes; empty if the response is typed freely."""

    @abstractmethod
    def check_response(self, content: dict[str, Any], response: JsonValue) -> None:
        """Raise an InputError if `response` does not have the form of a response to this task."""

    def check_key(self, content: dict[str, Any], key: JsonValue) -> None:
        """Raise an InputError if `key` does not have the form of a key, which is usually the form of a response."""
        self.check_response(content, key)

    @abstractmethod
    def score(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Score:
        """Return the score of a response. The same function scores the responses of people and of models.

        Callers use `Item.score` or `score_response`, which return None for an ungraded item.
        """

    @abstractmethod
    def feedback(self, content: dict[str, Any], key: JsonValue, response: JsonValue) -> Feedback:
        """Return the feedback for a response to a practice trial."""

    @abstractmethod
    def read_reply(self, content: dict[str, Any], reply: str) -> Reading:
        """Return the response that a language model gives in its reply, and the rule that found this response.

        A reply with two different answers, or without an answer, has no response and is invalid. Any text is accepted.

        Parameters
        ----------
        content : dict
            The item's content, as `checked_content` returned it.
        reply : str
            The whole reply, with its reasoning if it contains any.

        Returns
        -------
        Reading
            The response, which `check_response` accepts, or the reason why the reply has no response.
        """

    def is_reworded(self, content: dict[str, Any], other: dict[str, Any]) -> bool:
        """Return True if two contents ask the same question, in equal or different words.

        Options in a different order are a different question, because the key is a position. The method compares only
        the similarity of texts. So it does not find every change of meaning, such as the change from `True` to `Wrong`.
        """
        return content.keys() == other.keys() and all(
            _differ_in_words(content[name], other[name])
            if name in self.wording
            else same_json(content[name], other[name])
            for name in content
        )

    def n_words(self, content: dict[str, Any]) -> int:
        """Return the number of words that a participant must read. It is 0 for a task without texts."""
        return 0

    def category(self, content: dict[str, Any], response: JsonValue) -> str:
        """Return the category of a valid response. Only tasks with `categories` have this method."""
        raise NotImplementedError

    def chance(self, content: dict[str, Any]) -> float:
        """Return the probability that a random response to a graded item is correct; 0 if the response is typed."""
        responses = self.responses(content)
        return 1 / len(responses) if responses else 0.0

    def right_response(self, content: dict[str, Any], key: JsonValue) -> JsonValue:
        """Return a right response to a graded item. If the key has the form of a response, this response is the key."""
        return key

    def value(self, content: dict[str, Any], response: JsonValue) -> float | None:
        """Return a response as a number for the analysis, such as a rating; None if the response is not a number."""
        return None

    def open_answer(self, content: dict[str, Any], response: JsonValue) -> str | None:
        """Return the text of a response that coders or a rule can code; None if the response has no such text."""
        return None

    def choice(self, content: dict[str, Any], response: JsonValue) -> str | None:
        """Return the name of the chosen response, such as the text of an option; None for a response of another kind.

        The names of the possible choices are the names of `responses`, in their order.
        """
        return None

    def without_free_texts(
        self, content: dict[str, Any], key: JsonValue, response: JsonValue, pseudonym: Callable[[str], str]
    ) -> JsonValue:
        """Return a response in which `pseudonym` replaces each text that the participant typed freely.

        Exports use this method. The replaced response has the same score. By default, responses have no such texts.
        """
        return response

    def draw(self, content: dict[str, Any], rng: random.Random) -> JsonValue:
        """Draw a random response. Simulated participants and mock models respond to ungraded items in this way.

        A task whose `responses` are not all possible responses, such as a text or a rating, has its own method.
        """
        return rng.choice(self.responses(content))

    def draw_wrong(self, content: dict[str, Any], key: JsonValue, rng: random.Random) -> JsonValue:
        """Draw a wrong response to a graded item, or any response if no wrong one is found."""
        wrong = [one for one in self.responses(content) if not self.score(content, key, one).correct]
        if wrong:
            return rng.choice(wrong)
        drawn = [self.draw(content, rng) for _ in range(100)]
        return next((one for one in drawn if not self.score(content, key, one).correct), drawn[0])


def _differ_in_words(one: JsonValue, other: JsonValue) -> bool:
    """Return True if two JSON values are equal except for the wording of texts.

    An empty text must stay empty, and a text with words must not become empty. Texts in a list must keep their
    positions. A picture, sound or video must stay the same file. Its description may change.
    """
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and not _moved(one, other) and all(map(_differ_in_words, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return bool(one.strip()) == bool(other.strip())
    if isinstance(one, dict) and isinstance(other, dict) and kind_of(one) and kind_of(one) == kind_of(other):
        return _without_words(one) == _without_words(other)
    if isinstance(one, dict) and isinstance(other, dict) and "parts" in one and one.keys() == other.keys():
        return all(_differ_in_words(one[name], other[name]) for name in one)  # A screen.
    return same_json(one, other)


def _without_words(part: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a part of a stimulus without its words and the name of its file. The SHA-256 identifies the file."""
    return {name: value for name, value in part.items() if name not in {"alt", kind_of(part)}}


def _moved(one: list[JsonValue], other: list[JsonValue]) -> bool:
    """Return True if texts have probably changed their positions in a list.

    A text has probably moved if it is similar to a text at another position of the other list. This similarity must be
    greater than that of the two texts at one of these positions.
    """
    before, after = _comparable(*([_words(entry) for entry in entries] for entries in (one, other)))
    positions = range(len(before))
    alike = [[_similarity(before[row], after[column]) for column in positions] for row in positions]
    pairs = ((row, column) for row in positions for column in positions)
    return any(alike[row][column] > min(alike[row][row], alike[column][column]) for row, column in pairs)


def _words(entry: JsonValue) -> str:
    return words_of(entry) if isinstance(entry, dict) and kind_of(entry) else str(entry)


def _similarity(one: str, other: str) -> float:
    """Return the similarity of two texts, from 0 to 1. The order of the two arguments does not matter."""
    return SequenceMatcher(None, min(one, other), max(one, other), autojunk=False).ratio()


def _comparable(*lists: list[str]) -> list[list[str]]:
    """Return the texts in a form for comparisons: their letters and digits in lower case.

    If two texts of a list would become equal, or a text would become empty, only the spaces are removed. If the texts
    would still become equal or empty, the texts are not changed.
    """
    for form in (_letters_and_digits, _without_spaces):
        short = [[form(text) for text in texts] for texts in lists]
        if all(all(texts) and len(set(texts)) == len(texts) for texts in short):
            return short
    return [*lists]


def _letters_and_digits(text: str) -> str:
    """Return the letters and digits of a text in lower case. Diacritics are kept."""
    return "".join(sign for sign in text.casefold() if unicodedata.category(sign)[0] in "LMN")


def _without_spaces(text: str) -> str:
    return "".join(text.split())
