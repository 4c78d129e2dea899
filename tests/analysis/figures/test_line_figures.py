import numpy as np
import pandas as pd
import pytest

from analysis.figures import difficulty_figure, interaction_plot
from analysis.figures.drawing.axes import nice_ticks, number_labels
from analysis.figures.drawing.subject_styles import looks
from tests.analysis.figures.layout import height_of, points, segments, texts
from tests.analysis.figures.tables import LONG_LEVELS, LONG_NAMES, accuracy_table, hard_table


def means(x, lines, *, scale=1.0, gaps=False):
    rng = np.random.default_rng(2)
    rows = [(at, line, *(scale * np.array([e, e - 0.05, e + 0.05])))
            for line in lines for at in x for e in [rng.uniform(0.3, 0.8)]]  # fmt: skip
    table = pd.DataFrame(rows, columns=["condition", "subject", "estimate", "low", "high"])
    if gaps:
        table.loc[::4, ["low", "high"]] = np.nan
        table.loc[1::5, "estimate"] = np.nan
    return table


def plot(table, y_label="accuracy, marginal mean with 95 % CI"):
    return interaction_plot(table, "condition", "subject", "a", "estimate", "low", "high", y_label)


def test_every_line_has_its_name_and_its_numbers(readable):
    drawing = readable(plot(means(["A", "B"], ["people", "gpt-4o"])))
    assert {"people", "gpt-4o", "A", "B", "condition"} <= set(texts(drawing))
    assert drawing.description.count(" to ") == 4
    assert drawing.title == "accuracy, marginal mean with 95 % CI by condition and subject"


def test_names_of_lines_that_end_at_the_same_point_do_not_overlap(readable):
    table = means(["A", "B"], [f"model {n}" for n in range(12)]).assign(estimate=0.5, low=0.4, high=0.6)
    readable(plot(table))


@pytest.mark.parametrize("scale", [1e-6, 1, 5e4])
@pytest.mark.parametrize("levels", [LONG_LEVELS, (0, 2, 3), ("اعتقادات",), (None, True, False)])
def test_any_levels_and_scales_can_be_read(levels, scale, readable):
    readable(plot(means(levels, ["people", *LONG_NAMES[:10]], scale=scale, gaps=True), "response time in ms " * 12))


def test_a_single_line_without_a_name_has_no_label(readable):
    drawing = readable(plot(means(["A", "B"], [""])))
    assert "gpt" not in "".join(texts(drawing))
    assert drawing.title.endswith("by condition")


def test_a_missing_interval_is_described_as_missing(readable):
    table = means(["A", "B"], ["people"])
    table.loc[0, ["low", "high"]] = np.nan
    assert "people, condition A: " in readable(plot(table)).description
    assert plot(table).description.count("(no CI)") == 1


def test_lines_that_cannot_be_distinguished_are_not_drawn():
    assert plot(means(["A"], [f"m{n}" for n in range(13)])) is None
    assert plot(means(range(25), ["people"])) is None
    assert plot(means(["A"], ["people"]).assign(estimate=np.nan)) is None


def test_accuracy_falls_over_levels_with_chance_dashed(readable):
    drawing = readable(difficulty_figure(accuracy_table(level=(0, 2, 3)), "a", of="inference level", chance=0.25))
    assert {"0", "2", "3", "inference level", "people", "chance 25.0\u00a0%"} <= set(texts(drawing))
    assert "percent correct, 95\u00a0% CI" in " ".join(texts(drawing))
    assert drawing.description.startswith("Chance is 25.0\u00a0%. 95\u00a0% CIs are in parentheses.")


def test_twelve_hard_subjects_can_be_read(readable):
    readable(difficulty_figure(hard_table(level=(0, 1, 2, 3)), "a", of="inference level", chance=0.25))
    readable(difficulty_figure(accuracy_table((), level=(2,)), "a", of="inference level", confidence=0.9))


