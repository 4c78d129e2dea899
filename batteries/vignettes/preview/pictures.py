"""Small copies of pictures for the preview page, which has all of its content in one file."""

import base64
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

from batteries.stimulus.asset_files import asset_file
from batteries.stimulus.parts import asset_parts, kind_of, path_of, suffix_of

_SIDE_PX = 240
"""Longest side of a small copy."""


def small_pictures(content: Mapping[str, Any], folder: Path | None) -> list[dict[str, str]]:
    """Return a small copy of each picture of an item, as a `data:` address, with its description.

    Sounds and videos have a description and an empty address. `folder` is the folder of the battery. Without it, all
    addresses are empty.
    """
    return [{"alt": part["alt"], "source": _source(part, folder)} for part in asset_parts(content)]


def _source(part: Mapping[str, Any], folder: Path | None) -> str:
    if folder is None or kind_of(part) != "image":
        return ""
    file = asset_file(folder, path_of(part))
    if suffix_of(part) == ".svg":
        return _data("image/svg+xml", file.read_bytes())
    with Image.open(file) as image:
        small = ImageOps.exif_transpose(image)
        small.thumbnail((_SIDE_PX, _SIDE_PX))
        written = BytesIO()
        small.convert("RGBA").save(written, "PNG")
    return _data("image/png", written.getvalue())


def _data(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"
