"""The texts of an item, and the words that differ between two texts."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, TypeVar

from batteries.stimulus.parts import option_words, screen_words, stimulus_words

_TOKEN = re.compile(r"\s*(?:\w+(?:['’-]\w+)*|[^\w\s])|\s+\Z")
"""A word or a punctuation mark, together with the space before it."""
_WORD = re.compile(r"\w")
_K = TypeVar("_K", bound=Hashable)


@dataclass(frozen=True)
class ItemTexts:
    """The parts of an item that a participant reads."""

    story: str
    prompt: str
    options: tuple[str, ...]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "ItemTexts":
        """Return the texts in the content of a multiple-choice item."""
        story = "\n\n".join(
            text for text in (screen_words(content), stimulus_words(content), content.get("text", "")) if text
        )
        return cls(story, content["prompt"], tuple(option_words(content)))

    @property
    def n_story_words(self) -> int:
        """Number of words of the story, separated by spaces."""
        return len(self.story.split())

    @property
    def n_words(self) -> int:
        """Number of words of story, question and options."""
        return sum(len(text.split()) for text in (self.story, self.prompt, *self.options))

    def options_with_right(self, key: object) -> list[tuple[str, bool]]:
        """Return each option with True for the right option, otherwise False."""
        right = key if isinstance(key, list) else [key]
        return [(option, number in right) for number, option in enumerate(self.options, start=1)]


@dataclass(frozen=True)
class Piece:
    """A part of a text, with two marks.

    `condition` is True if the text of the reference condition differs in this part. `level` is True if the text of the
    reference level differs in this part.
    """

    text: str
    condition: bool = False
    level: bool = False


@dataclass(frozen=True)
class Comparison:
    """Positions of the marked tokens, and the numbers of added and removed words as a text, such as `+2 −1`."""

    marks: set[int]
    words: str


def tokens_of(text: str) -> list[str]:
    """Return the words and punctuation marks of a text, with all spaces. All tokens in order make up the text."""
    return _TOKEN.findall(text)


def differences(one: Sequence[str], other: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return the positions of tokens in `one` that `other` lacks, and the positions in `other` that `one` lacks."""
    start, most = 0, min(len(one), len(other))
    while start < most and one[start] == other[start]:
        start += 1
    end = 0
    while end < most - start and one[-1 - end] == other[-1 - end]:
        end += 1
    # Matched texts are nearly identical, so their common beginning and end are not searched.
    matcher = SequenceMatcher(None, one[start : len(one) - end], other[start : len(other) - end], autojunk=False)
    mine: set[int] = set()
    others: set[int] = set()
    for what, begin, stop, other_begin, other_stop in matcher.get_opcodes():
        if what != "equal":
            mine |= set(range(start + begin, start + stop))
            others |= set(range(start + other_begin, start + other_stop))
    return mine, others


def compared(texts: Mapping[_K, Sequence[str]], reference: Callable[[_K], _K]) -> dict[_K, Comparison]:
    """Compare each text with its reference text.

    The words of a text that its reference text lacks are marked. The words of a reference text that at least one
    compared text lacks are marked, too. A text without a reference text has no marks.
    """
    marks: dict[_K, set[int]] = {name: set() for name in texts}
    words = dict.fromkeys(texts, "")
    for name, tokens in texts.items():
        if (other := reference(name)) != name and other in texts:
            lost, marks[name] = differences(texts[other], tokens)
            marks[other] |= lost
            more, fewer = _n_words(tokens, marks[name]), _n_words(texts[other], lost)
            words[name] = f"+{more} −{fewer}" if lost or marks[name] else "the same"
    return {name: Comparison(marks[name], words[name]) for name in texts}


def _n_words(tokens: Sequence[str], places: set[int]) -> int:
    return sum(bool(_WORD.search(tokens[place])) for place in places)


def pieces(tokens: Sequence[str], condition: set[int], level: set[int]) -> tuple[Piece, ...]:
    """Return a text as pieces. A new piece begins where a mark begins or ends.

    A single space before a mark is not marked. A doubled space is marked, because it can be the difference.
    """
    cut: list[Piece] = []
    for place, token in enumerate(tokens):
        marks = place in condition, place in level
        word = token.lstrip() if token.strip() else token
        space = token[: len(token) - len(word)]
        if cut and (cut[-1].condition, cut[-1].level) == marks:
            cut[-1] = Piece(cut[-1].text + token, *marks)
        elif space and any(marks) and "  " not in space:
            cut += [Piece(space), Piece(word, *marks)]
        else:
            cut.append(Piece(token, *marks))
    return tuple(cut)
