"""Accuracy by item, of people and of each model: one panel for each model."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from analysis.figures.accuracy import PERCENT_LABELS, PERCENT_TICKS
from analysis.figures.drawing.axes import label_x, label_y
from analysis.figures.drawing.lettering import SMALL, printable, shortened, wrapped
from analysis.figures.drawing.sheet import (
    INK,
    SOFT,
    WIDTH,
    Drawing,
    FigureSheet,
    finished,
    style,
    text_height,
)
from analysis.figures.drawing.subject_names import parts_of
from analysis.figures.drawing.subject_styles import BLUE, Look, Subject, style_of
from analysis.sentences import count, percent
from analysis.statistics.agreement_measures import pearson
from analysis.statistics.intervals import wilson

MOST_INTERVALS = 30
"""Largest number of points with intervals. With more points, intervals would hide the points, so no intervals are
drawn. The data of the figure have all intervals.
"""
MOST_SCATTERS = 12
"""Largest number of panels. Further models are only in the table of items."""
MOST_ROWS = 4
"""Largest number of different accuracies of a model for which each accuracy is a row of bars. With two runs, the
accuracies are 0, 50 and 100 %, and points would overlap too much.
"""
MARGIN = 0.07
"""Length by which the axes extend below 0 and above 1, so that large discs do not cover the labels."""
_BINS = np.linspace(0, 1, 11)
_N_COLUMNS, _LEFT, _RIGHT, _ABOVE, _SIDE, _BELOW = 3, 36.0, 4.0, 36.0, 90.0, 38.0
"""The number of panels side by side. In points: the space left of, right of and above a panel, its height, and the
space below.
"""


class _Pair(NamedTuple):
    """The items of people and one model."""

    people: str
    model: str
    items: pd.DataFrame
    """The items with both accuracies, and their intervals."""
    n_without: int
    look: Look
    correlation: str
    """Pearson's correlation as a short text for the heading of the panel."""
    words: str
    """The correlation as a sentence."""


def item_scatter(
    items: pd.DataFrame, name: str, *, confidence: float = 0.95, styles: Mapping[Subject, Look] | None = None
) -> Drawing | None:
    """Draw people's accuracy and a model's accuracy at each item, in one panel for each model.

    If a model has at most `MOST_ROWS` different accuracies, as with a single run, the panel has one row for each of
    these accuracies. The bars of a row are a histogram of people's accuracies at the items in this row, and a vertical
    line is their mean. Otherwise, the panel is a scatter plot with the line of equality. Items at the same position are
    one disc. The area of the disc is proportional to the number of items. Positions are not jittered. If there are at
    most `MOST_INTERVALS` positions, Wilson's intervals are drawn for accuracies that come from at least two responses.
    At a position with several items, the widest interval is drawn.

    Parameters
    ----------
    items : DataFrame
        One row per item and pair of subjects: `item_id, people, model, accuracy_people, n_people, accuracy_model,
        n_model`. `n_people` and `n_model` are numbers of responses. An item that lacks one of the two accuracies is
        not drawn. The alternative text states the number of such items.
    name : str
        The name of the figure's files, without the file extension.
    confidence : float
        Confidence level of the intervals, such as 0.95.
    styles : dict, optional
        The styles of the subjects (`looks`). By default, all models are blue.

    Returns
    -------
    Drawing or None
        None if no item has both accuracies. Only the first `MOST_SCATTERS` pairs of subjects are drawn. The data of
        the figure have the columns of `items` and the intervals.
    """
    pairs = []
    for (people, model), own in items.groupby(["people", "model"], sort=False):
        both = own.dropna(subset=["accuracy_people", "accuracy_model"])
        if len(both):
            data = both.assign(**_intervals(both, "people", confidence), **_intervals(both, "model", confidence))
            look = style_of(str(model), styles or {}) or Look("s", BLUE, True, ())
            pairs.append(
                _Pair(
                    printable(people),
                    printable(model),
                    data,
                    len(own) - len(both),
                    look,
                    *_correlation(data, confidence),
                )
            )
    if not pairs:
        return None
    drawn = pairs[:MOST_SCATTERS]
    with style():
        sheet = _draw(drawn, confidence)
        title = f"Accuracy of {' and of '.join(dict.fromkeys(pair.people for pair in pairs))} and of models, by item"
        words = " ".join(_words(pair) for pair in drawn)
        return finished(sheet, name, title, words, pd.concat([pair.items for pair in drawn]))


