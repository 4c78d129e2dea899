"""Two figures of people's response times on a logarithmic axis: with the thresholds of the plan, and by a factor."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.data.columns import PEOPLE
from analysis.figures.accuracy import MOST_LEVELS, cells_of
from analysis.figures.drawing.axes import label_x, label_y, nice_ticks
from analysis.figures.drawing.lettering import (
    LINE,
    SIZE,
    SMALL,
    distinct_labels,
    moved_apart,
    printable,
    shortened,
    text_width,
)
from analysis.figures.drawing.sheet import INK, SOFT, WIDTH, Drawing, FigureSheet, finished
from analysis.figures.drawing.sheet import style as figure_style
from analysis.figures.drawing.subject_styles import PEOPLE_LOOKS, VERMILLION, draw_participants
from analysis.sentences import count, level_words, milliseconds
from analysis.statistics.factor_levels import level_order
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.exclusion_rules import MedianRtRule, TrialRtRule

Floats = np.ndarray[Any, np.dtype[np.float64]]
RtRule = MedianRtRule | TrialRtRule


def timed_trials(trials: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the answered test trials of people in completed sessions, with the columns that the figures need.

    Parameters
    ----------
    trials : DataFrame
        The tidy table, with or without `excluded_by`.
    by : sequence of str
        Further columns to return, such as a factor.
    """
    columns = ["kind", "participant", "rt_ms", "excluded_by", *by]
    return trials[[column for column in columns if column in trials.columns]][
        (trials["kind"] != "model") & (trials["phase"] == "test") & (trials["status"] == "completed")
        & trials["response"].notna() & (trials["rt_ms"] > 0)
    ]  # fmt: skip


def response_times_figure(timed: pd.DataFrame, plan: AnalysisPlan, name: str) -> Drawing | None:
    """Draw the response times of people, with the thresholds of the plan. The excluded ranges are shaded.

    People and simulated participants have two panels each. The upper panel is a histogram of the answered test trials
    in completed sessions, before any exclusion rule. The 50 bins have equal widths on the logarithmic axis. The lower
    panel has one point per participant: the median of the participant's trials in the histogram. Points are jittered
    vertically, so that they do not hide one another.

    Parameters
    ----------
    timed : DataFrame
        The trials from `timed_trials`.
    plan : AnalysisPlan
        The plan. The thresholds of its exclusion rules `trial_rt` and `median_rt` are drawn.
    name : str
        The name of the figure's files, without the ending.

    Returns
    -------
    Drawing or None
        None if there are no response times. The data of the figure are the participants' medians.
    """
    if timed.empty:
        return None
    trial_rule = next((rule for rule in plan.exclusions if isinstance(rule, TrialRtRule)), None)
    median_rule = next((rule for rule in plan.exclusions if isinstance(rule, MedianRtRule)), None)
    kinds = [kind for kind in PEOPLE if (timed["kind"] == kind).any()]
    limits = _limits(np.append(timed["rt_ms"].to_numpy(), [*_bounds(trial_rule), *_bounds(median_rule)]))
    medians = timed.groupby(["kind", "participant"], sort=True)["rt_ms"].agg(["size", "median"]).reset_index()
    medians.columns = pd.Index(["kind", "participant", "n_trials", "median_rt_ms"])
    left, width = 42.0, WIDTH - 42 - 12
    with figure_style():
        sheet = FigureSheet(WIDTH, len(kinds) * 232 + 8)
        for place, kind in enumerate(kinds):
            rt_ms, own = timed.loc[timed["kind"] == kind, "rt_ms"], medians.loc[medians["kind"] == kind, "median_rt_ms"]
            top, look = 232.0 * place, PEOPLE_LOOKS[kind]
            heading = f"{PEOPLE[kind]}: {count(len(rt_ms), 'test trial')}"
            above = _log_axes(sheet, (left, top + 31, width, 90), limits, heading)
            heights, _, _ = above.hist(
                rt_ms,
                bins=np.geomspace(*limits, 51).tolist(),
                color=look.colour,
                alpha=0.45,
                edgecolor=SOFT,
                linewidth=0.3,
            )
            ticks = [tick for tick in nice_ticks(0, float(np.max(heights)), 4) if tick == int(tick)]
            label_y(sheet, above, ticks, [f"{tick:,.0f}" for tick in ticks], "trials")
            _draw_bounds(sheet, above, trial_rule, limits)
            heading = f"{PEOPLE[kind]}: medians of {count(len(own), 'participant')}"
            below = _log_axes(sheet, (left, top + 169, width, 34), limits, heading)
            spread = np.random.default_rng(0).uniform(-0.3, 0.3, len(own))
            below.plot(own, spread, "o", color=look.colour, markersize=3.6, alpha=0.75, markeredgewidth=0)
            below.set_ylim(-0.6, 0.6)
            below.spines["left"].set_visible(False)
            _draw_bounds(sheet, below, median_rule, limits)
            _label_log_x(sheet, above, limits)
            _label_log_x(sheet, below, limits, "response time (logarithmic)")
        words = _threshold_words(timed, kinds, trial_rule, median_rule)
        return finished(sheet, name, "Response times of participants", words, medians)


