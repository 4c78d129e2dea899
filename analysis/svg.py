"""Figures as SVG whose bytes depend on the data alone: text as text, no date, own ids, a title and alt text."""

import io
import re
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

INK = "#1f2328"
SOFT = "#656d76"
GRID = "#d8dee4"
PAPER = "#ffffff"

STYLE: Any = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 9.5,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "figure.facecolor": PAPER,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
}

_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def as_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """Return a figure as SVG.

    Parameters
    ----------
    figure : Figure
        Drawn within ``matplotlib.rc_context(STYLE)``.
    name : str
        Prefix of every id, so that several figures can stand in one page.
    title, description : str
        The alternative text: what the figure is, and what it shows.
    """
    buffer = io.StringIO()
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", svg)
    opening, body = svg.split(">", 1)
    labelled = f'role="img" aria-labelledby="{name}-title {name}-desc"'
    words = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    return f"{opening} {labelled}>\n {words}{body}"


def inline(svg: str) -> str:
    """Return an SVG for a page that sets `--ink`, `--soft`, `--grid`, so that its colours follow light and dark."""
    for colour, variable in ((INK, "var(--ink)"), (SOFT, "var(--soft)"), (GRID, "var(--grid)"), (PAPER, "none")):
        svg = svg.replace(colour, variable)
    return svg
