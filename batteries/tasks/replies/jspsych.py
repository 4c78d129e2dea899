"""Reading replies to jsPsych items: one of the possible answers, as data or as the text of its button or key."""

import re
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from batteries.canonical_json import canonical_json
from batteries.tasks.replies import reading
from batteries.tasks.replies.json_values import json_values
from batteries.tasks.replies.multiple_choice import ChoiceOutcomes
from batteries.tasks.replies.preparation import normalized, without_reasoning
from batteries.tasks.replies.reader import read_reply
from batteries.tasks.replies.reading import Reading

_TAG = re.compile(r"<[^<>]{0,500}>")
_NUMBER = re.compile(r"[-+]?[0-9]{1,15}(\.[0-9]{1,15})?\.?")


def read(content: dict[str, Any], reply: str) -> Reading:
    """Return the answer that a reply to a jsPsych item gives.

    Parameters
    ----------
    content : dict
        The item's content, with its `answers`. If its `parameters` have a list of `choices`, these are the texts of
        the buttons. Without `answers`, the reply must contain an object with the field `response`, or only a number.
    reply : str
        The whole reply of the model.
    """
    answers: Sequence[dict[str, JsonValue]] = content["answers"]
    found = _from_object(answers, reply)
    if found is not None:
        return found
    if not answers:
        return _open_answer(reply)
    texts = _texts(content.get("parameters", {}), answers)
    given = read_reply(ChoiceOutcomes(texts, have_positions=False), reply)
    return Reading(answers[given.response - 1], given.rule) if isinstance(given.response, int) else given


def _open_answer(reply: str) -> Reading:
    """Return the answer to an item without `answers`: an object with the field `response`, or only a number."""
    text = without_reasoning(normalized(reply)).strip()
    found = {_canonical(one.value): one.value for one in json_values(text)
             if isinstance(one.value, dict) and "response" in one.value}  # fmt: skip
    if len(found) == 1:
        return Reading(next(iter(found.values())), "json")
    if found:
        return Reading.invalid(reading.SEVERAL_ANSWERS)
    if _NUMBER.fullmatch(text):
        number = float(text)
        return Reading({"response": int(number) if number.is_integer() else number}, "number")
    return Reading.invalid(reading.NO_ANSWER if text else reading.EMPTY)


def _from_object(answers: Sequence[dict[str, JsonValue]], reply: str) -> Reading | None:
    """Return the answer that the JSON objects in a reply give, or None if no object matches an answer."""
    objects = [found.value for found in json_values(without_reasoning(normalized(reply)))]
    matches = [answer for answer in answers if any(_matches(value, answer) for value in objects)]
    if len(matches) > 1:
        return Reading.invalid(reading.SEVERAL_ANSWERS)
    return Reading(matches[0], "json") if matches else None


def _matches(value: Any, answer: dict[str, JsonValue]) -> bool:
    if not isinstance(value, dict):
        return False
    return all(name in value and _canonical(value[name]) == _canonical(entry) for name, entry in answer.items())


def _canonical(value: Any) -> str | None:
    try:
        return str(canonical_json(value))
    except (ValueError, TypeError):
        return None


def _texts(parameters: dict[str, Any], answers: Sequence[dict[str, JsonValue]]) -> list[str]:
    """Return the text of each answer. Answers with several fields have no text."""
    if len({name for answer in answers for name in answer}) != 1:
        return []
    values = [next(iter(answer.values())) for answer in answers]
    choices = parameters.get("choices")
    if isinstance(choices, list) and all(_is_index(value, choices) for value in values):
        values = [choices[int(str(value))] for value in values]
    return [_TAG.sub("", str(value)).strip() for value in values]


def _is_index(value: JsonValue, choices: Sequence[Any]) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(choices)
