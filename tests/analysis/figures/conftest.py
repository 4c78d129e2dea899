"""A check that every figure passes."""

from xml.etree import ElementTree

import pytest

from tests.analysis.figures.layout import faults, watch


@pytest.fixture
def readable(monkeypatch):
    """Return a function that checks a drawing and returns it; the function keeps the checked `figure`.

    Texts never overlap, are never cut off, and have at least 7 points and a contrast of 4.5. The figure is 140 mm
    wide. Its SVG is XML with alternative text.
    """
    figures = watch(monkeypatch)

    def check(drawing):
        assert len(figures) == 1
        check.figure = figures.pop()
        assert faults(check.figure) == []
        root = ElementTree.fromstring(drawing.svg)
        words = [root.find(f"{{http://www.w3.org/2000/svg}}{tag}") for tag in ("title", "desc")]
        assert [word.text for word in words] == [drawing.title, drawing.description]
        assert root.get("aria-labelledby").split() == [word.get("id") for word in words]
        assert "nan" not in drawing.description.lower().split()
        return drawing

    return check
