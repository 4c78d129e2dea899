import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from analysis.figures.drawing.lettering import distinct_labels, moved_apart, printable, shortened, text_width, wrapped

TEXT = st.text(st.characters(codec="utf-8"), max_size=80)
NAMES = st.lists(TEXT, min_size=1, max_size=12)


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("text", ["H", "MMMMMMMMMM", "gpt-4.1-mini", "95 % interval", "–"])
def test_a_width_is_what_the_renderer_draws(text, bold):
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    drawn = TextPath((0, 0), text, size=100, prop=font, usetex=False).get_extents().x1
    assert text_width(text, 100, bold=bold) == pytest.approx(drawn, rel=0.25 if len(text) == 1 else 0.04)


def test_the_width_of_arabic_text_is_sufficient_and_marks_have_no_width():
    word = "اعتقادات"
    drawn = TextPath((0, 0), word, size=100, prop=FontProperties(family="DejaVu Sans")).get_extents().width
    assert text_width(word, 100) >= drawn
    assert text_width("e\u0301") == text_width("e")


@given(TEXT, st.floats(20, 200), st.integers(1, 4))
def test_no_line_is_wider_than_the_given_width(text, width, most_lines):
    lines = wrapped(text, width, most_lines=most_lines)
    assert 1 <= len(lines) <= most_lines
    assert all(text_width(line) <= width for line in lines)


@given(TEXT)
def test_wrapping_loses_nothing_but_spaces(text):
    together = "".join(wrapped(text, 60, most_lines=500))
    assert "".join(together.split()) == "".join(printable(text).split())


@given(TEXT, st.floats(20, 200))
def test_a_shortened_text_fits_and_keeps_both_ends(text, width):
    short = shortened(text, width)
    assert text_width(short) <= width
    if short != printable(text) and len(short) > 2:
        head, tail = short.split("…", 1)[0], short.rsplit("…", 1)[1]
        assert printable(text).startswith(head)
        assert printable(text).endswith(tail)


def test_a_number_is_never_broken_at_its_comma():
    assert wrapped("under 20,000 ms", 50, most_lines=3) == ["under", "20,000 ms"]


def test_a_character_that_breaks_xml_is_not_written():
    assert printable("a\x00b\x0bc\nd") == "a b c d"


@given(st.lists(st.text(string.ascii_letters, min_size=1, max_size=60), min_size=1, max_size=12, unique=True))
def test_different_names_never_get_the_same_label(names):
    labels = distinct_labels(names, 60, most_lines=1)
    assert len({tuple(label) for label in labels}) == len(names)


def test_a_repeated_name_has_the_same_label():
    assert distinct_labels(["a" * 50, "b", "a" * 50], 60)[0] == distinct_labels(["a" * 50], 60)[0]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20), st.floats(0.1, 4))
def test_labels_are_moved_apart_within_their_bounds_and_keep_their_order(wanted, gap):
    positions = moved_apart(wanted, gap, 0, 100)
    ordered = sorted(positions)
    assert all(b - a >= gap - 1e-9 for a, b in pairwise(ordered))
    assert ordered[0] >= -1e-9
    assert ordered[-1] <= 100 + 1e-9
    for i, one in enumerate(wanted):
        assert all(positions[i] < positions[j] for j, other in enumerate(wanted) if one < other)


def test_labels_that_do_not_overlap_are_not_moved():
    assert moved_apart([30, 10, 90], 5, 0, 100) == [30, 10, 90]
    assert moved_apart([], 5, 0, 100) == []
