"""The question about confidence for language models: the request in a prompt, and the reading of the reply.

People answer this question after their response. A model answers it in the last line of its reply.
"""

import re
from typing import NamedTuple

from batteries.tasks.rating import points_of
from experiment.study.timeline import Confidence
from experiment.texts import ENGLISH, Texts

_NUMBER = r"[\"'*_\s]*[:=]?[\"'*_\s]*(?P<number>[-+]?\d+(?:[.,]\d+)?)"


class SplitReply(NamedTuple):
    """A reply without its line about confidence, and the confidence."""

    answer: str
    confidence: float | None
    """None if the reply has no confidence, two different values, or a value that is not a point of the scale."""


def confidence_request(question: Confidence, words: Texts) -> str:
    """Return the text that asks a model for its confidence, for the end of a prompt."""
    low, high = (
        f"{point:g}" + (f" ({question.labels[end]})" if question.labels else "")
        for point, end in ((question.low, 0), (question.high, -1))
    )
    return words.say("confidence_reply_help", question=question.prompt, low=low, high=high)


def split_confidence(reply: str, question: Confidence | None, words: Texts) -> SplitReply:
    r"""Separate the line about confidence from the rest of a reply.

    A line counts if it consists only of the word and a number. A JSON field `confidence` also counts, and stays in the
    rest of the reply.

    Parameters
    ----------
    reply
        The whole reply of the model.
    question
        The question about confidence; None if the study does not ask it. Then the reply stays whole.
    words
        The texts for one study.

    Examples
    --------
    >>> question = Confidence(prompt="How sure are you?", low=0, high=100, step=10)
    >>> split_confidence("It rolls.\nConfidence: 80", question, ENGLISH)
    SplitReply(answer='It rolls.', confidence=80.0)
    """
    if question is None:
        return SplitReply(reply, None)
    names = "|".join(sorted({re.escape(each.say("confidence_word")) for each in (words, ENGLISH)}))
    line = re.compile(rf"^[\W_]*(?:{names}){_NUMBER}\s*%?[\W_]*$", re.IGNORECASE | re.MULTILINE)
    field = re.compile(rf"[\"'](?:{names})[\"']\s*:{_NUMBER}", re.IGNORECASE)
    found = {float(match["number"].replace(",", ".")) for pattern in (line, field) for match in pattern.finditer(reply)}
    on_scale = found & {float(point) for point in points_of(question.low, question.high, question.step)}
    return SplitReply(line.sub("", reply).strip(), on_scale.pop() if len(found) == len(on_scale) == 1 else None)
