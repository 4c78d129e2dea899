"""What a plan asks for and the data do not allow: an error, or a sentence in the report."""

from collections.abc import Iterator
from contextlib import contextmanager

from batteries.errors import InputError


@contextmanager
def told_in(sentences: list[str] | None) -> Iterator[None]:
    """Add the sentence of an InputError to `sentences` in place of raising it; raise it where there are none."""
    try:
        yield
    except InputError as error:
        if sentences is None:
            raise
        sentences.append(str(error))