def rt_distributions(timed: pd.DataFrame, by: str | None, name: str) -> Drawing | None:
    """Draw the distributions of response times, one row for each level of a factor.

    People and simulated participants have separate rows. Each row has a smooth density of the logarithms of the
    response times (Gaussian kernel, Scott's bandwidth). All rows have the same area. The point is the median, and its
    value is at the right. The bar is the interquartile range. The small points are the participants' medians.

    Parameters
    ----------
    timed : DataFrame
        The trials from `timed_trials`. If the table has `excluded_by`, only the trials in the analysis are drawn.
    by : str or None
        The factor. None for one row of people, and one row of simulated participants.
    name : str
        The name of the figure's files, without the ending.

    Returns
    -------
    Drawing or None
        None if there are no response times, or the factor has more than `MOST_LEVELS` levels. The data of the figure
        have one row per row of the figure: `kind, subject, <by>, n_participants, n_trials, q25_ms, median_ms, q75_ms`.

    References
    ----------
    Scott, D. W. (1992). Multivariate density estimation: Theory, practice, and visualization. Wiley.
    """
    if "excluded_by" in timed.columns:
        timed = timed[timed["excluded_by"].isna()]
    levels = [None] if by is None else sorted(timed[by].drop_duplicates().tolist(), key=level_order)
    if timed.empty or len(levels) > MOST_LEVELS:
        return None
    rows = []
    for kind in [kind for kind in PEOPLE if (timed["kind"] == kind).any()]:
        of_kind = timed[timed["kind"] == kind]
        for level in levels:
            cells = of_kind if by is None else cells_of(of_kind, by, level)
            if not cells.empty:
                rows.append(_Row(kind, PEOPLE[kind] if by is None else level_words(level), cells))
    numbers = pd.DataFrame([row.numbers(by) for row in rows])
    return _ridges(rows, numbers, _limits(timed["rt_ms"]), by, name)


class _Row(NamedTuple):
    """One row of the figure `rt_distributions`."""

    kind: str
    label: str
    cells: pd.DataFrame

    def numbers(self, by: str | None) -> dict[str, Any]:
        low, middle, high = self.cells["rt_ms"].quantile([0.25, 0.5, 0.75])
        return {
            "kind": self.kind, "subject": PEOPLE[self.kind], **({} if by is None else {by: self.cells[by].iloc[0]}),
            "n_participants": self.cells["participant"].nunique(), "n_trials": len(self.cells),
            "q25_ms": low, "median_ms": middle, "q75_ms": high,
        }  # fmt: skip


