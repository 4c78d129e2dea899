"""Answers of items whose response another program gives: any JSON value, or an object of which some fields count."""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import JsonValue

from batteries.canonical_json import canonical_json, same_json
from batteries.errors import InputError
from batteries.stimulus.parameter_files import paths_in


def check_distinct(answers: Sequence[JsonValue], empty: str) -> None:
    """Raise a ValueError if the possible answers of an item are not distinct.

    Parameters
    ----------
    answers
        The possible answers. No answers at all are allowed.
    empty
        Sentence on an answer that is an empty object, with its fix.
    """
    if len(answers) == 1:
        raise ValueError("`answers` has only one entry. Fix: add the other possible answers.")
    if any(answer == {} for answer in answers):
        raise ValueError(empty)
    if len({canonical_json(answer) for answer in answers}) < len(answers):
        raise ValueError("two entries of `answers` are equal. Fix: make the two entries different.")


def check_key_is_answer(answers: Sequence[JsonValue], key: JsonValue) -> None:
    """Raise an InputError if the key of a graded item is not one of its possible answers."""
    if key is not None and not any(same_json(key, answer) for answer in answers):
        raise InputError(f"the key {key!r} is not in `answers`. Fix: use an entry of `answers` as the key.")


def matches(response: JsonValue, answer: JsonValue) -> bool:
    """Return True if a response is an answer. An object must have all fields of the answer, with the same values.

    Values are compared as JSON: in Python, `True` equals 1.
    """
    if isinstance(response, dict) and isinstance(answer, dict):
        return all(name in response and same_json(response[name], value) for name, value in answer.items())
    return same_json(response, answer)


def answer_name(answer: JsonValue) -> str:
    """Return the name of an answer for tables."""
    if isinstance(answer, dict):
        return ", ".join(f"{name}: {_text(value)}" for name, value in answer.items())
    return _text(answer)


def with_files(content: dict[str, Any]) -> dict[str, JsonValue]:
    """Return a content with an entry in `files` for each file that its `parameters` or `answers` name.

    Without files, there is no such field.
    """
    known: dict[str, str | None] = content.get("files", {})
    paths = paths_in([content["parameters"], content["answers"]])
    if unused := known.keys() - set(paths):
        raise InputError(
            f"`files` has the entry `{min(unused)}`, which no parameter names. Fix: delete this entry of `files`."
        )
    return {**content, "files": {path: known.get(path) for path in paths}} if paths else content


def without_other_texts(
    response: JsonValue, answers: Sequence[JsonValue], pseudonym: Callable[[str], str]
) -> JsonValue:
    """Return a response with pseudonyms for all texts that are not texts of a possible answer."""
    return _replaced(response, {text for answer in answers for text in _texts(answer)}, pseudonym)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()


def _texts(value: JsonValue) -> set[str]:
    """Return all texts in a JSON value, without the names of fields."""
    if isinstance(value, str):
        return {value}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return {text for each in inner for text in _texts(each)}


def _replaced(value: JsonValue, possible: set[str], pseudonym: Callable[[str], str]) -> JsonValue:
    if isinstance(value, str):
        return value if value in possible or not value else pseudonym(value)
    if isinstance(value, dict):
        return {name: _replaced(each, possible, pseudonym) for name, each in value.items()}
    return [_replaced(each, possible, pseudonym) for each in value] if isinstance(value, list) else value
