"""Embed fonts in PDFs quickly: the figures share the parts of a font that most figures need.

A PDF contains the shapes of the characters that it uses. For every PDF, matplotlib reads the whole font again to find
these shapes. This took a quarter of the time of an analysis. This module reads the shapes of the common characters
once. Every PDF that needs only common characters contains the shapes of all common characters.


The layout tables of the fonts are left out. A PDF does not need them, because matplotlib computes the position of each
character itself.
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
"""The function of matplotlib that returns a font with only some shapes. The arguments are the file of the font and the
indexes of the shapes.
"""


@contextmanager
def quickly_embedded_fonts() -> Iterator[None]:
    """Embed fonts quickly in all PDFs that are written in the `with` block.

    matplotlib and fontTools have no settings for fast embedding. So this function replaces two functions of matplotlib
    and a list of fontTools until the block ends.
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
    """Replace matplotlib's function: return a font with the common shapes if no other shapes are needed.

    The font with the common shapes stays open for the next figures.
    """
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
