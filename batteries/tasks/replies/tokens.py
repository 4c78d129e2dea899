"""Splitting a prepared reply into tokens, and naming the kind of each token."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from batteries.tasks.replies.board_words import BOARD, SIDES
from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.languages import LANGUAGES

FIELD = "\ue000"
"""The character that replaces a part of the reply that was read as data, such as a JSON object."""

_ONE_BY_ONE = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts in which each character is a token, because words are not separated by spaces or have endings."""
_TOKEN = re.compile(
    r"(?P<ordinal>\d{1,3}(?:st|nd|rd|th|\u00aa|\u00ba|er|e|\u00e8me)\b)"
    r"|(?P<numero>(?:[Nn]o\.|[Nn]r\.?|[Nn]\u00b0|\u2116)(?=\s?\d))"
    r"|(?P<number>\d+(?:\.\d+)?)"
    rf"|(?P<word>(?:(?![{_ONE_BY_ONE}])[^\W\d_])+(?:'(?:(?![{_ONE_BY_ONE}])[^\W\d_])+)*'?)"
    r"|(?P<line>\s*\n\s*)"
    r"|(?P<arrow><?[-=]{1,3}>|<[-=]{1,3}|:=|\.{2,})"
    r"|(?P<stop>[.!?\u3002\u061f\u0964\u2026]{1,9}(?=[\s\"')\]}]|$|[^\x00-\x7f]))"
    r"|(?P<sign>(?P<same>[^\w\s])(?P=same)*|[^\s])"
)
_ELISION = re.compile(r"(?:l|d|c|j|qu|n|s|m|t|un|puisqu|dell|all)'(?=[^\W\d_]{2})", re.IGNORECASE)
_SHORT = {"n't": "not", "'s": "is", "'re": "are", "'ll": "will", "'ve": "have", "'m": "am", "'d": "would"}
_IRREGULAR = {"can't": "can", "won't": "will", "shan't": "shall"}


_NO_WORDS = frozenset({Kind.SIGN, Kind.STOP, Kind.LINE})
_WORDLIKE_SIGNS = frozenset({"%", "/", "$", "\u20ac", "\u00b0", "+"})


class Token(NamedTuple):
    """A word, number or sign of a reply."""

    text: str
    key: str
    """The word in lower case, for comparisons."""
    kind: Kind
    start: int
    end: int

    @property
    def is_wordlike(self) -> bool:
        """Return True for words and numbers, and for signs that can belong to a number, such as "%"."""
        return self.kind not in _NO_WORDS or self.key in _WORDLIKE_SIGNS


class Lexicon:
    """The kinds of words and phrases. A phrase has one kind, even if several entries contain it (see `_RANK`)."""

    def __init__(self, *tables: Mapping[str, Mapping[Kind, str]]) -> None:
        self.kinds: dict[tuple[str, ...], Kind] = {}
        self.values: dict[str, int] = {}
        self._longest: dict[str, int] = {}
        for table in tables:
            for phrases in table.values():
                for kind, text in phrases.items():
                    self._add(kind, text)

    def _add(self, kind: Kind, text: str) -> None:
        for number, forms in enumerate(text.split(", "), start=1):
            is_number = kind in {Kind.NUMBER_WORD, Kind.ORDINAL}
            for form in forms.split("/") if is_number else [forms]:
                words = tuple(token.key for token in tokens_of(form))
                if is_number:
                    self.values["".join(words)] = number
                if self.kinds.get(words) in {Kind.NUMBER_WORD, Kind.ORDINAL} or (
                    words in self.kinds and _RANK[kind] < _RANK[self.kinds[words]]
                ):
                    continue
                self.kinds[words] = kind
                self._longest[words[0]] = max(len(words), self._longest.get(words[0], 0))

    def named(self, tokens: list[Token]) -> list[Token]:
        """Return the tokens, each with its kind.

        Neighbouring tokens that form a phrase of the lexicon have the kind of this phrase. If several phrases begin
        with the same token, the longest phrase counts.
        """
        result: list[Token] = []
        keys = [token.key for token in tokens]
        position = 0
        while position < len(tokens):
            longest = self._longest.get(keys[position])
            n, kind = self._phrase(keys[position : position + longest]) if longest else (1, None)
            phrase = tokens[position : position + n]
            result.extend(phrase if kind is None else _joined(phrase, kind))
            position += n
        return result

    def _phrase(self, keys: list[str]) -> tuple[int, Kind | None]:
        """Return the number of words of the longest phrase with which `keys` begin, and the kind of this phrase."""
        for n in range(len(keys), 0, -1):
            kind = self.kinds.get(tuple(keys[:n]))
            if kind is not None:
                return n, kind
        return 1, None


