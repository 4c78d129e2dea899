"""Answers that a reply gives as data: JSON objects, answer tags, and boxes of LaTeX."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from batteries.tasks.replies.json_values import json_values
from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.tokens import FIELD, Lexicon, tokens_of

_BOX = re.compile(
    r"\\(?:boxed|fbox|framebox)\s*\{(?P<inside>(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]{0,200}\}){0,200}\}){0,300})\}"
)
_TAG = re.compile(
    r"<(?P<tag>(?:final_?|my_?)?(?:answer|response|choice|option|prediction|output|result|final|antwort|solution)"
    r"(?:_?(?:number|letter))?)(?:\s[^<>\n]{0,100})?>"
    r"(?P<inside>[^<]{0,2000}(?:<(?!/?(?P=tag))[^<]{0,2000}){0,20})</(?P=tag)\s*>",
    re.IGNORECASE,
)
_FENCE_SIGNS = re.compile(r"```[\w+-]*\s*(?=\ue000)|(?<=\ue000)\s*```")
_NOT_ANSWERS = frozenset(
    {
        "analysis", "certainty", "comment", "confidence", "context", "entry", "explanation", "id", "index",
        "justification", "note", "path", "probability", "question", "rationale", "reason", "reasoning", "score", "step",
        "steps", "story", "thought", "thoughts", "trace", "why",
    }
)  # fmt: skip
"""A field with one of these words in its name does not give the answer."""
_PARTS = frozenset(
    {
        "absorbed", "chosen", "column", "correct", "port", "pos", "position", "reflected", "row", "selected", "side",
        "text", "type", "value",
    }
)  # fmt: skip
"""Words that the name of a field with the answer may contain, besides words such as "answer"."""

_EXPLAINS = frozenset(
    {"analysis", "explanation", "justification", "rationale", "reason", "reasoning", "thought", "thoughts", "trace"}
)
"""A field with one of these words in its name explains the answer."""
_ACTIONS = frozenset({"action", "command", "function", "move", "tool"})
_ANSWERING = frozenset({"predict", "respond", "reply", "submit"})
"""Names of actions with which a reply gives its answer, as in `{"action": "predict"}`."""


@dataclass(frozen=True)
class Field:
    """A part of a reply with an answer in a fixed form: a JSON object, an answer tag or a box of LaTeX."""

    rule: str
    value: Any
    """A JSON value for the rule `json`, otherwise a text."""
    is_final: bool


def extracted(text: str) -> tuple[str, list[Field]]:
    """Return the text with the sign `FIELD` in place of each field, and the list of the fields in their order.

    Examples
    --------
    >>> text, (field,) = extracted('Here it is: {"answer": 2}')
    >>> field.value
    {'answer': 2}
    """
    text = text.replace(FIELD, " ")
    found = sorted(_found(text), key=lambda item: item[0])
    parts: list[str] = []
    fields: list[Field] = []
    position = 0
    for start, end, field in found:
        if start >= position:
            parts.extend((text[position:start], "\n", FIELD, "\n"))
            fields.append(field)
            position = end
    return "".join([*parts, text[position:]]), fields


def _found(text: str) -> Iterator[tuple[int, int, Field]]:
    for tag in _TAG.finditer(text):
        yield tag.start(), tag.end(), _tag_field(tag)
    for box in _BOX.finditer(text):
        yield box.start(), box.end(), Field("boxed", box["inside"], False)
    for found in json_values(text):
        if _has_text(found.value):
            yield found.start, found.end, Field("json", found.value, False)


def _tag_field(tag: re.Match[str]) -> Field:
    inside = next(json_values(tag["inside"]), None)
    is_final = "final" in tag["tag"].lower()
    if inside is not None and isinstance(inside.value, dict) and inside.value:
        return Field("json", inside.value, is_final)
    return Field("answer_tag", tag["inside"], is_final)


def _has_text(value: Any) -> bool:
    """Return True for an object or a list that is not empty."""
    return isinstance(value, dict | list) and bool(value)


def is_answer_name(name: str, lexicon: Lexicon) -> bool:
    """Return True if a field's name says that its value is the answer."""
    words = names_of(name)
    if set(words) & _NOT_ANSWERS:
        return False
    kinds = {token.kind for token in lexicon.named(tokens_of(" ".join(words)))}
    if kinds & {Kind.EXPLAIN, Kind.REASON}:
        return False
    return bool(kinds & {Kind.ANSWER, Kind.OPTION, Kind.DECIDE, Kind.FINAL, Kind.EXIT}) or bool(set(words) & _PARTS)


def explanations(value: Any) -> Iterator[str]:
    """Yield the texts of an object's fields that explain its answer."""
    if isinstance(value, dict):
        yield from (str(entry) for name, entry in value.items() if _EXPLAINS & set(names_of(name)))


def is_explanation(value: Any, lexicon: Lexicon) -> bool:
    """Return True for an object with an explanation and without a field for the answer."""
    return any(explanations(value)) and not any(is_answer_name(name, lexicon) for name in value)


def is_other_action(value: Any, lexicon: Lexicon) -> bool:
    """Return True for an object that asks for an action that is not an answer, such as `{"action": "fire"}`."""
    if not isinstance(value, dict):
        return False
    actions = [entry for name, entry in value.items() if isinstance(entry, str) and set(names_of(name)) & _ACTIONS]
    return any(_is_other(action, lexicon) for action in actions)


def _is_other(action: str, lexicon: Lexicon) -> bool:
    words = names_of(action)
    kinds = {token.kind for token in lexicon.named(tokens_of(" ".join(words)))}
    return len(words) in {1, 2} and not (kinds - {Kind.WORD} or set(words) & _ANSWERING)


def names_of(name: str) -> list[str]:
    """Return the words in a field's name: "exit" and "side" for `exit_side`, `exitSide` and `Exit side`."""
    return re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).casefold().split()


def answer_values(value: Any, is_answer: Callable[[str], bool], field: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the names and values of all fields that give the answer. Objects within objects are searched too.

    If a field's name ends with `options` or `choices` and its value is a list, the list repeats the options and is left
    out.
    """
    if isinstance(value, list):
        for entry in value:
            yield from answer_values(entry, is_answer, field)
    elif isinstance(value, dict):
        for name, entry in value.items():
            if not is_answer(name) or (isinstance(entry, list) and names_of(name)[-1:] in (["options"], ["choices"])):
                continue
            yield from answer_values(entry, is_answer, name)
    else:
        yield field, value


def without_fences(text: str) -> str:
    """Return a text without the code fences that directly enclose a field."""
    return _FENCE_SIGNS.sub("", text)
