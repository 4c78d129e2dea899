"""Reading age of a text: the age at which pupils can usually read it, by a published formula for its language.

A formula needs the number of syllables. This module counts groups of vowels. For the English texts of the sample
studies, the grade differs by at most 0.3 from the grade with the syllables of the CMU Pronouncing Dictionary. The
libraries for readability (textstat, py-readability-metrics) download dictionaries when they run, so a check without a
network connection would fail.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt

AGE_AT_GRADE_0 = 5
"""Pupils begin the first grade at the age of six."""

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE_END = re.compile(r"[.!?:;]+(?=[\s\"”’)]|$)")
_GERMAN_NUCLEUS = re.compile("aa|ee|oo|ie|ei|ai|au|eu|äu|[aeiouyäöü]")
_ENGLISH_SILENT = re.compile(r"(?<=[^aeiouytd])ed$|(?<![^aeiouy]l)(?<=.)e$|(?<=[^aeiouyscgxzh])es$")


@dataclass(frozen=True)
class _Counts:
    """Counts of a text: its words, its sentences, and the syllables of each word."""

    words: Sequence[str]
    n_sentences: int
    syllables: Sequence[int]

    @property
    def words_per_sentence(self) -> float:
        return len(self.words) / self.n_sentences

    @property
    def syllables_per_word(self) -> float:
        return sum(self.syllables) / len(self.words)

    def percent(self, is_counted: Sequence[bool]) -> float:
        return 100 * sum(is_counted) / len(self.words)


@dataclass(frozen=True)
class Formula:
    """A formula for one language that gives the school grade of a text."""

    name: str
    """Name and source, for the checklist."""
    syllables: Callable[[str], int]
    grade: Callable[[_Counts], float]


def syllables_en(word: str) -> int:
    """Return the number of syllables of an English word.

    Examples
    --------
    >>> [syllables_en(word) for word in ("ray", "table", "moved", "wanted", "reflected", "questions")]
    [1, 2, 1, 2, 3, 2]
    """
    return max(1, len(re.findall("[aeiouy]+", _ENGLISH_SILENT.sub("", word.lower()))))


def syllables_de(word: str) -> int:
    """Return the number of syllables of a German word.

    Examples
    --------
    >>> [syllables_de(word) for word in ("Strahl", "Frage", "Beobachtung", "bequem")]
    [1, 2, 4, 2]
    """
    return max(1, len(_GERMAN_NUCLEUS.findall(word.lower().replace("qu", "q"))))


def syllables_es(word: str) -> int:
    """Return the number of syllables of a Spanish word. A weak vowel without an accent forms a diphthong.

    Examples
    --------
    >>> [syllables_es(word) for word in ("rayo", "día", "aire", "guerra", "leer", "y")]
    [2, 2, 2, 2, 2, 1]
    """
    groups = re.findall("[aeiouáéíóúü]+", word.lower())
    return max(1, sum(max(1, len(re.findall("[aeoáéóíú]", group))) for group in groups))


def _flesch_kincaid(counts: _Counts) -> float:
    return 0.39 * counts.words_per_sentence + 11.8 * counts.syllables_per_word - 15.59


def _wiener_sachtext(counts: _Counts) -> float:
    return (
        0.1935 * counts.percent([number >= 3 for number in counts.syllables])
        + 0.1672 * counts.words_per_sentence
        + 0.1297 * counts.percent([len(word) > 6 for word in counts.words])
        - 0.0327 * counts.percent([number == 1 for number in counts.syllables])
        - 0.875
    )


def _crawford(counts: _Counts) -> float:
    return -0.205 * (100 / counts.words_per_sentence) + 0.049 * (100 * counts.syllables_per_word) - 3.407


FORMULAS = {
    "en": Formula("Flesch-Kincaid grade (Kincaid et al., 1975)", syllables_en, _flesch_kincaid),
    "de": Formula("first Wiener Sachtextformel (Bamberger & Vanecek, 1984)", syllables_de, _wiener_sachtext),
    "es": Formula("Crawford's formula (1989)", syllables_es, _crawford),
}
"""The formulas, by language."""


def formula_for(language: str) -> Formula | None:
    """Return the formula for a language such as `de-AT`, or None if there is none."""
    return FORMULAS.get(language.partition("-")[0])


def reading_age(blocks: Sequence[str], formula: Formula) -> float:
    """Return the reading age of a text in years.

    Parameters
    ----------
    blocks
        Paragraphs of plain text. A sentence never continues in the next paragraph. At least one paragraph has a word.
    formula
        The formula for the language of the text.
    """
    words = [word for block in blocks for word in WORD.findall(block)]
    n_sentences = sum(bool(WORD.search(sentence)) for block in blocks for sentence in _SENTENCE_END.split(block))
    counts = _Counts(words, n_sentences, [formula.syllables(word) for word in words])
    return formula.grade(counts) + AGE_AT_GRADE_0


def paragraphs_of(markdown: str) -> list[str]:
    """Return the paragraphs and list items of a Markdown page as plain text, without headings."""
    tokens: Sequence[Any] = MarkdownIt("commonmark").parse(markdown)
    return [
        "".join(" " if part.type in {"softbreak", "hardbreak"} else part.content for part in token.children or ())
        for before, token in pairwise(tokens)
        if token.type == "inline" and before.type != "heading_open"
    ]
