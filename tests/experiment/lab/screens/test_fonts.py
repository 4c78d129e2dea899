"""Fonts for all letters of a study, and scripts that are joined or read from right to left."""

import sys

import pytest
from PIL import Image, ImageDraw

from batteries.errors import InputError
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.text import fonts, paragraphs, shaping
from experiment.lab.screens.text.fonts import DEJAVU, font_for, missing_glyphs, texts_of
from experiment.lab.screens.text.shaping import base_direction, shaped
from experiment.records import Source
from experiment.texts import ENGLISH, catalogue, languages
from tests.missing import skip_but_never_in_ci

IN_NO_FONT = "\U0003fffd"  # In an unassigned plane of Unicode.


@pytest.mark.parametrize("language", languages())
def test_the_bundled_font_has_all_characters_of_equipoises_texts(language):
    assert missing_glyphs(catalogue(language).values()) == ()
    assert font_for(catalogue(language).values()) == DEJAVU


def test_the_bundled_font_has_the_usual_scripts_and_signs_of_psychology():
    assert missing_glyphs(["Ελληνικά", "русский", "עברית", "العربية", "→ ← ≤ ≥ ≠ × ÷ ± … – “”„‚ ½ ² √ ∞ ✓ ♀ ♂"]) == ()


def test_missing_characters_are_named_once_and_in_order():
    assert missing_glyphs(["b" + IN_NO_FONT, IN_NO_FONT]) == (IN_NO_FONT,)


def test_invisible_characters_are_not_reported_as_missing():
    assert missing_glyphs(["soft\u00adhyphen\u200b \u200e\u2066a\u2069\ttab\nline\ufeff"]) == ()


def test_a_character_that_no_font_has_is_refused_by_name():
    with pytest.raises(InputError, match=r"no font of this machine has .* \(U\+3FFFD\).* Fix: install one font"):
        font_for(["a", IN_NO_FONT])


def test_an_installed_font_is_used_for_characters_that_the_bundled_font_lacks(monkeypatch):
    letters = fonts._glyphs(DEJAVU.mono)  # Used as a font with other letters than DejaVu Sans.
    missing = min(set(letters))
    monkeypatch.setattr(fonts, "_glyphs", lambda path: letters if path != DEJAVU.regular else letters - {missing})
    found = font_for([missing, "a"])
    assert found.regular != DEJAVU.regular
    assert "mono" not in found.regular.stem.lower()


def test_every_text_of_a_study_is_checked_for_missing_characters(sample_study):
    texts = "\n".join(texts_of(sample_study))
    definition = sample_study.definition
    assert all(sample_study.page(name, Source.LAB) in texts for name in definition.pages)
    assert ":::" not in texts
    assert definition.title in texts and sample_study.words.say("agree") in texts
    assert sample_study.battery.by_id["attention-1"].content["text"] in texts


def test_a_letter_missing_in_a_style_is_drawn_in_the_regular_style():
    assert DEJAVU.has("italic", "abc")
    assert not DEJAVU.has("italic", "مرحبا")


def test_simple_text_is_drawn_unchanged():
    assert shaped("café – 3 > 2", "ltr").text == "café – 3 > 2"
    assert shaped("cafe\u0301", "ltr").text == "café"
    assert shaped("soft\u00adhyphen", "ltr").text == "softhyphen"
    assert shaped("abc", "ltr").direction is None


@pytest.mark.parametrize(
    ("text", "usual", "direction"),
    [
        ("What?", "ltr", "ltr"),
        ("What?", "rtl", "ltr"),
        ("ماذا؟", "rtl", "rtl"),
        ("ماذا؟", "ltr", "rtl"),
        ("PsychoPy برنامج", "rtl", "rtl"),
        ("the word שלום", "ltr", "ltr"),
        ("3, 4", "rtl", "rtl"),
    ],
)
def test_a_text_has_the_direction_of_its_letters(text, usual, direction):
    assert base_direction(text, usual) == direction


@pytest.fixture
def without_raqm(monkeypatch):
    for module in (shaping, paragraphs):
        monkeypatch.setattr(module, "raqm_is_usable", lambda: False)
    shaped.cache_clear()
    yield
    shaped.cache_clear()


def ink(piece, size_px=40):
    image = Image.new("L", (600, 100))
    font = DEJAVU.font("regular", size_px, shapes=piece.direction is not None)
    ImageDraw.Draw(image).text((10, 60), piece.text, 255, font, anchor="ls", direction=piece.direction)
    return image


def test_without_raqm_text_from_right_to_left_needs_the_lab_extra(without_raqm, monkeypatch):
    monkeypatch.setitem(sys.modules, "arabic_reshaper", None)
    with pytest.raises(InputError, match=r'missing\. Fix: in a clone of .*`pip install "\.\[lab\]"`\.'):
        shaped("مرحبا بكم", "rtl")


def test_without_raqm_letters_that_cannot_be_drawn_correctly_are_refused(without_raqm):
    with pytest.raises(InputError, match="install FriBiDi"):
        shaped("हिन्दी", "ltr")


def test_without_raqm_the_extra_draws_the_same_letters_in_the_same_order(without_raqm, lab_extra):
    assert shaped("שלום abc 12", "rtl").text == "12 abc םולש" or shaped("שלום abc 12", "rtl").text == "abc 12 םולש"


def test_without_raqm_an_isolated_text_has_its_own_direction(without_raqm, lab_extra):
    assert shaped("ש: \N{FIRST STRONG ISOLATE}-3\N{POP DIRECTIONAL ISOLATE}.", "rtl").text == ".-3 :ש"


def test_arabic_letters_are_joined_and_start_at_the_right():
    if not shaping.raqm_is_usable():
        skip_but_never_in_ci("this machine has no FriBiDi; tests/prerequisites.sh installs it")
    joined, apart = ink(shaped("ببب", "rtl")), [ink(shaped(letter, "rtl")).getbbox() for letter in "ببب"]
    left, _, right, _ = joined.getbbox()
    assert right - left < sum(box[2] - box[0] for box in apart)
    one, other = ink(shaped("אב", "rtl")), ink(shaped("בא", "rtl"))
    assert one.tobytes() != other.tobytes()
    alef = DEJAVU.font("regular", 40).getlength("א")
    bet = DEJAVU.font("regular", 40).getlength("ב")
    assert one.crop((0, 0, 10 + round(bet), 100)).getbbox() is not None and alef != bet
    assert shaped("אב", "rtl").direction == "rtl"


def test_a_key_sign_missing_in_the_studys_font_is_drawn_in_another_font(monkeypatch):
    own = fonts.Typeface(DEJAVU.italic, DEJAVU.italic, DEJAVU.italic, DEJAVU.mono)
    glyphs = fonts._glyphs
    monkeypatch.setattr(fonts, "_glyphs", lambda path: glyphs(path) - ({"→"} if path == DEJAVU.italic else set()))
    (line,) = paragraphs.paragraph(Sheet((1024, 768), own, ENGLISH), "→", 19, 100).lines
    assert line.spans == (paragraphs.Span("→", "mono"),)
