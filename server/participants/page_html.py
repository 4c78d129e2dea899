"""A study's pages as HTML, with the diagrams of rays (`experiment.study.blackbox_diagrams`) as pictures.

A diagram is complete without a script: the picture shows the whole ray, and a list names its steps. The page's script
(blackbox-diagram.ts) shows one step at a time. It finds the parts of a step by the attribute `data-step`, from 0.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Literal

from markdown_it import MarkdownIt

from batteries.blackbox import Cell, Effect, Port, Side, all_ports
from experiment.records import Source
from experiment.study.blackbox_diagrams import Diagram, Step, atoms_in_words, diagram_of, is_diagram, steps_of
from experiment.study.pages_by_source import page_for
from experiment.texts import Texts

_markdown = MarkdownIt("commonmark", {"html": False})

_CELL = 40
"""Side of a cell in SVG units, as in the trials (blackbox-board.ts)."""
_RING = 0.42
"""Radius of the ring around an atom, in cells."""
_RETURN = 5
"""Distance of a ray that was sent back from its first path, in SVG units. Otherwise one line would cover the other."""
_INWARD_DEGREES = {Side.NORTH: 0, Side.EAST: 90, Side.SOUTH: 180, Side.WEST: 270}

_Point = tuple[float, float]


def page_html(markdown: str, words: Texts) -> str:
    """Return a page as HTML, with its words for the browser. HTML tags in the Markdown are shown as text.

    Parameters
    ----------
    markdown
        The whole text of the page, with the sections of all sources.
    words
        The texts of the study, for the sentences of diagrams.
    """
    return _rendered(markdown, 0, words.language, words.direction, tuple(words.by_name.items()))


def embedded_html(markdown: str, words: Texts) -> str:
    """Return a page as HTML, as `page_html`, with all headings one level lower, below the title of another page."""
    return _rendered(markdown, 1, words.language, words.direction, tuple(words.by_name.items()))


@lru_cache(maxsize=64)
def _rendered(
    markdown: str, lower: int, language: str, direction: Literal["ltr", "rtl"], by_name: tuple[tuple[str, str], ...]
) -> str:
    """Return a page as HTML, with all headings `lower` levels lower. The last three values are those of `Texts`."""
    words = Texts(language, direction, dict(by_name))
    tokens = _markdown.parse(page_for(markdown, Source.WEB))
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + lower)}"
        if is_diagram(token):
            token.type, token.content = "html_block", _figure(diagram_of(token, Path("page")), words)
    rendered: str = _markdown.renderer.render(tokens, _markdown.options, {})
    return rendered


def _figure(diagram: Diagram, words: Texts) -> str:
    steps = steps_of(diagram, words)
    side = (diagram.size + 2) * _CELL
    picture = "".join(_picture(diagram, steps, words))
    described = escape(atoms_in_words(diagram, words))
    items = "".join(f'<li data-step="{number}">{escape(step.sentence)}</li>' for number, step in enumerate(steps))
    lang = escape(words.language)
    board = f'class="diagram-board" viewBox="0 0 {side} {side}" role="img" aria-label="{described}" lang="{lang}"'
    return (
        f'<figure class="blackbox-diagram"><figcaption>{escape(diagram.caption)}</figcaption>'
        f'<svg {board}>{picture}</svg><ol lang="{lang}">{items}</ol></figure>\n'
    )


def _picture(diagram: Diagram, steps: list[Step], words: Texts) -> Iterator[str]:
    size, entry = diagram.size, Port.parse(diagram.entry, diagram.size)
    yield f'<rect class="box" x="{_CELL}" y="{_CELL}" width="{size * _CELL}" height="{size * _CELL}"/>'
    inner = range(2 * _CELL, (size + 1) * _CELL, _CELL)
    lines = (f"M{at},{_CELL}v{size * _CELL}M{_CELL},{at}h{size * _CELL}" for at in inner)
    yield f'<path class="grid" d="{"".join(lines)}"/>'
    for port in all_ports(size):
        yield _port(port, size, "entry" if port == entry else "", words.say("mark_in") if port == entry else "")
    for atom in diagram.atoms:
        x, y = _centre(atom)
        yield f'<circle class="atom" cx="{x:g}" cy="{y:g}" r="{0.32 * _CELL:g}"/>'
    yield _arrow(entry, size, "in")
    routes = list(_routes(diagram, steps))
    # A wide line below a narrow line keeps the path visible over grid and atoms. All wide lines come first, because
    # otherwise the wide line of one step would cover the end of the step before it.
    for number, points in enumerate(routes):
        yield f'<g data-step="{number}"><path class="ray-halo" d="{_line(points)}"/></g>'
    for number, (step, points) in enumerate(zip(steps, routes, strict=True)):
        yield f'<g data-step="{number}"><path class="ray" d="{_line(points)}" pathLength="1"/>'
        if step.encounter:
            yield from (_ring(atom, number + 1) for atom in step.encounter.atoms)
        if step.exit:
            yield _port(step.exit, size, "outcome", words.say("mark_ray"))
            yield _arrow(step.exit, size, "in" if step.exit == entry else "ray-out")
        x, y = points[-1]
        yield f'<circle class="ray-head" cx="{x:g}" cy="{y:g}" r="7"/></g>'


def _routes(diagram: Diagram, steps: list[Step]) -> Iterator[list[_Point]]:
    """Yield the points through which the ray goes in each step. The first point is the end of the step before it."""
    point, shift = _edge(Port.parse(diagram.entry, diagram.size), diagram.size), 0
    for step in steps:
        points = [point, *(_shifted(_centre(cell), shift) for cell in step.cells)]
        if step.encounter and step.encounter.effect is Effect.ABSORBED:
            points[-1] = _before(points[-2], points[-1])
        if step.encounter and step.encounter.effect is Effect.SENT_BACK:
            shift += _RETURN
            points.append(_shifted(point, _RETURN))
        if step.exit and diagram.ray.path:
            points.append(_shifted(_edge(step.exit, diagram.size), shift))
        point = points[-1]
        yield points


def _line(points: list[_Point]) -> str:
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in points)


def _ring(atom: Cell, number: int) -> str:
    x, y = _centre(atom)
    ring = f'<circle cx="{x:g}" cy="{y:g}" r="{_RING * _CELL:g}"/>'
    return f'<g class="encounter">{ring}<text x="{x:g}" y="{y + 5:g}">{number}</text></g>'


def _port(port: Port, size: int, look: str, mark: str) -> str:
    x, y = _centre(_frame_cell(port, size))
    box = f'<rect x="{x - 18.5:g}" y="{y - 18.5:g}" width="37" height="37" rx="6"/>'
    name = f'<text x="{x:g}" y="{y - 3 if mark else y + 5:g}">{port.side.value[0].upper()}{port.position}</text>'
    below = f'<text class="port-mark" x="{x:g}" y="{y + 12:g}">{escape(mark)}</text>' if mark else ""
    return f'<g class="port {look}">{box}{name}{below}</g>'


def _arrow(port: Port, size: int, kind: str) -> str:
    x, y = _edge(port, size)
    shape = "M-8,0h16l-8,11z" if kind == "in" else "M-8,11h16l-8,-11z"
    turn = f"translate({x:g},{y:g}) rotate({_INWARD_DEGREES[port.side]})"
    return f'<path class="arrow arrow-{kind}" d="{shape}" transform="{turn}"/>'


def _frame_cell(port: Port, size: int) -> Cell:
    """Return the row and the column of a port, from 0 to size + 1. The board's cells have the numbers 1 to size."""
    match port.side:
        case Side.NORTH:
            return 0, port.position
        case Side.SOUTH:
            return size + 1, port.position
        case Side.WEST:
            return port.position, 0
        case Side.EAST:
            return port.position, size + 1


def _centre(cell: Cell) -> _Point:
    row, column = cell
    return (column + 0.5) * _CELL, (row + 0.5) * _CELL


def _edge(port: Port, size: int) -> _Point:
    """Return the middle of the edge between a port and the board."""
    x, y = _centre(_frame_cell(port, size))
    low, high = _CELL, (size + 1) * _CELL
    return min(max(x, low), high), min(max(y, low), high)


def _before(start: _Point, centre: _Point) -> _Point:
    """Return the point where a ray reaches the ring around an atom."""
    (x0, y0), (x, y) = start, centre
    share = 1 - _RING * _CELL / math.dist(start, centre)
    return x0 + share * (x - x0), y0 + share * (y - y0)


def _shifted(point: _Point, shift: int) -> _Point:
    return point[0] + shift, point[1] + shift
