"""HTML of the report: figures, texts with code, and the settings of the templates."""

import re
from dataclasses import dataclass
from functools import cache

import jinja2
from markupsafe import Markup, escape

from analysis.figures.drawing.sheet import Drawing, inline
from analysis.figures.drawing.subject_names import parts_of
from analysis.sentences import (
    asked_items,
    bounds_in_percent,
    count,
    invalid_words,
    item_units,
    level_words,
    percent,
    points,
)

WIDE = 1.5
"""Ratio of width and height above which a figure is wide."""


@dataclass(frozen=True)
class ShownFigure:
    """A figure of the report."""

    name: str
    title: str
    description: str
    markup: Markup
    is_wide: bool
    """True if an enlarged figure fits a telephone's screen best after a quarter turn."""


def with_markup(drawing: Drawing) -> ShownFigure:
    """Return a figure for the report. The SVG needs no escaping, because matplotlib escapes every text in it."""
    ((width, height),) = re.findall(r'<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing.svg)
    markup = Markup(inline(drawing.svg))  # noqa: S704
    return ShownFigure(drawing.name, drawing.title, drawing.description, markup, float(width) > WIDE * float(height))


def with_code(text: str) -> Markup:
    """Return a text as HTML. Parts in backticks become code.

    Examples
    --------
    >>> print(with_code("use `a < b`"))
    use <code>a &lt; b</code>
    """
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def subject_markup(name: str, model: str | None = None) -> Markup:
    """Return the name of a subject as HTML for a table. The condition of a model is in a lighter colour.

    `model` is the name of the model, if it is known (`parts_of`).

    Examples
    --------
    >>> print(subject_markup("gpt-4o, temperature 0.7"))
    gpt-4o, <span class="soft">temperature 0.7</span>
    """
    own, condition = parts_of(name, model)
    return escape(own) + (Markup(', <span class="soft">{}</span>').format(condition) if condition else "")


@jinja2.pass_context
def _subject(context: jinja2.runtime.Context, name: str) -> Markup:
    """Return the name of a subject with the model that the report's variable `models_of_subjects` has for it."""
    return subject_markup(name, context.get("models_of_subjects", {}).get(name))


@cache
def environment() -> jinja2.Environment:
    """Return the Jinja environment of the templates. It escapes every text, and raises an error for undefined names."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "with_code": with_code,
        "subject": _subject,
        "percent": percent,
        "level": level_words,
        "points": points,
    }
    templates.globals |= {
        "asked_items": asked_items,
        "count": count,
        "bounds_in_percent": bounds_in_percent,
        "invalid_words": invalid_words,
        "item_units": item_units,
    }
    return templates
