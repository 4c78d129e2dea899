"""The records that every reader of an imported file yields: a model's reply, or a problem with one line."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import JsonValue

from experiment.records import TRUNCATED

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class ProblemKind(StrEnum):
    """Kind of problem with a line of a file. The value is the end of the sentence `FILE: 3 lines ...`."""

    FAILED = "failed"
    UNREADABLE = "are unreadable"
    FOREIGN = "belong to no request of this study"
    OTHER_BATTERY = "belong to another battery"
    UNKNOWN_ITEM = "have an unknown item"
    DIFFERENT_DUPLICATE = "are a second, different reply"


@dataclass(frozen=True, slots=True)
class Problem:
    """A line without a usable reply."""

    line: int
    """Number of the line, row or sample in the file, from 1."""
    kind: ProblemKind
    detail: str
    """The reason, without a full stop."""
    request: str | None = None
    """Id of the request or of the item, if the line has an id."""
    battery: str | None = None
    """First eight digits of the digest of the battery that the request's id names, if it is not the study's battery."""


@dataclass(frozen=True, slots=True)
class ImportedReply:
    """One reply of a model, as a file contains it."""

    line: int
    """Number of the line, row or sample in the file, from 1."""
    request: str
    """Id of the request (see `RequestId`), or id of the item."""
    model: str
    """The model's name, as in the file."""
    reply: str
    """The raw reply, without the thinking."""
    model_version: str | None = None
    """The provider's exact name of the model version; None if the file does not contain it."""
    temperature: float | None = None
    epoch: int | None = None
    """Number of the repetition, from 1; None if the file has no repetitions."""
    prompt: str | None = None
    """Name of the prompt or condition, if a column or a map contains it."""
    provider: str | None = None
    max_tokens: int | None = None
    has_response: bool = False
    """True if the file contains the response itself. Then `response` is used, and `reply` is not read."""
    response: JsonValue = None
    rule: str | None = None
    """Rule that found `response`, or the reason why there is none; None if the file contains the response itself."""
    logprobs: Sequence[Any] = ()
    """One entry for each token of the reply, in the JSON form of OpenAI: `token`, `logprob` and `top_logprobs`."""
    n_unlisted: int = 0
    """Number of options that `top_logprobs` lack. 0 unless the response is a choice by log-probability."""
    thinking: str = ""
    finish_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency_ms: float | None = None
    time: datetime | None = None
    """Time of the reply, UTC."""
    made_run: str | None = None
    """Description of the run (`checked_description`), if the file is the log of a complete run of `models run`."""

    @property
    def is_truncated(self) -> bool:
        """True if the reply was cut off, because it reached the limit of tokens."""
        return self.finish_reason in TRUNCATED


Records = Iterator[ImportedReply | Problem]


def storable(text: str) -> str:
    r"""Return a text with a replacement character for each character that a store cannot contain.

    These characters are NUL and halves of surrogate pairs (incomplete Unicode characters).

    Examples
    --------
    >>> storable("fine"), storable("half \ud83d")
    ('fine', 'half �')
    """
    if _UNSTORABLE.search(text) is None:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd")
