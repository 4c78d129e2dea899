"""The form of an item's content for a browser: texts as HTML, and files by their addresses.

A browser does not get the names of files, because a name such as `anna-happy.png` can give the right answer away.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from batteries.stimulus.markdown import html
from batteries.stimulus.parameter_files import with_addresses_replaced, with_paths_replaced
from batteries.stimulus.parts import MEDIA_TYPES, asset_parts, kind_of, path_of, stored_name, with_parts

ADDRESS = "/asset/"
"""First part of the address of each file. The second part is the SHA-256 with the suffix of the file."""
_DEGREES = ("width_deg", "x_deg", "y_deg")
_MEASURES = {"image": ("width_px", "height_px"), "sound": ("duration_ms",), "video": ("duration_ms",)}


def shown_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item's content as a browser gets it.

    Each part, and each picture among the options, has `kind` (`text`, `image`, `sound` or `video`). A text has `html`.
    The other kinds have `src` (the address of the file), `alt` and the measures of the file, and its size and
    position in degrees if the item has them. The parameters of a jsPsych plugin have addresses in place of the paths
    of files, and `files` lists these addresses.

    Parameters
    ----------
    content
        The content of an item of a battery that was read with `load_battery`.
    """
    if "files" in content:
        addresses = {path_of(part): _address(part) for part in asset_parts(content)}
        texts = {
            name: with_paths_replaced(content[name], lambda path: addresses.get(path, path))
            for name in ("parameters", "answers")
        }
        # Sorted by address, because the order of the names can give the right answer away.
        return {**content, **texts, "files": sorted(addresses.values())}
    return with_parts(content, _shown)


def with_paths(content: Mapping[str, Any], response: JsonValue) -> JsonValue:
    """Return a response to an item with the paths of files in place of their addresses.

    A browser knows only the addresses, and jsPsych plugins repeat them in their data.
    """
    if "files" not in content:
        return response
    return with_addresses_replaced(response, {_address(part): path_of(part) for part in asset_parts(content)})


def _address(part: Mapping[str, Any]) -> str:
    return f"{ADDRESS}{stored_name(part)}"


def _shown(entry: Any) -> Any:
    kind = kind_of(entry)
    if kind == "text":
        return {"kind": kind, "html": html(entry["text"])}
    if kind not in MEDIA_TYPES:
        return entry
    measures = {name: entry.get(name) for name in _MEASURES[kind]}
    degrees = {name: entry[name] for name in _DEGREES if entry.get(name) is not None}
    return {"kind": kind, "src": _address(entry), "alt": entry["alt"], **measures, **degrees}
