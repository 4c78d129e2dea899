"""Reading JSON within a text.

The JSON may have the usual faults of language models: single quotes, trailing commas, or a missing end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_START = re.compile(r"\{(?=\s*[\"'\w}])|\[(?=\s*[{\"'])")
_SPACE = re.compile(r"(?:\s|//[^\n]*(?:\n|$)|#[^\n]*(?:\n|$))*")
_STRING = {
    quote: re.compile(
        rf"{quote}((?:[^{quote}\\]|\\.|{quote}(?!\s*(?:[,:}}\]#/]|$)))*){quote}(?=\s*(?:[,:}}\]#/]|$))", re.DOTALL
    )
    for quote in "\"'"
}
_BARE = re.compile(r"[^\s,:{}\[\]\"']+")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?\Z")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "nan": None}
_MOST_FAILURES = 30
_DEEPEST = 12


class CutNumber(str):
    """A number at the end of a text that was cut off. Further digits may be missing."""


@dataclass(frozen=True)
class Found:
    """A JSON value in a text, with the positions where it begins and ends."""

    start: int
    end: int
    value: Any


class _NotJson(Exception):
    """The text at this position is not an object or a list."""


def json_values(text: str) -> Iterator[Found]:
    r"""Yield the objects and lists of a text. If a value was cut off, yield the part that the text contains.

    Examples
    --------
    >>> [found.value for found in json_values("So: {'answer': 2, 'why': 'It\\'s heavy")]
    [{'answer': 2, 'why': "It's heavy"}]
    """
    position = failures = 0
    while failures < _MOST_FAILURES and (start := _START.search(text, position)) is not None:
        try:
            value, end = _value(text, start.start(), 0)
        except _NotJson:
            failures += 1
            position = start.end()
        else:
            yield Found(start.start(), end, value)
            position = end


def _value(text: str, position: int, depth: int) -> tuple[Any, int]:
    position = _skip(text, position)
    opening = text[position : position + 1]
    if depth > _DEEPEST or not opening:
        raise _NotJson
    if opening == "{":
        return _object(text, position + 1, depth + 1)
    if opening == "[":
        return _list(text, position + 1, depth + 1)
    if opening in _STRING:
        return _string(text, position, opening)
    return _scalar(text, position)


def _object(text: str, position: int, depth: int) -> tuple[dict[str, Any], int]:
    result: dict[str, Any] = {}
    while True:
        position = _skip(text, position)
        sign = text[position : position + 1]
        if sign in {"}", ""}:
            return result, position + len(sign)
        if sign == ",":
            position += 1
            continue
        key, position = _value(text, position, _DEEPEST)
        position = _skip(text, position)
        if text[position : position + 1] != ":":
            if position == len(text) and result:
                return result, position
            raise _NotJson
        position = _skip(text, position + 1)
        if position == len(text):
            return result | {str(key): None}, position
        result[_new_name(str(key), result)], position = _value(text, position, depth)


def _new_name(key: str, taken: dict[str, Any]) -> str:
    """Return the key.

    If the object already has this key, return the key with spaces, so that the object keeps both values.
    """
    while key in taken:
        key += " "
    return key


def _list(text: str, position: int, depth: int) -> tuple[list[Any], int]:
    result: list[Any] = []
    while True:
        position = _skip(text, position)
        sign = text[position : position + 1]
        if sign in {"]", ""}:
            return result, position + len(sign)
        if sign == ",":
            position += 1
            continue
        value, position = _value(text, position, depth)
        result.append(value)


def _string(text: str, position: int, quote: str) -> tuple[str, int]:
    found = _STRING[quote].match(text, position)
    if found is None:
        rest = _ESCAPE.sub(_unescaped, text[position + 1 :])
        return (CutNumber(rest) if rest.strip().isdigit() else rest), len(text)
    return _ESCAPE.sub(_unescaped, found[1]), found.end()


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16)).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _ESCAPED.get(escape[2], str(escape[2]))


def _scalar(text: str, position: int) -> tuple[Any, int]:
    found = _BARE.match(text, position)
    if found is None:
        raise _NotJson
    word, end = found[0], found.end()
    if word.casefold() in _CONSTANTS:
        return _CONSTANTS[word.casefold()], end
    if _NUMBER.match(word) is None:
        return word, end
    if end == len(text):
        return CutNumber(word), end
    return (float(word) if set(word) & set(".eE") else int(word[:20])), end


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return position if found is None else found.end()
