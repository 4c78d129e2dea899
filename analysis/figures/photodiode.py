"""Figure of a screen's timing, measured with a photodiode: delays or variation of the onsets, and durations."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.figures.drawing.axes import label_x, label_y, nice_ticks, number_labels
from analysis.figures.drawing.sheet import INK, SOFT, WIDTH, Drawing, FigureSheet, finished
from analysis.figures.drawing.sheet import style as figure_style
from analysis.figures.drawing.subject_styles import VERMILLION

Floats = np.ndarray[Any, np.dtype[np.float64]]
N_BINS = 30
LEAST_RANGE_MS = 3.0
"""Least width of an axis in ms, so that the noise of a constant delay does not look like variation."""


def screen_timing_figure(delays_ms: Floats, deviations_ms: Floats, durations_ms: Floats, name: str) -> Drawing:
    """Draw histograms of the measured timing of a screen. A line marks the mean.

    Parameters
    ----------
    delays_ms : array
        Delays from the event codes to the light, in ms. If there are none, the panel is left out.
    deviations_ms : array
        Deviations of the onsets from the times of the program, in ms. If there are none, the panel is left out.
    durations_ms : array
        Durations of the flashes, in ms.
    name : str
        The name of the figure's files, without the ending.

    Returns
    -------
    Drawing
        The figure. Its data have one row per value: `measure, ms`.
    """
    panels = [
        ("Delay from the event code to the light", "delay in ms", delays_ms),
        ("Variation of the onsets against the program's times", "deviation in ms", deviations_ms),
        ("Duration of the light", "duration in ms", durations_ms),
    ]
    panels = [panel for panel in panels if len(panel[2])]
    with figure_style():
        sheet = FigureSheet(WIDTH, 150 * len(panels) + 4)
        for place, (heading, title, values_ms) in enumerate(panels):
            _histogram(sheet, 150.0 * place, f"{heading} (n = {len(values_ms):,})", title, values_ms)
        words = " ".join(
            f"{heading}: mean {np.mean(values):.1f} ms, range {values.min():.1f} to {values.max():.1f} ms, "
            f"n = {len(values):,}."
            for heading, _, values in panels
        )
        data = pd.DataFrame(
            {
                "measure": [title.partition(" ")[0] for _, title, values in panels for _ in values],
                "ms": np.concatenate([values for _, _, values in panels]),
            }
        )
        return finished(sheet, name, "Timing of a screen, measured with a photodiode", words, data)


def _histogram(sheet: FigureSheet, top: float, heading: str, title: str, values_ms: Sequence[float] | Floats) -> None:
    left, width = 42.0, WIDTH - 42 - 12
    values = np.asarray(values_ms, dtype=float)
    middle, half = (values.min() + values.max()) / 2, max(float(np.ptp(values)) * 0.55, LEAST_RANGE_MS / 2)
    limits = float(middle - half), float(middle + half)
    sheet.write(left, top + 16, heading, bold=True, at="bottom")
    axes = sheet.axes(left, top + 24, width, 86)
    heights, _, _ = axes.hist(
        values, bins=np.linspace(*limits, N_BINS + 1).tolist(), color=SOFT, alpha=0.45, edgecolor=INK, linewidth=0.3
    )
    axes.set_xlim(*limits)
    mean = float(np.mean(values))
    axes.axvline(mean, color=VERMILLION, linestyle=(0, (5, 2)), linewidth=1.1)
    ticks = [tick for tick in nice_ticks(0, float(np.max(heights)), 4) if tick == int(tick)]
    label_y(sheet, axes, ticks, [f"{tick:,.0f}" for tick in ticks], "flashes")
    across = nice_ticks(*limits, most=8)
    label_x(sheet, axes, across, number_labels(across), f"{title} (line: mean {mean:.1f} ms)")
