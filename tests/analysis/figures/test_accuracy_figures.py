import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.figures import accuracy_bars, accuracy_figure, accuracy_panels
from analysis.figures.drawing.subject_styles import looks
from analysis.measures.accuracy import accuracy, participant_accuracy
from experiment.study.analysis_plan import AnalysisPlan
from tests.analysis.figures.layout import height_of, points, segments, texts
from tests.analysis.figures.tables import LONG_LEVELS, LONG_NAMES, MODELS, accuracy_table, hard_table

PLAN = AnalysisPlan(resamples=1000)
DEMANDS = ("constitutional", "functional", "spatiotemporal", "beliefs", "intentions", "feelings")


@pytest.fixture(scope="module")
def trials(view, session):
    return apply_exclusions(
        tidy_trials(
            view(
                [session(participant=f"P{n}", n_correct=n % 5, factors={"condition": f"0{n % 2}"}) for n in range(6)],
                [
                    session(participant=f"S{n}", kind="simulated", n_correct=2, factors={"condition": "00"})
                    for n in range(3)
                ],
                session(kind="model", run="<b>Model $x^2$ & co</b>", factors={"condition": "01"}),
            )
        ),
        PLAN,
    ).trials


def test_the_figure_of_a_real_table_has_its_words_as_text(trials, readable):
    drawing = readable(accuracy_figure(accuracy(trials, ["condition"], PLAN), "condition", 0.25, 0.95, "by_condition"))
    words = set(texts(drawing))
    assert {"condition: 00", "condition: 01", "people", "chance 25.0\u00a0%"} <= words
    assert "percent correct, 95\u00a0% CI" in words
    assert "<b>Model $x^2$ & co</b>" in "".join(texts(drawing))
    assert drawing.title == "Accuracy by subject and condition"


def test_the_description_has_the_numbers_and_names_the_interval(trials, readable):
    drawing = readable(accuracy_figure(accuracy(trials, [], PLAN), None, 0.25, 0.9, "overall"))
    assert "people: 41.7\u00a0% (" in drawing.description
    assert "90\u00a0% CIs" in drawing.description
    assert drawing.data["accuracy"].tolist() == accuracy(trials, [], PLAN)["accuracy"].tolist()


@pytest.mark.parametrize("chance", [0, 0.02, 0.5, 0.97, 1])
def test_hard_rows_can_be_read_at_any_chance_level(chance, readable):
    drawing = readable(accuracy_figure(hard_table(), None, chance, 0.95, "a"))
    assert "people: 50.0\u00a0% (no CI)" in drawing.description or "(no CI)" in drawing.description


def test_one_subject_is_enough(readable):
    readable(accuracy_figure(accuracy_table(()), None, 0.25, 0.95, "a"))


def test_24_levels_of_12_subjects_can_be_read(readable):
    readable(accuracy_figure(hard_table(scenario=LONG_LEVELS), "scenario", 0.25, 0.95, "a"))


def test_a_missing_accuracy_is_described_as_missing_and_not_drawn(readable):
    table = accuracy_table()
    table.loc[1, "accuracy"] = float("nan")
    drawing = readable(accuracy_figure(table, None, 0.25, 0.95, "a"))
    assert "gpt-4o: no accuracy" in drawing.description


def test_names_with_different_ends_can_be_distinguished(readable):
    drawing = readable(accuracy_figure(accuracy_table(LONG_NAMES[:2]), None, 0.25, 0.95, "a"))
    words = " ".join(texts(drawing))
    assert "no thinking" in words
    assert "with thinking" in words or "ith thinking" in words


# Without combining marks: a mark that DejaVu Sans lacks becomes a box above the letter, beyond the height of its line.
# The category of a mark that is newer than Python's table of characters is Cn.
CHARACTERS = st.characters(codec="utf-8", exclude_categories=("Mn", "Me", "Cn"))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    models=st.lists(st.text(CHARACTERS, max_size=70), max_size=8, unique=True),
    levels=st.lists(st.one_of(st.integers(), st.text(CHARACTERS, max_size=40)), min_size=1, max_size=5, unique_by=str),
)
def test_any_names_and_levels_can_be_read(models, levels, readable):
    readable(accuracy_figure(accuracy_table(models, level=levels), "level", 0.25, 0.95, "a"))


def test_panels_show_subjects_side_by_side_with_chance_in_the_key(readable):
    table = accuracy_table(condition=("A", "B"), demand=DEMANDS)
    drawing = readable(accuracy_panels(table, "condition", "demand", 0.25, 0.95, "a"))
    words = texts(drawing)
    assert all(f"demand: {demand}" in " ".join(words) for demand in DEMANDS)
    assert {"people", *MODELS, "chance 25.0\u00a0%"} <= set(words)
    assert words.count("people") == 1, "one key for all panels"
    assert words.count("condition") == 3, "the factor is below the last panel of each column"
    assert words.count("percent correct, 95\u00a0% CI") == 2


