"""The legend above the panels of a figure: the marker of each subject, and the line at chance."""

from dataclasses import dataclass

from analysis.figures.drawing.lettering import distinct_labels, text_width
from analysis.figures.drawing.sheet import SOFT, FigureSheet
from analysis.figures.drawing.subject_styles import Look, Subject, draw_marker

CHANCE_DASHES = (0, (4, 3))


@dataclass(frozen=True)
class KeyEntry:
    """One entry of a legend."""

    row: int
    x: float
    words: str
    subject: Subject | None
    """The subject of the entry; None for the line at chance."""


def key_of(subjects: list[Subject], chance: str, width: float) -> list[KeyEntry]:
    """Return the entries of the legend, row by row."""
    entries: list[KeyEntry] = []
    row, x = 0, 4.0
    labels = [line for (line,) in distinct_labels([name for _, name in subjects], 200, most_lines=1)]
    for subject, words in [*zip(subjects, labels, strict=True), (None, chance)]:
        room = text_width(words) + (24 if subject else 33)
        if x + room > width and x > 4:
            row, x = row + 1, 4.0
        entries.append(KeyEntry(row, x, words, subject))
        x += room
    return entries


def draw_key(sheet: FigureSheet, key: list[KeyEntry], look: dict[Subject, Look]) -> None:
    """Draw the legend at the top of a sheet."""
    axes = sheet.paper()
    for entry in key:
        y = 8 + 12 * entry.row
        if entry.subject is None:
            axes.plot([entry.x, entry.x + 15], [y, y], color=SOFT, linestyle=CHANCE_DASHES, linewidth=0.9)
            sheet.write(entry.x + 18, y, entry.words)
        else:
            draw_marker(axes, entry.x + 2, y, look[entry.subject])
            sheet.write(entry.x + 9, y, entry.words)