_RIDGE_WORDS = [
    "response time (logarithmic)",
    "point: median; bar: interquartile range; small points: participants' medians",
]
_HEADING = 19.0
"""Height of the heading above the rows of people or of simulated participants, in points."""


def _ridges(
    rows: Sequence[_Row], numbers: pd.DataFrame, limits: tuple[float, float], by: str | None, name: str
) -> Drawing:
    labels = distinct_labels([row.label for row in rows], 80)
    left, right = max(text_width(line) for lines in labels for line in lines) + 10, 42.0
    height = max(22.0, min(36.0, 560 / len(rows)), SIZE * LINE * max(map(len, labels)) + 3)
    kinds = list(dict.fromkeys(row.kind for row in rows))
    headed = 0.0 if by is None else _HEADING
    grid = np.linspace(np.log(limits[0]), np.log(limits[1]), 200)
    densities = [_density(np.log(row.cells["rt_ms"].to_numpy(dtype=float)), grid) for row in rows]
    highest = max((density.max() for density in densities if density is not None), default=1.0)
    with figure_style():
        bottom = 4 + height * len(rows) + headed * len(kinds)
        sheet = FigureSheet(WIDTH, bottom + 44)
        axes = sheet.axes(left, 4, WIDTH - left - right, bottom - 4)
        axes.set_xscale("log")
        axes.set_xlim(*limits)
        axes.set_ylim(bottom, 4)
        axes.spines["left"].set_visible(False)
        y = 4.0
        for place, (row, density) in enumerate(zip(rows, densities, strict=True)):
            if by is not None and (place == 0 or rows[place - 1].kind != row.kind):
                heading = f"{PEOPLE[row.kind]}, by {printable(by)}"
                sheet.write(4, y + 1, shortened(heading, WIDTH - 8, bold=True), bold=True, at="top")
                y += headed
            y += height
            look = PEOPLE_LOOKS[row.kind]
            base, colour, cell = y - 3, look.colour, numbers.iloc[place]
            if density is not None:
                outline = base - (height - 4) * density / highest
                axes.fill_between(np.exp(grid), base, outline, color=colour, alpha=0.2, lw=0)
                axes.plot(np.exp(grid), outline, color=colour, linewidth=0.7)
            axes.plot([cell["q25_ms"], cell["q75_ms"]], [base, base], color=colour, linewidth=2.6, zorder=2)
            axes.plot([cell["median_ms"]], [base], "o", color=INK, markersize=4.2, zorder=3)
            medians = row.cells.groupby("participant")["rt_ms"].median().to_list()
            draw_participants(axes, medians, base - 0.3 * (height - 4), 0.16 * (height - 4), look)
            sheet.write(left - 6, y - height / 2, labels[place], align="right")
            sheet.write(WIDTH - right + 6, y - height / 2, _rounded(cell["median_ms"]))
        _label_log_x(sheet, axes, limits, _RIDGE_WORDS)
        title = "Response times of participants" if by is None else f"Response times of participants by {by}"
        return finished(sheet, name, title, _distribution_words(rows, numbers), numbers)


def _density(log_rt: np.ndarray[Any, np.dtype[np.float64]], grid: Any) -> Any:
    """Return the density of the logarithms at the points of a grid, or None if all values are equal.

    The result is the same as that of `scipy.stats.gaussian_kde`. The import of `scipy.stats` would take about as long
    as all figures of a study.
    """
    if len(log_rt) < 2 or np.ptp(log_rt) <= 1e-6:
        return None
    bandwidth = log_rt.std(ddof=1) * len(log_rt) ** (-1 / 5)
    values, counts = np.unique(log_rt, return_counts=True)
    kernels = np.exp(-0.5 * ((grid[:, None] - values) / bandwidth) ** 2)
    return kernels @ counts / (len(log_rt) * bandwidth * np.sqrt(2 * np.pi))


