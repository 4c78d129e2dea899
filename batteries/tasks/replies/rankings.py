"""Reading replies whose answer is an order of options: a list of all numbers, or of all texts, from first to last."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from batteries.tasks.replies import reading
from batteries.tasks.replies.fields import extracted, without_fences
from batteries.tasks.replies.preparation import answer_text, without_markup
from batteries.tasks.replies.reading import Reading
from batteries.tasks.replies.tokens import FIELD

_LIST = re.compile(r"(?:[^\W\d]+(?: [^\W\d]+){0,4}:\s*)?[\[(]?\s*\d(?:\s*(?:[,;>]|\s|->)\s*\d)+\s*[\])]?\.?")
"""A line with numbers only, perhaps after words such as "My order:"."""
_NUMBERED = re.compile(r"(?:\d{1,2}\s*[.):]|-)?\s*(?P<text>.+)")


def read(options: Sequence[str], reply: str) -> Reading:
    """Return the order of the options' numbers that a reply gives, or the reason why there is none.

    A reply with two different orders, or with an order that lacks an option, has no response.

    Examples
    --------
    >>> read(["ant", "bee", "cat"], "3, 1, 2")
    Reading(response=[3, 1, 2], rule='first_line')
    """
    text = answer_text(reply)
    if isinstance(text, Reading):
        return text
    for rule, orders in _orders(options, text):
        if not orders:
            continue
        if len(set(orders)) > 1:
            return Reading.invalid(reading.SEVERAL_ANSWERS)
        order = orders[0]
        if sorted(order) != list(range(1, len(options) + 1)):
            return Reading.invalid(reading.OUT_OF_RANGE)
        return Reading([*order], rule)
    return Reading.invalid(reading.NO_ANSWER)


def _orders(options: Sequence[str], text: str) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    """Yield each rule with the orders that it finds."""
    numbers = {_plain(option): number for number, option in enumerate(options, start=1)}
    arrays = re.findall(r"\[[^\[\]{}]{1,2000}\]", text)
    yield "json", [order for array in arrays if (order := _of_entries(array[1:-1].split(","), numbers))]
    text, fields = extracted(text)
    for rule in ("json", "answer_tag", "boxed"):
        values = [value for field in fields if field.rule == rule for value in _lists_of(field.value)]
        yield rule, [order for value in values if (order := _of_entries(value, numbers))]
    lines = [line.strip() for line in without_markup(without_fences(text)).replace(FIELD, " ").splitlines()]
    lines = [line for line in lines if line]
    of_lines = {index: _digits(line) for index, line in enumerate(lines) if _LIST.fullmatch(line)}
    first = next(iter(of_lines), 0)
    rule = "first_line" if first == 0 else "last_line" if first == len(lines) - 1 else "whole_sentence"
    yield rule, [*of_lines.values()]
    found = [numbers.get(_plain(match["text"])) for each in lines if (match := _NUMBERED.fullmatch(each))]
    named = tuple(number for number in found if number is not None)
    yield "other_words", [named] if len(named) >= len(options) else []


def _lists_of(value: Any) -> Iterator[list[str]]:
    """Yield the lists in a JSON value. A text is a list with commas."""
    if isinstance(value, dict):
        for entry in value.values():
            if isinstance(entry, list):
                yield [str(each) for each in entry]
    elif isinstance(value, list):
        yield [str(each) for each in value]
    elif isinstance(value, str) and not value.strip().startswith("["):
        yield re.split(r"[,;>]", value)


def _of_entries(entries: Sequence[str], numbers: dict[str, int]) -> tuple[int, ...] | None:
    """Return the order that a list of numbers or texts gives; None if an entry is neither."""
    plain = [_plain(entry.strip().strip("\"'")) for entry in entries]
    order = [int(entry) if re.fullmatch(r"\d{1,2}", entry) else numbers.get(entry) for entry in plain]
    return tuple(number for number in order if number is not None) if all(order) and len(order) > 1 else None


def _digits(line: str) -> tuple[int, ...]:
    return tuple(int(digit) for digit in re.findall(r"\d", line))


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")
