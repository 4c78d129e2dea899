"""The form of an item's content for a browser: texts as HTML, and files by their addresses.

A browser does not get the names of files, because a name such as `anna-happy.png` can give the right answer away.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt

from batteries.stimulus.parts import MEDIA_TYPES, kind_of, stored_name, with_parts

ADDRESS = "/asset/"
"""First part of the address of each file. The second part is the SHA-256 with the suffix of the file."""
_DEGREES = ("width_deg", "x_deg", "y_deg")
_MEASURES = {"image": ("width_px", "height_px"), "sound": ("duration_ms",), "video": ("duration_ms",)}

_markdown = MarkdownIt("commonmark", {"html": False})


@lru_cache(maxsize=256)
def html(markdown: str) -> str:
    """Return Markdown as HTML. HTML tags in the Markdown are shown as text."""
    rendered: str = _markdown.render(markdown)
    return rendered


def shown_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item's content as a browser gets it.

    Each part, and each picture among the options, has `kind` (`text`, `image`, `sound` or `video`). A text has `html`.
    The other kinds have `src` (the address of the file), `alt` and the measures of the file, and its size and
    position in degrees if the item has them.

    Parameters
    ----------
    content
        The content of an item of a battery that was read with `load_battery`.
    """
    return with_parts(content, _shown)


def _shown(entry: Any) -> Any:
    kind = kind_of(entry)
    if kind == "text":
        return {"kind": kind, "html": html(entry["text"])}
    if kind not in MEDIA_TYPES:
        return entry
    measures = {name: entry.get(name) for name in _MEASURES[kind]}
    degrees = {name: entry[name] for name in _DEGREES if entry.get(name) is not None}
    return {"kind": kind, "src": f"{ADDRESS}{stored_name(entry)}", "alt": entry["alt"], **measures, **degrees}
