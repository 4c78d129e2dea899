"""Grammar of filled placeholders: the choice of `a` or `an`, and of singular or plural.

The library `inflect` is right for most words. The tables of this module contain the words for which `inflect` is wrong.
For articles, `inflect` was compared with the CMU Pronouncing Dictionary. For plurals, it was checked with the 60,000
most frequent words of English. Spelling and pronunciation are British: an heir and an honour, but a hotel, a historic
house and a herb.
"""

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import typeguard

if TYPE_CHECKING:
    import inflect


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEXT_WORD = r"""["'“‘«(\[{*_£$€¥]*([^\W_][\w'’-]*)"""
"""The word after an article. Quotes, brackets, emphasis or a currency sign may precede the word."""

# Two patterns, because a search for one letter is four times as fast as a search for two letters.
_SMALL_ARTICLE = re.compile(rf"a(?=n?\s)(?<!\wa)(?<!\w[-'’./]a)n?(?=\s[^\S\n]*{_NEXT_WORD})")
_CAPITAL_ARTICLE = re.compile(rf"A(?=n?\s)(?<!\w[-'’./]A)n?(?=[^\S\n]+{_NEXT_WORD})")

_SENTENCE_ENDS = (".", "!", "?", ":", "…", "\n")
_OPENING = tuple("\"'“‘«([{")
_CLOSING = "\"'”’»)]}"

_NEVER_AFTER_AN_ARTICLE = frozenset({"a", "an", "and", "are", "aren't", "aren’t", "is", "isn't", "isn’t", "of", "or"})

_VOWEL_NUMERAL = re.compile(r"0?8|1[18](?:\d\d|(?:\d{3})*)(?!\d)")
"""Numerals that begin with a vowel sound: eight, oh-eight, eleven, eighteen, and numbers such as 11,000.

A number of four digits without a comma is read as hundreds or a year (an 1800s house, but a 1,800-seat hall)."""

_LETTER = re.compile(r"[A-Za-z](?:['’]s|[-\d].*)?")
"""A single letter, or a letter before a hyphen or digit: x, X-ray, e-mail, M4."""
_VOWEL_LETTERS = frozenset("AEFHILMNORSXaefhilmnorsx")
"""Letters whose names begin with a vowel."""

_CAPITALS = re.compile(r"[A-Z]{2,}")
_SPELT = _words(
    "FAA FAQ FIA FOI HIV HOA HOV LAPD LAX LEA LED MEP MIT MOD MOT MOU NAACP NEC NIH NUS RAC RAF RIP ROI ROV SAE SAS SEC"
    " SEO SLA SME SOS STI SUV"
)
"""Acronyms that look like words, but are pronounced letter by letter."""

_INFLECT_ERRS_WITH_A = re.compile(
    r"ewok|hors(?:$|-)|mbira|mrna|nvidia|u(?:ber|buntu|gali|ni(?:gn|ll|r|ss)|sher)|x(?:box|ray|tra)|y[^aeiouy\W\d_]",
    re.IGNORECASE,
)
_INFLECT_ERRS_WITH_AN = re.compile(
    r"ftse|one(?:s|ness)|oui|scsi|u(?:lysses|na$|nanim|ni(?:s?$|-|dim|dir)|trecht|vula)", re.IGNORECASE
)

_STROKED = str.maketrans("æœøÆŒØ", "eooEOO")
"""Vowels that Unicode does not split into a letter and an accent."""


def correct_articles(text: str) -> str:
    """Return `text` with every `a` and `an` in the form that the next word requires. All other words stay unchanged.

    A small `a` is an article if it is a separate word and the next word can follow an article. So the `a` in "option a
    or b" is not an article. A capital `A` can be an article only at the start of the text, a line, a sentence, a
    quotation or a bracket. The next word must be on the same line. So the `A` in "Plan A appears" stays unchanged.

    At the start of a sentence, a person named A cannot always be distinguished from the article: "A opened the door"
    becomes "An opened the door". So no person in a story should have the name A or An. Words in capitals (AN HOUR) are
    not changed. Only a word in capitals can be an acronym: "hiv" in "a hiv test" is read as an ordinary word.
    """
    return _CAPITAL_ARTICLE.sub(_correct_capital, _SMALL_ARTICLE.sub(_correct_small, text))


def _correct_small(article: re.Match[str]) -> str:
    return _form_before(article[1]) or article[0]


def _correct_capital(article: re.Match[str]) -> str:
    form = _form_before(article[1])
    return form.capitalize() if form and _opens_sentence(article) else article[0]


def _opens_sentence(article: re.Match[str]) -> bool:
    before = article.string[: article.start()]
    if before.endswith(_OPENING):
        return True
    before = before.rstrip(" \t\xa0").rstrip(_CLOSING)
    return not before or before.endswith(_SENTENCE_ENDS)


@cache
def _form_before(word: str) -> str | None:
    """Return the article (`a` or `an`) for the next word. Return None if the word cannot follow an article."""
    if word in _NEVER_AFTER_AN_ARTICLE:
        return None
    if word[0].isdigit():
        return _form(_VOWEL_NUMERAL.match(word) is not None)
    word = unicodedata.normalize("NFKD", word.translate(_STROKED))
    capitals = _CAPITALS.match(word)
    if _LETTER.fullmatch(word) or (capitals and _is_spelt(capitals[0])):
        return _form(word[0] in _VOWEL_LETTERS)
    if _INFLECT_ERRS_WITH_A.match(word):
        return "an"
    if _INFLECT_ERRS_WITH_AN.match(word):
        return "a"
    return _inflect().a(word).split()[0]


