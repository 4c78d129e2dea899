"""The result of reading a reply."""

from dataclasses import dataclass
from typing import Self

from pydantic import JsonValue

EMPTY = "empty"
ONLY_REASONING = "only_reasoning"
NO_ANSWER = "no_answer"
SEVERAL_ANSWERS = "several_answers"
DISAGREEMENT = "number_and_text_disagree"
OUT_OF_RANGE = "out_of_range"
AMBIGUOUS = "ambiguous_number"
REFUSAL = "refusal"

INVALID = frozenset({EMPTY, ONLY_REASONING, NO_ANSWER, SEVERAL_ANSWERS, DISAGREEMENT, OUT_OF_RANGE, AMBIGUOUS, REFUSAL})
"""The reasons why a reply has no response."""


@dataclass(frozen=True)
class Reading:
    """The response that was found in a reply, or the reason why there is none."""

    response: JsonValue
    """The response, in the task's form; None if the reply gives none, or more than one."""
    rule: str
    """Name of the rule that found the response. If there is no response, the reason (one of `INVALID`)."""

    @property
    def is_valid(self) -> bool:
        """Return True if the reply gives exactly one response."""
        return self.rule not in INVALID

    @classmethod
    def invalid(cls, reason: str) -> Self:
        """Return the reading of a reply that contains no response."""
        return cls(None, reason)
