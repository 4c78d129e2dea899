"""Pictures in the size in which the screen shows them: PNG, JPEG and WebP with Pillow, SVG with resvg."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
from PIL import Image, ImageOps

from batteries.errors import InputError
from batteries.stimulus.parts import path_of, suffix_of
from experiment.lab.media.files import missing_package

Size = tuple[int, int]


def decode_picture(part: Mapping[str, Any], data: bytes, size_px: Size, background: str) -> Image.Image:
    """Return a picture as an RGB image of exactly one size.

    Parameters
    ----------
    part, data
        The picture of an item's content, and the content of its file.
    size_px
        Width and height of the image.
    background
        Colour behind the transparent pixels of the picture, as `#rrggbb`.

    Raises
    ------
    InputError
        If the picture cannot be decoded.
    """
    try:
        image = _drawing(data, size_px) if suffix_of(part) == ".svg" else _photograph(data)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(f"{path_of(part)}: this picture cannot be shown ({error}). Fix: save it again.") from None
    if image.size != size_px:
        image = image.resize(size_px, Image.Resampling.LANCZOS)
    shown = Image.new("RGB", size_px, background)
    shown.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    return shown


def fitting_px(size_px: Size, most_px: Size, zoom: float) -> Size:
    """Return the size in which a picture is shown: enlarged by `zoom`, but not larger than `most_px`."""
    width, height = size_px
    scale = min(zoom, most_px[0] / width, most_px[1] / height)
    return max(1, round(scale * width)), max(1, round(scale * height))


def _photograph(data: bytes) -> Image.Image:
    with Image.open(BytesIO(data), formats=("PNG", "JPEG", "WEBP")) as image:
        upright = ImageOps.exif_transpose(image)
        return upright.convert("RGBA" if upright.has_transparency_data else "RGB")


def _drawing(data: bytes, size_px: Size) -> Image.Image:
    try:
        import resvg_py  # noqa: PLC0415 - comes with the extra `lab`, and few studies have SVG files
    except ImportError:
        raise missing_package("resvg_py") from None
    width, height = size_px
    # Words of a drawing look the same on every machine, if they ask for no font of the machine.
    fonts = [str(path) for path in Path(matplotlib.get_data_path(), "fonts", "ttf").glob("DejaVu*.ttf")]
    usual = dict.fromkeys(("font_family", "serif_family", "sans_serif_family"), "DejaVu Sans")
    png = resvg_py.svg_to_bytes(
        svg_string=data.decode("utf-8-sig"), width=width, height=height, font_files=fonts, **usual
    )
    with Image.open(BytesIO(png), formats=("PNG",)) as image:
        return image.convert("RGBA")
