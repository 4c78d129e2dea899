"""Drawing of a screen: text, boxes and marks with smooth edges, and a record of texts and clickable regions."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

from experiment.lab.screens.layout.screen_image import ESCAPE, RULES, Box, Region, ScreenImage, VideoPlace, Written
from experiment.lab.screens.layout.sheet import Colour, Sheet
from experiment.lab.screens.text.paragraphs import Paragraph, paragraph, span_width
from experiment.lab.screens.text.shaping import Direction, shaped

Point = tuple[float, float]
Align = Literal["start", "centre"]

_FINER = 4
"""Marks are drawn larger by this factor and then reduced, so that their edges are smooth."""


class Canvas:
    """A screen that is being drawn.

    Parameters
    ----------
    sheet
        The sheet (sizes, fonts and texts of the screens).
    before
        Image on which the changes are drawn; None for an empty screen.
    """

    def __init__(self, sheet: Sheet, before: Image.Image | None = None) -> None:
        self.sheet = sheet
        self._image = Image.new("RGB", sheet.size_px, sheet.colours.paper) if before is None else before.copy()
        self._draw = ImageDraw.Draw(self._image)
        self._regions: list[Region] = []
        self._written: list[Written] = []
        self._videos: list[VideoPlace] = []
        self._is_drawing = True

    def picture(self, changed_px: Box | None = None) -> ScreenImage:
        """Return the finished image, in which only the box `changed_px` differs from the image before."""
        found = tuple(self._regions), tuple(self._written), tuple(self._videos)
        return ScreenImage(self._image, *found, changed_px)

    @contextmanager
    def only_recording(self) -> Iterator[None]:
        """Record regions and texts, but draw nothing, because the image before has the same pixels."""
        self._is_drawing = False
        try:
            yield
        finally:
            self._is_drawing = True

    def region(self, name: str, box_px: Box, follows_drag: bool = False) -> None:
        """Make a box clickable."""
        self._regions.append(Region(name, box_px, follows_drag))

    def write(
        self, text: Paragraph, x: int, y: int, width_px: int, colour: Colour = Colour.INK, align: Align = "start"
    ) -> None:
        """Write lines into a column with its top left corner at (x, y).

        `start` aligns text with the side where reading starts.
        """
        typeface = self.sheet.typeface
        ascent, descent = typeface.font("regular", text.size_px).getmetrics()
        for number, line in enumerate(text.lines):
            baseline = y + number * text.line_px + baseline_in_line(self.sheet, text)
            free_px = width_px - line.width_px
            left = x + (free_px // 2 if align == "centre" else free_px if self.sheet.direction == "rtl" else 0)
            at: float = left
            for span in line.spans if text.direction == "ltr" else reversed(line.spans):
                if not self._is_drawing:
                    break
                piece = shaped(span.text, text.direction)
                font = typeface.font(span.style, text.size_px, shapes=piece.direction is not None)
                mask, (mask_left, mask_top) = _letters(piece.text, font, piece.direction, at - int(at))
                self._bitmap((int(at) + mask_left, baseline + mask_top), mask, colour)
                at += span_width(typeface, span, text.size_px, text.direction)
            if line.text.strip():
                box = (left, baseline - ascent, left + line.width_px, baseline + descent)
                self._written.append(Written(line.text, box))

    def fill(self, box_px: Box, colour: Colour) -> None:
        """Fill a rectangle."""
        left, top, right, bottom = box_px
        if self._is_drawing and left < right and top < bottom:
            self._draw.rectangle((left, top, right - 1, bottom - 1), fill=self._shown(colour))

    def paste(self, image: Image.Image, left_px: int, top_px: int) -> None:
        """Draw an image with its top left corner at a point."""
        if self._is_drawing:
            self._image.paste(image, (left_px, top_px))

    def video(self, number: int, box_px: Box) -> None:
        """Reserve a box for the video at a position among the parts of the stimulus."""
        self._videos.append(VideoPlace(number, box_px))

    def box(self, box_px: Box, fill: Colour, border: Colour, border_px: int, radius_px: int) -> None:
        """Draw a rectangle with round corners."""
        self._rounded(box_px, border, radius_px)
        left, top, right, bottom = box_px
        inner = (left + border_px, top + border_px, right - border_px, bottom - border_px)
        self._rounded(inner, fill, max(0, radius_px - border_px))

    def disc(self, centre: Point, radius_px: float, colour: Colour) -> None:
        """Draw a disc."""
        x, y = centre
        left, top, size = int(x - radius_px), int(y - radius_px), int(2 * radius_px) + 2
        mask, draw = _blank(size, size)
        corners = (x - radius_px - left, y - radius_px - top, x + radius_px - left, y + radius_px - top)
        draw.ellipse([_FINER * corner for corner in corners], fill=255)
        self._bitmap((left, top), mask.reduce(_FINER), colour)

    def polygon(self, points: list[Point], colour: Colour) -> None:
        """Draw a filled polygon."""
        self._marks([points], colour, None)

    def stroke(self, points: list[Point], width_px: float, colour: Colour) -> None:
        """Draw a line through points, with round ends and joints."""
        self._marks([points], colour, width_px)

    def tick(self, box_px: Box, colour: Colour) -> None:
        """Draw a tick, for a right response."""
        self._mark(box_px, [(0.12, 0.55), (0.4, 0.82), (0.9, 0.2)], colour)

    def cross(self, box_px: Box, colour: Colour) -> None:
        """Draw a diagonal cross, for a wrong response."""
        self._mark(box_px, [(0.17, 0.2), (0.83, 0.86)], colour)
        self._mark(box_px, [(0.17, 0.86), (0.83, 0.2)], colour)

    def _bitmap(self, corner: tuple[int, int], mask: Image.Image, colour: Colour) -> None:
        if self._is_drawing:
            self._draw.bitmap(corner, mask, self._shown(colour))

    def _shown(self, colour: Colour) -> str:
        return str(getattr(self.sheet.colours, colour))

    def _mark(self, box_px: Box, points: list[Point], colour: Colour) -> None:
        left, top, right, bottom = box_px
        placed = [(left + x * (right - left), top + y * (bottom - top)) for x, y in points]
        self.stroke(placed, (right - left) / 6, colour)

    def _marks(self, lines: list[list[Point]], colour: Colour, width_px: float | None) -> None:
        reach = 2 if width_px is None else int(width_px) + 2
        points = [point for line in lines for point in line]
        left, top = int(min(x for x, _ in points)) - reach, int(min(y for _, y in points)) - reach
        right, bottom = int(max(x for x, _ in points)) + reach, int(max(y for _, y in points)) + reach
        mask, draw = _blank(right - left, bottom - top)
        for line in lines:
            placed = [(_FINER * (x - left), _FINER * (y - top)) for x, y in line]
            if width_px is None:
                draw.polygon(placed, fill=255)
                continue
            draw.line(placed, fill=255, width=round(_FINER * width_px), joint="curve")
            radius = _FINER * width_px / 2
            for x, y in placed:
                draw.ellipse((x - radius, y - radius, x + radius - 1, y + radius - 1), fill=255)
        self._bitmap((left, top), mask.reduce(_FINER), colour)

    def _rounded(self, box_px: Box, colour: Colour, radius_px: int) -> None:
        left, top, right, bottom = box_px
        radius_px = min(radius_px, (right - left) // 2, (bottom - top) // 2)
        self.fill((left + radius_px, top, right - radius_px, bottom), colour)
        self.fill((left, top + radius_px, right, bottom - radius_px), colour)
        if radius_px == 0:
            return
        xs, ys = (left, right - radius_px), (top, bottom - radius_px)
        for corner_at, corner in zip(product(xs, ys), _corners(radius_px), strict=True):
            self._bitmap(corner_at, corner, colour)


def baseline_in_line(sheet: Sheet, text: Paragraph) -> int:
    """Return the distance from the top of a line to its baseline, in pixels."""
    ascent, descent = sheet.typeface.font("regular", text.size_px).getmetrics()
    return (text.line_px - ascent - descent) // 2 + ascent


@lru_cache(maxsize=512)
def _letters(
    text: str, font: ImageFont.FreeTypeFont, direction: Direction | None, fraction_px: float
) -> tuple[Image.Image, tuple[int, int]]:
    """Return the mask of a text (a grey image of its letters), and the mask's top left corner.

    The corner is in whole pixels, relative to the start of the text's baseline. The results are cached, because most
    texts of a screen are also on the next screen.
    """
    left, top, right, bottom = font.getbbox(text, direction=direction, anchor="ls")
    corner = (math.floor(left) - 1, math.floor(top) - 1)
    mask = Image.new("L", (math.ceil(right) - corner[0] + 2, math.ceil(bottom) - corner[1] + 2))
    start = (fraction_px - corner[0], -corner[1])
    ImageDraw.Draw(mask).text(start, text, 255, font, anchor="ls", direction=direction)
    return mask, corner


@lru_cache(maxsize=64)
def _corners(radius_px: int) -> list[Image.Image]:
    """Return the quarters of a disc: top left, bottom left, top right and bottom right."""
    mask, draw = _blank(2 * radius_px, 2 * radius_px)
    draw.ellipse((0, 0, mask.width - 1, mask.height - 1), fill=255)
    disc = mask.reduce(_FINER)
    starts = product((0, radius_px), repeat=2)
    return [disc.crop((x, y, x + radius_px, y + radius_px)) for x, y in starts]


def _blank(width_px: int, height_px: int) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    mask = Image.new("L", (_FINER * width_px, _FINER * height_px))
    return mask, ImageDraw.Draw(mask)


def draw_escape_hint(canvas: Canvas) -> None:
    """Draw the sheet's hints at the bottom of the screen: about the escape key, and about the key for the rules."""
    sheet = canvas.sheet
    is_ltr = sheet.direction == "ltr"
    if sheet.rules_hint:
        _draw_hint(canvas, f"{sheet.rules_hint}  [{RULES.upper()}]", RULES, is_right=not is_ltr)
    if sheet.escape_hint:
        _draw_hint(canvas, f"{sheet.escape_hint}  [Esc]", ESCAPE, is_right=is_ltr)


def _draw_hint(canvas: Canvas, hint: str, name: str, is_right: bool) -> None:
    """Draw a hint at the right or the left of the bottom margin, and make it clickable."""
    sheet = canvas.sheet
    (width_px, height_px), (side_px, above_px) = sheet.size_px, sheet.margins_px
    words = paragraph(sheet, hint, round(0.7 * sheet.body_px), sheet.inside_px[0])
    left = width_px - side_px - words.width_px if is_right else side_px
    canvas.write(words, left, height_px - above_px + (above_px - words.height_px) // 2, words.width_px, Colour.INK_SOFT)
    canvas.region(name, (left, height_px - above_px, left + words.width_px, height_px))
