"""Fonts in a PDF have no tables for the layout of texts."""

from fontTools import subset

from analysis.figures.drawing.embedded_fonts import LAYOUT_TABLES, without_layout_tables


def test_layout_tables_are_left_out_only_within_the_block() -> None:
    before = subset.Options().drop_tables
    with without_layout_tables():
        assert set(subset.Options().drop_tables) == {*before, *LAYOUT_TABLES}
    assert subset.Options().drop_tables == before
    assert not set(LAYOUT_TABLES) & set(before)
