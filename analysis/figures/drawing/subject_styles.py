"""Styles of subjects: the colour is that of the model, and the marker is that of the condition.

In a report, all figures share the styles of all subjects, so a subject has the same style everywhere. The colours are
from Okabe and Ito; people with colour blindness can distinguish these colours. In a grey print, marker, filling and
line distinguish the subjects. People are black discs; simulated participants are grey rings.

References
----------
Okabe, M., & Ito, K. (2008). Color universal design: How to make figures and presentations that are friendly to
colorblind people. https://jfly.uni-koeln.de/color/
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb

from analysis.data.columns import PEOPLE
from analysis.figures.drawing.sheet import INK, PAPER, SOFT
from analysis.figures.drawing.subject_names import parts_of

BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY = OKABE_ITO = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9"
)  # fmt: skip
MARKERS = ("s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
LINES: tuple[tuple[float, ...], ...] = ((), (5, 1.6), (1.4, 1.4), (5, 1.4, 1.4, 1.4), (8, 2, 2, 2, 2, 2))
"""Lengths of dashes and gaps as multiples of the line width. A solid line has an empty tuple."""

Subject = tuple[str, str]
"""Kind of the subject, and its name."""


class Look(NamedTuple):
    """Style of one subject."""

    marker: str
    colour: str
    filled: bool
    dashes: tuple[float, ...]


PEOPLE_LOOKS = {"human": Look("o", INK, True, ()), "simulated": Look("o", SOFT, False, (1.4, 1.4))}


def subjects_of(table: pd.DataFrame) -> list[Subject]:
    """Return the subjects of a table with the columns `kind` and `subject`, in the order of its rows."""
    pairs = table[["kind", "subject"]].drop_duplicates().itertuples(index=False, name=None)
    return [(str(kind), str(subject)) for kind, subject in pairs]


def looks(subjects: Sequence[Subject]) -> dict[Subject, Look]:
    """Return the style of each subject. For the same list of subjects, the styles are always the same.

    If a model has several conditions, its subjects have one colour, and the marker shows the condition. The markers of
    every second model are hollow, for a grey print. Otherwise, each model has its own colour and marker.
    """
    parts = {subject: parts_of(subject) for kind, subject in subjects if kind not in PEOPLE_LOOKS}
    models = list(dict.fromkeys(model for model, _ in parts.values()))
    conditions = list(dict.fromkeys(condition for _, condition in parts.values()))
    several = len(parts) > len(models)
    chosen: dict[Subject, Look] = {}
    for kind, subject in subjects:
        if kind in PEOPLE_LOOKS:
            chosen[kind, subject] = PEOPLE_LOOKS[kind]
            continue
        model, condition = parts[subject]
        place = models.index(model)
        shape = conditions.index(condition) if several else place
        is_filled = not several or place % 2 == 0
        chosen[kind, subject] = Look(
            MARKERS[shape % len(MARKERS)], _colour(place), is_filled, LINES[shape % len(LINES)]
        )
    return chosen


def _colour(place: int) -> str:
    """Return the colour of a model by its position. After six models, the colours are darker."""
    red, green, blue = to_rgb(OKABE_ITO[place % len(OKABE_ITO)])
    darker = 1.0 if place < len(OKABE_ITO) else 0.6
    return to_hex((darker * red, darker * green, darker * blue))


def style_of(name: str, styles: Mapping[Subject, Look]) -> Look | None:
    """Return the style of a subject, or of the first subject of the model with this name; None if there is none."""
    exact = [look for (_, subject), look in styles.items() if subject == name]
    of_model = [look for (_, subject), look in styles.items() if parts_of(subject)[0] == parts_of(name)[0]]
    return next(iter([*exact, *of_model]), None)


def kind_of(subject: object) -> str:
    """Return the kind of the subject with this name: `human`, `simulated` or `model`."""
    return next((kind for kind, name in PEOPLE.items() if name == subject), "model")


def draw_participants(
    axes: Axes, values: Sequence[float], at: float, spread: float, look: Look, *, upwards: bool = False
) -> None:
    """Draw a small point for each participant, or for each run of a model, behind their mean.

    Parameters
    ----------
    values : sequence of float
        The values of the participants. A single value is not drawn, because it is the mean.
    at, spread : float
        The points are at `at` on the other axis, and jittered by at most `spread`.
    upwards : bool
        True if the values are on the vertical axis.
    """
    if len(values) < 2:
        return
    beside = at + np.random.default_rng(0).uniform(-spread, spread, len(values))
    in_order = sorted(values)  # The figure does not depend on the order of the participants.
    x, y = (beside, in_order) if upwards else (in_order, beside)
    axes.scatter(x, y, s=6, color=look.colour, alpha=0.35, linewidths=0, clip_on=False, zorder=1.5)


def draw_marker(axes: Axes, x: float, y: float, look: Look, size: float = 4.8) -> None:
    """Draw a subject's marker, which may extend over the edge of the axes. `size` is in points."""
    axes.plot(
        [x], [y], marker=look.marker, linestyle="none", markersize=size, clip_on=False, zorder=3,
        markerfacecolor=look.colour if look.filled else PAPER, markeredgecolor=look.colour, markeredgewidth=1.0,
    )  # fmt: skip
