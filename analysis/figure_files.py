"""A figure's files: SVG for a page, PDF for a journal, and its numbers."""

from analysis.csv_text import csv_bytes
from analysis.figures import Drawing


def drawing_files(drawing: Drawing) -> dict[str, bytes]:
    """Return a figure's files by their paths within the folder of an analysis."""
    name = f"figures/{drawing.name}"
    return {f"{name}.svg": drawing.svg.encode(), f"{name}.pdf": drawing.pdf, f"{name}.csv": csv_bytes(drawing.data)}
