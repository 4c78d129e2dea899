"""Settings of the documentation site. `make docs` writes the site to build/site; see CONTRIBUTING.md.

The site loads nothing from other hosts, so it can be read offline, and it sets no cookies.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from pygments.lexers.data import JsonLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

_ROOT = Path(__file__).parent.parent
_SECTION = re.compile(r"^## ([^:\n]+)", re.MULTILINE)
_PAGE = re.compile(r"^- \[([^\]]+)\]\(([\w/-]+)\.md\)", re.MULTILINE)
_IN_ROOT = re.compile(r"\[([^\]]+)\]\(\.\./\.\./(\w+\.md)(?:#[\w-]+)?\)")

project = "Equipoise"
author = "The Equipoise developers"
release = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["**/__pycache__"]
myst_heading_anchors = 6
copybutton_prompt_text = "$ "

html_theme = "furo"
html_title = f"Equipoise {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False


def setup(app: Sphinx) -> None:
    """Register the changes of pages below, and the languages of examples that Pygments lacks."""
    app.connect("source-read", _add_navigation)
    app.connect("source-read", _name_files_in_root)
    app.connect("html-page-context", _adapt_page, priority=900)  # after the theme, which makes the navigation
    app.add_lexer("jsonl", JsonLexer)
    app.add_lexer("csv", TextLexer)


def _add_navigation(_: Sphinx, page: str, source: list[str]) -> None:
    """Make the navigation from the start page: one section per heading, one entry per page in the heading's list."""
    if page == "index":
        _, *parts = _SECTION.split(source[0])
        for title, text in zip(parts[::2], parts[1::2], strict=True):
            entries = "\n".join(f"{name} <{path}>" for name, path in _PAGE.findall(text))
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title.strip()}\n\n{entries}\n```\n"


def _name_files_in_root(_: Sphinx, __: str, source: list[str]) -> None:
    """Replace links to pages of the repository that are not on the site: "the limits (`SECURITY.md`)"."""
    source[0] = _IN_ROOT.sub(r"\1 (`\2`)", source[0])


def _adapt_page(_: Sphinx, __: str, ___: str, context: dict[str, Any], ____: object) -> None:
    """Make a page easier to use on a telephone, with a keyboard, and with a screen reader.

    Each table cell gets the name of its column: on a telephone, site.css shows a row as a list with these names. A
    keyboard can scroll a block of code. The captions of the navigation are headings with a level.
    """
    body = BeautifulSoup(context.get("body", ""), "html.parser")
    for table in body.find_all("table"):
        names = [cell.get_text().strip() for cell in table.select("thead th")]
        for row in table.select("tbody tr"):
            for name, cell in zip(names, row.find_all("td"), strict=True):
                cell["data-column"] = name
    for block in body.find_all("pre"):
        block["tabindex"] = "0"
    context["body"] = str(body)
    navigation = context["furo_navigation_tree"]
    context["furo_navigation_tree"] = navigation.replace('role="heading"', 'role="heading" aria-level="2"')
