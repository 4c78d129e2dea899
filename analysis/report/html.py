"""Figures and templates of the report as HTML."""

import re
from dataclasses import dataclass

import jinja2
from markupsafe import Markup, escape

from analysis.figures.drawing.sheet import Drawing, inline
from analysis.sentences import count, interval, level_words, percent, points


@dataclass(frozen=True)
class Shown:
    """A figure in the page."""

    name: str
    title: str
    description: str
    markup: Markup


def with_markup(drawing: Drawing) -> Shown:
    """Return a figure for the page; `analysis.figures.drawing.sheet` and matplotlib escape every text in it."""
    return Shown(drawing.name, drawing.title, drawing.description, Markup(inline(drawing.svg)))  # noqa: S704


def with_code(text: str) -> Markup:
    """Return a text for the page, with parts in backticks as code.

    Examples
    --------
    >>> print(with_code("use `a < b`"))
    use <code>a &lt; b</code>
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def environment() -> jinja2.Environment:
    """Return the templates, which escape every text and refuse undefined names."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"with_code": with_code, "percent": percent, "level": level_words, "points": points}
    made.globals |= {"count": count, "interval": interval}
    return made
