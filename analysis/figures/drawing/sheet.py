"""The sheet of every figure, measured in points, and the resulting `Drawing` as SVG and PDF.

Positions are computed from the data and from the character widths in `lettering`. So the bytes of an SVG depend only
on the data, not on the date or the fonts of the machine.
"""

import io
import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font

from analysis.figures.drawing.embedded_fonts import quickly_embedded_fonts
from analysis.figures.drawing.lettering import LINE, SIZE, printable

MM = 72 / 25.4
"""Points in a millimetre."""
WIDTH = 140 * MM
"""Width of every figure in points: one and a half columns of a journal. As all figures of a report have this width,
their texts have the same size on the page, and can be read on a telephone."""

INK = "#1f2328"
SOFT = "#59636e"
GRID = "#d8dee4"
PAPER = "#ffffff"

FONTS = ("DejaVu Sans", "Verdana", "Arial", "Noto Sans", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans CJK SC",
         "Noto Sans CJK JP", "Noto Sans CJK KR", "Microsoft YaHei", "PingFang SC", "Hiragino Sans", "Arial Unicode MS",
         "Droid Sans Fallback")  # fmt: skip
"""Fonts in the order of preference. A character is drawn in the first font that has this character."""

STYLE: Any = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.size": SIZE,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "figure.facecolor": PAPER,
    "figure.dpi": 72,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.2,
    "lines.solid_capstyle": "butt",
}

Align = Literal["left", "center", "right"]
At = Literal["top", "middle", "bottom"]


@dataclass(frozen=True)
class Drawing:
    """A figure as SVG and PDF, with its alternative text and its numbers."""

    name: str
    """Name of the file without the file extension."""
    title: str
    """Title of the alternative text."""
    description: str
    """Alternative text: the content of the figure in sentences, with the main numbers."""
    svg: str
    """SVG whose bytes depend on the data alone. Texts are text elements, not outlines."""
    pdf: bytes
    """The same figure as PDF, without a date, and with its fonts embedded as TrueType."""
    data: pd.DataFrame
    """The numbers of the figure, with every label at full length."""


@contextmanager
def style() -> Iterator[None]:
    """Set matplotlib's style to that of all figures in a `with` block."""
    installed = set(fontManager.get_font_names())
    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    log.setLevel(logging.ERROR)  # The log has a warning for every font without a bold face.
    try:
        with mpl.rc_context({**STYLE, "font.family": [font for font in FONTS if font in installed]}):
            yield
    finally:
        log.setLevel(level)


class FigureSheet:
    """A figure with positions in points, counted from the top left corner to the right and down."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = Figure(figsize=(width / 72, height / 72), dpi=72)

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Return empty axes without ticks."""
        box = (left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height)
        axes = self.figure.add_axes(box)
        axes.set_xticks([])
        axes.set_yticks([])
        return axes

    def paper(self) -> Axes:
        """Return invisible axes over the whole sheet; their coordinates are positions in points."""
        axes = self.axes(0, 0, self.width, self.height)
        axes.set_axis_off()
        axes.set_xlim(0, self.width)
        axes.set_ylim(self.height, 0)
        return axes

    def write(
        self, x: float, y: float, text: str | Sequence[str], *, align: Align = "left", at: At = "middle",
        size: float = SIZE, bold: bool = False, colour: str = INK,
    ) -> None:  # fmt: skip
        """Write lines of text at a position in points.

        `at` states whether `y` is the top, the middle or the bottom of the lines.
        """
        lines = [text] if isinstance(text, str) else text
        height = text_height(len(lines), size)
        top = y - {"top": 0.0, "middle": height / 2, "bottom": height}[at]
        for place, line in enumerate(lines):
            baseline = top + size * (0.93 + place * LINE)
            self.figure.text(
                x / self.width, 1 - baseline / self.height, line, ha=align, va="baseline", fontsize=size, color=colour,
                fontweight="bold" if bold else "normal",
            )  # fmt: skip

    def write_upwards(self, x: float, y: float, text: str, *, size: float = SIZE, align: Align = "center") -> None:
        """Write a line of text that is turned by 90 degrees and reads from bottom to top.

        `align` states whether the text has its start, its middle or its end at `y`.
        """
        self.figure.text(
            (x + 0.36 * size) / self.width, 1 - y / self.height, text, ha=align, va="baseline", rotation=90,
            rotation_mode="anchor", fontsize=size,
        )  # fmt: skip

    def place_of(self, axes: Axes, x: float, y: float) -> tuple[float, float]:
        """Return the position of the data `x` and `y` on the sheet, in points from the left and from the top."""
        across, up = axes.transData.transform((x, y))
        return float(across), self.height - float(up)


def text_height(n_lines: int, size: float = SIZE) -> float:
    """Return the height of a block of lines, in points."""
    return size * (1.17 + (n_lines - 1) * LINE)


def finished(sheet: FigureSheet, name: str, title: str, description: str, data: pd.DataFrame) -> Drawing:
    """Return the content of a sheet as a `Drawing`. Call this function in a `with style():` block.

    Parameters
    ----------
    sheet : FigureSheet
        The complete sheet.
    name : str
        Name of the file, and prefix of every id in the SVG, so that one page can contain several figures.
    title, description : str
        The alternative text: the title of the figure, and its content.
    data : DataFrame
        The numbers of the figure.
    """
    title, description = printable(title), printable(description)
    with warnings.catch_warnings():
        # A character that no font has is text in the SVG. `missing_characters` reports these characters for the PDF.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        svg = _as_svg(sheet.figure, name, title, description)
        buffer = io.BytesIO()
        about = {"Title": title, "Creator": None, "Producer": None, "CreationDate": None}
        with quickly_embedded_fonts():
            sheet.figure.savefig(buffer, format="pdf", metadata=about)
    return Drawing(name, title, description, svg, buffer.getvalue(), data.reset_index(drop=True))


def _as_svg(figure: Figure, name: str, title: str, description: str) -> str:
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata=dict.fromkeys(["Date", "Creator", "Format", "Type"]))
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    fonts = ", ".join([*(f"'{font}'" for font in FONTS), "sans-serif"])
    svg = re.sub(r"font-family: [^;\"]+", f"font-family: {fonts}", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", svg)
    opening, body = svg.split(">", 1)
    labelled = f'role="img" aria-labelledby="{name}-title {name}-desc"'
    words = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    return f"{opening} {labelled}>\n {words}{body}"


def inline(svg: str) -> str:
    """Return an SVG for a web page.

    The colours of text and lines become the CSS variables `--ink`, `--soft` and `--grid`.
    """
    for colour, variable in ((INK, "var(--ink)"), (SOFT, "var(--soft)"), (GRID, "var(--grid)"), (PAPER, "none")):
        svg = svg.replace(colour, variable)
    return svg


def missing_characters(drawing: Drawing) -> str:
    """Return the characters of a figure that no font of this machine has.

    In the PDF, a box replaces each of these characters. In the SVG, the characters remain text. A font such as Noto
    Sans CJK has most of these characters.
    """
    installed = set(fontManager.get_font_names())
    fonts = [get_font(fontManager.findfont(font)) for font in FONTS if font in installed]
    words = "".join(re.findall(r"<text [^>]*>([^<]*)</text>", drawing.svg))
    return "".join(sorted({char for char in words if not any(font.get_char_index(ord(char)) for font in fonts)}))
