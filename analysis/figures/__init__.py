"""The figures.

Each figure is a `Drawing`: an SVG for the report, a PDF for journals, alternative text, and a table of the drawn
numbers.

    accuracy.py              `accuracy_figure`: one panel per level, one row per subject
    accuracy_bars.py         `accuracy_bars`: accuracy as bars in panels of a factor, such as the demand of the items
    accuracy_panels.py       `accuracy_panels`: accuracy by one factor in panels of a second factor
    condition_by_subject.py  `condition_by_subject`: accuracy in cells that are coloured by the distance from chance
    difficulty.py            `difficulty_figure`: accuracy over ordered levels
    interaction.py           `interaction_plot`: estimates of two factors
    forest.py                `forest_plot`: estimates with intervals, and a reference line
    responses.py             `response_figure`, `value_figure`: shares and means of responses to ungraded items
    item_scatter.py          `item_scatter`: accuracy by item, of people and of each model
    power_curve.py           `power_curve`: power over the number of participants
    reliability_diagram.py   `reliability_diagram`: accuracy against confidence
    response_times.py        `response_times_figure`, `rt_distributions`
    photodiode.py            `screen_timing_figure`: delays and durations of a screen in the laboratory
    exclusion_flow.py        `exclusion_flow`: from recruitment to the analysis
    counterbalance.py        `counterbalance_matrix`: the conditions of each group
    drawing/                 parts that all figures use: the empty sheet, axes, text, lines, and styles of subjects

Every figure is 140 mm wide. The text of a figure is at least 7 points high. A missing interval is not drawn; the
figure or the alternative text states that the interval is missing. A function returns None if there is nothing to
draw, or if the drawing would not fit on a page. The docstring of the function lists these cases.
"""

from analysis.figures.accuracy import MOST_LEVELS, accuracy_figure
from analysis.figures.accuracy_bars import accuracy_bars
from analysis.figures.accuracy_panels import accuracy_panels
from analysis.figures.condition_by_subject import condition_by_subject
from analysis.figures.counterbalance import counterbalance_counts, counterbalance_matrix
from analysis.figures.difficulty import difficulty_figure
from analysis.figures.drawing.sheet import Drawing, inline, missing_characters
from analysis.figures.exclusion_flow import exclusion_flow
from analysis.figures.forest import forest_plot
from analysis.figures.interaction import interaction_plot
from analysis.figures.item_scatter import item_scatter
from analysis.figures.photodiode import screen_timing_figure
from analysis.figures.power_curve import power_curve
from analysis.figures.reliability_diagram import reliability_diagram
from analysis.figures.response_times import response_times_figure, rt_distributions, timed_trials
from analysis.figures.responses import response_figure, value_figure

__all__ = [
    "MOST_LEVELS",
    "Drawing",
    "accuracy_bars",
    "accuracy_figure",
    "accuracy_panels",
    "condition_by_subject",
    "counterbalance_counts",
    "counterbalance_matrix",
    "difficulty_figure",
    "exclusion_flow",
    "forest_plot",
    "inline",
    "interaction_plot",
    "item_scatter",
    "missing_characters",
    "power_curve",
    "reliability_diagram",
    "response_figure",
    "response_times_figure",
    "rt_distributions",
    "screen_timing_figure",
    "timed_trials",
    "value_figure",
]