_RANK = {kind: rank for rank, kind in enumerate([
    Kind.FILLER, Kind.EXPLAIN, Kind.REASON, Kind.PORT, Kind.ENTRY, Kind.WRONG, Kind.ANSWER, Kind.RIGHT, Kind.FINAL,
    Kind.OPTION, Kind.DECIDE, Kind.SO, Kind.MAY, Kind.IF, Kind.BECAUSE, Kind.AND, Kind.OR, Kind.IS, Kind.BUT, Kind.NOT,
    Kind.RETRACT, Kind.REFUSE, Kind.NUMBER_WORD, Kind.ORDINAL, Kind.ROW, Kind.COLUMN, Kind.EXIT, Kind.SIDE,
    Kind.ABSORBED, Kind.REFLECTED,
])}  # fmt: skip
"""If a phrase has several kinds, for example in two languages, the kind that is later in this order counts.

One exception: a phrase that is already a number word or an ordinal keeps its kind.
"""


def _joined(phrase: list[Token], kind: Kind) -> list[Token]:
    """Return the tokens of a phrase with its kind; number words of several characters become one token."""
    if kind in {Kind.NUMBER_WORD, Kind.ORDINAL} and len(phrase) > 1:
        key = "".join(token.key for token in phrase)
        return [Token("".join(token.text for token in phrase), key, kind, phrase[0].start, phrase[-1].end)]
    return [Token(token.text, token.key, kind, token.start, token.end) for token in phrase]


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text; words have the kind `WORD`.

    Examples
    --------
    >>> [token.key for token in tokens_of("It isn't 2.5, it's B.")]
    ['it', 'is', 'not', '2.5', ',', 'it', 'is', 'b', '.']
    """
    result: list[Token] = []
    for found in _TOKEN.finditer(text):
        start, end = found.span()
        if found.lastgroup == "word":
            result.extend(
                Token(part, key, Kind.WORD, start + first, start + last) for part, key, first, last in _words(found[0])
            )
        else:
            result.append(Token(found[0], found[0].casefold(), _kind_of(found), start, end))
    return result


def _kind_of(found: re.Match[str]) -> Kind:
    if found.lastgroup in _KINDS:
        return _KINDS[found.lastgroup]
    if found[0] in {";", "..", "..."}:
        return Kind.STOP
    return Kind.WORD if found[0].isalnum() else Kind.SIGN


_KINDS: dict[str | None, Kind] = {
    "number": Kind.NUMBER, "numero": Kind.OPTION, "ordinal": Kind.ORDINAL, "line": Kind.LINE, "stop": Kind.STOP,
}  # fmt: skip
"""The kind of the words that each group of the regular expression `_TOKEN` matches."""


class _Part(NamedTuple):
    """A part of a word, such as "is" in "isn't", with its position in the word."""

    text: str
    key: str
    first: int
    last: int


@lru_cache(16_384)  # Replies to the same items have the same words.
def _words(word: str) -> tuple[_Part, ...]:
    """Return a word as one part, or a contracted word such as "isn't" as several parts."""
    elision = _ELISION.match(word)
    if elision is not None:
        cut = elision.end()
        rest = (_Part(text, key, first + cut, last + cut) for text, key, first, last in _words(word[cut:]))
        return (_part(word[:cut]), *rest)
    lower = word.casefold()
    for ending, full in _SHORT.items():
        if lower.endswith(ending) and len(lower) > len(ending):
            cut = len(word) - len(ending)
            return (
                _Part(word[:cut], _IRREGULAR.get(lower, lower[:cut]), 0, cut),
                _Part(word[cut:], full, cut, len(word)),
            )
    if lower == "cannot":
        return _part(word[:3]), _Part(word[3:], lower[3:], 3, len(word))
    return (_part(word.rstrip("'") if not _ELISION.match(word + "xx") else word),)


def word_keys(word: str) -> list[str]:
    """Return the words in lower case that `tokens_of` makes of a word: "is" and "not" for "isn't"."""
    return [part.key for part in _words(word)]


def _part(text: str) -> _Part:
    return _Part(text, text.casefold(), 0, len(text))


@cache
def statement_lexicon() -> Lexicon:
    """Return the words and phrases with which replies to multiple-choice and jsPsych items are read."""
    return Lexicon(LANGUAGES)


@cache
def board_lexicon() -> Lexicon:
    """Return the words and phrases with which replies to Black Box items are read."""
    sides = {"sides": {Kind.SIDE: ", ".join(SIDES.values())}}
    return Lexicon(LANGUAGES, BOARD, sides)