def test_accuracy_of_too_many_subjects_or_no_subjects_is_not_drawn():
    assert difficulty_figure(accuracy_table(range(12), level=(0, 1)), "a", of="inference level") is None
    assert difficulty_figure(accuracy_table(level=(0, 1)).assign(accuracy=np.nan), "a", of="inference level") is None


def test_ticks_are_round_and_within_the_axis():
    assert nice_ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert nice_ticks(-3e-7, 9e-7)
    assert number_labels(nice_ticks(0, 20_000)) == ["0", "5,000", "10,000", "15,000", "20,000"]


def test_points_and_intervals_lie_at_their_level(readable):
    table = means(["B", "A"], ["people", "gpt-4o"])
    readable(plot(table))
    axes = readable.figure.axes[0]
    for row in table.to_dict("records"):
        (x,) = [x for x, y in points(axes) if y == round(row["estimate"], 6)]
        assert round(x) == ["A", "B"].index(row["condition"])
        assert (x, round(row["low"], 6), x, round(row["high"], 6)) in segments(axes)


def test_a_line_is_broken_where_an_estimate_is_missing(readable):
    table = means(["A", "B", "C"], ["people"])
    table.loc[1, "estimate"] = np.nan
    table = pd.concat([table, means(["B"], ["m"])])
    readable(plot(table))
    (line,) = [line for line in readable.figure.axes[0].get_lines() if len(line.get_xydata()) == 3][:1]
    assert np.isnan(line.get_ydata()).tolist() == [False, True, False]


def test_a_name_is_at_the_end_of_its_line(readable):
    table = means(["A", "B"], ["low", "high"])
    table.loc[table["subject"] == "low", "estimate"] = [0.9, 0.1]
    table.loc[table["subject"] == "high", "estimate"] = [0.1, 0.9]
    readable(plot(table.assign(low=0.0, high=1.0)))
    axes = readable.figure.axes[0]
    for name, end in (("low", 0.1), ("high", 0.9)):
        at = axes.transData.transform((0, end))[1]
        assert height_of(readable.figure, name) == pytest.approx(at, abs=2)


def test_participants_are_points_behind_the_estimate_of_their_cell(readable):
    participants = pd.DataFrame(
        {"condition": ["A", "A", "B", "B", "A"], "subject": ["people"] * 4 + ["gpt"], "mean": [0.2, 0.4, 0.5, 0.9, 1.0]}
    )
    drawing = readable(
        interaction_plot(
            means(["A", "B"], ["people", "gpt"]), "condition", "subject", "a", "estimate", "low", "high", "accuracy",
            scale=100, participants=participants,
        )
    )  # fmt: skip
    axes = readable.figure.axes[0]
    drawn = [sorted((round(float(x)), round(float(y), 6)) for x, y in one.get_offsets()) for one in axes.collections]
    assert drawn == [[(0, 20), (0, 40)], [(1, 50), (1, 90)]], "not the only run of gpt, which would be its mean"
    assert drawing.title.endswith("; small points: means of participants or runs")
    assert axes.get_ylim()[0] < 20
    assert axes.get_ylim()[1] > 90


def test_the_points_of_a_line_can_be_different_subjects_with_their_own_styles(readable):
    names = ["gpt, temperature 0", "gpt, temperature 1"]
    styles = looks([("model", name) for name in names])
    table = accuracy_table(("gpt", "gpt")).query("kind == 'model'").assign(level=[0, 1], point_subject=names)
    runs = pd.DataFrame({"kind": "model", "subject": "gpt", "level": [0, 0, 1], "accuracy": [0.1, 0.3, 0.5]})
    readable(difficulty_figure(table, "a", of="temperature", styles=styles, participants=runs))
    axes = readable.figure.axes[0]
    markers = [line.get_marker() for line in axes.get_lines() if len(line.get_xdata()) == 1]
    assert markers == [styles["model", name].marker for name in names]
    (behind,) = axes.collections
    assert sorted(behind.get_offsets()[:, 1]) == [0.1, 0.3]
