"""The choice of an option by the log-probabilities of a reply's tokens.

Only one token is used: the number or letter that the model wrote as its answer. For this token, the file lists the
tokens that the model could have written instead, with their probabilities. The response is the option whose number and
letter have the largest probability together.
"""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from batteries.items import Item
from batteries.stimulus.parts import option_words
from batteries.tasks import task_named
from experiment.models.imports.lines import inner
from experiment.models.imports.replies import ImportedReply

LARGEST_LOG_PROBABILITY = "largest_log_probability"
NO_LOG_PROBABILITIES = "no_log_probabilities"
NO_ANSWER_POSITION = "no_answer_position"
EQUAL = "equal_log_probabilities"
UNDECIDED = "undecided_by_listed_tokens"

_LABEL = re.compile(
    r"""[*_#"'(\[]*(?:(?i:the|my|correct|right|best|final|answer|option|choice|number|is)\b[\s:*_#"'(\[]*)*"""
    r"""(?P<label>[1-9A-I])(?!\w)(?P<rest>[^\n]*)"""
)
"""The first line of a reply: words such as "Answer:", the number or letter of an option, and the rest of the line."""
_SIGNS = " \t\r.,:;)]*_\"'-\u2013\u2014"
_NUMBERS, _LETTERS = "123456789", "ABCDEFGHI"


def with_logprob_choice(reply: ImportedReply, item: Item) -> ImportedReply:
    """Return a reply whose response is its choice by log-probability.

    The text of the new reply is JSON. It contains the raw reply, and the natural logarithm of the probability of each
    option: null if the file does not list the option at the answer's token.
    """
    options = option_words(item.content)
    label = _answer_label(reply, item)
    entry = _entry_of(label, reply) if label else None
    listed: dict[int, float | None] | None = None
    response, rule = None, NO_ANSWER_POSITION if reply.logprobs else NO_LOG_PROBABILITIES
    if label is not None and entry is not None:
        tokens = _listed_tokens(entry)
        names = (_NUMBERS if label["label"] in _NUMBERS else _LETTERS)[: len(options)]
        values = [[tokens[form] for form in _forms(name) if form in tokens] for name in names]
        listed = {number: _log_sum(each) for number, each in enumerate(values, start=1)}
        response, rule = _choice(values, list(tokens.values()), _least(entry))
    content = {"reply": reply.reply, "log_probabilities": listed}
    return replace(
        reply,
        reply=json.dumps(content, ensure_ascii=False),
        has_response=True,
        response=response,
        rule=rule,
        n_unlisted=sum(value is None for value in listed.values()) if listed else 0,
    )


def _answer_label(reply: ImportedReply, item: Item) -> re.Match[str] | None:
    """Return the number or letter of the answer in a reply; None if the reply's first line has anything else.

    The reply as a whole must give the same answer. So a list of all options at the start of a reply is not an answer.
    """
    label = _LABEL.match(reply.reply.lstrip())
    if label is None:
        return None
    texts = [text.strip() for text in option_words(item.content)]
    numbers = {name: number for names in (_NUMBERS, _LETTERS) for number, name in enumerate(names[: len(texts)], 1)}
    if any(numbers.get(text, number) != number for number, text in enumerate(texts, start=1)):
        return None  # If the second option is `3`, the token `3` can mean two options.
    number = numbers.get(label["label"])
    if number is None or label["rest"].strip(_SIGNS) not in {"", texts[number - 1].strip(_SIGNS)}:
        return None
    return label if task_named(item.task).read_reply(item.content, reply.reply).response == number else None


def _entry_of(label: re.Match[str], reply: ImportedReply) -> Any:
    """Return the file's entry for the token of the answer's number or letter.

    Return None if the tokens differ from the text of the reply, or if this token contains further characters.
    """
    tokens = [token if isinstance(token := inner(entry, "token"), str) else "" for entry in reply.logprobs]
    written = "".join(tokens)
    n_blank = len(written) - len(written.lstrip())
    if written[n_blank : n_blank + label.end("label")] != label.string[: label.end("label")]:
        return None
    end = 0
    for token, entry in zip(tokens, reply.logprobs, strict=True):
        end += len(token)
        if end > n_blank + label.start("label"):
            return entry if token in _forms(label["label"]) else None
    return None


def _forms(name: str) -> tuple[str, str]:
    """Return the tokens that mean an option: `name` (a number or letter), alone and with a space before it."""
    return name, f" {name}"


def _top(entry: Any) -> dict[str, float]:
    """Return the most likely tokens of a position, with their log-probabilities."""
    top = inner(entry, "top_logprobs")
    return {
        token: value
        for each in (top if isinstance(top, list) else [])
        if isinstance(token := inner(each, "token"), str) and _is_number(value := inner(each, "logprob"))
    }


def _listed_tokens(entry: Any) -> dict[str, float]:
    """Return the most likely tokens and the token that the model wrote, which can be less likely than all of them."""
    value = inner(entry, "logprob")
    return ({entry["token"]: value} if _is_number(value) else {}) | _top(entry)


def _least(entry: Any) -> float:
    """Return an upper limit of the log-probabilities of the tokens that the file does not list."""
    return min(_top(entry).values(), default=0.0)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _log_sum(values: Sequence[float]) -> float | None:
    """Return the logarithm of a sum of probabilities from the logarithms of the probabilities; None without values."""
    largest = max(values, default=None)
    if largest is None:
        return None
    return largest + math.log(sum(math.exp(value - largest) for value in values))


def _choice(values: Sequence[Sequence[float]], listed: Sequence[float], least: float) -> tuple[int | None, str]:
    """Return the option with the largest probability and the name of the rule, or None and the reason.

    The file lists only the most likely tokens. An unlisted token is at most as likely as the least likely of the listed
    tokens, and all unlisted tokens share the rest of the probability. If unlisted tokens could make another option the
    most likely one, there is no choice.
    """
    rest = max(0.0, 1.0 - sum(map(math.exp, listed)))
    sums = [sum(map(math.exp, each)) for each in values]
    best = max(range(len(sums)), key=sums.__getitem__)
    others = [position for position in range(len(sums)) if position != best]
    if any(math.isclose(sums[position], sums[best]) for position in others):
        return None, EQUAL
    unlisted = [min(rest, (len(_forms("")) - len(each)) * math.exp(least)) for each in values]
    is_certain = all(sums[position] + unlisted[position] < sums[best] for position in others)
    return (best + 1, LARGEST_LOG_PROBABILITY) if is_certain else (None, UNDECIDED)
