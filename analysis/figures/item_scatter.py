"""Accuracy by item, of people and of a model."""

import pandas as pd

from analysis.figures.accuracy import PERCENT_LABELS, PERCENT_TICKS
from analysis.figures.drawing.axes import label_x, label_y, room_for_y
from analysis.figures.drawing.lettering import SMALL, printable, shortened, wrapped
from analysis.figures.drawing.sheet import SINGLE, SOFT, Drawing, FigureSheet, finished, style, text_height
from analysis.figures.drawing.subject_styles import BLUE, SKY
from analysis.sentences import count, percent
from analysis.statistics.agreement_measures import pearson
from analysis.statistics.intervals import wilson

MOST_INTERVALS = 30
"""Greatest number of points with intervals. For more points, no intervals are drawn, because they would hide the
points. The data of the figure have all intervals."""

MOST_SCATTERS = 12
"""Greatest number of scatter plots in a report. The table of items has all models."""
MARGIN = 0.07
"""Space outside 0 and 1, so that the largest discs cover no label of an axis."""


def item_scatter(
    items: pd.DataFrame, name: str, people: str, model: str, *, confidence: float = 0.95
) -> Drawing | None:
    """Draw a scatter plot of the accuracy of people and of a model at each item, with the line of equality.

    Items at the same position are drawn as one disc. The area of the disc is proportional to the number of items.
    Positions are not jittered. If there are at most `MOST_INTERVALS` positions, Wilson's intervals are drawn for
    accuracies of more than one response. At a position with several items, the widest interval is drawn.

    Parameters
    ----------
    items : DataFrame
        One row per item: `item_id, accuracy_people, n_people, accuracy_model, n_model`. `n_people` and `n_model` are
        numbers of responses. An item without one of the two accuracies is not drawn. The description states the number
        of items that are not drawn.
    name : str
        The name of the figure's files, without the ending.
    people, model : str
        Names of the subjects.
    confidence : float
        Coverage of the intervals.

    Returns
    -------
    Drawing or None
        None if no item has both accuracies. The data of the figure have the columns of `items` and the intervals.
    """
    both = items.dropna(subset=["accuracy_people", "accuracy_model"])
    if both.empty:
        return None
    data = both.assign(**_intervals(both, "people", confidence), **_intervals(both, "model", confidence))
    places = data.groupby(["accuracy_people", "accuracy_model"], as_index=False).agg(
        n_items=("item_id", "size"),
        **{column: (column, "min") for column in ("n_people", "n_model", "ci_low_people", "ci_low_model")},
        **{column: (column, "max") for column in ("ci_high_people", "ci_high_model")},
    )
    said = _correlation_words(both["accuracy_people"], both["accuracy_model"], confidence)
    with style():
        sheet = _draw(places, said, printable(people), printable(model), confidence)
        title = f"Accuracy of {people} and of {model}, item by item"
        return finished(sheet, name, title, _words(items, both, said, people, model), data)


def _intervals(items: pd.DataFrame, who: str, confidence: float) -> dict[str, list[float]]:
    bounds = [
        wilson(accuracy * n, n, confidence) if n > 0 else (float("nan"), float("nan"))
        for accuracy, n in zip(items[f"accuracy_{who}"], items[f"n_{who}"], strict=True)
    ]
    return {f"ci_low_{who}": [low for low, _ in bounds], f"ci_high_{who}": [high for _, high in bounds]}


def _draw(places: pd.DataFrame, said: str, people: str, model: str, confidence: float) -> FigureSheet:
    y_title = f"{model}: percent correct"
    left = room_for_y(PERCENT_LABELS, y_title, 170) + 3
    side = min(SINGLE - left - 10, 190.0)
    several = (places[["n_people", "n_model"]] > 1).to_numpy().any()
    with_intervals = len(places) <= MOST_INTERVALS and several
    words = [
        said,
        "Area: number of items at the same position." if (places["n_items"] > 1).any() else "",
        f"Lines: {percent(confidence, 0)} CIs (Wilson) of items with several responses; for items at the same "
        "position, the widest CI."
        if with_intervals
        else "",
        "Dashed: equal accuracies.",
    ]
    note = wrapped(" ".join(part for part in words if part), SINGLE - 8, SMALL, most_lines=6)
    top = text_height(len(note), SMALL) + 12
    sheet = FigureSheet(SINGLE, top + side + 28)
    sheet.write(4, 3, note, at="top", size=SMALL)
    axes = sheet.axes(left, top, side, side)
    axes.set_xlim(-MARGIN, 1 + MARGIN)
    axes.set_ylim(-MARGIN, 1 + MARGIN)
    axes.plot([0, 1], [0, 1], color=SOFT, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
    for place in places.to_dict("records") if with_intervals else []:
        x, y = place["accuracy_people"], place["accuracy_model"]
        if place["n_people"] > 1:
            axes.plot([place["ci_low_people"], place["ci_high_people"]], [y, y], color=SKY, linewidth=0.6, alpha=0.7)
        if place["n_model"] > 1:
            axes.plot([x, x], [place["ci_low_model"], place["ci_high_model"]], color=SKY, linewidth=0.6, alpha=0.7)
    area = places["n_items"] * min(14.0, 420 / places["n_items"].max())
    axes.scatter(
        places["accuracy_people"], places["accuracy_model"], s=area, color=BLUE, alpha=0.75, linewidths=0,
        clip_on=False, zorder=3,
    )  # fmt: skip
    label_x(sheet, axes, PERCENT_TICKS, PERCENT_LABELS, shortened(f"{people}: percent correct", side))
    label_y(sheet, axes, PERCENT_TICKS, PERCENT_LABELS, y_title)
    return sheet


def _correlation_words(people: pd.Series, model: pd.Series, confidence: float) -> str:
    """Return Pearson's correlation with its interval in words, or the reason why there is no correlation."""
    n_items = count(len(people), "item")
    if len(people) < 3:
        return f"{n_items}: too few for a correlation."
    if people.nunique() == 1 or model.nunique() == 1:
        which = "both accuracies are" if people.nunique() == model.nunique() else "one accuracy is"
        return f"{n_items}; no correlation, because {which} constant."
    found = pearson(people.to_numpy(dtype=float), model.to_numpy(dtype=float), confidence)
    words = f"{n_items}; Pearson's r = {found.value:.2f}"
    if found.interval is not None:
        words += f", {percent(confidence, 0)} CI [{found.interval.low:.2f}, {found.interval.high:.2f}]"
    return f"{words}.".replace("-", "−")


def _words(items: pd.DataFrame, both: pd.DataFrame, said: str, people: str, model: str) -> str:
    better, worse = (
        both["accuracy_people"] > both["accuracy_model"],
        both["accuracy_people"] < both["accuracy_model"],
    )
    n_without = len(items) - len(both)
    note = (
        f" Not drawn: {count(n_without, 'item')} that lack the accuracy of one or both subjects." if n_without else ""
    )
    return (
        f"{said} Items with a higher accuracy of {people}: {int(better.sum())}; of {model}: {int(worse.sum())}; with "
        f"equal accuracies: {int((~better & ~worse).sum())}.{note}"
    )