def _limits(values: Floats | pd.Series) -> tuple[float, float]:
    span = np.asarray(values, dtype=float)
    return float(span[span > 0].min()) / 1.5, float(span.max()) * 1.5


def _bounds(rule: RtRule | None) -> list[float]:
    return [] if rule is None else [bound for bound in (rule.min_ms, rule.max_ms) if bound is not None]


def _log_axes(
    sheet: FigureSheet, box: tuple[float, float, float, float], limits: tuple[float, float], heading: str
) -> Axes:
    axes = sheet.axes(*box)
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    sheet.write(box[0], box[1] - 18, heading, bold=True, at="bottom")
    return axes


def _label_log_x(sheet: FigureSheet, axes: Axes, limits: tuple[float, float], title: str | Sequence[str] = "") -> None:
    ticks = [step * 10.0**power for power in range(8) for step in (1, 2, 5)]
    inside = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
    label_x(sheet, axes, inside, [milliseconds(tick) for tick in inside], title)


def _draw_bounds(sheet: FigureSheet, axes: Axes, rule: RtRule | None, limits: tuple[float, float]) -> None:
    """Draw the thresholds of a rule, with labels above the axes. Labels that would overlap are moved apart."""
    if rule is None:
        return
    words = {bound: f"excluded {side} {milliseconds(bound)}"
             for side, bound in (("under", rule.min_ms), ("over", rule.max_ms)) if bound}  # fmt: skip
    for bound in words:
        axes.axvline(bound, color=VERMILLION, linestyle=(0, (5, 2)), linewidth=1.1)
        shaded = (limits[0], bound) if bound == rule.min_ms else (bound, limits[1])
        axes.axvspan(*shaded, color=SOFT, alpha=0.12, lw=0)
    box = axes.get_position()
    left, right, top = box.x0 * sheet.width, box.x1 * sheet.width, (1 - box.y1) * sheet.height
    room = max((text_width(said, SMALL) for said in words.values()), default=0.0)
    wanted = [left + (right - left) * np.log(bound / limits[0]) / np.log(limits[1] / limits[0]) for bound in words]
    for x, said in zip(moved_apart(wanted, room + 6, left + room / 2, right - room / 2), words.values(), strict=True):
        sheet.write(x, top - 3, said, align="center", at="bottom", size=SMALL)


def _rounded(rt_ms: float) -> str:
    """Return a response time with three significant digits."""
    return milliseconds(float(f"{rt_ms:.3g}"))


def _threshold_words(timed: pd.DataFrame, kinds: Sequence[str], *rules: RtRule | None) -> str:
    parts = []
    for kind in kinds:
        rt_ms = timed.loc[timed["kind"] == kind, "rt_ms"]
        low, middle, high = (_rounded(value) for value in rt_ms.quantile([0.05, 0.5, 0.95]))
        parts.append(
            f"{PEOPLE[kind]}: {len(rt_ms)} test trials, median {middle}, 5th to 95th percentile {low} to {high}"
        )
    thresholds = [milliseconds(bound) for rule in rules for bound in _bounds(rule)]
    drawn = f" Thresholds drawn: {', '.join(thresholds)}." if thresholds else " The plan has no thresholds."
    return "; ".join(parts) + "." + drawn


def _distribution_words(rows: Sequence[_Row], numbers: pd.DataFrame) -> str:
    said = [row.label if row.label == PEOPLE[row.kind] else f"{PEOPLE[row.kind]}, {row.label}" for row in rows]
    parts = [
        f"{who}: median {_rounded(row['median_ms'])}, interquartile range {_rounded(row['q25_ms'])} to "
        f"{_rounded(row['q75_ms'])} ({count(row['n_trials'], 'trial')} of "
        f"{count(row['n_participants'], 'participant')})"
        for who, row in zip(said, numbers.to_dict("records"), strict=True)
    ]
    return "Test trials in the analysis. " + "; ".join(parts) + "."
