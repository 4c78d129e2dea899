"""Reading replies whose answer is a list of texts: a JSON list, one text per line, or texts with commas."""

import re
from typing import Any

from batteries.tasks.question import n_characters
from batteries.tasks.replies import reading
from batteries.tasks.replies.fields import extracted, without_fences
from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.preparation import answer_text, without_markup
from batteries.tasks.replies.reading import Reading
from batteries.tasks.replies.tokens import FIELD, statement_lexicon, tokens_of

_BULLET = re.compile(r"(?:\d{1,3}\s*[.):]|[-*•])\s*")
NOTHING = "none"
"""The reply for an empty list."""
_NOTHING = re.compile(r"\W*(?:none|nothing|\[\s*\])\W*", re.IGNORECASE)


def read(reply: str, most_entries: int, most_characters: int) -> Reading:
    r"""Return the list of texts that a reply gives, or the reason why there is none.

    A list with more than `most_entries` texts, or with a text of more than `most_characters`, is invalid. It is never
    cut. A line that ends with a colon is an introduction. A reply whose first line refuses to answer is a refusal.

    Examples
    --------
    >>> read("1. apple\n2. car", 30, 200)
    Reading(response=['apple', 'car'], rule='lines')
    """
    text = answer_text(reply)
    if isinstance(text, Reading):
        return text
    rest, fields = extracted(text)
    lists = [(field.rule, found) for field in fields if (found := _list_in(field.value)) is not None]
    if len({tuple(found) for _, found in lists}) > 1:
        return Reading.invalid(reading.SEVERAL_ANSWERS)
    if lists:
        rule, entries = lists[0]
    elif _NOTHING.fullmatch(text):
        rule, entries = "lines", []
    else:
        lines = [line.strip() for line in without_markup(without_fences(rest)).replace(FIELD, " ").splitlines()]
        lines = [line for line in lines if line and not line.endswith(":")]
        if lines and any(token.kind is Kind.REFUSE for token in statement_lexicon().named(tokens_of(lines[0]))):
            return Reading.invalid(reading.REFUSAL)
        rule, entries = "lines", [_BULLET.sub("", line, count=1).strip() for line in lines]
        if len(entries) == 1:
            entries = re.split(r"\s*[,;、]\s*", entries[0].rstrip("."))
    entries = [entry for entry in entries if entry]
    if not entries and rule != "json" and not _NOTHING.fullmatch(text):
        return Reading.invalid(reading.NO_ANSWER)
    if len(entries) > most_entries or any(n_characters(entry) > most_characters for entry in entries):
        return Reading.invalid(reading.OUT_OF_RANGE)
    return Reading([*entries], rule)


def _list_in(value: Any) -> list[str] | None:
    """Return the list of texts in a JSON value: the value itself, or the only list among its fields."""
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return [entry.strip() for entry in value]
    if isinstance(value, dict):
        found = [inner for entry in value.values() if (inner := _list_in(entry)) is not None]
        return found[0] if len(found) == 1 else None
    return None
