"""Line breaks: their positions, and no lost letter."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.text.fonts import DEJAVU
from experiment.lab.screens.text.line_breaks import wrapped
from experiment.lab.screens.text.paragraphs import Span, paragraph
from experiment.texts import ENGLISH, texts_in

SHEET = Sheet((1024, 768), DEJAVU, ENGLISH)
LETTERS = st.text(st.sampled_from("abcdefg WIM .,-–é\n\u00a0漢字、。「」한국שלוםα"), max_size=300)


def by_letters(text, width):
    return [text[start:end] for start, end in wrapped(text, width, lambda start, end: end - start)]


@given(LETTERS, st.integers(1, 60))
def test_line_breaks_keep_all_letters_in_order(text, width):
    assert "".join("".join(by_letters(text, width)).split()) == "".join(text.split())


@given(LETTERS, st.integers(1, 60))
def test_no_line_is_wider_than_the_column(text, width):
    assert all(len(line) <= width for line in by_letters(text, width))


@given(st.text(st.sampled_from("abc  "), max_size=300), st.integers(1, 60))
def test_each_line_has_as_many_words_as_fit(text, width):
    text = text.strip()
    for (start, _), (following, _) in pairwise(wrapped(text, width, lambda start, end: end - start)):
        word = text[following:].split(" ")[0]
        assert following - start + len(word) > width


@given(LETTERS, st.floats(60, 600), st.sampled_from(["regular", "bold", "mono"]), st.sampled_from([16, 19, 27]))
def test_measured_lines_are_drawn_no_wider_than_the_column(text, width_px, style, size_px):
    lines = paragraph(SHEET, text, size_px, width_px, style)
    assert all(line.width_px <= width_px + 1 for line in lines.lines)
    assert "".join("".join(line.text for line in lines.lines).split()) == "".join(text.split())
    for line in lines.lines:  # A line drawn at once is as wide as the sum of its words.
        if line.text.isascii():
            drawn_px = DEJAVU.font(line.spans[0].style, size_px).getlength(line.text)
            assert abs(drawn_px - line.width_px) <= 2


@given(st.lists(st.tuples(LETTERS, st.sampled_from(["regular", "bold", "italic"])), min_size=1, max_size=5))
def test_styles_change_neither_letters_nor_their_order(pieces):
    spans = [Span(text, style) for text, style in pieces]
    lines = paragraph(SHEET, spans, 19, 400)
    assert "".join("".join(line.text for line in lines.lines).split()) == "".join(
        "".join(text for text, _ in pieces).split()
    )


def test_a_word_in_two_styles_stays_in_one_line():
    lines = paragraph(SHEET, [Span("some words and "), Span("un", "bold"), Span("breakable")], 19, 160)
    assert [line.text for line in lines.lines] == ["some words and", "unbreakable"]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one  two", 8, ["one  two"]),
        ("one  two", 7, ["one", "two"]),
        ("  one", 9, ["  one"]),
        ("well-known word", 6, ["well-", "known", "word"]),
        ("at -5 degrees", 4, ["at", "-5", "degr", "ees"]),
        ("漢字漢字漢字", 4, ["漢字漢字", "漢字"]),
        ("漢字漢字。漢", 4, ["漢字漢", "字。漢"]),
        ("漢字「漢字", 3, ["漢字", "「漢字"]),
        ("한국어 사람", 4, ["한국어", "사람"]),
        ("10\u00a0km away", 6, ["10\u00a0km", "away"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("ae\u0301ae\u0301", 3, ["ae\u0301", "ae\u0301"]),
        ("a\n\nb", 5, ["a", "", "b"]),
        ("", 5, [""]),
    ],
)
def test_lines_end_where_readers_expect_a_line_break(text, width, lines):
    assert by_letters(text, width) == lines


ARABIC = Sheet((1024, 768), DEJAVU, texts_in("ar", {}))


def styles_of(sheet, *spans):
    (line,) = paragraph(sheet, [Span(*span) for span in spans], 19, 900).lines
    return [span.style for span in line.spans]


def test_emphasis_that_would_separate_words_of_the_other_direction_is_dropped():
    assert styles_of(ARABIC, ("نص ",), ("مهم", "bold")) == ["regular", "bold"]
    assert styles_of(ARABIC, ("نص ",), ("Enter", "bold"), (" هنا",)) == ["regular", "bold", "regular"]
    assert styles_of(ARABIC, ("نص Version ",), ("two", "bold"), (" هنا",)) == ["regular"]
    assert styles_of(SHEET, ("The word ",), ("שלום", "bold"), (" means peace",)) == ["regular", "bold", "regular"]
    assert styles_of(SHEET, ("The שלום ",), ("עולם", "bold"), (" means",)) == ["regular"]
