"""Words for numbers, kinds of question and reading times."""

from collections.abc import Iterable

from batteries.tasks import READING_WORDS_PER_MINUTE
from batteries.vignettes.preview.factors import Factor


def number_with_noun(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, in the singular or plural."""
    return f"{number:,}\u00a0{one if number == 1 else many or one + 's'}"


def span(values: Iterable[int]) -> str:
    """Return the lowest and the highest number as a text, such as `3 to 5`."""
    values = list(values)
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def some(names: Iterable[object], most: int = 3) -> str:
    """Return the first names and the number of other names as a text, such as `a, b, c and 2 more`."""
    words = [str(name) for name in names]
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def kind_words(capability_type: Factor) -> str:
    """Return a capability type as words for the page."""
    return "question" if capability_type is None else str(capability_type).removesuffix("_check")


def reading_time(n_words: float) -> str:
    """Return the time that readers need for a number of words, as a text such as `42 s`."""
    seconds = 60 * n_words / READING_WORDS_PER_MINUTE
    return f"{seconds:.0f}\u00a0s" if seconds < 100 else f"{seconds / 60:.1f}\u00a0min"


def reading_span(words: Iterable[int]) -> str:
    """Return the shortest and the longest reading time as a text such as `42 to 60 s`."""
    words = list(words)
    low, high = reading_time(min(words)), reading_time(max(words))
    number, _, unit = low.partition("\u00a0")
    return low if low == high else f"{number if high.endswith(unit) else low} to {high}"
