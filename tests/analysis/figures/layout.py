"""The layout of a rendered figure: position, size and contrast of its texts."""

import re
import warnings
from html import unescape

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

SMALLEST = 7.0
WIDTH = 140
PAPER = "#ffffff"


def faults(figure):
    """Return the unreadable texts: texts that overlap, are cut off, are too small, or have too little contrast."""
    figure.set_dpi(288)  # so that hinting, which vector graphics do not have, moves nothing
    found, placed = [], _boxes(figure)
    boxes = _corners(box for _, box in placed)
    for first, (one, box) in enumerate(placed):
        x0, y0, x1, y1 = boxes[first + 1 :].T
        across = np.minimum(x1, box.x1) - np.maximum(x0, box.x0)
        along = np.minimum(y1, box.y1) - np.maximum(y0, box.y0)
        for second in np.flatnonzero((across > 1) & (along > 1)):
            other, _ = placed[first + 1 + second]
            found.append(f"{one.get_text()!r} meets {other.get_text()!r}")
    pages = {figure.patch, *(axes.patch for axes in figure.axes)}
    patches = [patch for patch in figure.findobj(Rectangle) if patch not in pages and patch.get_facecolor()[3] == 1]
    left, bottom, right, top = _corners(patch.get_window_extent() for patch in patches).T
    for text, box in placed:
        if box.x0 < -1 or box.y0 < -1 or box.x1 > figure.bbox.x1 + 1 or box.y1 > figure.bbox.y1 + 1:
            found.append(f"{text.get_text()!r} is cut off: {box.extents}, in {figure.bbox.extents}")
        if text.get_fontsize() < SMALLEST:
            found.append(f"{text.get_text()!r} is {text.get_fontsize()} pt")
        x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
        under = np.flatnonzero((left <= x) & (x <= right) & (bottom <= y) & (y <= top))
        paper = patches[under[-1]].get_facecolor()[:3] if len(under) else PAPER
        if contrast(text.get_color(), paper) < 4.5:
            found.append(f"{text.get_text()!r} is too faint")
    if abs(figure.get_figwidth() * 25.4 - WIDTH) > 0.01:
        found.append(f"the figure is {figure.get_figwidth() * 25.4} mm wide")
    return found


def _corners(boxes):
    """Return one row with left, bottom, right and top of each box."""
    return np.array([(box.xmin, box.ymin, box.xmax, box.ymax) for box in boxes]).reshape(-1, 4)


def _boxes(figure):
    """Return every text of a figure with its bounding box in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        return [(text, text.get_window_extent(renderer))
                for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]  # fmt: skip


def watch(monkeypatch):
    """Return a list to which every saved figure is added; PDFs are not made, because they are slow."""
    figures = []
    savefig = Figure.savefig

    def remember(self, file, **kwargs):
        if kwargs["format"] == "pdf":
            file.write(b"%PDF")
        else:
            figures.append(self)
            savefig(self, file, **kwargs)

    monkeypatch.setattr(Figure, "savefig", remember)
    return figures


def contrast(one, other):
    """Return the contrast of two colours (WCAG 2.2), from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour):
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def texts(drawing):
    """Return all texts of a drawing in the order of the SVG."""
    return [unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", drawing.svg)]


def segments(axes):
    """Return the straight lines of axes as (x, y, x, y) in data coordinates, rounded, with sorted ends."""
    lines = [line.get_xydata() for line in axes.get_lines() if len(line.get_xydata()) == 2]
    return {tuple(round(float(value), 6) for value in points.ravel()) for points in lines}


def points(axes):
    """Return the markers of axes as (x, y) in data coordinates, rounded."""
    lines = [line.get_xydata() for line in axes.get_lines() if len(line.get_xydata()) == 1]
    return {tuple(round(float(value), 6) for value in points[0]) for points in lines}


def height_of(figure, words):
    """Return the vertical position of a text in pixels: the middle of its small letters."""
    (text,) = [text for text in figure.findobj(Text) if text.get_text() == words]
    _, y = text.get_transform().transform(text.get_position())
    return y + 0.36 * text.get_fontsize() * figure.dpi / 72
