"""The figure of `equipoise power`."""

import numpy as np
import pandas as pd
import pytest

from analysis.figures import power_curve
from tests.analysis.figures.layout import texts


def simulated(ns: list[int]) -> pd.DataFrame:
    given = pd.DataFrame({"effect": "as given", "n_participants": ns, "power": np.linspace(0.3, 0.9, len(ns))})
    none = pd.DataFrame({"effect": "none", "n_participants": ns[-1:], "power": [0.05]})
    table = pd.concat([given, none], ignore_index=True)
    return table.assign(ci_low=table["power"] - 0.03, ci_high=table["power"] + 0.03)


CURVES = {"as given": "with the effect", "none": "without any effect"}
LABEL = "percent of studies with a significant result, 95 % CI"


@pytest.mark.parametrize("ns", [[24], [20, 40, 80], [30, 60, 84, 108, 132, 162, 996], [2, 10_000]])
def test_a_power_curve_can_be_read_and_has_its_numbers(ns, readable):
    drawing = readable(power_curve(simulated(ns), CURVES, "power", LABEL, [0.8, 0.82, 0.9]))
    assert {"with the effect", "without any effect", "80\u00a0%", "90\u00a0%", "number of participants"} <= set(
        texts(drawing)
    )
    assert f"with the effect, {ns[0]} participants: 30.0\u00a0% (27.0\u00a0% to 33.0\u00a0%)" in drawing.description
    assert f"without any effect, {ns[-1]} participants: 5.0\u00a0%" in drawing.description


def test_numbers_of_participants_are_at_distances_in_proportion_to_them(readable):
    readable(power_curve(simulated([20, 40, 80]), CURVES, "power", LABEL, [0.8]))
    axes = next(axes for axes in readable.figure.axes if axes.get_xlim()[0] == 0 and axes.get_ylim() == (0, 1))
    assert list(axes.get_lines()[1].get_xdata()) == [20, 40, 80]
    assert axes.get_xlim()[1] > 80


def test_false_positive_rates_have_no_line_at_a_power(readable):
    drawing = readable(power_curve(simulated([20, 40]).head(2), {"as given": "without any effect"}, "p", LABEL, []))
    assert "80\u00a0%" not in texts(drawing)
    assert "Dashed" not in drawing.description
