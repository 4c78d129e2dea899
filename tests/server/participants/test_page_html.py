"""The HTML of a study's pages: the picture of a diagram shows the ray of the rules, step by step."""

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from hypothesis import given

from batteries.blackbox import Effect
from experiment.study.blackbox_diagrams import Diagram, steps_of
from experiment.texts import texts_in
from server.participants.page_html import embedded_html, page_html
from tests.experiment.study.test_blackbox_diagrams import BLOCK, ENGLISH, diagrams

CELL = 40


def figure_of(diagram: Diagram) -> ElementTree.Element:
    atoms = [list(atom) for atom in diagram.atoms]
    page = f"```blackbox\nsize: {diagram.size}\nentry: {diagram.entry}\natoms: {atoms}\ncaption: {diagram.caption}\n```"
    return ElementTree.fromstring(page_html(page, ENGLISH))


def groups(figure: ElementTree.Element) -> list[ElementTree.Element]:
    """Return the part of the picture with the narrow line of each step, in order."""
    return [one for one in figure.iter("g") if one.get("data-step") and one.find("path[@class='ray']") is not None]


def points(group: ElementTree.Element) -> list[tuple[float, float]]:
    line = group.find("path[@class='ray']")
    assert line is not None
    return [tuple(map(float, point.split(","))) for point in line.get("d", "")[1:].split("L")]  # type: ignore[misc]


def cell_of(point: tuple[float, float]) -> tuple[int, int]:
    return int(point[1] // CELL), int(point[0] // CELL)


@given(diagrams())
def test_the_picture_shows_the_ray_of_the_rules(diagram: Diagram) -> None:
    figure = figure_of(diagram)
    steps = steps_of(diagram, ENGLISH)
    parts = groups(figure)
    assert [part.get("data-step") for part in parts] == [str(number) for number in range(len(steps))]
    assert [item.text for item in figure.iter("li")] == [step.sentence for step in steps]
    atoms = {cell_of((float(one.get("cx", 0)), float(one.get("cy", 0)))) for one in figure.iter("circle")
             if one.get("class") == "atom"}  # fmt: skip
    assert atoms == set(diagram.atoms)
    for step, part, before in zip(steps, parts, [None, *parts], strict=False):
        line = points(part)
        if before is not None:
            assert line[0] == points(before)[-1], "the steps make one line"
        passed = [cell_of(point) for point in line[1:]]
        is_hit = step.encounter is not None and step.encounter.effect is Effect.ABSORBED
        if not is_hit:
            assert tuple(passed[: len(step.cells)]) == step.cells
        for (x, y), (other_x, other_y) in pairwise(line):
            is_hook = step.encounter is not None and step.encounter.effect is Effect.SENT_BACK
            assert x == other_x or y == other_y or is_hook, "the ray goes along rows and columns"
        ringed = {cell_of((float(ring.get("cx", 0)), float(ring.get("cy", 0)))) for ring in part.findall("g/circle")}
        assert ringed == (set(step.encounter.atoms) if step.encounter else set())
        ports = [name.text for name in part.findall("g/text") if re.fullmatch("[NSEW][1-8]", name.text or "")]
        assert ports == ([f"{step.exit.side.value[0].upper()}{step.exit.position}"] if step.exit else [])


def test_a_diagram_is_complete_without_a_script() -> None:
    page = page_html(BLOCK, ENGLISH)
    assert "<figcaption>The ray turns.</figcaption>" in page
    assert 'role="img" aria-label="Atoms at row 4 column 4."' in page
    assert '<li data-step="2">The atom at row 4, column 4 turns the ray.</li>' in page
    assert "style=" not in page and "<script" not in page and "hidden" not in page


def test_the_texts_of_a_diagram_are_escaped_and_in_the_language_of_the_study() -> None:
    hostile = BLOCK.replace("The ray turns.", "'<script>alert(1)</script> & more'")
    page = page_html(hostile, texts_in("de", {"ray_turned": "<b>{row} {column}</b>"}))
    assert "<script" not in page and "&lt;script&gt;" in page and "&amp; more" in page
    assert "&lt;b&gt;4 4&lt;/b&gt;" in page
    assert "Der Strahl kommt bei WEST 3 an." in page


def test_pages_without_diagrams_are_plain_markdown() -> None:
    assert page_html("# A\n\n```\nblackbox\n```\n\n<b>x</b>", ENGLISH) == (
        "<h1>A</h1>\n<pre><code>blackbox\n</code></pre>\n<p>&lt;b&gt;x&lt;/b&gt;</p>\n"
    )
    assert embedded_html("# A\n\n###### F", ENGLISH) == "<h2>A</h2>\n<h6>F</h6>\n"


def test_the_study_names_the_pages_of_the_rules(participant: Any) -> None:
    study = participant.http.get("/api/study").get_json()
    assert study["rules_html"] == study["instructions_html"][:1]
