"""Paragraphs of words in several styles, broken into lines. The lines are measured before drawing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from PIL.ImageFont import FreeTypeFont

from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.text.fonts import Style, Typeface
from experiment.lab.screens.text.line_breaks import wrapped
from experiment.lab.screens.text.shaping import (
    Direction,
    base_direction,
    goes_against,
    needs_shaping,
    raqm_is_usable,
    shaped,
)

LINE_SPACING = 1.4
"""Distance between lines, as a multiple of the font size."""

_WORDS = re.compile(r"\s+|\S+")


@dataclass(frozen=True)
class Span:
    """Words in one style."""

    text: str
    style: Style = "regular"


@dataclass(frozen=True)
class TextLine:
    """A line as it is drawn."""

    spans: tuple[Span, ...]
    """Spans in reading order."""
    width_px: int
    start: int = 0
    """Index of the line's first character in the paragraph."""

    @property
    def text(self) -> str:
        """Text of the line."""
        return "".join(span.text for span in self.spans)


@dataclass(frozen=True)
class Paragraph:
    """Lines in one font size."""

    lines: tuple[TextLine, ...]
    direction: Direction
    size_px: int
    line_px: int
    """Distance from one line to the next, in pixels."""

    @property
    def height_px(self) -> int:
        """Sum of the heights of all lines, in pixels."""
        return len(self.lines) * self.line_px

    @property
    def width_px(self) -> int:
        """Width of the longest line, in pixels."""
        return max(line.width_px for line in self.lines)

    def part(self, start: int, end: int) -> "Paragraph":
        """Return the lines from index `start` to index `end` - 1."""
        return replace(self, lines=self.lines[start:end])


def paragraph(
    sheet: Sheet, text: str | Sequence[Span], size_px: int, width_px: float, style: Style = "regular"
) -> Paragraph:
    """Break a text into lines.

    Parameters
    ----------
    sheet
        The sheet (sizes, fonts and texts of the screens).
    text
        A text, or a sequence of parts in several styles.
    size_px
        Font size.
    width_px
        Largest width of a line.
    style
        Style of the text, if `text` is not a sequence of parts.
    """
    spans = (Span(text, style),) if isinstance(text, str) else tuple(text)
    return _broken_into_lines(sheet.typeface, sheet.direction, spans, size_px, width_px)


@lru_cache(maxsize=4_096)
def _broken_into_lines(
    typeface: Typeface, sheet_direction: Direction, unstyled: tuple[Span, ...], size_px: int, width_px: float
) -> Paragraph:
    """Return the paragraph. It is cached, because most paragraphs of a screen are also on the next screen."""
    spans = [Span(span.text.expandtabs(4), _style_for(typeface, span)) for span in unstyled]
    letters = "".join(span.text for span in spans)
    ends = [*accumulate(len(span.text) for span in spans)]
    direction = base_direction(letters, sheet_direction)

    def line_of(start: int, end: int) -> list[Span]:
        # Line breaks do not depend on styles, so the spans are split after the lines are known.
        cuts = [
            Span(letters[max(start, last - len(span.text)) : min(end, last)], span.style)
            for span, last in zip(spans, ends, strict=True)
            if last > start and last - len(span.text) < end
        ]
        return cuts or [Span("")]

    def measure(start: int, end: int) -> float:
        return sum(span_width(typeface, span, size_px, direction) for span in line_of(start, end))

    lines = []
    for start, end in wrapped(letters, width_px, measure):
        line = _orderly(line_of(start, end), direction)
        width = sum(span_width(typeface, span, size_px, direction) for span in line)
        lines.append(TextLine(line, round(width), start))
    ascent, descent = typeface.font("regular", size_px).getmetrics()
    return Paragraph(tuple(lines), direction, size_px, max(round(LINE_SPACING * size_px), ascent + descent))


def span_width(typeface: Typeface, span: Span, size_px: int, direction: Direction) -> float:
    """Return the width of a span in pixels when it is drawn."""
    shapes = needs_shaping(span.text, direction) and raqm_is_usable()
    font = typeface.font(span.style, size_px, shapes)
    # Each word is measured once, because the same words are tried on several lines.
    return sum(_word_width(font, word, direction) for word in _WORDS.findall(span.text))


@lru_cache(maxsize=65_536)
def _word_width(font: FreeTypeFont, word: str, direction: Direction) -> float:
    return font.getlength(shaped(word, direction).text)


def _style_for(typeface: Typeface, span: Span) -> Style:
    """Return the first style whose font has every character of the span's text.

    Signs on keys, such as arrows, may exist only in the style `mono`.
    """
    styles: tuple[Style, ...] = (span.style, "regular", "mono")
    return next((style for style in styles if typeface.has(style, span.text)), "regular")


def _orderly(spans: list[Span], direction: Direction) -> tuple[Span, ...]:
    """Return spans (words in one style) that can be drawn one after another.

    Letters are ordered only within a span. If two or more spans are read against the direction of the line, they could
    appear in the wrong order. The whole line is then drawn in one style, as one span.
    """
    if sum(goes_against(span.text, direction) for span in spans) > 1:
        return (Span("".join(span.text for span in spans)),)
    return tuple(spans)
