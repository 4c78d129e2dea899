"""A table of conditions and subjects. Each cell has an accuracy, and its colour shows the distance from chance."""

import math
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle

from analysis.figures.accuracy import MOST_IN_WORDS, MOST_LEVELS, cells_of, estimate_words
from analysis.figures.drawing.lettering import LINE, SIZE, SMALL, distinct_labels, shortened, wrapped
from analysis.figures.drawing.sheet import SOFT, WIDTH, Drawing, FigureSheet, finished, style, text_height
from analysis.figures.drawing.subject_names import SubjectNames
from analysis.figures.drawing.subject_styles import BLUE, VERMILLION, Look, Subject, parts_in, subjects_of
from analysis.sentences import level_words, percent
from analysis.statistics.factor_levels import level_order

ON_LIGHT, ON_DARK = "#010101", "#fefefe"
"""Text colours on light and on dark cells. The colours of text and cell do not depend on the background of the page.
"""
AT_CHANCE = "#fcfcfc"


def condition_by_subject(
    table: pd.DataFrame,
    condition: str,
    name: str,
    chance: float,
    confidence: float,
    *,
    styles: Mapping[Subject, Look] | None = None,
) -> Drawing | None:
    """Draw one row per subject and one column per condition, with the accuracy and its interval in each cell.

    Blue cells are above chance, and orange cells are below chance. A stronger colour means a greater distance from
    chance. The colours repeat the numbers, so a grey print has the same information. Columns that do not fit are drawn
    in a second band below the first band.

    Parameters
    ----------
    table : DataFrame
        A table of `accuracy` for `condition`. A missing accuracy is drawn as an empty cell.
    condition : str
        The factor whose levels are the columns.
    name : str
        The name of the figure's files, without the file extension.
    chance : float
        Mean chance level of the trials.
    confidence : float
        Confidence level of the intervals, such as 0.95.
    styles : dict, optional
        The styles of the subjects (`looks`), which have the names of the models.

    Returns
    -------
    Drawing or None
        None if the table is empty, or has more than `MOST_LEVELS` conditions or subjects.
    """
    subjects, levels = subjects_of(table), sorted(table[condition].drop_duplicates().tolist(), key=level_order)
    if table.empty or max(len(subjects), len(levels)) > MOST_LEVELS:
        return None
    names = SubjectNames.of([parts_in(styles or {}, subject) for _, subject in subjects], 160, most_lines=2)
    left = max(names.width, 40.0) + 12
    n_bands = -(-len(levels) // int((WIDTH - left) // _LEAST))
    n_columns = -(-len(levels) // n_bands)
    cell = min((WIDTH - left - 2) / n_columns, 80.0)
    heads = distinct_labels([level_words(level) for level in levels], cell - 5, SMALL, most_lines=4)
    head = 6 + text_height(max(map(len, heads)), SMALL)
    note = wrapped(
        f"Percent correct and {percent(confidence, 0)} CI. White: at chance ({percent(chance)}); "
        "blue: above; orange: below.", WIDTH - 8, SMALL, most_lines=3,
    )  # fmt: skip
    band_height = head + _ROW * len(subjects) + 8
    with style():
        sheet = FigureSheet(WIDTH, n_bands * band_height + text_height(len(note), SMALL) + 6)
        paper = sheet.paper()
        for band in range(n_bands):
            top = band * band_height + head
            sheet.write(4, top - 3, shortened(condition, left - 10, bold=True), bold=True, at="bottom")
            for row in range(len(subjects)):
                names.write(sheet, 4, top + _ROW * (row + 0.5), row)
            for column, place in enumerate(range(band * n_columns, min((band + 1) * n_columns, len(levels)))):
                x = left + cell * column
                sheet.write(x + cell / 2, top - 3, heads[place], align="center", at="bottom", size=SMALL)
                own = cells_of(table, condition, levels[place])
                for row, (kind, subject) in enumerate(subjects):
                    found = own[(own["kind"] == kind) & (own["subject"] == subject)]
                    _cell(sheet, paper, found, (x, top + _ROW * row, cell, _ROW), chance)
        sheet.write(4, sheet.height - 3, note, at="bottom", size=SMALL, colour=SOFT)
        title = f"Accuracy by {condition} and subject"
        return finished(sheet, name, title, _words(table, condition, chance, confidence), table)


_LEAST, _ROW = 36.0, 2 * SIZE * LINE + 3
"""Smallest width of a cell, and height of a cell, in points."""


def _cell(
    sheet: FigureSheet, paper: Axes, found: pd.DataFrame, box: tuple[float, float, float, float], chance: float
) -> None:
    x, y, width, height = box
    if found.empty or found["accuracy"].isna().all():
        sheet.write(x + width / 2, y + height / 2, "–", align="center", colour=SOFT)
        return
    accuracy, low, high = (float(value) for value in found[["accuracy", "ci_low", "ci_high"]].iloc[0])
    fill = fill_of(accuracy, chance)
    paper.add_patch(Rectangle((x + 0.5, y + 0.5), width - 1, height - 1, facecolor=fill, edgecolor="none"))
    has_interval = math.isfinite(low) and math.isfinite(high)
    interval = f"{100 * low:.0f}–{100 * high:.0f}" if has_interval else "no CI"
    for text, middle, size in ((f"{100 * accuracy:.0f}", 0.3, SIZE), (interval, 0.73, SMALL)):
        line = shortened(text, width - 2, size)
        sheet.write(x + width / 2, y + height * middle, line, align="center", size=size, colour=ink_on(fill))


def fill_of(accuracy: float, chance: float) -> str:
    """Return the colour of an accuracy: white at chance, blue at 1, orange at 0, and mixtures between these values."""
    end, least = (BLUE, 1.0) if accuracy >= chance else (VERMILLION, 0.0)
    share = 0.0 if accuracy == chance else abs(accuracy - chance) / abs(least - chance)
    red, green, blue = (a + 0.75 * share * (b - a) for a, b in zip(to_rgb(AT_CHANCE), to_rgb(end), strict=True))
    return to_hex((red, green, blue))


def ink_on(fill: str) -> str:
    """Return the text colour with the greater contrast to a fill. The contrast is at least 4.5 to 1 (WCAG 2.2)."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(fill)]
    luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    return ON_LIGHT if luminance > 0.179 else ON_DARK


def _words(table: pd.DataFrame, condition: str, chance: float, confidence: float) -> str:
    rows = table.to_dict("records")
    if len(rows) > MOST_IN_WORDS:
        ordered = table.dropna(subset="accuracy").sort_values("accuracy", kind="stable").to_dict("records")
        rows = [*ordered[:1], *ordered[-1:]]
    which = "" if len(rows) == len(table) else "The lowest and the highest: "
    said = [f"{row['subject']}, {condition} {level_words(row[condition])}: {estimate_words(row)}" for row in rows]
    return f"Chance is {percent(chance)}; {percent(confidence, 0)} CIs are in parentheses. {which}{'; '.join(said)}."
