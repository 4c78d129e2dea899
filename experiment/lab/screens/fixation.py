"""The fixation cross."""

from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import INK, Sheet


def fixation(sheet: Sheet) -> ScreenImage:
    """Draw a cross in the exact middle, in whole pixels, without blurred edges."""
    canvas = Canvas(sheet)
    width, height = sheet.size_px
    # A bar is exactly in the middle if its thickness and the screen are both even, or both odd.
    across, down = (sheet.px(2) + (sheet.px(2) - side) % 2 for side in (width, height))
    for bar_width, bar_height in ((across, _arms(sheet, height)), (_arms(sheet, width), down)):
        left, top = (width - bar_width) // 2, (height - bar_height) // 2
        canvas.fill((left, top, left + bar_width, top + bar_height), INK)
    return canvas.picture()


def _arms(sheet: Sheet, side_px: int) -> int:
    length = sheet.px(28)
    return length + (length - side_px) % 2
