"""Power over the number of participants: one curve for each kind of simulated studies."""

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.figures.accuracy import PERCENT_LABELS, PERCENT_TICKS
from analysis.figures.drawing.axes import label_x, label_y, nice_ticks, number_labels, room_for_y
from analysis.figures.drawing.lettering import SMALL, moved_apart, text_width
from analysis.figures.drawing.sheet import SOFT, WIDTH, Drawing, FigureSheet, finished, style
from analysis.figures.drawing.subject_styles import BLUE, VERMILLION, Look, draw_marker
from analysis.sentences import percent

_HEIGHT = 150.0
"""Height of the axes in points."""
_LOOKS = (Look("s", BLUE, True, ()), Look("^", VERMILLION, True, ()))


def power_curve(
    table: pd.DataFrame, curves: Mapping[str, str], name: str, y_label: str, targets: Sequence[float]
) -> Drawing:
    """Draw the share of positive studies over the number of participants, from 0 to 100 percent.

    Parameters
    ----------
    table : DataFrame
        One row per number of participants and kind of studies: `effect`, `n_participants`, `power`, `ci_low`,
        `ci_high`, as from `analysis.power.simulation.simulated_power`.
    curves : mapping of str to str
        The name of the curve for each value of `effect`, at most two. The table has rows of each.
    name : str
        The name of the figure's files, without the ending.
    y_label : str
        The share that is drawn, such as `percent of studies with a significant result, 95 % CI`.
    targets : sequence of float
        The requested powers: dashed lines.

    References
    ----------
    Green, P., & MacLeod, C. J. (2016). SIMR: An R package for power analysis of generalized linear mixed models by
    simulation. Methods in Ecology and Evolution, 7, 493-498. Figure 1: a power curve.
    """
    drawn = {said: table[table["effect"] == effect].sort_values("n_participants") for effect, said in curves.items()}
    labels = [percent(target, 0) for target in targets]
    left = room_for_y(PERCENT_LABELS, y_label, _HEIGHT) + 2
    right = max((text_width(label, SMALL) for label in labels), default=0.0) + 12
    top = 16.0 * len(drawn) + 6
    with style():
        sheet = FigureSheet(WIDTH, top + _HEIGHT + 30)
        paper = sheet.paper()
        axes = sheet.axes(left, top, WIDTH - left - right, _HEIGHT)
        axes.set_xlim(0, 1.04 * float(table["n_participants"].max()))
        axes.set_ylim(0, 1)
        axes.grid(axis="y")
        places = moved_apart([top + _HEIGHT * (1 - target) for target in targets], 9, top, top + _HEIGHT)
        for target, y, label in zip(targets, places, labels, strict=True):
            axes.axhline(target, color=SOFT, linestyle=(0, (4, 3)), linewidth=0.9, zorder=1)
            sheet.write(WIDTH - right + 6, y, label, size=SMALL, colour=SOFT)
        for place, ((said, rows), look) in enumerate(zip(drawn.items(), _LOOKS, strict=False)):
            axes.plot(rows["n_participants"], rows["power"], color=look.colour)
            for row in rows.to_dict("records"):
                axes.plot(
                    [row["n_participants"]] * 2, [row["ci_low"], row["ci_high"]], color=look.colour, linewidth=1.0
                )
                draw_marker(axes, row["n_participants"], row["power"], look)
            draw_marker(paper, left + 4, 8 + 16.0 * place, look)
            sheet.write(left + 12, 8 + 16.0 * place, said)
        ticks = nice_ticks(*axes.get_xlim())
        label_x(sheet, axes, ticks, number_labels(ticks), "number of participants")
        label_y(sheet, axes, PERCENT_TICKS, PERCENT_LABELS, y_label)
        return finished(sheet, name, f"{y_label} by number of participants", _words(drawn, labels), table)


def _words(drawn: Mapping[str, pd.DataFrame], labels: Sequence[str]) -> str:
    said = [
        f"{curve}, {row['n_participants']} participants: {percent(row['power'])} ({percent(row['ci_low'])} to "
        f"{percent(row['ci_high'])})"
        for curve, rows in drawn.items()
        for row in rows.to_dict("records")
    ]
    dashed = f" Dashed: {' and '.join(labels)}." if labels else ""
    return f"CIs are in parentheses. {'; '.join(said)}.{dashed}"