def _intervals(items: pd.DataFrame, who: str, confidence: float) -> dict[str, list[float]]:
    pairs = list(zip(items[f"accuracy_{who}"], items[f"n_{who}"], strict=True))
    nan = float("nan")
    found = {(share, n): wilson(share * n, n, confidence) if n > 0 else (nan, nan) for share, n in set(pairs)}
    bounds = [found[pair] for pair in pairs]
    return {f"ci_low_{who}": [low for low, _ in bounds], f"ci_high_{who}": [high for _, high in bounds]}


def _has_rows(pair: _Pair) -> bool:
    return pair.items["accuracy_model"].nunique() <= MOST_ROWS and pair.items["n_model"].max() < MOST_ROWS


def _draw(pairs: Sequence[_Pair], confidence: float) -> FigureSheet:
    scatters = [pair.items for pair in pairs if not _has_rows(pair)]
    rows = [
        "Bars: items by participants' accuracy, for each accuracy of the model. Vertical line: mean. At the right: "
        "number of items."
    ]
    words = [*(rows if len(scatters) < len(pairs) else []), *(_scatter_notes(scatters, confidence))]
    note = wrapped(" ".join(words), WIDTH - 8, SMALL, most_lines=6)
    several = len({pair.people for pair in pairs}) > 1
    above = _ABOVE + (SMALL * 1.3 if several else 0)
    n_rows = -(-len(pairs) // _N_COLUMNS)
    height = above + _SIDE + _BELOW
    sheet = FigureSheet(WIDTH, n_rows * height + text_height(len(note), SMALL) + 6)
    slot = WIDTH / _N_COLUMNS
    for place, pair in enumerate(pairs):
        row, column = divmod(place, _N_COLUMNS)
        left, top = column * slot + _LEFT, row * height + above
        has_rows = _has_rows(pair)
        side = slot - _LEFT - _RIGHT - (20 if has_rows else 6)
        model, condition = parts_of(pair.model, pair.look.model)
        room = slot - 8
        lines = [condition, *([f"with {pair.people}"] if several else []), pair.correlation]
        sheet.write(column * slot + 4, top - above + 2, shortened(model, room, bold=True), bold=True, at="top")
        said = [shortened(line, room, SMALL) for line in lines if line]
        sheet.write(column * slot + 4, top - above + 13, said, at="top", size=SMALL)
        axes = sheet.axes(left, top, side, _SIDE)
        axes.set_xlim(-MARGIN, 1 + MARGIN)
        (_draw_rows if has_rows else _draw_discs)(sheet, axes, pair)
        if column == 0:
            sheet.write_upwards(9, top + _SIDE / 2, "model: percent correct", size=SMALL)
        x_title = [shortened(f"{pair.people}:", slot - _LEFT / 2, SMALL), "percent correct"]
        label_x(sheet, axes, PERCENT_TICKS, PERCENT_LABELS)
        sheet.write(left + side / 2, top + _SIDE + 13, x_title, align="center", at="top", size=SMALL)
    sheet.write(4, sheet.height - 3, note, at="bottom", size=SMALL, colour=SOFT)
    return sheet


def _scatter_notes(scatters: Sequence[pd.DataFrame], confidence: float) -> list[str]:
    if not scatters:
        return []
    several = any((items[["n_people", "n_model"]] > 1).to_numpy().any() for items in scatters)
    together = any(items.duplicated(["accuracy_people", "accuracy_model"]).any() for items in scatters)
    drawn = several and any(len(_places(items)) <= MOST_INTERVALS for items in scatters)
    lines = (
        f"Lines: {percent(confidence, 0)} CIs (Wilson) of items with several responses; for items at the same "
        "position, the widest CI."
    )
    return [
        *(["Area of a disc: number of items at the same position."] if together else []),
        *([lines] if drawn else []),
        "Dashed: equal accuracies.",
    ]


def _places(items: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each position of items, with the number of items and the widest intervals."""
    return items.groupby(["accuracy_people", "accuracy_model"], as_index=False).agg(
        n_items=("item_id", "size"),
        **{column: (column, "min") for column in ("n_people", "n_model", "ci_low_people", "ci_low_model")},
        **{column: (column, "max") for column in ("ci_high_people", "ci_high_model")},
    )


def _draw_rows(sheet: FigureSheet, axes: Axes, pair: _Pair) -> None:
    """Draw a histogram of people's accuracies at the items, in one row for each accuracy of the model."""
    levels = sorted(pair.items["accuracy_model"].unique())
    own = [pair.items.loc[pair.items["accuracy_model"] == level, "accuracy_people"].to_numpy() for level in levels]
    shares = [np.histogram(values, _BINS)[0] / len(values) for values in own]
    highest = max(share.max() for share in shares)
    axes.set_ylim(0, len(levels))
    for place, (values, share) in enumerate(zip(own, shares, strict=True)):
        for left, height in zip(_BINS[:-1], 0.8 * share / highest, strict=True):
            if height:
                box = Rectangle(
                    (left, place), _BINS[1], height, facecolor=pair.look.colour, edgecolor="none", alpha=0.5
                )
                axes.add_patch(box)
        axes.plot([-MARGIN, 1 + MARGIN], [place, place], color=SOFT, linewidth=0.7)
        axes.plot([values.mean()] * 2, [place, place + 0.9], color=INK, linewidth=1.4)
        x, y = sheet.place_of(axes, 1 + MARGIN, place + 0.4)
        sheet.write(x + 3, y, str(len(values)), size=SMALL)
    label_y(sheet, axes, [place + 0.4 for place in range(len(levels))], [f"{100 * level:.0f}" for level in levels])


def _draw_discs(sheet: FigureSheet, axes: Axes, pair: _Pair) -> None:
    """Draw a scatter plot of the items, with the line of equality."""
    places = _places(pair.items)
    colour = pair.look.colour
    axes.set_ylim(-MARGIN, 1 + MARGIN)
    axes.plot([0, 1], [0, 1], color=SOFT, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    for place in places.to_dict("records") if len(places) <= MOST_INTERVALS else []:
        x, y = place["accuracy_people"], place["accuracy_model"]
        if place["n_people"] > 1:
            axes.plot([place["ci_low_people"], place["ci_high_people"]], [y, y], color=colour, linewidth=0.5, alpha=0.5)
        if place["n_model"] > 1:
            axes.plot([x, x], [place["ci_low_model"], place["ci_high_model"]], color=colour, linewidth=0.5, alpha=0.5)
    area = places["n_items"] * min(10.0, 200 / places["n_items"].max())
    axes.scatter(
        places["accuracy_people"], places["accuracy_model"], s=area, color=colour, alpha=0.6, linewidths=0,
        clip_on=False, zorder=3,
    )  # fmt: skip
    label_y(sheet, axes, PERCENT_TICKS, PERCENT_LABELS)


def _correlation(items: pd.DataFrame, confidence: float) -> tuple[str, str]:
    """Return Pearson's correlation with its interval as a short text for a heading, and as a sentence.

    If there is no correlation, the sentence states the reason.
    """
    people, model = items["accuracy_people"], items["accuracy_model"]
    n_items = count(len(items), "item")
    if len(items) < 3:
        return "no correlation", f"{n_items}: too few for a correlation."
    if people.nunique() == 1 or model.nunique() == 1:
        which = "both accuracies are" if people.nunique() == model.nunique() else "one accuracy is"
        return "no correlation", f"{n_items}; no correlation, because {which} constant."
    found = pearson(people.to_numpy(dtype=float), model.to_numpy(dtype=float), confidence)
    value = _two_decimals(found.value)
    short, words = f"r = {value}", f"{n_items}; Pearson's r = {value}"
    if found.interval is not None:
        bounds = f"[{_two_decimals(found.interval.low)}, {_two_decimals(found.interval.high)}]"
        short, words = f"{short} {bounds}", f"{words}, {percent(confidence, 0)} CI {bounds}"
    return short.replace("-", "−"), f"{words}.".replace("-", "−")


def _two_decimals(value: float) -> str:
    """Return a correlation with two decimals, and 0.00 instead of -0.00."""
    return f"{round(value, 2) + 0.0:.2f}"


def _words(pair: _Pair) -> str:
    people, model = pair.items["accuracy_people"], pair.items["accuracy_model"]
    n_equal = len(people) - int((people > model).sum()) - int((people < model).sum())
    note = (
        f" Not drawn: {count(pair.n_without, 'item')} that lack the accuracy of one or both subjects."
        if pair.n_without
        else ""
    )
    return (
        f"{pair.people} and {pair.model}: {pair.words} Items with a higher accuracy "
        f"of {pair.people}: {int((people > model).sum())}; of {pair.model}: {int((people < model).sum())}; with equal "
        f"accuracies: {n_equal}.{note}"
    )
