import re

import pandas as pd
import pytest
from matplotlib.font_manager import fontManager

from analysis.figures.drawing import sheet as sheet_module
from analysis.figures.drawing.sheet import (
    GRID,
    INK,
    PAPER,
    SOFT,
    WIDTH,
    FigureSheet,
    finished,
    inline,
    missing_characters,
    style,
)
from tests.analysis.figures.layout import contrast

DATA = pd.DataFrame({"n": [1]})


def draw(name="a", words="people: 95 % <interval> & $x^2$"):
    with style():
        sheet = FigureSheet(WIDTH, 60)
        axes = sheet.axes(40, 10, 100, 30)
        axes.plot([0, 1], [0, 1], color=INK)
        axes.axhline(0.5, color=GRID)
        sheet.write(4, 50, words, colour=SOFT)
        sheet.write(60, 50, ["two", "lines"], bold=True, align="center", at="bottom")
        return finished(sheet, name, "A <title>", "What & why.", DATA)


def test_the_same_figure_has_the_same_bytes_and_no_date():
    assert draw().svg == draw().svg
    assert draw().pdf == draw().pdf
    assert not re.search(r"<metadata|20\d\d-\d\d-\d\d", draw().svg)
    assert b"CreationDate" not in draw().pdf


def test_the_svg_does_not_depend_on_the_fonts_of_the_machine(monkeypatch):
    usual = draw(words="條件 اعتقادات people").svg
    assert "STIXGeneral" in fontManager.get_font_names()
    monkeypatch.setattr(sheet_module, "FONTS", ("STIXGeneral",))
    other = draw(words="條件 اعتقادات people").svg
    assert re.sub(r"font-family: [^;\"]+", "", usual) == re.sub(r"font-family: [^;\"]+", "", other)
    assert usual != other


def test_text_is_text_and_escaped():
    assert "people: 95 % &lt;interval&gt; &amp; $x^2$" in draw().svg
    assert '<title id="a-title">A &lt;title&gt;</title>' in draw().svg


def test_ids_of_two_figures_in_one_page_are_different():
    a, b = (set(re.findall(r'\bid="([^"]+)"', draw(name).svg)) for name in ("a", "b"))
    assert not a & b
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', draw("a").svg)) <= a


def test_the_pdf_embeds_its_fonts_as_truetype():
    pdf = draw().pdf
    assert b"/Subtype /CIDFontType2" in pdf
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf


def test_an_inlined_figure_follows_the_colours_of_the_page():
    page = inline(draw().svg)
    assert {"var(--ink)", "var(--soft)", "var(--grid)"} <= set(re.findall(r"var\(--\w+\)", page))
    assert PAPER not in page


@pytest.mark.parametrize("colour", [INK, SOFT])
def test_text_has_enough_contrast_to_the_paper(colour):
    assert contrast(colour, PAPER) >= 4.5


def test_characters_without_a_font_are_text_in_the_svg_and_are_listed_for_the_pdf(monkeypatch):
    monkeypatch.setattr(sheet_module, "FONTS", ("DejaVu Sans",))
    made = draw(words="條件 and people")
    assert "條件 and people" in made.svg
    assert missing_characters(made) == "件條"
    assert missing_characters(draw()) == ""


def test_control_characters_do_not_break_the_alternative_text():
    with style():
        made = finished(FigureSheet(WIDTH, 20), "a", "t\x00t", "d\x0bd", DATA)
    assert (made.title, made.description) == ("t t", "d d")