def _is_spelt(capitals: str) -> bool:
    """Return True if the first capital is pronounced as the name of the letter, as in BBC and UEFA."""
    return (
        (len(capitals) == 2 and capitals != "NO")
        or not set("AEIOU") & set(capitals[1:])
        or (capitals[0] == "U" and len(capitals) <= 4)
        or capitals in _SPELT
    )


def _form(vowel_follows: bool) -> str:
    return "an" if vowel_follows else "a"


@cache
def _inflect() -> "inflect.engine":
    """Return the engine of the library `inflect`. The library is imported at first use.

    At import, `inflect` adds type checks to all its functions with the library typeguard. These checks would make the
    import two seconds slower, so they are switched off.
    """
    checked = typeguard.typechecked
    typeguard.typechecked = lambda target: target  # type: ignore[assignment]
    try:
        import inflect  # noqa: PLC0415
    finally:
        typeguard.typechecked = checked
    return inflect.engine()


_QUALIFIER = re.compile(r"(?:\s(?:full|filled|made))?\s(?:of|for|with|without|in|on|at|by|about|from|to)\s")
"""Words after the head noun of a label, such as `of` in "boxes of tea", and `full of` in "bag full of apples"."""
_HYPHENED_QUALIFIER = re.compile(r"(?<=\w)-(?:by|in|of|on|to|up)\b.*")
"""Parts of a word after the head noun, such as `-by` in "passers-by", and `-in-law` in "mothers-in-law"."""

_ACRONYMS = re.compile(r"[A-Z]{2,}s")

_NUMERAL = re.compile(r"\d[\d,]*(?:\.\d+)?", re.ASCII)
_NUMBERS_ABOVE_ONE = _words(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion"
)

# `singular_noun` removes any final s (bus, iris, physics), so these tables list the nouns that keep it.
_SINGULAR_IN_S = _words(
    "alias asbestos atlas bias billiards biceps biogas calvados canvas chaos christmas corps cosmos crossroads cyclops"
    " diabetes ethos gallows gas gasworks herpes innings kudos lens madras maths measles mews molasses mumps news"
    " pancreas pathos rabies rhinoceros rounders schnapps series species subspecies summons thermos triceps"
    " acoustics aerobics aerodynamics aeronautics astrophysics athletics callisthenics economics electronics ergonomics"
    " ethics genetics gymnastics informatics linguistics logistics mathematics metaphysics paediatrics phonics physics"
    " politics robotics statistics"
)
_PLURAL_IN_IS_OR_US = _words(
    "alibis bikinis bonsais chapatis chilis chillis corgis emojis jacuzzis khakis kiwis martinis minis okapis paninis"
    " rabbis rotis safaris salamis saris skis taxis tipis tsunamis yetis yogis zucchinis"
    " caribous emus gnus gurus haikus kudus menus tutus"
)
# `singular_noun` knows most plurals without a final s (mice, teeth, criteria), but not these plurals.
_PLURAL_WITHOUT_S = _words(
    "antennae cacti cattle folk formulae fungi hippopotami larvae media octopi paparazzi police radii vermin vertebrae"
)
_PLURAL_ENDINGS = ("children", "eaux")
# `singular_noun` takes these words for plurals (of raman, agendum and pumouse).
_SINGULAR_WITHOUT_S = _words(
    "abdomen acumen agenda albumen amen bitumen candelabra comice cyclamen dolmen foramen hymen lumen nova omen opera"
    " pavlova pumice ramen regimen semen somen specimen stamen supernova"
)


@cache
def is_plural(label: str) -> bool:
    """Return True if the pronoun of a label is `they`, not `it`. The head noun of the label decides.

    The head noun is the last word before the first `of`, `for`, `with`, `in`, `from`, `to` or a similar word. For
    example, the head noun of "boxes of tea" is "boxes", and the head noun of "repair kit" is "kit". "A pair of" and "a
    couple of" are plural, as in the published template format. A number above one is plural, too. If the last word has
    a capital, it is a name and singular (James, Los Angeles). Nouns with the same form in singular and plural (sheep,
    series) and shops (greengrocer's) are singular, too.
    """
    qualifier = _QUALIFIER.search(label)
    words = label[: qualifier.start() if qualifier else None].split()
    if not words:
        return False
    written, head = words[-1], words[-1].lower()
    if qualifier and head in {"pair", "couple"}:
        return True
    if _is_number_above_one(head) or _ACRONYMS.fullmatch(written):
        return True
    if written.istitle() or written.isupper() or head.endswith(("'s", "’s")):
        return False
    return _is_plural_noun(_HYPHENED_QUALIFIER.sub("", head))


def _is_number_above_one(word: str) -> bool:
    if _NUMERAL.fullmatch(word):
        return float(word.replace(",", "")) > 1
    return word != "one" and set(word.split("-")) <= _NUMBERS_ABOVE_ONE | {"one"}


def _is_plural_noun(noun: str) -> bool:
    last = noun.rpartition("-")[2]
    if last.endswith("s"):
        if last.endswith(("is", "us")):
            return last in _PLURAL_IN_IS_OR_US or last.endswith("eaus")
        return last not in _SINGULAR_IN_S and not last.endswith("ss")
    if last in _PLURAL_WITHOUT_S or last.endswith(_PLURAL_ENDINGS):
        return True
    singular = False if last in _SINGULAR_WITHOUT_S else _inflect().singular_noun(noun)
    return bool(singular) and singular != noun
