"""A column of parts (such as paragraphs), one below the other.

Parts are measured first, to check that the column fits.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from experiment.lab.screens.layout.canvas import Align, Canvas
from experiment.lab.screens.layout.screen_image import Box
from experiment.lab.screens.layout.sheet import Colour, Sheet
from experiment.lab.screens.text.fonts import Style
from experiment.lab.screens.text.paragraphs import Paragraph, Span, paragraph


@dataclass(frozen=True)
class Part:
    """A part of a column, with its height in pixels."""

    height_px: int
    draw: Callable[[Canvas, int, int], None]
    """Function that draws the part. Its arguments are the canvas, and the left and the top of the part."""
    gap_px: int
    """Space below the part; not used for the last part of a column."""
    look: Hashable = None
    """Value that is equal in two columns if the part looks the same in both. None: the part never changes."""
    empty_px: tuple[float, float] = (0, 0)
    """Height of the empty space above the capital letters, and below the baseline of the last line; 0 for a picture."""


@dataclass
class ScreenColumn:
    """Parts of a screen, one below the other.

    Parameters
    ----------
    sheet, width_px
        The sheet, and the width of the column.
    """

    sheet: Sheet
    width_px: int
    parts: list[Part] = field(default_factory=list)

    @property
    def height_px(self) -> int:
        """Height from the top of the first part to the bottom of the last part."""
        if not self.parts:
            return 0
        return sum(part.height_px + part.gap_px for part in self.parts) - self.parts[-1].gap_px

    @property
    def middle_px(self) -> float:
        """Distance from the top to the middle of what is seen: capital letters and pictures, not the space around them.

        So the middle of a capital letter is at the same place as the middle of a picture, and all words of a study have
        the same baseline.
        """
        if not self.parts:
            return 0
        return (self.height_px + self.parts[0].empty_px[0] - self.parts[-1].empty_px[1]) / 2

    def add(
        self,
        height_px: int,
        draw: Callable[[Canvas, int, int], None],
        gap_px: int,
        look: Hashable = None,
        empty_px: tuple[float, float] = (0, 0),
    ) -> None:
        """Add a part at the bottom. `look` changes when the part must be drawn again (`Part.look`)."""
        self.parts.append(Part(height_px, draw, gap_px, look, empty_px))

    def text(
        self,
        text: str | Sequence[Span],
        size_px: int,
        gap_px: int,
        colour: Colour = Colour.INK,
        style: Style = "regular",
        align: Align = "start",
    ) -> None:
        """Add a paragraph. An empty text adds nothing."""
        if text:
            self.paragraph(paragraph(self.sheet, text, size_px, self.width_px, style), gap_px, colour, align)

    def paragraph(self, lines: Paragraph, gap_px: int, colour: Colour = Colour.INK, align: Align = "start") -> None:
        """Add a paragraph that is already broken into lines."""

        def draw(canvas: Canvas, x: int, y: int) -> None:
            canvas.write(lines, x, y, self.width_px, colour, align)

        self.add(lines.height_px, draw, gap_px)

    def draw(self, canvas: Canvas, x: int, y: int) -> None:
        """Draw all parts, from (x, y) downwards."""
        for part in self.parts:
            part.draw(canvas, x, y)
            y += part.height_px + part.gap_px

    def draw_changes(self, canvas: Canvas, x: int, y: int, before: "ScreenColumn") -> Box:
        """Draw the parts that differ from the column `before`, on its image. Return the box that contains them.

        Both columns have parts of the same heights, so that nothing moves.
        """
        changed: list[Box] = []
        for part, earlier in zip(self.parts, before.parts, strict=True):
            if part.look == earlier.look:
                with canvas.only_recording():
                    part.draw(canvas, x, y)
            else:
                changed.append((x, y, x + self.width_px, y + part.height_px))
                canvas.fill(changed[-1], Colour.PAPER)
                part.draw(canvas, x, y)
            y += part.height_px + part.gap_px
        if not changed:
            return x, y, x + 1, y + 1
        return x, changed[0][1], x + self.width_px, changed[-1][3]


def first_that_fits(
    column_of: Callable[[int], ScreenColumn], sizes_px: Iterable[int], height_px: int
) -> tuple[int, ScreenColumn] | None:
    """Return the first font size in which the column is at most `height_px` high, and the column.

    None if there is none.
    """
    for size_px in sizes_px:
        column = column_of(size_px)
        if column.height_px <= height_px:
            return size_px, column
    return None


def nothing(canvas: Canvas, x: int, y: int) -> None:
    """Draw nothing. The column keeps the space of this part."""
