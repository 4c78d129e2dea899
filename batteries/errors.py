"""The error for input that a person can correct."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(Exception):
    """Invalid input from a person. The message names the file or item, the problem and a fix."""


@contextmanager
def collect_input_error(sentences: list[str] | None) -> Iterator[None]:
    """Append the message of an InputError to `sentences`. If `sentences` is None, raise the error instead."""
    try:
        yield
    except InputError as error:
        if sentences is None:
            raise
        sentences.append(str(error))
