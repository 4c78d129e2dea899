"""Codes by rule: the first code with a word or phrase that an answer contains.

There are no regular expressions, so that no answer can make the search slow. The time grows with the length of the
answer times the number of words of the rule.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from experiment.study.answer_coding import Coding


class _Word(NamedTuple):
    """One word of a phrase. It may be the start, the end or an inner part of a word of the answer."""

    text: str
    open_before: bool
    open_after: bool

    def matches(self, word: str) -> bool:
        if self.open_before and self.open_after:
            return self.text in word
        if self.open_before:
            return word.endswith(self.text)
        return word.startswith(self.text) if self.open_after else word == self.text


def codes_by_rule(coding: Coding, answer: str) -> tuple[str, ...]:
    """Return the codes that the rule of a coding gives to an answer; empty if no code fits.

    Parameters
    ----------
    coding
        The coding, with `words` of its codes.
    answer
        The answer.

    Examples
    --------
    >>> falls = {"name": "fall", "definition": "It falls.", "words": ["fall*", "drops down"]}
    >>> codes = [falls, {"name": "other", "definition": "-"}]
    >>> coding = Coding(codes=codes)
    >>> [codes_by_rule(coding, answer) for answer in ("It is FALLING!", "It drops  down.", "It is a waterfall.")]
    [('fall',), ('fall',), ('other',)]
    """
    words = words_of(answer)
    found = [code.name for code in coding.codes if any(_contains(words, _phrase(phrase)) for phrase in code.words)]
    if found:
        return tuple(found if coding.several else found[:1])
    last = coding.codes[-1]
    return () if last.words else (last.name,)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case. Signs that are not letters, digits or diacritics separate words.

    Examples
    --------
    >>> words_of("Because it's TOO  heavy – 3 kg!")
    ['because', 'it', 's', 'too', 'heavy', '3', 'kg']
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(sign if unicodedata.category(sign)[0] in "LNM" else " " for sign in plain).split()


@cache
def _phrase(text: str) -> tuple[_Word, ...]:
    words: list[_Word] = []
    for part in text.split():
        plain = words_of(part)
        words += [
            _Word(word, index == 0 and part.startswith("*"), index == len(plain) - 1 and part.endswith("*"))
            for index, word in enumerate(plain)
        ]
    return tuple(words)


def _contains(words: Sequence[str], phrase: Sequence[_Word]) -> bool:
    first, *rest = phrase
    return any(
        first.matches(word)
        and len(words) - index > len(rest)
        and all(one.matches(words[index + step]) for step, one in enumerate(rest, start=1))
        for index, word in enumerate(words)
    )
