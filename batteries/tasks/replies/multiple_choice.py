"""Reading replies to multiple-choice items.

The strict form is that of the standard prompt (Prunty et al., 2025, appendix, Figure 3). It has the number of the
option on the first line, its exact text on the second line, and an explanation on the third line. The published parser
read only the first character of the first line. So "10" was read as 1, and "The answer is 2" was an error.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from batteries.stimulus.parts import option_words
from batteries.tasks.replies import reading, several_numbers
from batteries.tasks.replies.fields import answer_values, is_answer_name, names_of
from batteries.tasks.replies.json_values import CutNumber
from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.lists import without_lists
from batteries.tasks.replies.options import Options
from batteries.tasks.replies.preparation import normalized
from batteries.tasks.replies.reader import joined_readings, read_reply
from batteries.tasks.replies.reading import Reading
from batteries.tasks.replies.scopes import Scopes
from batteries.tasks.replies.strict_form import strict_number
from batteries.tasks.replies.tokens import Token, statement_lexicon

_MOST_WORDS = 60
"""If a reply has more tokens, the rule `other_words` is not used."""
_LEAST_PART = 3
"""Minimum number of words of a sentence that can be read as a part of an option."""


def read(content: dict[str, Any], reply: str) -> Reading:
    """Return the option that a reply to a multiple-choice item gives.

    Parameters
    ----------
    content : dict
        The item's content, as it was shown, with its `options`.
    reply : str
        The whole reply of the model.
    """
    if content.get("several"):
        return several_numbers.read(content, reply)
    options = _outcomes(tuple(option_words(content)))
    number = strict_number(options, normalized(reply))
    if number is not None and _has_plain_text(options, number):
        return Reading(number, "three_lines")
    return read_reply(options, reply)


class ChoiceOutcomes(Options):
    """The options of an item as the outcomes of a reply."""

    def __init__(self, texts: Sequence[str], have_positions: bool = True) -> None:
        super().__init__(texts, statement_lexicon(), have_positions)

    @property
    def n_outcomes(self) -> int:
        return len(self.texts)

    def without_lists(self, text: str, placed: Callable[[int], str]) -> str:
        return without_lists(text, self, placed)

    def field_reading(self, value: Any, read: Callable[[str], Reading]) -> Reading:
        if isinstance(value, list) and not any(isinstance(entry, dict) for entry in value):
            return joined_readings([self._field_value(entry, read) for entry in value], "json")
        fields = list(answer_values(value, lambda name: is_answer_name(name, self.lexicon)))
        given = [(name, entry) for name, entry in fields if entry is not None and not isinstance(entry, bool)]
        if isinstance(value, dict) and len({name for name, _ in given}) == len(given) == 2 and not _has_cut(given):
            # A number and a text are read together, as on two lines.
            found = read("\n".join(str(entry) for _, entry in sorted(given, key=_is_text)))
            return Reading(found.response, "json") if found.is_valid else found
        return joined_readings([self._field_value(entry, read) for _, entry in fields], "json")

    def _field_value(self, value: Any, read: Callable[[str], Reading]) -> Reading:
        if isinstance(value, bool) or value is None:
            return Reading.invalid(reading.NO_ANSWER)
        if isinstance(value, CutNumber) and self._may_continue(value):
            return Reading.invalid(reading.AMBIGUOUS)
        return read(str(value))

    def _may_continue(self, digits: str) -> bool:
        """Return True if a number that was cut off could begin another option's number, as 1 begins 12."""
        return any(str(number).startswith(digits) and str(number) != digits for number in range(1, len(self.texts) + 1))

    def in_other_words(self, scopes: Scopes) -> Reading | None:
        """Return the only option whose text contains a whole sentence of the reply.

        If no option contains a sentence, return the only option whose distinctive words all occur in one sentence.
        """
        if len(scopes.tokens) > _MOST_WORDS:
            return None
        for rule in (self._with_part, self._with_distinctive):
            found = {number for sentence in _sentences(scopes) for number in rule(sentence)}
            if found:
                is_one = len(found) == 1
                return Reading(found.pop(), "other_words") if is_one else Reading.invalid(reading.SEVERAL_ANSWERS)
        return None

    def _with_part(self, sentence: list[Token]) -> list[int]:
        """Return the options whose text contains all words of `sentence`, such as "Not enough information"."""
        part = " ".join(token.key for token in sentence if token.is_wordlike)
        if part.count(" ") + 1 < _LEAST_PART:
            return []
        return [number for number, words in enumerate(self.words, start=1) if f" {part} " in f" {' '.join(words)} "]

    def _with_distinctive(self, sentence: list[Token]) -> list[int]:
        """Return the options whose distinctive words all occur in a sentence without a negation."""
        if {token.kind for token in sentence} & {Kind.NOT, Kind.IF, Kind.MAY, Kind.REFUSE, Kind.WRONG}:
            return []
        stems = {_stem(token.key) for token in sentence}
        options = [{_stem(word) for word in words} for words in self.distinctive()]
        found = [number for number, words in enumerate(options, start=1) if words and words <= stems]
        return found if len(found) < max(len(options), 3) else []


@lru_cache(8_192)  # Replies to one item come from many runs.
def _outcomes(texts: tuple[str, ...]) -> ChoiceOutcomes:
    return ChoiceOutcomes(texts)


@lru_cache(32_768)
def _has_plain_text(options: ChoiceOutcomes, number: int) -> bool:
    """Return True if a reply with an option's number and text is read as this option.

    Return False for the text "not 3", for example.
    """
    strict = f"{number}\n{options.texts[number - 1]}"
    return read_reply(options, strict) == Reading(number, "three_lines")


def _stem(word: str) -> str:
    """Return a word without the ending of a plural, or of a verb in the third person."""
    return word.removesuffix("s") if len(word) > 3 else word


def _sentences(scopes: Scopes) -> list[list[Token]]:
    """Return the tokens of each sentence. Questions and explanations are left out."""
    result: dict[int, list[Token]] = {}
    for position, token in enumerate(scopes.tokens):
        if not scopes.is_question[position] and not scopes.is_explanation[position]:
            result.setdefault(scopes.sentence_of[position], []).append(token)
    return list(result.values())


def _has_cut(fields: list[tuple[str, Any]]) -> bool:
    return any(isinstance(entry, CutNumber) for _, entry in fields)


def _is_text(field: tuple[str, Any]) -> bool:
    """Return True if a field gives the text of an option, by its name or by its value."""
    name, entry = field
    return "text" in names_of(name) or (isinstance(entry, str) and not set(names_of(name)) & {"number", "letter"})
