"""Texts in Markdown, as a browser shows them."""

import re
from functools import lru_cache

from markdown_it import MarkdownIt

_markdown = MarkdownIt("commonmark", {"html": False})
_TAG = re.compile(r"<[^>]*>")
_VISIBLE = ("<hr", "<li")
"""Tags that show something without a text: a line, and the sign of a list."""


@lru_cache(maxsize=256)
def html(markdown: str) -> str:
    """Return Markdown as HTML. HTML tags in the Markdown are shown as text."""
    rendered: str = _markdown.render(markdown)
    return rendered


def shows_something(markdown: str) -> bool:
    """Return False if nothing of a text is visible, because Markdown reads all its signs as formatting.

    Examples
    --------
    >>> shows_something("# #####"), shows_something("# XXXXX")
    (False, True)
    """
    shown = html(markdown)
    return any(tag in shown for tag in _VISIBLE) or bool(_TAG.sub("", shown).strip(" \n"))