def test_a_description_has_few_numbers_in_full_and_summarizes_many(readable):
    few = readable(
        accuracy_panels(accuracy_table(condition=("A", "B"), demand=("x",)), "condition", "demand", 0.2, 0.95, "a")
    )
    assert few.description.count("%") > 10 * 3
    many = readable(
        accuracy_panels(accuracy_table(condition=("A", "B"), demand=DEMANDS), "condition", "demand", 0.2, 0.95, "a")
    )
    assert many.description.count("least ") == many.description.count("greatest ") == 6


@pytest.mark.parametrize("n_levels", [1, 4, 24])
@pytest.mark.parametrize("models", [(), MODELS])
def test_panels_of_many_levels_can_be_read(n_levels, models, readable):
    table = accuracy_table(models, scenario=LONG_LEVELS[:n_levels], demand=("信念", "اعتقادات", None))
    drawing = accuracy_panels(table, "scenario", "demand", 0.25, 0.95, "a")
    if n_levels == 24 and models:
        assert drawing is None, "24 levels of 5 subjects could not be distinguished"
    else:
        readable(drawing)


def test_twelve_subjects_in_panels_can_be_read(readable):
    table = hard_table(condition=("A: control", "B: primary inference", "C: secondary", "D: double"), demand=DEMANDS)
    readable(accuracy_panels(table, "condition", "demand", 0.25, 0.95, "a"))


def test_without_data_there_are_no_panels():
    empty = accuracy_table(condition=("A",), demand=("x",)).assign(accuracy=float("nan"))
    assert accuracy_panels(empty, "condition", "demand", 0.25, 0.95, "a") is None
    panels = accuracy_table((), condition=("A",), demand=tuple(range(25)))
    assert accuracy_panels(panels, "condition", "demand", 0.25, 0.95, "a") is None


def test_the_data_are_the_table(readable):
    table = accuracy_table(condition=("A", "B"), demand=DEMANDS)
    drawing = readable(accuracy_panels(table, "condition", "demand", 0.25, 0.95, "a"))
    pd.testing.assert_frame_equal(drawing.data, table)


def test_markers_and_intervals_are_at_their_numbers_in_the_row_of_their_name(readable):
    table = accuracy_table()
    readable(accuracy_figure(table, None, 0.25, 0.95, "a"))
    (axes,) = readable.figure.axes
    assert (0.25, 0, 0.25, 1) in segments(axes), "the chance line"
    for index, row in enumerate(table.to_dict("records")):
        assert (round(row["accuracy"], 6), index) in points(axes)
        assert (round(row["ci_low"], 6), index, round(row["ci_high"], 6), index) in segments(axes)
        at = axes.transData.transform((0, index))[1]
        assert height_of(readable.figure, row["subject"]) == pytest.approx(at, abs=2)


def test_each_panel_shows_its_level(readable):
    table = accuracy_table(("m",), level=(10, 2))
    readable(accuracy_figure(table, "level", 0.25, 0.95, "a"))
    for axes, level in zip(readable.figure.axes, (2, 10), strict=True):
        own = table[table["level"] == level]["accuracy"].round(6).tolist()
        assert sorted(points(axes), key=lambda point: point[1]) == [(own[0], 0), (own[1], 1)]


def test_in_panels_each_interval_lies_at_its_level_and_in_its_panel(readable):
    table = accuracy_table(condition=("B", "A"), demand=("y", "x"))
    readable(accuracy_panels(table, "condition", "demand", 0.25, 0.95, "a"))
    _, *panels = readable.figure.axes
    for axes, demand in zip(panels, ("x", "y"), strict=True):
        own = table[table["demand"] == demand]
        assert len(points(axes)) == len(own)
        for row in own.to_dict("records"):
            (x,) = [x for x, y in points(axes) if y == round(row["accuracy"], 6)]
            assert round(x) == ("A", "B").index(row["condition"])
            assert (x, round(row["ci_low"], 6), x, round(row["ci_high"], 6)) in segments(axes)
        order = [round(row["accuracy"], 6) for row in own[own["condition"] == "A"].to_dict("records")]
        assert [y for x, y in sorted(points(axes)) if x < 0.5] == order, "subjects from left to right as in the table"


def test_six_demands_are_two_rows_of_three_panels_of_bars(readable):
    table = accuracy_table(demand=DEMANDS)
    drawing = readable(accuracy_bars(table, "demand", DEMANDS, 0.25, 0.95, "a"))
    words = texts(drawing)
    assert [word for word in words if word in DEMANDS] == list(DEMANDS), "in the order of the plan"
    assert words.count("people") == 1, "one key for all panels"
    assert "chance 25.0\u00a0%" in words
    assert words.count("percent correct, 95\u00a0% CI") == 2, "two rows of panels"
    assert drawing.data.equals(table)


def test_bars_of_hard_tables_can_be_read_or_are_left_out(readable):
    readable(accuracy_bars(hard_table(demand=LONG_LEVELS[:4]), "demand", LONG_LEVELS[:4], 0.25, 0.95, "a"))
    many = accuracy_table([f"model {n}" for n in range(40)], demand=("x",))
    assert accuracy_bars(many, "demand", ("x",), 0.25, 0.95, "a") is None
    assert accuracy_bars(many.head(0), "demand", (), 0.25, 0.95, "a") is None


