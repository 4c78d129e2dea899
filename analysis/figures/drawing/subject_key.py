"""The legend above the panels of a figure: the marker of each subject, and the line at chance."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.figures.drawing.lettering import distinct_labels, shortened, text_width
from analysis.figures.drawing.sheet import SOFT, WIDTH, FigureSheet
from analysis.figures.drawing.subject_styles import Look, Subject, draw_marker, parts_in

CHANCE_DASHES = (0, (4, 3))


@dataclass(frozen=True)
class KeyEntry:
    """One entry of a legend."""

    row: int
    x: float
    words: str
    subject: Subject | None
    """The subject of the entry. None for the line at chance, and for the name of a model with several conditions."""
    is_chance: bool = False


def key_of(subjects: list[Subject], chance: str | None, styles: Mapping[Subject, Look]) -> list[KeyEntry]:
    """Return the entries of the legend, row by row.

    If a model has several conditions, its name comes once, before them. `chance` has the words for the dashed line, if
    there is a line.
    """
    shown = [_words(place, subjects, styles) for place in range(len(subjects))]
    labels = [line for (line,) in distinct_labels([words for _, words in shown], 200, most_lines=1)]
    named: list[tuple[str, str, Subject | None]] = [
        (model, words, subject) for (model, _), words, subject in zip(shown, labels, subjects, strict=True)
    ]
    entries: list[KeyEntry] = []
    row, x = 0, 4.0
    for model, words, subject in [*named, *([] if chance is None else [("", chance, None)])]:
        heading = shortened(f"{model}:", 150) if model else ""
        before = text_width(heading) + 6 if heading else 0.0
        room = before + text_width(words) + (24 if subject else 33)
        if x + room > WIDTH and x > 4:
            row, x = row + 1, 4.0
        if heading:
            entries.append(KeyEntry(row, x, heading, None))
        entries.append(KeyEntry(row, x + before, words, subject, is_chance=subject is None))
        x += room
    return entries


def _words(place: int, subjects: list[Subject], styles: Mapping[Subject, Look]) -> tuple[str, str]:
    """Return the name of the model to write before this subject (or an empty text), and the words beside the marker."""
    names = [subject for _, subject in subjects]
    model, condition = parts_in(styles, names[place])
    if not condition:
        return "", names[place]
    is_first = place == 0 or parts_in(styles, names[place - 1])[0] != model
    return model if is_first else "", condition


def draw_key(sheet: FigureSheet, key: list[KeyEntry], styles: Mapping[Subject, Look]) -> None:
    """Draw the legend at the top of a sheet."""
    axes = sheet.paper()
    for entry in key:
        y = 8 + 12 * entry.row
        if entry.is_chance:
            axes.plot([entry.x, entry.x + 15], [y, y], color=SOFT, linestyle=CHANCE_DASHES, linewidth=0.9)
            sheet.write(entry.x + 18, y, entry.words)
        elif entry.subject is None:
            sheet.write(entry.x, y, entry.words)
        else:
            draw_marker(axes, entry.x + 2, y, styles[entry.subject])
            sheet.write(entry.x + 9, y, entry.words)
