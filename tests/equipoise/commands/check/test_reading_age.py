"""Reading ages, against the published formulas on texts whose counts are known."""

import pytest

from equipoise.commands.check.reading_age import (
    FORMULAS,
    formula_for,
    paragraphs_of,
    reading_age,
    syllables_de,
    syllables_en,
    syllables_es,
)


def test_english_has_the_grade_of_flesch_and_kincaid() -> None:
    # 10 words, 2 sentences, 12 syllables.
    age = reading_age(["The ray moves on. It leaves the board at a corner."], FORMULAS["en"])
    words, sentences, syllables = 11, 2, 12
    assert age == pytest.approx(0.39 * words / sentences + 11.8 * syllables / words - 15.59 + 5)


def test_german_has_the_grade_of_the_first_wiener_sachtextformel() -> None:
    # Words of three syllables or more: Beobachtung. Longer than six letters: Beobachtung. One syllable: Die, ist, sehr.
    age = reading_age(["Die Beobachtung ist sehr leise."], FORMULAS["de"])
    assert age == pytest.approx(0.1935 * 20 + 0.1672 * 5 + 0.1297 * 20 - 0.0327 * 60 - 0.875 + 5)


def test_spanish_has_the_grade_of_crawford() -> None:
    # 5 words, 1 sentence, 9 syllables: El ra-yo sa-le del ta-ble-ro (10).
    age = reading_age(["El rayo sale del tablero."], FORMULAS["es"])
    assert age == pytest.approx(-0.205 * 20 + 0.049 * 100 * 9 / 5 - 3.407 + 5)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (syllables_en, {"ray": 1, "table": 2, "moved": 1, "wanted": 2, "places": 2, "boxes": 2, "leave": 1, "the": 1}),
        (syllables_de, {"Strahl": 1, "Frage": 2, "Beobachtung": 4, "bequem": 2, "Häuser": 2, "hm": 1}),
        (syllables_es, {"rayo": 2, "día": 2, "aire": 2, "guerra": 2, "leer": 2, "y": 1, "también": 2}),
    ],
)
def test_syllables_are_groups_of_vowels(count, words: dict[str, int]) -> None:  # type: ignore[no-untyped-def]
    assert {word: count(word) for word in words} == words


def test_a_language_with_a_region_has_the_formula_of_the_language_and_arabic_has_none() -> None:
    assert formula_for("de-AT") is FORMULAS["de"]
    assert formula_for("ar") is None


def test_headings_and_signs_of_markdown_are_not_text() -> None:
    page = "# A title\n\n**Your rights.** You can\nleave.\n\n- one\n- two\n"
    assert paragraphs_of(page) == ["Your rights. You can leave.", "one", "two"]


def test_a_short_simple_text_needs_a_lower_age_than_a_long_hard_text() -> None:
    easy = reading_age(["You see a ball. It is red. You press a key."], FORMULAS["en"])
    hard = reading_age(
        ["Participation presupposes comprehension of the aforementioned methodological considerations."], FORMULAS["en"]
    )
    assert easy < 8 < 20 < hard
