"""The figures: accuracy by subject and factor, and response times with the exclusion thresholds.

Colours are Okabe and Ito's (2008), which people with colour-blindness tell apart; every subject also has a marker of
its own and its name beside it, so that nothing is lost in grey. Drawn on `Figure` objects, never through pyplot.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.columns import PEOPLE, level_order
from analysis.svg import INK, PAPER, SOFT, STYLE, as_svg
from analysis.wording import level_words, milliseconds, percent
from experiment.preregistration import AnalysisPlan, MedianRtRule, TrialRtRule

MOST_LEVELS = 24
"""A factor with more levels is for a table; its figure would not be readable."""

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9")
MARKERS = ("s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
PEOPLE_LOOKS = {"human": ("o", INK), "simulated": ("o", SOFT)}

Look = tuple[str, str, bool]
"""Marker, colour, filled."""


def looks(subjects: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Look]:
    """Return marker, colour and fill for each (kind, subject); the same list always gives the same looks."""
    chosen: dict[tuple[str, str], Look] = {}
    models = 0
    for kind, subject in subjects:
        if kind in PEOPLE_LOOKS:
            chosen[kind, subject] = (*PEOPLE_LOOKS[kind], kind == "human")
        else:
            chosen[kind, subject] = (MARKERS[models % len(MARKERS)], OKABE_ITO[models % len(OKABE_ITO)], True)
            models += 1
    return chosen


def accuracy_figure(table: pd.DataFrame, by: str | None, chance: float, confidence: float, name: str) -> str:
    """Return the accuracies of a table as SVG: a panel a level, a row a subject, the chance line dashed.

    Parameters
    ----------
    table : DataFrame
        As `accuracy` gives it for one factor, or for none.
    by : str or None
        The factor; None for one panel.
    chance : float
        Mean chance level of the trials.
    confidence : float
        Coverage of the intervals, for the caption.
    name : str
        Prefix of the SVG's ids.
    """
    subjects = [(str(kind), str(who)) for kind, who in table[["kind", "subject"]].drop_duplicates().to_numpy()]
    look = looks(subjects)
    levels = [None] if by is None else sorted(table[by].drop_duplicates().tolist(), key=level_order)
    n_columns = 2 if len(levels) == 4 else min(len(levels), 3)
    n_rows = -(-len(levels) // n_columns)
    left = 0.35 + 0.075 * max(len(_short(subject)) for _, subject in subjects)
    panel_width, panel_height = (3.0 if n_columns > 1 else 5.2), 0.24 * len(subjects) + 0.2
    above, below, beside = (0.25 if by is None else 0.5), 0.3, 0.55
    width = left + n_columns * (panel_width + beside)
    height = n_rows * (above + panel_height + below) + 0.25
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height))
        for place, level in enumerate(levels):
            row, column = divmod(place, n_columns)
            x, y = left + column * (panel_width + beside), height - (row + 1) * (above + panel_height) - row * below
            axes = figure.add_axes((x / width, y / height, panel_width / width, panel_height / height))
            cells = table if by is None else table[table[by].isna() if pd.isna(level) else table[by].eq(level)]
            _accuracy_panel(axes, cells, subjects, look, chance, with_names=column == 0)
            if by is not None:
                axes.set_title(f"{by}: {level_words(level)}", pad=15)
            if place + n_columns >= len(levels):
                axes.set_xlabel(f"percent correct, with {percent(confidence, 0)} interval")
        title = "Accuracy by subject" if by is None else f"Accuracy by subject and {by}"
        return as_svg(figure, name, title, _accuracy_words(table, by, chance))


def _accuracy_panel(
    axes: Axes,
    cells: pd.DataFrame,
    subjects: list[tuple[str, str]],
    look: dict[tuple[str, str], Look],
    chance: float,
    *,
    with_names: bool,
) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(len(subjects) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.axvline(chance, color=SOFT, linestyle=(0, (4, 3)), linewidth=1.1, zorder=1)
    axes.text(
        chance, -0.62, f" chance {percent(chance)}" if chance < 0.6 else f"chance {percent(chance)} ",
        ha="left" if chance < 0.6 else "right", va="bottom", fontsize=7.5, color=SOFT,
    )  # fmt: skip
    for cell in cells.to_dict("records"):
        who = (str(cell["kind"]), str(cell["subject"]))
        marker, colour, filled = look[who]
        y = subjects.index(who)
        axes.plot([cell["ci_low"], cell["ci_high"]], [y, y], color=colour, linewidth=1.6, solid_capstyle="butt")
        axes.plot(
            cell["accuracy"], y, marker=marker, color=colour, markersize=6, clip_on=False, zorder=3,
            markerfacecolor=colour if filled else PAPER, markeredgecolor=colour, markeredgewidth=1.3,
        )  # fmt: skip
        axes.text(1.045, y, f"{100 * cell['accuracy']:.0f}", va="center", ha="left", fontsize=8.5, clip_on=False)
    axes.set_yticks(range(len(subjects)), [_short(subject) if with_names else "" for _, subject in subjects])
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])


def _short(text: str, most: int = 34) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _accuracy_words(table: pd.DataFrame, by: str | None, chance: float) -> str:
    rows = [
        f"{row['subject']}{'' if by is None else f', {level_words(row[by])}'}: {percent(row['accuracy'])} "
        f"({percent(row['ci_low'])} to {percent(row['ci_high'])})"
        for row in table.to_dict("records")
    ]
    return f"Chance is {percent(chance)}. " + "; ".join(rows) + "."


def response_times_figure(trials: pd.DataFrame, plan: AnalysisPlan, name: str) -> str | None:
    """Return the response times of people as SVG, on a logarithmic axis, with the plan's thresholds drawn.

    For each kind of people: above, the test trials answered in completed sessions, before any rule; below, the
    participants' medians of these. None if nobody has response times.

    Parameters
    ----------
    trials : DataFrame
        The tidy table.
    plan : AnalysisPlan
        Whose `trial_rt` and `median_rt` are drawn.
    name : str
        Prefix of the SVG's ids.
    """
    timed = trials[
        (trials["kind"] != "model") & (trials["phase"] == "test") & (trials["status"] == "completed")
        & trials["response"].notna() & (trials["rt_ms"] > 0)
    ]  # fmt: skip
    if timed.empty:
        return None
    trial_rule = next((rule for rule in plan.exclusions if isinstance(rule, TrialRtRule)), None)
    median_rule = next((rule for rule in plan.exclusions if isinstance(rule, MedianRtRule)), None)
    kinds = [kind for kind in PEOPLE if (timed["kind"] == kind).any()]
    marks = [bound for rule in (trial_rule, median_rule) for bound in _bounds(rule)]
    span = np.array([timed["rt_ms"].min(), timed["rt_ms"].max(), *marks])
    limits = (float(span[span > 0].min()) / 1.5, float(span.max()) * 1.5)
    edges = np.geomspace(*limits, 51)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.6, 3.5 * len(kinds) + 0.2), layout="constrained")
        grid = figure.add_gridspec(2 * len(kinds), 1, height_ratios=[2.2, 1] * len(kinds))
        for place, kind in enumerate(kinds):
            rt_ms = timed[timed["kind"] == kind]
            medians = rt_ms.groupby("participant")["rt_ms"].median()
            above = figure.add_subplot(grid[2 * place])
            above.hist(rt_ms["rt_ms"], bins=edges.tolist(), color=OKABE_ITO[5], edgecolor=SOFT, linewidth=0.4)
            above.set_ylabel("trials")
            above.set_title(f"{PEOPLE[kind]}: {len(rt_ms):,} test trials", pad=18)
            _draw_bounds(above, trial_rule, limits)
            below = figure.add_subplot(grid[2 * place + 1])
            spread = np.random.default_rng(0).uniform(-0.3, 0.3, len(medians))
            below.plot(
                medians.sort_index(), spread, "o", color=OKABE_ITO[0], markersize=4.5, alpha=0.75, markeredgewidth=0
            )
            below.set_ylim(-0.6, 0.6)
            below.set_yticks([])
            below.set_title(f"{PEOPLE[kind]}: medians of {len(medians):,} participants", pad=18)
            _draw_bounds(below, median_rule, limits)
            for axes in (above, below):
                _log_axis(axes, limits)
        below.set_xlabel("response time (logarithmic)")
        return as_svg(figure, name, "Response times of people", _rt_words(timed, kinds, trial_rule, median_rule))


def _bounds(rule: MedianRtRule | TrialRtRule | None) -> list[float]:
    return [] if rule is None else [bound for bound in (rule.min_ms, rule.max_ms) if bound is not None]


def _draw_bounds(axes: Axes, rule: MedianRtRule | TrialRtRule | None, limits: tuple[float, float]) -> None:
    if rule is None:
        return
    over: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "fontsize": 8, "va": "bottom", "color": INK}
    for bound, words, side in ((rule.min_ms, "excluded under", "left"), (rule.max_ms, "excluded over", "right")):
        if not bound:
            continue
        axes.axvline(bound, color=OKABE_ITO[3], linestyle=(0, (5, 2)), linewidth=1.5)
        axes.axvspan(*((limits[0], bound) if side == "left" else (bound, limits[1])), color=SOFT, alpha=0.12, lw=0)
        room = np.log(limits[1] / bound) / np.log(limits[1] / limits[0])
        axes.text(bound, 1.02, f"{words} {milliseconds(bound)}", ha="left" if room > 0.3 else "right", **over)


def _log_axis(axes: Axes, limits: tuple[float, float]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    ticks = [step * 10**power for power in range(8) for step in (1, 2, 5)]
    inside = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
    axes.xaxis.set_major_locator(FixedLocator(inside))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda tick, _: milliseconds(tick)))


def _rt_words(timed: pd.DataFrame, kinds: list[str], *rules: Any) -> str:
    parts = []
    for kind in kinds:
        rt_ms = timed.loc[timed["kind"] == kind, "rt_ms"]
        low, middle, high = (milliseconds(value) for value in rt_ms.quantile([0.05, 0.5, 0.95]))
        parts.append(
            f"{PEOPLE[kind]}: {len(rt_ms)} test trials, median {middle}, 5th to 95th percentile {low} to {high}"
        )
    thresholds = [milliseconds(bound) for rule in rules for bound in _bounds(rule)]
    drawn = f" Thresholds drawn: {', '.join(thresholds)}." if thresholds else " The plan has no thresholds."
    return "; ".join(parts) + "." + drawn
