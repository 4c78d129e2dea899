"""SVG drawings: safe drawings are measured, and drawings that could run or load something are refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from batteries.stimulus.svg import measure_svg

NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def drawing(inside: str = "", attributes: str = 'width="80" height="60"', before: str = "") -> bytes:
    return f"{before}<svg {NAMESPACES} {attributes}>{inside}</svg>".encode()


SAFE = [
    '<circle r="5" fill="url(#g)"/><linearGradient id="g"><stop offset="0"/></linearGradient>',
    '<style>circle { fill: red; clip-path: url("#c"); }</style><clipPath id="c"><rect width="3"/></clipPath>',
    '<g id="a"><path d="M0 0L1 1"/></g><use xlink:href="#a"/><use href="#a" x="3"/>',
    '<image href="data:image/png;base64,iVBORw0KGgo=" width="3" height="3"/>',
    '<filter id="f"><feGaussianBlur stdDeviation="2"/></filter><text style="font-family: serif">Hello</text>',
    '<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></metadata>',
    '<sodipodi:namedview xmlns:sodipodi="http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd" id="v"/>',
]
UNSAFE = {
    "<script>alert(1)</script>": "an element `script`",
    "<svg><script>alert(1)</script></svg>": "an element `script`",
    '<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>': "an element `script`",
    "<foreignObject><p>text</p></foreignObject>": "an element `foreignObject`",
    '<a href="https://example.org"><circle r="3"/></a>': "an element `a`",
    '<circle r="3"><animate attributeName="r" to="9"/></circle>': "an element `animate`",
    '<circle r="3"><set attributeName="href" to="javascript:alert(1)"/></circle>': "an element `set`",
    '<circle r="3" onclick="alert(1)"/>': "the event handler `onclick`",
    '<circle r="3" ONLOAD="alert(1)"/>': "the event handler `onload`",
    '<image href="https://example.org/a.png"/>': "a link to another file or page",
    '<image xlink:href="a.png"/>': "a link to another file or page",
    '<image href="data:image/svg+xml;base64,PHN2Zy8+"/>': "a link to another file or page",
    '<use href="other.svg#a"/>': "a link to another file or page",
    '<use xlink:href=" javascript:alert(1)"/>': "a link to another file or page",
    '<filter id="f"><feImage href="#a"/></filter>': "an element `feImage`",
    '<circle r="3" fill="url(https://example.org/#a)"/>': "a link to another file",
    '<circle r="3" style="fill: url( \'a.svg#b\' )"/>': "a link to another file",
    '<circle r="3" style="fill: u\\72l(a.svg)"/>': "a link to another file",
    "<style>@import 'a.css';</style>": "a style sheet that loads other files",
    "<style>circle { fill: url(//example.org/a) }</style>": "a style sheet that loads other files",
    '<g id="a"><use href="#b"/></g><g id="b"><path d="M0 0"/></g><use href="#a"/>': "copies",
    '<path id="a" d="M0 0"/><use id="b" href="#a"/><use href="#b"/>': "a copy",
    '<iframe src="https://example.org"/>': "an element `iframe`",
}
BILLION_LAUGHS = '<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
EXTERNAL = '<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("inside", SAFE)
def test_a_plain_drawing_is_accepted(inside: str) -> None:
    assert measure_svg("a.svg", drawing(inside)) == {"width_px": 80, "height_px": 60}


@pytest.mark.parametrize("inside", UNSAFE)
def test_an_unsafe_drawing_is_refused(inside: str) -> None:
    with pytest.raises(InputError) as refused:
        measure_svg("a.svg", drawing(inside))
    assert f"a.svg: this drawing contains {UNSAFE[inside]}" in str(refused.value)
    assert "Fix: " in str(refused.value)


@pytest.mark.parametrize("before", [BILLION_LAUGHS, EXTERNAL])
def test_entities_are_refused(before: str) -> None:
    with pytest.raises(InputError, match="defines entities"):
        measure_svg("a.svg", drawing("<text>&a;</text>", before=before))


def test_a_document_type_without_entities_is_accepted() -> None:
    before = (
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/a">'
    )
    assert measure_svg("a.svg", drawing(before=before))["width_px"] == 80


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (drawing(before='<?xml-stylesheet href="https://example.org/a.css"?>'), "processing instruction"),
        (drawing("<script>1</script>").decode().encode("utf-16"), "not UTF-8"),
        (b'<?xml version="1.0" encoding="utf-7"?>' + drawing(), "not valid XML"),
        (drawing()[:-4], "not valid XML"),
        (b"<html><svg/></html>", "not an SVG drawing"),
        (b"<svg width='5' height='5'/>", "not an SVG drawing"),
    ],
)
def test_other_documents_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        measure_svg("a.svg", data)


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('width="80" height="60"', (80, 60)),
        ('width="80px" height="60.4px"', (80, 60)),
        ('width="2in" height="2.54cm"', (192, 96)),
        ('width="25.4mm" height="72pt"', (96, 96)),
        ('viewBox="0 0 300 200"', (300, 200)),
        ('width="100%" height="100%" viewBox="0,0,300,200"', (300, 200)),
    ],
)
def test_the_size_is_that_of_css(attributes: str, size: tuple[int, int]) -> None:
    found = measure_svg("a.svg", drawing(attributes=attributes))
    assert (found["width_px"], found["height_px"]) == size


@pytest.mark.parametrize("attributes", ["", 'width="0" height="5"', 'viewBox="a b c d"', 'width="1e9" height="5"'])
def test_a_drawing_without_a_usable_size_is_refused(attributes: str) -> None:
    with pytest.raises(InputError, match="no usable size"):
        measure_svg("a.svg", drawing(attributes=attributes))


@given(st.one_of(st.binary(max_size=200), st.text(max_size=100).map(drawing)))
def test_any_file_is_measured_or_refused_with_a_sentence(data: bytes) -> None:
    with suppress(InputError):
        measure_svg("a.svg", data)
