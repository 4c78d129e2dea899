"""Blocks of Markdown (paragraphs, headings, lists, quotations) as pieces of a screen."""

from dataclasses import dataclass
from itertools import pairwise

from experiment.lab.screens.layout.canvas import Align, Canvas, baseline_in_line
from experiment.lab.screens.layout.sheet import Colour, Sheet
from experiment.lab.screens.text.markdown import BULLET, Block
from experiment.lab.screens.text.paragraphs import Paragraph, paragraph

_HEADING_SIZES = {1: 1.4, 2: 1.2, 3: 1.1}


@dataclass(frozen=True)
class Piece:
    """Consecutive lines of one paragraph or other block of Markdown, which stay on the same page."""

    block: Block
    lines: Paragraph
    is_first: bool
    """True if this piece is the beginning of its block."""
    width_px: int
    gap_px: int
    """Space below the piece."""
    align: Align = "start"

    @property
    def height_px(self) -> int:
        """Height without the space below."""
        return self.lines.height_px

    def empty_px(self, sheet: Sheet) -> tuple[float, float]:
        """Return the empty space above the capital letters of the first line, and below the baseline of the last."""
        baseline_px = baseline_in_line(sheet, self.lines)
        capital_px = -sheet.typeface.font("regular", self.lines.size_px).getbbox("H", anchor="ls")[1]
        return baseline_px - capital_px, self.lines.line_px - baseline_px

    def draw(self, canvas: Canvas, x: int, y: int) -> None:
        """Draw the piece with its top left corner at (x, y)."""
        sheet, block, width_px = canvas.sheet, self.block, self.width_px
        is_ltr, step_px = sheet.direction == "ltr", _step_px(self.lines.size_px)
        if not block.spans:
            top = y + self.height_px // 2
            canvas.fill((x, top, x + width_px, top + sheet.px(1)), Colour.LINE_STRONG)
            return
        for quote in range(block.quotes):
            bar = quote * step_px if is_ltr else width_px - quote * step_px - sheet.px(4)
            canvas.fill((x + bar, y, x + bar + sheet.px(4), y + self.height_px), Colour.LINE)
        inset_px = _inset_px(block, self.lines.size_px)
        if block.marker and self.is_first:
            self._draw_marker(canvas, x, y, inset_px, step_px)
        canvas.write(
            self.lines,
            x + inset_px if is_ltr else x,
            y,
            width_px - inset_px,
            Colour.INK_SOFT if block.quotes else Colour.INK,
            "start" if block.quotes or block.indent else self.align,
        )

    def _draw_marker(self, canvas: Canvas, x: int, y: int, inset_px: int, step_px: int) -> None:
        sheet, is_ltr = canvas.sheet, canvas.sheet.direction == "ltr"
        left = x + inset_px - step_px if is_ltr else x + self.width_px - inset_px
        if self.block.marker == BULLET:
            radius_px = 0.16 * self.lines.size_px
            canvas.disc((left + step_px / 2, y + self.lines.line_px / 2), radius_px, Colour.INK)
        else:
            number = paragraph(sheet, self.block.marker, self.lines.size_px, 2 * step_px)
            canvas.write(number, left, y, max(step_px - round(0.3 * self.lines.size_px), number.width_px))


def _step_px(size_px: int) -> int:
    """Return the indent of a list or a quotation, in pixels."""
    return round(1.7 * size_px)


def _inset_px(block: Block, size_px: int) -> int:
    return (block.indent + block.quotes) * _step_px(size_px)


def pieces_of(sheet: Sheet, block: Block, size_px: int, width_px: int, align: Align = "start") -> list[Piece]:
    """Split a block where a page may end. A page may not end after the first or before the last line of a block."""
    gap_px = round((0.4 if block.indent else 0.7) * size_px)
    size_px = round(_HEADING_SIZES.get(block.heading, 1.0) * size_px)
    lines = paragraph(sheet, block.spans, size_px, width_px - _inset_px(block, size_px)) if block.spans else None
    if lines is None:
        return [Piece(block, paragraph(sheet, "", size_px, width_px), True, width_px, gap_px, align)]
    n_lines = len(lines.lines)
    cuts = [0, n_lines] if block.heading or n_lines < 4 else [0, *range(2, n_lines - 1), n_lines]
    return [
        Piece(block, lines.part(start, end), start == 0, width_px, gap_px if end == n_lines else 0, align)
        for start, end in pairwise(cuts)
    ]
