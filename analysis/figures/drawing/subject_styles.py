"""Styles of subjects: a subject has the same colour, marker and line in all figures with the same subjects.

The colours are from Okabe and Ito; people with colour blindness can distinguish these colours. In a grey print, marker
and line distinguish the subjects. People are black discs; simulated participants are grey rings.

References
----------
Okabe, M., & Ito, K. (2008). Color universal design: How to make figures and presentations that are friendly to
colorblind people. https://jfly.uni-koeln.de/color/
"""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes

from analysis.data.columns import PEOPLE
from analysis.figures.drawing.sheet import INK, PAPER, SOFT

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
    """Return the style of each subject. For the same list of subjects, the styles are always the same."""
    chosen: dict[Subject, Look] = {}
    models = 0
    for kind, subject in subjects:
        if kind in PEOPLE_LOOKS:
            chosen[kind, subject] = PEOPLE_LOOKS[kind]
        else:
            chosen[kind, subject] = Look(
                MARKERS[models % len(MARKERS)], OKABE_ITO[models % len(OKABE_ITO)], True, LINES[models % len(LINES)]
            )
            models += 1
    return chosen


def kind_of(subject: object) -> str:
    """Return the kind of the subject with this name: `human`, `simulated` or `model`."""
    return next((kind for kind, name in PEOPLE.items() if name == subject), "model")


def draw_marker(axes: Axes, x: float, y: float, look: Look, size: float = 4.8) -> None:
    """Draw a subject's marker, which may extend over the edge of the axes. `size` is in points."""
    axes.plot(
        [x], [y], marker=look.marker, linestyle="none", markersize=size, clip_on=False, zorder=3,
        markerfacecolor=look.colour if look.filled else PAPER, markeredgecolor=look.colour, markeredgewidth=1.0,
    )  # fmt: skip
