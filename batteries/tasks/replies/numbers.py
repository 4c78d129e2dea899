r"""Reading replies whose answer is a number: ratings and estimates.

A reply gives its answer in a JSON object, an answer tag or a box, on a line of its own, in a statement such as "My
rating is 5", or as its only number. A reply with two different answers has no response. A number that repeats the scale
is not an answer, such as both numbers of "on a scale from 1 to 7", or the second number of "5/7" and "5 out of 7".
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from batteries.tasks.replies import reading
from batteries.tasks.replies.fields import answer_values, extracted, names_of, without_fences
from batteries.tasks.replies.preparation import answer_text, without_markup
from batteries.tasks.replies.reading import Reading
from batteries.tasks.replies.tokens import FIELD

_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:[.,]\d+)?|\.\d+)(?:e[-+]?\d{1,2})?"
_ANY = re.compile(rf"(?<![\w.,]){_NUMBER}(?![\w]|[.,]\d)", re.IGNORECASE)
_SCALES = (
    re.compile(rf"\b(?:from|between|of|scale:?)\s+{_NUMBER}\s*(?:to|and|-)\s*{_NUMBER}", re.IGNORECASE),
    re.compile(r"(?<![\w.,])\d+\s?-\s?\d+(?=\s+(?:scale|point))|\b\d+-point\b", re.IGNORECASE),
    re.compile(rf"(?<=\d)\s*(?:/|out of)\s*{_NUMBER}", re.IGNORECASE),
)
_STATED = re.compile(
    r"\b(?:answer|rating|response|estimate|guess|number|value|rate (?:it|this|that)|(?:i'd|i would) (?:say|rate)|"
    r"i (?:choose|estimate|guess))\b[^\d\n.!?]{0,40}?"
    rf"(?<![\w.,])(?P<number>{_NUMBER})(?!\w|[.,]\d|\s*(?:to|or|and|-)\s*\d)",
    re.IGNORECASE,
)
_ONLY = re.compile(rf"[^\w+.-]{{0,3}}(?P<number>{_NUMBER})\W{{0,3}}(?:[^\W\d]{{1,12}}\.?)?\W{{0,3}}", re.IGNORECASE)
"""A line with a number and perhaps a unit."""
_ANSWERS = frozenset({"answer", "response", "rating", "number", "value", "estimate", "guess", "result", "score"})


def read(reply: str, is_accepted: Callable[[float], bool]) -> Reading:
    """Return the number that a reply gives as its answer, or the reason why there is none.

    Parameters
    ----------
    reply : str
        The whole reply of the model.
    is_accepted : callable
        Returns True for a number that is a possible response. A reply with another number as its answer is invalid.

    Examples
    --------
    >>> read("I would rate this 5 out of 7.", lambda number: number in range(1, 8))
    Reading(response=5, rule='statement')
    """
    text = answer_text(reply)
    if isinstance(text, Reading):
        return text
    for rule, numbers in _answers(text):
        if numbers:
            return _decided(rule, numbers, is_accepted)
    return Reading.invalid(reading.NO_ANSWER)


def _answers(text: str) -> Iterator[tuple[str, set[float]]]:
    """Yield each rule with the numbers that it finds, from the strictest rule to the most tolerant one."""
    text, fields = extracted(text)
    for rule in ("json", "answer_tag", "boxed"):
        final = [field for field in fields if field.rule == rule and field.is_final]
        of_rule = final or [field for field in fields if field.rule == rule]
        yield rule, {number for field in of_rule for number in _numbers_of(field.value)}
    plain = without_markup(without_fences(text)).replace(FIELD, " ")
    for scale in _SCALES:
        plain = scale.sub(" ", plain)
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    if lines:
        yield "first_line", _only(lines[0])
    stated = {_number(found["number"]) for found in _STATED.finditer(plain)}
    yield "statement", stated
    if lines:
        yield "last_line", _only(lines[-1])
    yield "in_sentence", {_number(found[0]) for found in _ANY.finditer(plain)}


def _decided(rule: str, numbers: set[float], is_accepted: Callable[[float], bool]) -> Reading:
    if len(numbers) > 1:
        return Reading.invalid(reading.SEVERAL_ANSWERS)
    (number,) = numbers
    if not is_accepted(number):
        return Reading.invalid(reading.OUT_OF_RANGE)
    return Reading(int(number) if float(number).is_integer() else number, rule)


def _numbers_of(value: Any) -> set[float]:
    """Return the numbers that a JSON object, an answer tag or a box gives as its answer."""
    if isinstance(value, str):
        return _only(value.strip())
    given = (entry for _, entry in answer_values(value, lambda name: not _ANSWERS.isdisjoint(names_of(name))))
    found: set[float] = set()
    for entry in given:
        if isinstance(entry, str):
            found |= _only(entry.strip())
        elif isinstance(entry, int | float) and not isinstance(entry, bool):
            found.add(entry)
    return found


def _only(line: str) -> set[float]:
    found = _ONLY.fullmatch(line)
    return {_number(found["number"])} if found else set()


def _number(text: str) -> float:
    """Return a number as a model writes it: commas are separators of thousands before three digits, else decimal."""
    if re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?:e[-+]?\d+)?", text, re.IGNORECASE):
        return float(text.replace(",", ""))
    return float(text.replace(",", "."))
