"""Embed fonts in PDFs quickly: the figures share the parts of a font that most figures need.

A PDF contains the shapes of the characters that it uses. For every PDF, matplotlib reads the whole font again to take
out these shapes, which was a quarter of the time of an analysis. Here the shapes of the common characters are taken out
once, and every PDF that needs no other characters contains all of them.

The file of these common shapes is also written once.

The fonts also lose their layout tables, which state how shapes are substituted and positioned. The PDF does not need
these tables, because matplotlib has already laid out every text when it embeds a font.
"""

import io
import string
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from typing import Any

from fontTools import subset
from matplotlib.backends import _backend_pdf_ps
from matplotlib.font_manager import get_font

LAYOUT_TABLES = ("GSUB", "GPOS", "GDEF")
COMMON = string.ascii_letters + string.digits + string.punctuation + " \N{NO-BREAK SPACE}−–—×·≤≥±°…‘’“”"

Subset = Callable[[Any, Collection[int]], AbstractContextManager[Any]]
"""The function of matplotlib that takes shapes out of a font.

Its arguments are the font's file and the shapes' indexes.
"""


@contextmanager
def quickly_embedded_fonts() -> Iterator[None]:
    """Embed the same common characters of a font in all PDFs of the `with` block, without layout tables.

    matplotlib and fontTools have no settings for this, so this function replaces two functions of matplotlib and a list
    of fontTools. In a version without these functions or this list, figures look the same, but take longer.
    """
    options: Any = subset.Options
    fonts: Any = _backend_pdf_ps
    dropped: Any = getattr(options, "_drop_tables_default", [])
    own: Any = getattr(fonts, "get_glyphs_subset", None)
    own_file: Any = getattr(fonts, "font_as_file", None)
    options._drop_tables_default = [*dropped, *LAYOUT_TABLES]
    fonts.get_glyphs_subset = partial(_subset, own)
    fonts.font_as_file = lambda font: io.BytesIO(_file_of(own_file, font))
    try:
        yield
    finally:
        options._drop_tables_default = dropped
        fonts.get_glyphs_subset = own
        fonts.font_as_file = own_file


def _subset(own: Subset, font_file: Any, glyphs: Collection[int]) -> AbstractContextManager[Any]:
    """Return the shapes of a font as matplotlib does. The common shapes stay open for the next figures."""
    common = _common_glyphs(font_file)
    return nullcontext(_common_subset(own, font_file)) if common.issuperset(glyphs) else own(font_file, glyphs)


@lru_cache
def _common_glyphs(font_file: Any) -> frozenset[int]:
    font = get_font(font_file)
    return frozenset([0, *(font.get_char_index(ord(character)) for character in COMMON)])


@lru_cache
def _common_subset(own: Subset, font_file: Any) -> Any:
    return own(font_file, _common_glyphs(font_file)).__enter__()  # It stays open.


@lru_cache(maxsize=4)
def _file_of(own: Callable[[Any], Any], font: Any) -> bytes:
    """Return the file of a font."""
    content: bytes = own(font).getvalue()
    return content
