"""The error for input that a person can correct, and helpers for its message."""

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(Exception):
    """Invalid input from a person. The message names the file or item, the problem and a fix."""


def how_to_install(extra: str) -> str:
    """Return the action that installs an extra of Equipoise, for the fix of an error. No package index has Equipoise.

    Examples
    --------
    >>> how_to_install("lab")
    'in a clone of the repository of Equipoise, run `pip install ".[lab]"`.'
    """
    return f'in a clone of the repository of Equipoise, run `pip install ".[{extra}]"`.'


@contextmanager
def collect_input_error(sentences: list[str] | None) -> Iterator[None]:
    """Append the message of an InputError from the `with` block to `sentences`.

    If `sentences` is None, raise the error.
    """
    try:
        yield
    except InputError as error:
        if sentences is None:
            raise
        sentences.append(str(error))


@contextmanager
def input_error_about(what: str) -> Iterator[None]:
    """Put `what`, such as the name of a file, before the message of an InputError from the `with` block."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{what}: {error}") from None
