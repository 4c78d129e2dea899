"""The strict form of a reply to a multiple-choice item, read without the many steps for other replies.

Most replies to the standard prompt have the strict form: the number, the exact text of this option, and an explanation
that names no option. For these replies, this module gives the same result as the general steps, ten times as fast. An
import of 100,000 replies needs this speed (`benchmarks/models_import.py`).
"""

import re
from functools import lru_cache

from batteries.tasks.replies.kinds import Kind
from batteries.tasks.replies.options import ROMAN, Options
from batteries.tasks.replies.tokens import Lexicon, word_keys

_HARMLESS = re.compile(r"(?:[A-Za-z\u00c0-\u024f ,.;!'\n]|\b-\b)*")
"""A text of these characters contains no numbers, data or markup."""
_LONE_LETTER = re.compile(r"\b(?<!')(?!a [a-z])[^\W\d_]\b(?!')")
"""A letter that may be the position of an option. The article in "a box" is not such a letter."""
_NAMING = frozenset({Kind.NUMBER_WORD, Kind.ORDINAL, Kind.OPTION})
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*'?")


def strict_number(options: Options, text: str) -> int | None:
    """Return the number of the option that a normalized reply of the strict form gives; None for any other reply."""
    first, _, rest = text.partition("\n")
    second, _, explanation = rest.partition("\n")
    if not (len(first) <= 2 and first.isdigit() and 1 <= int(first) <= len(options.texts)):
        return None
    number = int(first)
    is_strict = second == options.texts[number - 1] and not _may_name_option(options, explanation)
    return number if is_strict else None


def _may_name_option(options: Options, explanation: str) -> bool:
    """Return True if an explanation may contain a number, a letter or all words of an option."""
    if _HARMLESS.fullmatch(explanation) is None or _LONE_LETTER.search(explanation) is not None:
        return True
    words = set(_WORD.findall(explanation))
    keys = {key for word in words for key in word_keys(word)}
    naming = _naming_words(options.lexicon)
    if not naming.isdisjoint(keys) or not ROMAN.keys().isdisjoint(words):
        return True
    return any(keys.issuperset(forms) for entries in options.starts.values() for _, forms in entries)


@lru_cache
def _naming_words(lexicon: Lexicon) -> frozenset[str]:
    """Return the words of all number words, ordinals, and nouns such as "option"."""
    return frozenset(word for words, kind in lexicon.kinds.items() if kind in _NAMING for word in words)
