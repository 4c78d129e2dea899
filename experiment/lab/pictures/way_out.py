"""The way out of the study, small in the margin at the foot of every screen; it takes no room from anything."""

from experiment.lab.pictures.canvas import Canvas
from experiment.lab.pictures.colours import INK_SOFT
from experiment.lab.pictures.paragraphs import paragraph
from experiment.lab.pictures.picture import ESCAPE


def draw_way_out(canvas: Canvas) -> None:
    """Draw it where a line of reading ends, if the sheet has one."""
    sheet = canvas.sheet
    if not sheet.way_out:
        return
    (width_px, height_px), (side_px, above_px) = sheet.size_px, sheet.margins_px
    words = paragraph(sheet, f"{sheet.way_out}  [Esc]", round(0.7 * sheet.body_px), sheet.inside_px[0])
    left = width_px - side_px - words.width_px if sheet.direction == "ltr" else side_px
    canvas.write(words, left, height_px - above_px + (above_px - words.height_px) // 2, words.width_px, INK_SOFT)
    canvas.region(ESCAPE, (left, height_px - above_px, left + words.width_px, height_px))
