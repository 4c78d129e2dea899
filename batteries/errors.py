"""The one error for input that a person can correct."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(Exception):
    """Something a person gave us is wrong; the message names the place, what is wrong and how to correct it."""


@contextmanager
def collect_input_error(sentences: list[str] | None) -> Iterator[None]:
    """Add the sentence of an InputError to `sentences` in place of raising it; raise it where there are none."""
    try:
        yield
    except InputError as error:
        if sentences is None:
            raise
        sentences.append(str(error))
