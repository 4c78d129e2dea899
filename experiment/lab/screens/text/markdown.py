"""Markdown as blocks of text: CommonMark without images and HTML."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from batteries.errors import InputError
from experiment.lab.screens.text.fonts import Style
from experiment.lab.screens.text.paragraphs import Span
from experiment.study.blackbox_diagrams import Diagram, diagram_of, is_diagram

_parser = MarkdownIt("commonmark", {"html": False})

BULLET = "•"


@dataclass(frozen=True)
class Block:
    """A paragraph, a heading, a piece of code, a diagram, or a horizontal rule."""

    spans: tuple[Span, ...] = ()
    """Text of the block; empty for a horizontal rule and for a diagram."""
    heading: int = 0
    """Level of a heading, from 1; 0 for other blocks."""
    indent: int = 0
    """Number of lists that contain the block."""
    marker: str = ""
    """Mark before the first block of a list item: a bullet or a number."""
    quotes: int = 0
    """Number of quotations that contain the block."""
    diagram: Diagram | None = None
    """The diagram of a ray, if the block is one."""


def blocks_of(name: str, markdown: str) -> list[Block]:
    """Return the blocks (such as paragraphs and headings) of a Markdown text.

    Parameters
    ----------
    name
        Name of the text's file, for error messages.
    markdown
        The text.

    Raises
    ------
    InputError
        If the text contains an image.
    """
    blocks: list[Block] = []
    counters: list[int | None] = []  # For each open list: the next number, or None for bullets.
    marker, heading, quotes = "", 0, 0
    for token in _parser.parse(markdown):
        match token.type:
            case "bullet_list_open":
                counters.append(None)
            case "ordered_list_open":
                counters.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                counters.pop()
            case "list_item_open":
                number = counters[-1]
                marker = BULLET if number is None else f"{number}."
                counters[-1] = None if number is None else number + 1
            case "blockquote_open":
                quotes += 1
            case "blockquote_close":
                quotes -= 1
            case "heading_open":
                heading = int(token.tag[1])
            case "heading_close":
                heading = 0
            case "inline":
                spans = tuple(_spans(name, token.children or [], bold=heading > 0))
                blocks.append(Block(spans, heading, len(counters), marker, quotes))
                marker = ""
            case "fence" | "code_block":
                blocks.append(_fenced(name, token, len(counters), marker, quotes))
                marker = ""
            case "hr":
                blocks.append(Block(indent=len(counters), quotes=quotes))
    return [block for block in blocks if block.spans or not block.heading]


def _fenced(name: str, token: Token, indent: int, marker: str, quotes: int) -> Block:
    if is_diagram(token):
        return Block(diagram=diagram_of(token, Path(name)))
    return Block((Span(token.content.removesuffix("\n"), "mono"),), 0, indent, marker, quotes)


def _spans(name: str, tokens: list[Token], bold: bool) -> Iterator[Span]:
    n_bold, n_italic, address, since = int(bold), 0, "", ""
    for token in tokens:
        style: Style = "bold" if n_bold else "italic" if n_italic else "regular"
        match token.type:
            case "text" | "text_special":
                since += token.content
                yield Span(token.content, style)
            case "code_inline":
                since += token.content
                yield Span(token.content, "mono")
            case "softbreak":
                yield Span(" ", style)
            case "hardbreak":
                yield Span("\n", style)
            case "strong_open" | "strong_close":
                n_bold += token.nesting
            case "em_open" | "em_close":
                n_italic += token.nesting
            case "link_open":
                address, since = str(token.attrGet("href") or ""), ""
            case "link_close":
                if address.removeprefix("mailto:") != since:
                    yield Span(f" ({address.removeprefix('mailto:')})", style)
            case "image":
                raise InputError(
                    f"{name}: this text contains the image `{token.attrGet('src')}`. The laboratory shows text only. "
                    "Fix: replace the image with a description in words."
                )
