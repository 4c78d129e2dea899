"""Checking pictures: a PNG, JPEG or WebP file must decode completely. SVG drawings are checked in `svg`."""

import struct
import zlib
from io import BytesIO

from PIL import Image

from batteries.errors import InputError
from batteries.stimulus.svg import measure_svg

MOST_PIXELS = 25_000_000
"""Largest number of pixels of a picture. A browser needs 4 bytes for each pixel, also if the file is small."""
_ORIENTATION = 0x0112
"""The EXIF tag with the orientation of a photograph."""
_TURNED = frozenset({5, 6, 7, 8})
"""Values of this tag for which browsers turn the picture by 90 degrees."""


def measure_picture(path: str, suffix: str, data: bytes) -> dict[str, int]:
    """Return `width_px` and `height_px` of a picture, as a browser shows it.

    Raises
    ------
    InputError
        If the picture is damaged, too large, animated or unsafe.
    """
    if suffix == ".svg":
        return measure_svg(path, data)
    try:
        with Image.open(BytesIO(data), formats=("PNG", "JPEG", "WEBP")) as image:
            width, height = image.size
            # The header tells the size, so that a small file with a huge picture is not decoded.
            if width * height > MOST_PIXELS:
                raise _too_large(path, f"has {width:,} x {height:,} pixels")
            if suffix in {".png", ".webp"} and getattr(image, "is_animated", False):
                raise InputError(
                    f"{path}: this picture is animated, so its timing is not known. Fix: use a picture without "
                    "animation, or a video."
                )
            # JPEG: all data are read, but fewer pixels are computed, which takes a third of the time.
            image.draft(None, (max(1, width // 8), max(1, height // 8)))
            image.load()
            is_turned = image.getexif().get(_ORIENTATION) in _TURNED
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_large(path, "has too many pixels") from None
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError, struct.error, zlib.error):
        raise InputError(
            f"{path}: this picture is damaged or not complete. Fix: save it again, or copy it again."
        ) from None
    return {"width_px": height, "height_px": width} if is_turned else {"width_px": width, "height_px": height}


def _too_large(path: str, size: str) -> InputError:
    return InputError(
        f"{path}: the picture {size}; the limit is {MOST_PIXELS:,} pixels. Fix: save the picture with fewer pixels."
    )
