"""Styles of subjects: each model has a colour, and each condition of a model has a marker.

A subject has the same style in all figures of a report. The colours are from Okabe and Ito; people with colour
blindness can distinguish these colours. In a grey print, the marker, its filling and the line distinguish the
subjects. People are black discs; simulated participants are grey rings.

References
----------
Okabe, M., & Ito, K. (2008). Color universal design: How to make figures and presentations that are friendly to
colorblind people. https://jfly.uni-koeln.de/color/
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
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
"""Line styles: lengths of dashes and gaps, as multiples of the line width. The empty tuple is a solid line."""

Subject = tuple[str, str]
"""A subject: its kind, such as `human`, and its name."""


class Look(NamedTuple):
    """Style of one subject."""

    marker: str
    colour: str
    filled: bool
    dashes: tuple[float, ...]
    model: str | None = None
    """The name of the subject's model, as in the name of the subject. None if the name of the model is not known."""


PEOPLE_LOOKS = {"human": Look("o", INK, True, ()), "simulated": Look("o", SOFT, False, (1.4, 1.4))}


def subjects_of(table: pd.DataFrame) -> list[Subject]:
    """Return the subjects of a table with the columns `kind` and `subject`, in the order of its rows."""
    pairs = table[["kind", "subject"]].drop_duplicates().itertuples(index=False, name=None)
    return [(str(kind), str(subject)) for kind, subject in pairs]


def looks(subjects: Sequence[Subject], models: Mapping[str, str] = MappingProxyType({})) -> dict[Subject, Look]:
    """Return the style of each subject. For the same list of subjects, the styles are always the same.

    `models` has the name of the model of each subject. Without it, the name of a model ends at the first comma.

    If a model has several conditions, the colour shows the model and the marker shows the condition. Every second
    model then has hollow markers, so that models differ in a grey print. Otherwise, each model has a colour and a
    marker.
    """
    parts = {subject: parts_of(subject, models.get(subject)) for kind, subject in subjects if kind not in PEOPLE_LOOKS}
    in_order = list(dict.fromkeys(model for model, _ in parts.values()))
    conditions = list(dict.fromkeys(condition for _, condition in parts.values()))
    several = len(parts) > len(in_order)
    chosen: dict[Subject, Look] = {}
    for kind, subject in subjects:
        if kind in PEOPLE_LOOKS:
            chosen[kind, subject] = PEOPLE_LOOKS[kind]
            continue
        model, condition = parts[subject]
        place = in_order.index(model)
        shape = conditions.index(condition) if several else place
        is_filled = not several or place % 2 == 0
        chosen[kind, subject] = Look(
            MARKERS[shape % len(MARKERS)], _colour(place), is_filled, LINES[shape % len(LINES)], model
        )
    return chosen


def _colour(place: int) -> str:
    """Return the colour of a model by its position in the list of models.

    After six models, the colours repeat and are darker.
    """
    red, green, blue = to_rgb(OKABE_ITO[place % len(OKABE_ITO)])
    darker = 1.0 if place < len(OKABE_ITO) else 0.6
    return to_hex((darker * red, darker * green, darker * blue))


def style_of(name: str, styles: Mapping[Subject, Look]) -> Look | None:
    """Return the style of the subject with this name.

    If no subject has this name, return the style of the first subject with the same model, or None.
    """
    exact = [look for (_, subject), look in styles.items() if subject == name]
    of_model = [
        look for look in styles.values() if look.model is not None and f"{name}, ".startswith(f"{look.model}, ")
    ]
    return next(iter([*exact, *of_model]), None)


def parts_in(styles: Mapping[Subject, Look], name: str) -> tuple[str, str]:
    """Return the model and the condition in the name of a subject, with the names of models that the styles have."""
    look = style_of(name, styles)
    return parts_of(name, None if look is None else look.model)


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
        Position of the points on the other axis. Each point is moved by a random distance of at most `spread`.
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
    """Draw the marker of a subject. The marker may extend over the edge of the axes. `size` is in points."""
    axes.plot(
        [x], [y], marker=look.marker, linestyle="none", markersize=size, clip_on=False, zorder=3,
        markerfacecolor=look.colour if look.filled else PAPER, markeredgecolor=look.colour, markeredgewidth=1.0,
    )  # fmt: skip
