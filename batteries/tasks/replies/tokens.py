"""Splitting a prepared reply into tokens, and naming the kind of each token."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from batteries.tasks.replies.board_words import BOARD, SIDES
from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.languages import LANGUAGES

FIELD = "\ue000"
"""The character that replaces a part of the reply that was read as data, such as a JSON object."""

_ONE_BY_ONE = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts in which each character is a token. Words have no spaces between them, or have endings as in Korean."""
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


@dataclass(frozen=True, slots=True)
class Token:
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
        return self.kind not in {Kind.SIGN, Kind.STOP, Kind.LINE} or self.key in {
            "%",
            "/",
            "$",
            "\u20ac",
            "\u00b0",
            "+",
        }


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
        """Return the tokens with their kinds. If several phrases begin at a token, the longest one counts."""
        result: list[Token] = []
        position = 0
        while position < len(tokens):
            token = tokens[position]
            for length in range(min(self._longest.get(token.key, 0), len(tokens) - position), 0, -1):
                phrase = tokens[position : position + length]
                kind = self.kinds.get(tuple(part.key for part in phrase))
                if kind is not None:
                    result.extend(_joined(phrase, kind))
                    position += length
                    break
            else:
                result.append(token)
                position += 1
        return result


_RANK = {kind: rank for rank, kind in enumerate([
    Kind.FILLER, Kind.EXPLAIN, Kind.REASON, Kind.PORT, Kind.ENTRY, Kind.WRONG, Kind.ANSWER, Kind.RIGHT, Kind.FINAL,
    Kind.OPTION, Kind.DECIDE, Kind.SO, Kind.MAY, Kind.IF, Kind.BECAUSE, Kind.AND, Kind.OR, Kind.IS, Kind.BUT, Kind.NOT,
    Kind.RETRACT, Kind.REFUSE, Kind.NUMBER_WORD, Kind.ORDINAL, Kind.ROW, Kind.COLUMN, Kind.EXIT, Kind.SIDE,
    Kind.ABSORBED, Kind.REFLECTED,
])}  # fmt: skip
"""If a phrase has several kinds, in one language or in two, the kind that is later in this order counts.

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
        if found["word"]:
            result.extend(_words(found["word"], start))
        else:
            result.append(Token(found[0], found[0].casefold(), _kind_of(found), start, end))
    return result


def _kind_of(found: re.Match[str]) -> Kind:
    if found["number"]:
        return Kind.NUMBER
    if found["numero"]:
        return Kind.OPTION
    if found["ordinal"]:
        return Kind.ORDINAL
    if found["line"]:
        return Kind.LINE
    if found["stop"] or found[0] in {";", "..", "..."}:
        return Kind.STOP
    return Kind.WORD if found[0].isalnum() else Kind.SIGN


def _words(word: str, start: int) -> list[Token]:
    """Return a word as one token or, if it is contracted, as two."""
    elision = _ELISION.match(word)
    if elision is not None:
        cut = elision.end()
        return [_word(word[:cut], start), *_words(word[cut:], start + cut)]
    lower = word.casefold()
    for ending, full in _SHORT.items():
        if lower.endswith(ending) and len(lower) > len(ending):
            cut = len(word) - len(ending)
            first = _IRREGULAR.get(lower, lower[:cut])
            end = start + len(word)
            return [
                Token(word[:cut], first, Kind.WORD, start, start + cut),
                Token(word[cut:], full, Kind.WORD, start + cut, end),
            ]
    if lower == "cannot":
        return [_word(word[:3], start), _word(word[3:], start + 3)]
    bare = word.rstrip("'") if not _ELISION.match(word + "xx") else word
    return [_word(bare, start)]


def _word(word: str, start: int) -> Token:
    return Token(word, word.casefold(), Kind.WORD, start, start + len(word))


@cache
def statement_lexicon() -> Lexicon:
    """Return the lexicon for replies to multiple-choice and jsPsych items."""
    return Lexicon(LANGUAGES)


@cache
def board_lexicon() -> Lexicon:
    """Return the lexicon for replies to Black Box items."""
    sides = {"sides": {Kind.SIDE: ", ".join(SIDES.values())}}
    return Lexicon(LANGUAGES, BOARD, sides)
