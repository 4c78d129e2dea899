import re

import numpy as np
import pandas as pd
import pytest

from analysis.figures import forest_plot
from tests.analysis.figures.layout import height_of, points, segments, texts
from tests.analysis.figures.tables import LONG_NAMES


def table(n, *, scale=1.0, names=None):
    rng = np.random.default_rng(3)
    estimates = rng.normal(0.1, 0.3, n) * scale
    labels = names or [f"model {index}" for index in range(n)]
    return pd.DataFrame(
        {"label": labels, "e": estimates, "low": estimates - 0.2 * scale, "high": estimates + 0.2 * scale,
         "group": [f"group {index % 3}" for index in range(n)]}
    )  # fmt: skip


def plot(rows, **options):
    x_label = options.pop("x_label", "difference (people minus model), percentage points, with 95 % CI")
    return forest_plot(rows, "a", label="label", estimate="e", ci_low="low", ci_high="high", x_label=x_label, **options)


def test_every_row_has_its_numbers(readable):
    rows = pd.DataFrame({"label": ["A", "B"], "e": [0.12, -0.5], "low": [0.03, -0.75], "high": [0.21, -0.25]})
    drawing = readable(plot(rows, x_label="log-odds"))
    assert {"A", "0.12 [0.03, 0.21]", "B", "−0.50 [−0.75, −0.25]", "log-odds"} <= set(texts(drawing))
    assert "Of 2 CIs, 1 is above 0 and 1 is below 0" in drawing.description


def test_the_description_counts_only_intervals_that_leave_the_reference_out(readable):
    rows = pd.DataFrame({"label": list("ABC"), "e": [1.5, 1.0, 1.1], "low": [1.2, 0.5, 1.0], "high": [2.0, 1.5, 1.3]})
    assert "Of 3 CIs, 1 is above 1 and 0 are below 1" in readable(plot(rows, reference=1)).description


def test_the_description_of_a_single_interval_says_where_it_is(readable):
    for low, where in ((1.2, "above 1"), (0.5, "not above or below 1")):
        row = pd.DataFrame({"label": ["A"], "e": [1.5], "low": [low], "high": [2.0]})
        assert f"The CI is {where}." in readable(plot(row, reference=1)).description


def test_rows_without_an_interval_are_not_counted_as_intervals(readable):
    rows = pd.DataFrame({"label": ["A", "B"], "e": [1.5, 1.2], "low": [1.2, np.nan], "high": [2.0, np.nan]})
    assert "The CI is above 1." in readable(plot(rows, reference=1)).description
    assert "The CI is" not in readable(plot(rows[1:], reference=1)).description


def test_groups_are_in_the_order_of_their_first_rows(readable):
    words = texts(readable(plot(table(7), group="group")))
    headings = [word for word in words if word.startswith("group")]
    assert headings == ["group 0", "group 1", "group 2"]
    labels = sorted((f"model {index}" for index in range(7)), key=lambda label: -height_of(readable.figure, label))
    assert height_of(readable.figure, "group 0") > height_of(readable.figure, "model 0")
    assert labels == [f"model {index}" for index in (0, 3, 6, 1, 4, 2, 5)]


def test_every_group_may_have_the_same_label(readable):
    words = texts(readable(plot(table(6, names=["A", "A", "A", "B", "B", "B"]), group="group")))
    assert words.count("A") == words.count("B") == 3


def test_missing_numbers_are_described_as_missing(readable):
    rows = table(6)
    rows.loc[1, ["low", "high"]] = np.nan
    rows.loc[2, "e"] = np.nan
    rows.loc[3, "high"] = np.inf
    words = texts(readable(plot(rows)))
    assert sum(word.endswith("(no CI)") for word in words) == 2
    assert words.count("no estimate") == 1


def test_one_very_wide_interval_does_not_compress_the_other_intervals(readable):
    rows = table(6)
    rows.loc[0, ["low", "high"]] = [-5000, 5000]
    drawing = readable(plot(rows))
    ticks = [float(word.replace("−", "-")) for word in texts(drawing) if re.fullmatch(r"−?\d+(\.\d+)?", word)]
    assert max(map(abs, ticks)) < 10
    assert any("[−5,000.00, 5,000.00]" in word for word in texts(drawing)), "the numbers are written in full"


@pytest.mark.parametrize("scale", [1e-4, 1, 1e5])
@pytest.mark.parametrize("n", [1, 11])
def test_any_scale_can_be_read(n, scale, readable):
    readable(plot(table(n, scale=scale, names=LONG_NAMES[:n]), group="group"))


def test_many_rows_are_cut_and_the_figure_says_so(readable):
    drawing = readable(plot(table(100)))
    assert "The first 60 of 100 rows." in texts(drawing)
    assert "The first 60 of 100 rows." in drawing.description
    assert len(drawing.data) == 100
    assert "model 60" not in texts(drawing)


def test_without_data_there_is_no_figure():
    assert plot(table(0)) is None
    assert plot(table(2).assign(e=np.nan)) is None


def test_equal_estimates_can_be_drawn(readable):
    readable(plot(table(3).assign(e=0.0, low=0.0, high=0.0)))


def test_estimates_and_intervals_are_at_their_numbers_in_the_row_of_their_label(readable):
    rows = table(5)
    readable(plot(rows, group="group", reference=0.05))
    (axes,) = readable.figure.axes
    assert (0.05, 0, 0.05, 1) in segments(axes)
    for row in rows.to_dict("records"):
        (y,) = [y for x, y in points(axes) if x == round(row["e"], 6)]
        assert (round(row["low"], 6), y, round(row["high"], 6), y) in segments(axes)
        at = axes.transData.transform((0, y))[1]
        assert height_of(readable.figure, row["label"]) == pytest.approx(at, abs=2)
