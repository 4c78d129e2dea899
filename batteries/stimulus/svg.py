"""Checking SVG drawings: a drawing must not run scripts or load anything. Unsafe drawings are refused, not changed.

The rules are a list of allowed elements, as in the security advice of OWASP and of the W3C ("SVG Integration", secure
static mode). The server also sends drawings with a policy that runs no script.
"""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from batteries.errors import InputError

_SVG = "{http://www.w3.org/2000/svg}"
_ALLOWED = frozenset({
    "svg", "g", "defs", "symbol", "use", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text",
    "tspan", "textPath", "title", "desc", "metadata", "style", "linearGradient", "radialGradient", "stop", "clipPath",
    "mask", "pattern", "marker", "filter", "image", "switch", "view",
})  # fmt: skip
"""Elements that draw. Elements of filters, whose names begin with `fe`, are allowed too, except `feImage`."""
_OTHER_LANGUAGES = ("{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/1998/Math/MathML}")
"""Namespaces whose elements work inside SVG, such as scripts of HTML. Elements of other namespaces do nothing."""
_INSTRUCTION = re.compile(rb"<\?(?!xml\s)")
_EMBEDDED = re.compile(r"data:image/(?:png|jpeg|webp);base64,[A-Za-z0-9+/=\s]*")
_URL = re.compile(r"url\(\s*(['\"]?)\s*(.*?)\s*\1\s*\)", re.IGNORECASE | re.DOTALL)
_UNSAFE_STYLE = re.compile(r"@import|@namespace|javascript:|expression\(|image-set\(|\\", re.IGNORECASE)
_LENGTH = re.compile(r"\s*\+?(\d*\.?\d+(?:[eE][+-]?\d+)?)\s*(px|in|cm|mm|pt|pc|)\s*")
_PIXELS = {"": 1, "px": 1, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "pt": 96 / 72, "pc": 16}
"""Pixels of CSS in one unit (CSS Values and Units, level 3, section 5.2)."""


def measure_svg(path: str, data: bytes) -> dict[str, int]:
    """Return `width_px` and `height_px` of a safe drawing.

    Raises
    ------
    InputError
        If the drawing is not XML in UTF-8, is unsafe, or has no size.
    """
    root = _parsed(path, data)
    if root.tag != f"{_SVG}svg":
        raise InputError(f"{path}: this file is not an SVG drawing. Fix: save it again as SVG.")
    for problem in _problems(root):
        raise InputError(
            f"{path}: this drawing contains {problem}, which is not allowed. Fix: save it as a plain SVG, or use a "
            "PNG file."
        )
    width, height = _size(path, root)
    return {"width_px": max(1, round(width)), "height_px": max(1, round(height))}


def _parsed(path: str, data: bytes) -> Element:
    try:
        data.decode("utf-8-sig")
        if b"\0" in data:
            raise UnicodeError
    except UnicodeError:
        raise InputError(f"{path}: this drawing is not UTF-8 text. Fix: save it with the encoding UTF-8.") from None
    if _INSTRUCTION.search(data):
        raise InputError(
            f"{path}: this drawing contains a processing instruction (<?...?>), which is not allowed. Fix: save it as "
            "a plain SVG, or use a PNG file."
        )
    try:
        root: Element = fromstring(data, forbid_dtd=False, forbid_entities=True, forbid_external=True)
    except DefusedXmlException:
        raise InputError(
            f"{path}: this drawing defines entities or loads other files, which is not allowed. Fix: save it as a "
            "plain SVG, or use a PNG file."
        ) from None
    except (ParseError, ValueError, LookupError, RecursionError) as error:
        raise InputError(f"{path}: this drawing is not valid XML ({error}). Fix: save it again as SVG.") from None
    return root


def _problems(root: Element) -> Iterator[str]:
    """Yield the names of the unsafe parts of a drawing."""
    cloned = {_href(element) for element in root.iter(f"{_SVG}use")}
    for element in root.iter():
        name = str(element.tag)
        if name.startswith(_OTHER_LANGUAGES) or (name.startswith(_SVG) and not _may_draw(name.removeprefix(_SVG))):
            yield f"an element `{name.rpartition('}')[2]}`"
        # Copies of copies can multiply a small drawing until the browser has no memory left.
        if f"#{element.get('id')}" in cloned and element.find(f".//{_SVG}use") is not None:
            yield "copies (`use`) of a part that contains copies"
        if name == f"{_SVG}use" and f"#{element.get('id')}" in cloned:
            yield "a copy (`use`) of a copy"
        for attribute, value in element.items():
            if problem := _problem_of_attribute(attribute.rpartition("}")[2].lower(), value):
                yield problem
        if name == f"{_SVG}style" and _is_unsafe_style("".join(element.itertext())):
            yield "a style sheet that loads other files"


def _may_draw(name: str) -> bool:
    return name in _ALLOWED or (name.startswith("fe") and name != "feImage")


def _href(element: Element) -> str | None:
    return element.get("href", element.get("{http://www.w3.org/1999/xlink}href"))


def _problem_of_attribute(name: str, value: str) -> str | None:
    if name.startswith("on"):
        return f"the event handler `{name}`"
    if name in {"href", "src"} and not value.strip().startswith("#") and not _EMBEDDED.fullmatch(value.strip()):
        return f"a link to another file or page (`{name}`)"
    return f"a link to another file (`{name}`)" if _is_unsafe_style(value, is_sheet=name == "style") else None


def _is_unsafe_style(text: str, is_sheet: bool = True) -> bool:
    """Return True if a style, or the value of an attribute, can load a file."""
    links = (found[2] for found in _URL.finditer(text))
    has_outside_link = any(not link.startswith("#") and not _EMBEDDED.fullmatch(link) for link in links)
    return has_outside_link or (is_sheet and _UNSAFE_STYLE.search(text) is not None)


def _size(path: str, root: Element) -> tuple[float, float]:
    """Return the width and height in pixels, from the attributes `width` and `height`, or else from `viewBox`."""
    lengths = [_LENGTH.fullmatch(root.get(name, "")) for name in ("width", "height")]
    sizes = [float(found[1]) * _PIXELS[found[2]] for found in lengths if found]
    if len(sizes) < 2:
        try:
            sizes = [float(number) for number in root.get("viewBox", "").replace(",", " ").split()][2:]
        except ValueError:
            sizes = []
    if len(sizes) != 2 or not all(0 < size <= 10_000 for size in sizes):
        raise InputError(
            f"{path}: the drawing has no usable size. Fix: set `width` and `height` of the drawing in pixels, up to "
            "10,000."
        )
    return sizes[0], sizes[1]
