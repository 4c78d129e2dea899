"""Sections of a page for one source of sessions: words that only the browser or only the laboratory shows.

A page is one Markdown file. Lines between `::: web` and `:::` are for the browser, and lines between `::: lab` and
`:::` are for the laboratory's window. All other lines are for both:

    Your answers carry a random name.
    ::: web
    Only the code that you get at the end leads to your answers.
    :::
    ::: lab
    The participant code that the experimenter uses leads to your answers too.
    :::

A section can be a part of a paragraph, as here. The form is that of fenced divisions in Pandoc.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from markdown_it import MarkdownIt

from batteries.errors import InputError
from experiment.records import Source

PAGE_SOURCES = {Source.WEB: "in the browser", Source.LAB: "in the laboratory"}
"""The sources whose participants read pages, with words for messages."""

_MARK = re.compile(r"[\s>]*:::+(?P<word>.*)")
_parser = MarkdownIt("commonmark", {"html": False})


@lru_cache(maxsize=128)
def page_for(markdown: str, source: Source, path: Path = Path("page")) -> str:
    """Return the words of a page for one source. A page without sections is returned unchanged.

    Parameters
    ----------
    markdown
        The whole page.
    source
        `Source.WEB` or `Source.LAB`.
    path
        The page's file, for error messages.

    Raises
    ------
    InputError
        If a section has an error. The message names the file and the line.
    """
    if ":::" not in markdown:
        return markdown
    return "\n".join(line for _, of, line in _lines(markdown, path) if of in {None, source})


def check_sections(markdown: str, path: Path) -> None:
    """Raise an InputError if a section of a page has an error, or if sections leave no words for a source."""
    numbers = {number for number, _, _ in _lines(markdown, path)}
    marks = sorted(set(range(1, markdown.count("\n") + 2)) - numbers)
    for source, where in PAGE_SOURCES.items() if marks else ():
        if not page_for(markdown, source, path).strip():
            raise InputError(
                f"{path}, line {marks[0]}: this page is empty {where}, because all its words are in sections for "
                f"another source. Fix: add words in a section `::: {source}`."
            )


def _lines(markdown: str, path: Path) -> Iterator[tuple[int, Source | None, str]]:
    """Yield the lines of a page without the marks of sections: number from 1, source (None for both) and text."""
    literal = _lines_of_code(markdown)
    open_source: Source | None = None
    opened_at = 0
    for number, line in enumerate(markdown.split("\n"), start=1):
        mark = None if number in literal else _MARK.fullmatch(line.rstrip())
        if mark is None:
            yield number, open_source, line
            continue
        word, where = mark["word"].strip(), f"{path}, line {number}"
        if not word:
            if open_source is None:
                raise InputError(
                    f"{where}: this `:::` ends a section, but no section is open. Fix: delete this line, or write "
                    "`::: web` or `::: lab` at the beginning of the section."
                )
            open_source = None
        elif word not in PAGE_SOURCES:
            raise InputError(
                f"{where}: the section `::: {word}` has an unknown source. Fix: write `::: web` or `::: lab` on a "
                "separate line."
            )
        elif open_source is not None:
            raise InputError(
                f"{where}: the section `::: {word}` begins inside the section of line {opened_at}. Fix: end the "
                f"section of line {opened_at} first, with a line `:::`."
            )
        else:
            open_source, opened_at = Source(word), number
    if open_source is not None:
        raise InputError(
            f"{path}, line {opened_at}: the section `::: {open_source}` has no end. Fix: write a line `:::` after its "
            "last line."
        )


def _lines_of_code(markdown: str) -> set[int]:
    """Return the numbers of the lines of fenced blocks, such as diagrams. In these lines, `:::` is text."""
    fences = (token.map for token in _parser.parse(markdown) if token.type == "fence" and token.map)
    return {number for first, end in fences for number in range(first + 1, end + 1)}
