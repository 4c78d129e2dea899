"""The conditions of each counterbalance group, and the number of analyzed responses in each condition."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle

from analysis.data.columns import PEOPLE
from analysis.figures.accuracy import MOST_LEVELS, cells_of
from analysis.figures.condition_by_subject import ink_on
from analysis.figures.drawing.lettering import LINE, SMALL, distinct_labels, printable, shortened, text_width, wrapped
from analysis.figures.drawing.sheet import SOFT, WIDTH, Drawing, FigureSheet, finished, style, text_height
from analysis.figures.drawing.subject_styles import OKABE_ITO
from analysis.measures.accuracy import kept_trials
from analysis.sentences import count, level_words
from analysis.statistics.factor_levels import level_order

MOST_ROWS = 36
"""Largest number of rows in the figure. With more rows, the figure is not drawn."""

SEVERAL = "#e3e6ea"
"""Colour of a cell with several conditions."""

_ROW, _TOP, _GAP = 2 * SMALL * LINE + 3, 40.0, 2.0
"""Height of a row, space above the rows, and space between groups, in points."""


@dataclass(frozen=True)
class Counterbalance:
    """The conditions of each group, and the numbers of participants and responses."""

    kind: str
    """`human` or `simulated`; empty if no participant has a group."""
    counts: pd.DataFrame
    """One row per cell and condition: `<first factor or item_id>, group, <other factors>, n_participants, n_trials`."""
    row_factor: str
    conditions_by: list[str]
    rows: list[Any]
    groups: list[int]
    condition: pd.Series
    """The name of the condition of each row of `counts`."""
    conditions: list[str]
    participants: dict[int, int]
    """Number of participants in the analysis by group. A participant in several groups is counted in each group."""
    n_participants: int
    """Number of participants in the analysis. Each participant is counted once."""


def counterbalance_counts(trials: pd.DataFrame, factors: Sequence[str]) -> Counterbalance:
    """Count the responses in each condition of each group.

    Parameters
    ----------
    trials : DataFrame
        The tidy table with `excluded_by`. Test trials of people are counted. If there are no people, test trials of
        simulated participants are counted.
    factors : sequence of str
        The first factor defines the rows, such as the scenario. The other factors together define the conditions, such
        as condition and inference level. With one factor, the cells contain only numbers. Without factors, the rows are
        items.
    """
    kept_trials(trials.head(0))  # Refuses a table to which no exclusions were applied.
    row_factor, *conditions_by = list(factors) or ["item_id"]
    columns = dict.fromkeys(["kind", "participant", "group", "phase", "excluded_by", "item_id", *factors])
    is_assigned = (trials["phase"] == "test") & trials["group"].notna() & trials["kind"].isin(list(PEOPLE))
    assigned = trials[list(columns)][is_assigned]
    kind = next((kind for kind in PEOPLE if (assigned["kind"] == kind).any()), "")
    assigned = assigned[assigned["kind"] == kind]
    by = [row_factor, "group", *conditions_by]
    kept = kept_trials(assigned)
    responses = kept.groupby(by, dropna=False).agg(
        n_participants=("participant", "nunique"), n_trials=("item_id", "size")
    )
    counts = assigned[by].drop_duplicates().merge(responses.reset_index(), how="left", on=by)
    counts = counts.fillna({"n_participants": 0, "n_trials": 0})
    counts = counts.astype({"group": "int64", "n_participants": "int64", "n_trials": "int64"})
    keys = [[level_order(level) for level in row] for row in counts[by].itertuples(index=False)]
    counts = counts.iloc[sorted(range(len(keys)), key=keys.__getitem__)].reset_index(drop=True)
    condition, conditions = pd.Series("", index=counts.index), [""]
    if conditions_by:
        levels = counts[conditions_by]
        condition = levels.map(level_words).agg("·".join, axis=1)
        keys = [[level_order(level) for level in row] for row in levels.itertuples(index=False)]
        conditions = list(dict.fromkeys(condition.iloc[sorted(range(len(keys)), key=keys.__getitem__)]))
    groups = sorted(counts["group"].unique().tolist())
    participants = kept.groupby("group")["participant"].nunique()
    return Counterbalance(
        kind, counts, row_factor, conditions_by, counts[row_factor].drop_duplicates().tolist(), groups, condition,
        conditions, {group: int(participants.get(group, 0)) for group in groups}, int(kept["participant"].nunique()),
    )  # fmt: skip


def counterbalance_matrix(matrix: Counterbalance, name: str) -> Drawing | None:
    """Draw the conditions of each group: one row per level of the first factor, one column per group.

    A cell is divided among its conditions. Each condition has a colour, its name, and the number of responses in the
    analysis. An assigned condition without responses has a 0. If the names do not fit, letters replace the names, and a
    legend explains the letters.

    Parameters
    ----------
    matrix : Counterbalance
        The numbers of the figure, from `counterbalance_counts`.
    name : str
        The name of the figure's files, without the file extension.

    Returns
    -------
    Drawing or None
        None if no participant has a group, or if there are more than `MOST_ROWS` rows or `MOST_LEVELS` groups. The data
        of the figure are the table `counts`.
    """
    if matrix.counts.empty or len(matrix.rows) > MOST_ROWS or len(matrix.groups) > MOST_LEVELS:
        return None
    with style():
        sheet = _draw(matrix)
        title = f"Counterbalance groups and their conditions ({PEOPLE[matrix.kind]})"
        return finished(sheet, name, title, _words(matrix), matrix.counts)


def _draw(matrix: Counterbalance) -> FigureSheet:
    labels = distinct_labels([level_words(row) for row in matrix.rows], 110)
    heads = ["group", "participants", shortened(matrix.row_factor, 110, bold=True)]
    widths = [
        *(text_width(line) for lines in labels for line in lines),
        *(text_width(head, bold=True) for head in heads),
    ]
    left = max(widths) + 12
    names = matrix.conditions
    widest = max(text_width(name, SMALL) for name in [*names, *matrix.counts["n_trials"].map(str)]) + 2
    cells = [rows for _, rows in matrix.counts.groupby([matrix.row_factor, "group"], dropna=False)]
    room = (max(widest * max(map(len, cells)), 20.0) + _GAP) * len(matrix.groups)
    cell = (WIDTH - left - 4) / len(matrix.groups)
    fits = left + room + 4 <= WIDTH
    codes = names if fits else [_letters(place) for place in range(len(names))]
    together = [rows for rows in cells if not _have_room(rows, codes, cell - _GAP)]
    what = " · ".join(printable(factor) for factor in matrix.conditions_by)
    key = "Number in each cell: responses in the analysis."
    if matrix.conditions_by:
        key = f"In each cell: {what}, and the number of responses in the analysis."
    if not fits and len(together) < len(cells):
        key += " " + "; ".join(f"{code}: {said}" for code, said in zip(codes, names, strict=True)) + "."
    if together:
        key += " ×: several conditions together."
    note = wrapped(key, WIDTH - 8, SMALL, most_lines=8)
    sheet = FigureSheet(WIDTH, _TOP + _ROW * len(matrix.rows) + text_height(len(note), SMALL) + 12)
    paper = sheet.paper()
    for place, head in enumerate(heads):
        sheet.write(left - 6, 8 + 11 * place, head, align="right", bold=True)
    for place, group in enumerate(matrix.groups):
        middle = left + cell * place + (cell - _GAP) / 2
        sheet.write(middle, 8, str(group), align="center", size=SMALL)
        sheet.write(middle, 19, str(matrix.participants[group]), align="center", size=SMALL)
    for row, (level, lines) in enumerate(zip(matrix.rows, labels, strict=True)):
        y = _TOP + _ROW * row
        sheet.write(left - 6, y + _ROW / 2, lines, align="right")
        of_row = cells_of(matrix.counts, matrix.row_factor, level)
        for column, group in enumerate(matrix.groups):
            seen = of_row[of_row["group"] == group]
            _cell(sheet, paper, matrix, codes, seen, (left + cell * column, y, cell - _GAP))
    sheet.write(4, sheet.height - 4, note, at="bottom", size=SMALL, colour=SOFT)
    return sheet


def _letters(place: int) -> str:
    """Return the letters for a position: a for 0, b for 1, ..., z for 25, aa for 26, and so on."""
    return (_letters(place // 26 - 1) if place >= 26 else "") + ascii_lowercase[place % 26]


def _have_room(seen: pd.DataFrame, codes: Sequence[str], width: float) -> bool:
    """Return True if the conditions of a cell fit side by side. `codes` has the names or letters of all conditions."""
    return max(text_width(text, SMALL) for text in [*codes, *seen["n_trials"].map(str)]) <= width / len(seen) - 1


def _cell(
    sheet: FigureSheet, paper: Axes, matrix: Counterbalance, codes: Sequence[str], seen: pd.DataFrame,
    box: tuple[float, float, float],
) -> None:  # fmt: skip
    x, y, width = box
    if seen.empty:
        sheet.write(x + width / 2, y + _ROW / 2, "–", align="center", size=SMALL, colour=SOFT)
        return
    strip = width / len(seen)
    n_trials = seen["n_trials"].tolist()
    places = [matrix.conditions.index(matrix.condition[at]) for at in seen.index]
    words, fills = [codes[place] for place in places], [tint(place) for place in places]
    if not _have_room(seen, codes, width):
        strip, n_trials, words = width, [sum(n_trials)], [f"×{len(seen)}"]
        fills = [SEVERAL]
    for at, (n, fill, said) in enumerate(zip(n_trials, fills, words, strict=True)):
        left = x + strip * at
        paper.add_patch(Rectangle((left + 0.4, y + 0.4), strip - 0.8, _ROW - 0.8, facecolor=fill, edgecolor="none"))
        lines = [said, str(n)] if said else [str(n)]
        sheet.write(left + strip / 2, y + _ROW / 2, lines, align="center", size=SMALL, colour=ink_on(fill))


def tint(place: int) -> str:
    """Return a light colour for the condition at this position in the list of conditions. Colours repeat."""
    strength = 0.35 if (place // len(OKABE_ITO)) % 2 == 0 else 0.7
    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(OKABE_ITO[place % len(OKABE_ITO)]))
    return to_hex((red, green, blue))


def _words(matrix: Counterbalance) -> str:
    groups = ", ".join(f"group {group}: {n}" for group, n in matrix.participants.items())
    totals = matrix.counts.groupby([matrix.row_factor, *matrix.conditions_by], dropna=False)["n_trials"].sum()
    what = " and ".join([matrix.row_factor, *matrix.conditions_by])
    each = f"Each combination of {what}" if matrix.conditions_by else f"Each level of {what}"
    n_empty = int((matrix.counts["n_trials"] == 0).sum())
    if sum(matrix.participants.values()) > matrix.n_participants:
        groups += "; a participant in several groups is counted in each group"
    return (
        f"{count(matrix.n_participants, 'participant')} in the analysis ({groups}). {each} has {totals.min()} to "
        f"{totals.max()} responses over all groups. {count(n_empty, 'assigned cell has', 'assigned cells have')} "
        "no response."
    )