def test_panels_have_the_order_that_is_asked_for(readable):
    table = accuracy_table(condition=("A", "B"), demand=DEMANDS)
    drawing = readable(accuracy_panels(table, "condition", "demand", 0.25, 0.95, "a", DEMANDS))
    assert re.findall(r"demand: (\w+)", " ".join(texts(drawing))) == list(DEMANDS)


def participants_of(table, n=5):
    """Return `n` participants or runs around each accuracy of a table."""
    rows = table.loc[table.index.repeat(n)].drop(columns=["ci_low", "ci_high"])
    shift = np.tile(np.linspace(-0.1, 0.1, n), len(table))
    return rows.assign(participant=[f"P{place}" for place in range(len(rows))], accuracy=rows["accuracy"] + shift)


def drawn_behind(axes, of):
    """Return the values of the small points on the axis `of` (0: horizontal, 1: vertical), one list per mean."""
    return [sorted(round(float(place[of]), 6) for place in one.get_offsets()) for one in axes.collections]


def test_participants_are_points_behind_their_mean(readable):
    table = accuracy_table()
    participants = participants_of(table)
    readable(accuracy_figure(table, None, 0.25, 0.95, "a", participants=participants))
    (axes,) = readable.figure.axes
    expected = participants.groupby("subject", sort=False)["accuracy"].apply(lambda own: sorted(own.round(6)))
    assert drawn_behind(axes, 0) == expected.tolist()
    rows = [{round(float(y)) for _, y in one.get_offsets()} for one in axes.collections]
    assert rows == [{row} for row in range(len(table))], "in the row of the subject"


def test_each_panel_has_the_points_of_its_participants(readable):
    table = accuracy_table(("m",), condition=("A", "B"), demand=("x", "y"))
    participants = participants_of(table)
    readable(accuracy_panels(table, "condition", "demand", 0.25, 0.95, "a", participants=participants))
    _, *panels = readable.figure.axes
    for axes, demand in zip(panels, ("x", "y"), strict=True):
        own = participants[participants["demand"] == demand]
        expected = own.groupby(["condition", "subject"], sort=False)["accuracy"].apply(lambda of: sorted(of.round(6)))
        assert sorted(drawn_behind(axes, 1)) == sorted(expected.tolist())
    one_factor = participants[participants["demand"] == "x"]
    readable(accuracy_figure(table[table["demand"] == "x"], "condition", 0.2, 0.95, "b", participants=one_factor))
    for axes, level in zip(readable.figure.axes, ("A", "B"), strict=True):
        own = one_factor[one_factor["condition"] == level]["accuracy"].round(6)
        assert sorted(value for values in drawn_behind(axes, 0) for value in values) == sorted(own)


def test_a_single_participant_or_run_has_no_point_behind_the_mean(readable):
    table = accuracy_table()
    readable(accuracy_figure(table, None, 0.25, 0.95, "a", participants=participants_of(table, n=1)))
    assert not readable.figure.axes[0].collections


def test_a_model_with_several_conditions_is_named_once(readable):
    table = accuracy_table(
        ("gpt-4o, temperature 0", "gpt-4o, temperature 1", "o3-mini"), condition=("A",), demand=("x",)
    )
    rows = texts(readable(accuracy_figure(table, "condition", 0.25, 0.95, "a")))
    key = texts(readable(accuracy_panels(table, "condition", "demand", 0.25, 0.95, "a")))
    assert [rows.count(name) for name in ("gpt-4o", "temperature 0", "temperature 1", "o3-mini")] == [1, 1, 1, 1]
    assert [key.count(name) for name in ("gpt-4o:", "temperature 0", "temperature 1", "o3-mini")] == [1, 1, 1, 1]


def test_a_subject_has_the_style_of_the_report_in_every_figure(readable):
    styles = looks([("human", "people"), ("model", "A"), ("model", "B")])
    table = accuracy_table(("B",))
    readable(accuracy_figure(table, None, 0.25, 0.95, "a", styles=styles))
    (axes,) = readable.figure.axes
    (marker,) = [line for line in axes.get_lines() if line.get_ydata()[0] == 1 and len(line.get_ydata()) == 1]
    assert marker.get_color() and marker.get_marker() == styles["model", "B"].marker
    assert marker.get_markeredgecolor() == styles["model", "B"].colour


def test_the_points_are_the_accuracies_of_the_participants_in_the_analysis(trials):
    found = participant_accuracy(trials, ["condition"])
    of_people = found[found["kind"] == "human"].set_index("participant")["accuracy"]
    assert of_people.round(6).to_dict() == {f"P{n}": round(n % 5 / 4, 6) for n in range(6)}
    assert found.set_index("participant").loc[["P0", "P3"], "condition"].tolist() == ["00", "01"]
