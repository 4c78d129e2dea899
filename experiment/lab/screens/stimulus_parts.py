"""The parts of a stimulus on the screen: texts, pictures and places for videos. Sounds are heard, but not seen."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from PIL import Image

from batteries.errors import InputError
from batteries.stimulus.parts import kind_of, path_of
from experiment.lab.media.files import read_file
from experiment.lab.media.pictures import Size, decode_picture, fitting_px
from experiment.lab.media.videos import first_frame, video_size_px
from experiment.lab.screens.layout.canvas import Align, Canvas
from experiment.lab.screens.layout.column import ScreenColumn, nothing
from experiment.lab.screens.layout.markdown_pieces import pieces_of
from experiment.lab.screens.layout.sheet import ItemSize, Sheet
from experiment.lab.screens.text.markdown import blocks_of

Part = Mapping[str, Any]

_VISIBLE = frozenset({"image", "video"})


def add_parts(column: ScreenColumn, parts: Sequence[Part], size: ItemSize, is_centred: bool = False) -> None:
    """Add the parts of a stimulus to a column. Consecutive pictures and videos are side by side, if they fit.

    With `is_centred`, the lines of texts are in the middle, as pictures always are.
    """
    numbered = [(number, part) for number, part in enumerate(parts) if kind_of(part) != "sound"]
    placed = [each for each in numbered if _has_position(each[1])]
    if placed:
        in_line = ScreenColumn(column.sheet, column.width_px)
        _add_in_line(in_line, [each for each in numbered if each not in placed], size, is_centred)
        _add_area(column, in_line, placed, size)
    else:
        _add_in_line(column, numbered, size, is_centred)


def _add_in_line(column: ScreenColumn, numbered: list[tuple[int, Part]], size: ItemSize, is_centred: bool) -> None:
    for is_visible, group in groupby(numbered, lambda pair: kind_of(pair[1]) in _VISIBLE):
        if is_visible and column.parts:
            column.add(0, nothing, round(0.3 * size.letters_px))  # Pictures keep a larger distance from texts.
        if is_visible:
            _add_pictures(column, list(group), size)
        else:
            for _, part in group:
                _add_markdown(column, str(part["text"]), size.letters_px, "centre" if is_centred else "start")


def _has_position(part: Part) -> bool:
    return part.get("x_deg") is not None or part.get("y_deg") is not None


def _add_area(column: ScreenColumn, in_line: ScreenColumn, placed: list[tuple[int, Part]], size: ItemSize) -> None:
    """Add an area with the parts that are in line in its middle, and the others at their positions from the middle."""
    sheet, viewing = column.sheet, column.sheet.viewing
    boxes = []
    for number, part in placed:
        width, height = shown_px(sheet, part, (column.width_px, size.picture_px))
        assert viewing is not None  # Otherwise `shown_px` refuses the part, because its size is in degrees.
        across, up = (round(viewing.offset_px(part.get(name) or 0)) for name in ("x_deg", "y_deg"))
        if abs(across) + width / 2 > sheet.inside_px[0] / 2:
            raise _too_wide(part)
        boxes.append((number, part, across - width // 2, -up - height // 2, width, height))
    reach_px = max((max(-top, top + height) for *_, top, _, height in boxes), default=0)
    height_px = max(in_line.height_px, 2 * reach_px)

    def draw(canvas: Canvas, x: int, y: int) -> None:
        middle_x, middle_y = x + column.width_px // 2, y + height_px // 2
        in_line.draw(canvas, x, round(middle_y - in_line.middle_px))
        for number, part, left, top, width, height in boxes:
            _draw_picture(canvas, number, part, middle_x + left, middle_y + top, (width, height))

    column.add(height_px, draw, round(0.8 * size.letters_px))


def _too_wide(part: Part) -> InputError:
    return InputError(
        f"{path_of(part)}: the size or position in degrees does not fit the screen. Fix: use a larger screen, a "
        "smaller distance, or smaller values of `width_deg` and `x_deg`."
    )


def _add_markdown(column: ScreenColumn, markdown: str, size_px: int, align: Align) -> None:
    """Add a text in Markdown to a column."""
    for block in blocks_of("`stimulus`", markdown):
        for piece in pieces_of(column.sheet, block, size_px, column.width_px, align):
            column.add(piece.height_px, piece.draw, piece.gap_px, empty_px=piece.empty_px(column.sheet))


def shown_px(sheet: Sheet, part: Part, most_px: Size) -> Size:
    """Return the size of a picture or video on the screen.

    It is as large as in the file, if it is not above a limit. A size in degrees has no other limit than the screen.

    Raises
    ------
    InputError
        If the size is in degrees, and the screen is too small or has no known measures.
    """
    degrees = part.get("width_deg")
    if degrees is not None:
        if sheet.viewing is None:
            raise InputError(
                f"{path_of(part)}: its size is in degrees, but the measures of the screen are not known. Fix: define "
                "the width and the distance of the screen in PsychoPy's Monitor Center, and add `--monitor NAME`."
            )
        width, height = _file_px(sheet, part)
        shown = round(sheet.viewing.width_px(float(degrees)))
        if shown > sheet.inside_px[0]:
            raise _too_wide(part)
        return max(1, shown), max(1, round(shown * height / width))
    return fitting_px(_file_px(sheet, part), most_px, sheet.picture_zoom)


def picture(sheet: Sheet, part: Part, size_px: Size) -> Image.Image:
    """Return a picture, or the first frame of a video, in its size on the screen."""
    assert sheet.media_folder is not None
    return _picture(
        sheet.media_folder, str(kind_of(part)), path_of(part), str(part["sha256"]), size_px, sheet.colours.paper
    )


@lru_cache(maxsize=32)
def _picture(folder: Path, kind: str, path: str, sha256: str, size_px: Size, background: str) -> Image.Image:
    part = {kind: path, "sha256": sha256}
    data = read_file(folder, part)
    return decode_picture(part, data, size_px, background) if kind == "image" else first_frame(part, data, size_px)


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
            _draw_picture(canvas, number, part, left, top, (width, height))
            left += width + gap_px

    column.add(height_px, draw, gap_px)


def _draw_picture(canvas: Canvas, number: int, part: Part, left: int, top: int, size_px: Size) -> None:
    canvas.paste(picture(canvas.sheet, part, size_px), left, top)
    if kind_of(part) == "video":
        canvas.video(number, (left, top, left + size_px[0], top + size_px[1]))
