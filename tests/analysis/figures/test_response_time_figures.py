import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.figures import response_times_figure, rt_distributions, timed_trials
from analysis.figures.response_times import _density
from experiment.study.analysis_plan import AnalysisPlan
from tests.analysis.figures.layout import height_of, points, segments, texts
from tests.analysis.figures.tables import LONG_LEVELS

PLAN = AnalysisPlan(
    exclusions=[
        {"rule": "median_rt", "min_ms": 1000, "max_ms": 30_000}, {"rule": "trial_rt", "min_ms": 200, "max_ms": 60_000}
    ]
)  # fmt: skip


def trials(participants=20, n_trials=24, levels=("A", "B"), kinds=("human",), rt_ms=None):
    rng = np.random.default_rng(5)
    rows = [
        (kind, f"{kind}{person}", "test", "completed", 1, rt_ms or float(np.exp(rng.normal(9, 0.7))),
         levels[index % len(levels)])
        for kind in kinds for person in range(participants) for index in range(n_trials)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["kind", "participant", "phase", "status", "response", "rt_ms", "condition"])


def spaced(drawing):
    return [text.replace("\u00a0", " ") for text in texts(drawing)]


def test_response_times_are_drawn_for_each_kind_with_every_threshold(readable):
    words = spaced(readable(response_times_figure(timed_trials(trials(kinds=("human", "simulated"))), PLAN, "rt")))
    assert {"people: 480 test trials", "simulated participants: medians of 20 participants"} <= set(words)
    for threshold in ("excluded under 200 ms", "excluded over 60 s", "excluded under 1 s", "excluded over 30 s"):
        assert words.count(threshold) == 2, threshold


@pytest.mark.parametrize("bounds", [(1, 1.1), (9000, 9001), (1, 10_000_000), (None, 5), (0, 5000)])
def test_thresholds_anywhere_can_be_read(bounds, readable):
    rule = {"rule": "trial_rt", "min_ms": bounds[0], "max_ms": bounds[1]}
    readable(response_times_figure(timed_trials(trials()), AnalysisPlan(exclusions=[rule]), "rt"))


def test_the_figure_of_a_real_table_has_the_medians_as_its_data(view, session, readable):
    found = tidy_trials(view([session(participant=f"P{n}", rt_ms=1000.0 * (n + 1)) for n in range(3)]))
    drawing = readable(response_times_figure(timed_trials(found), AnalysisPlan(), "rt"))
    assert drawing.data["median_rt_ms"].tolist() == [1000, 2000, 3000]
    assert drawing.data["n_trials"].tolist() == [4, 4, 4]
    assert "The plan has no thresholds." in drawing.description


def test_without_response_times_there_is_no_figure(view, session):
    found = tidy_trials(view(session(rt_ms=None), session(kind="model")))
    assert response_times_figure(timed_trials(found), PLAN, "rt") is None
    assert rt_distributions(timed_trials(found), None, "rt") is None


def test_each_level_has_its_median_and_interquartile_range(readable):
    table = trials(participants=1, n_trials=3)
    table["rt_ms"] = [1000.0, 4000.0, 3000.0]
    drawing = readable(rt_distributions(timed_trials(table, ["condition"]), "condition", "rt"))
    assert drawing.data[["condition", "n_trials", "q25_ms", "median_ms", "q75_ms"]].to_numpy().tolist() == [
        ["A", 2, 1500, 2000, 2500], ["B", 1, 4000, 4000, 4000],
    ]  # fmt: skip
    assert {"A", "B", "2 s", "4 s", "people, by condition"} <= set(spaced(drawing))
    assert "point: median; bar: interquartile range; small points: participants' medians" in spaced(drawing)


def test_kinds_of_participants_are_separate_and_models_are_not_drawn(readable):
    drawing = readable(
        rt_distributions(timed_trials(trials(kinds=("human", "simulated", "model")), ["condition"]), "condition", "rt")
    )
    assert drawing.data["kind"].tolist() == ["human", "human", "simulated", "simulated"]
    assert {"people, by condition", "simulated participants, by condition"} <= set(texts(drawing))


def test_excluded_trials_are_not_in_the_distributions(view, session, readable):
    found = tidy_trials(view(session(participant="P1", rt_ms=100.0), session(participant="P2", rt_ms=5000.0)))
    kept = apply_exclusions(found, PLAN).trials
    assert readable(rt_distributions(timed_trials(kept), None, "rt")).data["n_trials"].tolist() == [4]


@pytest.mark.parametrize(
    "levels", [("A",), ("信念", None, "اعتقادات", "a long name of a condition that goes on"), LONG_LEVELS]
)
@pytest.mark.parametrize("kinds", [("human",), ("human", "simulated")])
def test_any_levels_can_be_read(levels, kinds, readable):
    readable(rt_distributions(timed_trials(trials(levels=levels, kinds=kinds), ["condition"]), "condition", "rt"))


@pytest.mark.parametrize(("participants", "n_trials"), [(1, 1), (3, 24)])
def test_equal_response_times_have_no_density_and_cause_no_error(participants, n_trials, readable):
    readable(
        rt_distributions(timed_trials(trials(participants, n_trials, rt_ms=5000.0), ["condition"]), "condition", "rt")
    )
    readable(response_times_figure(timed_trials(trials(participants, n_trials, rt_ms=5000.0)), PLAN, "rt"))


def test_too_many_levels_are_for_a_table():
    assert (
        rt_distributions(timed_trials(trials(levels=tuple(range(25)), n_trials=25), ["condition"]), "condition", "rt")
        is None
    )


def test_thresholds_and_medians_lie_at_their_times(readable):
    drawing = readable(response_times_figure(timed_trials(trials()), PLAN, "rt"))
    above, below = readable.figure.axes
    assert {segment[0] for segment in segments(above)} == {200, 60_000}
    assert {segment[0] for segment in segments(below)} == {1000, 30_000}
    (dots,) = [line for line in below.get_lines() if len(line.get_xydata()) == 20]
    assert sorted(dots.get_xdata()) == sorted(drawing.data["median_rt_ms"])
    assert sum(bar.get_height() for bar in above.patches[:50]) == 480, "every trial is in a bin"


def test_each_distribution_has_its_median_and_bar_in_the_row_of_its_label(readable):
    drawing = readable(rt_distributions(timed_trials(trials(levels=("B", "A", "C")), ["condition"]), "condition", "rt"))
    (axes,) = readable.figure.axes
    for row in drawing.data.to_dict("records"):
        (y,) = [y for x, y in points(axes) if x == round(row["median_ms"], 6)]
        assert (round(row["q25_ms"], 6), y, round(row["q75_ms"], 6), y) in segments(axes)
        base = axes.transData.transform((1000, y))[1]
        assert 0 < height_of(readable.figure, row["condition"]) - base < 20 * readable.figure.dpi / 72


def test_the_density_is_that_of_scipy():
    log_rt = np.log(np.random.default_rng(3).lognormal(7, 0.5, 200).round())
    grid = np.linspace(log_rt.min(), log_rt.max(), 50)
    np.testing.assert_allclose(_density(log_rt, grid), gaussian_kde(log_rt)(grid), rtol=1e-12)
    assert _density(np.array([7.0, 7.0]), grid) is None


def test_participants_medians_are_points_in_their_row(readable):
    table = trials(participants=3, n_trials=3)
    readable(rt_distributions(timed_trials(table), None, "rt"))
    behind = readable.figure.axes[0].collections[-1]
    medians = table.groupby("participant")["rt_ms"].median()
    assert sorted(behind.get_offsets()[:, 0]) == pytest.approx(sorted(medians))
