"""The parts of a stimulus on the screen: texts, pictures and places for videos. Sounds are heard, but not seen."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from PIL import Image

from batteries.stimulus.parts import kind_of, path_of
from experiment.lab.media.files import read_file
from experiment.lab.media.pictures import Size, decode_picture, fitting_px
from experiment.lab.media.videos import first_frame, video_size_px
from experiment.lab.screens.layout.canvas import Align, Canvas
from experiment.lab.screens.layout.column import ScreenColumn, nothing
from experiment.lab.screens.layout.markdown_pieces import pieces_of
from experiment.lab.screens.layout.sheet import PAPER, ItemSize, Sheet
from experiment.lab.screens.text.markdown import blocks_of

Part = Mapping[str, Any]

_VISIBLE = frozenset({"image", "video"})


def add_parts(column: ScreenColumn, parts: Sequence[Part], size: ItemSize, is_centred: bool = False) -> None:
    """Add the parts of a stimulus to a column. Consecutive pictures and videos are side by side, if they fit.

    With `is_centred`, the lines of texts are in the middle, as pictures always are.
    """
    numbered = [(number, part) for number, part in enumerate(parts) if kind_of(part) != "sound"]
    for is_visible, group in groupby(numbered, lambda pair: kind_of(pair[1]) in _VISIBLE):
        if is_visible:
            _add_pictures(column, list(group), size)
        else:
            for _, part in group:
                _add_markdown(column, str(part["text"]), size.letters_px, "centre" if is_centred else "start")
            column.add(0, nothing, round(0.3 * size.letters_px))


def _add_markdown(column: ScreenColumn, markdown: str, size_px: int, align: Align) -> None:
    """Add a text in Markdown to a column."""
    for block in blocks_of("`stimulus`", markdown):
        for piece in pieces_of(column.sheet, block, size_px, column.width_px, align):
            column.add(piece.height_px, piece.draw, piece.gap_px)


def shown_px(sheet: Sheet, part: Part, most_px: Size) -> Size:
    """Return the size of a picture or video on the screen: as large as in the file, if it is not above a limit."""
    return fitting_px(_file_px(sheet, part), most_px, sheet.picture_zoom)


def picture(sheet: Sheet, part: Part, size_px: Size) -> Image.Image:
    """Return a picture, or the first frame of a video, in its size on the screen."""
    assert sheet.media_folder is not None
    return _picture(sheet.media_folder, str(kind_of(part)), path_of(part), str(part["sha256"]), size_px)


@lru_cache(maxsize=32)
def _picture(folder: Path, kind: str, path: str, sha256: str, size_px: Size) -> Image.Image:
    part = {kind: path, "sha256": sha256}
    data = read_file(folder, part)
    return decode_picture(part, data, size_px, PAPER) if kind == "image" else first_frame(part, data, size_px)


def _file_px(sheet: Sheet, part: Part) -> Size:
    if kind_of(part) == "image":
        return int(part["width_px"]), int(part["height_px"])
    assert sheet.media_folder is not None
    return _video_px(sheet.media_folder, path_of(part), str(part["sha256"]))


@lru_cache(maxsize=1024)
def _video_px(folder: Path, path: str, sha256: str) -> Size:
    part = {"video": path, "sha256": sha256}
    return video_size_px(part, read_file(folder, part))


def _add_pictures(column: ScreenColumn, parts: list[tuple[int, Part]], size: ItemSize) -> None:
    gap_px = round(0.8 * size.letters_px)
    most_px = column.width_px, size.picture_px
    for row in _rows(
        [(number, part, shown_px(column.sheet, part, most_px)) for number, part in parts], most_px[0], gap_px
    ):
        _add_row(column, row, gap_px)


def _rows(pictures: list[tuple[int, Part, Size]], width_px: int, gap_px: int) -> Iterator[list[tuple[int, Part, Size]]]:
    row: list[tuple[int, Part, Size]] = []
    for each in pictures:
        if row and sum(size[0] + gap_px for *_, size in row) + each[2][0] > width_px:
            yield row
            row = []
        row.append(each)
    yield row


def _add_row(column: ScreenColumn, row: list[tuple[int, Part, Size]], gap_px: int) -> None:
    sheet = column.sheet
    row_px = sum(size[0] for *_, size in row) + gap_px * (len(row) - 1)
    height_px = max(size[1] for *_, size in row)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        left = x + (column.width_px - row_px) // 2
        for number, part, (width, height) in row if sheet.direction == "ltr" else reversed(row):
            top = y + (height_px - height) // 2
            canvas.paste(picture(sheet, part, (width, height)), left, top)
            if kind_of(part) == "video":
                canvas.video(number, (left, top, left + width, top + height))
            left += width + gap_px

    column.add(height_px, draw, gap_px)
