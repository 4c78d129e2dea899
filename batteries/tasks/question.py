"""The content that all tasks with a question have in common."""

from typing import Annotated

from pydantic import Field

from batteries.stimulus.parts import StimulusBeside, StimulusContent

Number = Annotated[int | float, Field(allow_inf_nan=False)]
"""A number that is not infinite. A whole number stays a whole number."""


class QuestionContent(StimulusContent):
    """A stimulus, a text and a question. The content of a task has further fields for the answer."""

    stimulus_beside: StimulusBeside = False
    text: str = Field(default="", description="The story or stimulus. An empty line begins a new paragraph.")
    prompt: str = Field(min_length=1, description="The question.")


def n_words(*texts: str) -> int:
    """Return the number of words in texts."""
    return len(" ".join(texts).split())


def n_characters(text: str) -> int:
    """Return the number of characters as a browser counts them (UTF-16 code units)."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
