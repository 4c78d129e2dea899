"""Fonts in a PDF have no tables for the layout of texts, and figures share the shapes of the common characters."""

import io

import pytest
from fontTools import subset
from matplotlib.backends import _backend_pdf_ps
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.ft2font import LoadFlags

from analysis.figures.drawing.embedded_fonts import COMMON, LAYOUT_TABLES, quickly_embedded_fonts


def test_matplotlib_and_fonttools_are_changed_only_within_the_block() -> None:
    before, own = subset.Options().drop_tables, _backend_pdf_ps.get_glyphs_subset
    with quickly_embedded_fonts():
        assert set(subset.Options().drop_tables) == {*before, *LAYOUT_TABLES}
        assert _backend_pdf_ps.get_glyphs_subset is not own
    assert subset.Options().drop_tables == before
    assert not set(LAYOUT_TABLES) & set(before)
    assert _backend_pdf_ps.get_glyphs_subset is own


@pytest.mark.parametrize("text", ["accuracy", COMMON, "\u0142\u00f3d\u017a, \u03c7\u00b2 = 4.1"])
def test_each_shape_is_that_of_the_whole_font(text: str) -> None:
    font_file = findfont("DejaVu Sans")
    whole = get_font(font_file)
    glyphs = {whole.get_char_index(ord(character)) for character in text}
    for _ in range(2):
        with quickly_embedded_fonts(), _backend_pdf_ps.get_glyphs_subset(font_file, glyphs) as taken:  # type: ignore[attr-defined, unused-ignore]
            part = type(whole)(_backend_pdf_ps.font_as_file(taken.font))
        for glyph in glyphs:
            vertices, codes = _shape(whole, glyph)
            assert (vertices, codes) == _shape(part, taken.glyph_index_map[glyph])


def _shape(font, glyph):
    font.load_glyph(glyph, flags=LoadFlags.NO_SCALE)
    vertices, codes = font.get_path()
    return vertices.tolist(), codes.tolist()


def test_a_figure_is_the_same_in_every_order() -> None:
    def pdf(text: str) -> bytes:
        figure, written = Figure(), io.BytesIO()
        figure.text(0.1, 0.5, text)
        with quickly_embedded_fonts():
            figure.savefig(written, format="pdf", metadata={"CreationDate": None})
        return written.getvalue()

    first = pdf("accuracy")
    pdf("\u0142\u00f3d\u017a")
    assert pdf("accuracy") == first
