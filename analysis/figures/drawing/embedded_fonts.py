"""Embed fonts in a PDF without their layout tables, so that the PDF is smaller and is written faster.

The layout tables state how glyphs are substituted and positioned. matplotlib has already laid out every text when it
embeds a font, so the PDF does not need these tables. Without these tables, a figure with a few words is written in a
third of the time, and looks the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fontTools import subset

LAYOUT_TABLES = ("GSUB", "GPOS", "GDEF")


@contextmanager
def without_layout_tables() -> Iterator[None]:
    """Leave the layout tables out of the fonts that are embedded in the `with` block."""
    options: Any = subset.Options
    # matplotlib gives no access to the options that it makes. If another version of fontTools lacks this attribute, the
    # fonts keep their tables, and a figure only takes longer.
    dropped = getattr(options, "_drop_tables_default", [])
    options._drop_tables_default = [*dropped, *LAYOUT_TABLES]
    try:
        yield
    finally:
        options._drop_tables_default = dropped
