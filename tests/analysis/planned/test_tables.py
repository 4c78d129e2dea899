"""Tables of means, compared with R, with the published tables of the Black Box study, and with their docstring."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from analysis.data.data_file_reader import read_data_file
from analysis.data.row_filters import add_flags
from analysis.planned.tables import planned_table
from analysis.statistics.intervals import weighted_accuracy, wilson
from analysis.statistics.participant_intervals import proportion_interval
from batteries.errors import InputError
from batteries.files.file_reading import parse_yaml
from experiment.study.planned_analyses import PlannedAnalyses, PlannedTable
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "planned_analyses.json").read_text(encoding="utf-8"))["tables"]


@pytest.fixture(scope="module")
def made_up():
    return read_data_file(FIXTURES / "planned_analyses.csv")


def table(data, **planned):
    return planned_table(data, "summary", PlannedTable.model_validate(planned))


def refused(data, **planned):
    with pytest.raises((InputError, ValidationError)) as error:
        table(data, **planned)
    return str(error.value)


# Comparison with R


@pytest.mark.parametrize(
    ("name", "by"), [("by_condition", ["condition"]), ("by_site_and_condition", ["site", "condition"])]
)
@pytest.mark.parametrize("units", ["rows", "participants"])
def test_number_mean_deviation_and_error_are_those_of_r(made_up, name, by, units):
    data = made_up if units == "participants" else made_up.drop(columns="participant")
    measures = {"mean": "mean", "sd": "sd", "se": "se"}
    if units == "participants":
        measures |= {"se": "clustered_se", "ci_low": "ci_low", "ci_high": "ci_high", "n_participants": "n_participants"}
    found = table(data, by=by, of=["rt", "correct"])
    expected = R[name]
    assert len(found) == len(expected)
    for (_, row), cell in zip(found.iterrows(), expected, strict=True):
        assert row[by].tolist() == np.atleast_1d(cell["levels"]).tolist()
        for column in ("rt", "correct"):
            assert (row["n"], row[f"{column}_n"]) == (cell[column]["n"], cell[column]["n_there"])
            for measure, of_r in measures.items():
                if column == "rt" or not measure.startswith("ci_"):
                    assert row[f"{column}_{measure}"] == pytest.approx(cell[column][of_r], rel=1e-12)
            # The interval of a share is that of the accuracy, not a t interval.
            assert 0 <= row["correct_ci_low"] <= row["correct_mean"] <= row["correct_ci_high"] <= 1


def test_with_equal_numbers_of_rows_the_error_is_that_of_the_participants_means():
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"participant": np.repeat([f"p{number}" for number in range(12)], 5), "group": "a"})
    rows["score"] = np.repeat(rng.normal(1e7, 3, 12), 5) + rng.normal(0, 1, 60)
    means = rows.groupby("participant")["score"].mean()
    row = table(rows, by=["group"], of=["score"]).iloc[0]
    assert (row["n"], row["n_participants"]) == (60, 12)
    assert row["score_se"] == pytest.approx(means.sem(), rel=1e-6)
    interval = stats.t.interval(0.95, 11, means.mean(), means.sem())
    assert (row["score_ci_low"], row["score_ci_high"]) == pytest.approx(interval, rel=1e-12)
    narrow = planned_table(rows, "summary", PlannedTable(by=("group",), of=("score",)), 0.8).iloc[0]
    assert narrow["score_ci_high"] == pytest.approx(stats.t.interval(0.8, 11, means.mean(), means.sem())[1], rel=1e-12)


def test_one_row_of_each_participant_has_the_error_of_independent_rows():
    rows = SMALL.assign(participant=list("vwxyz"))
    found = table(rows, by=["group"], of=["score", "passed"])
    assert found["n_participants"].tolist() == [2, 2, 1]
    assert found["passed_n_participants"].tolist() == [1, 2, 1]
    pd.testing.assert_series_equal(found["score_se"], table(SMALL, by=["group"], of=["score"])["score_se"])


def test_runs_of_models_are_counted_as_runs_and_have_the_intervals_of_the_accuracy():
    """A t interval of a share leaves the range from 0 to 1 if there are few units."""
    rows = pd.DataFrame(
        {
            "subject": ["p"] * 4 + ["m"] * 4 + ["two runs"] * 8,
            "participant": ["p1"] * 4 + ["m1"] * 4 + ["r1"] * 4 + ["r2"] * 4,
            "kind": ["human"] * 4 + ["model"] * 12,
            "item_id": ["a", "b", "c", "d"] * 4,
            "story": [1, 1, 2, None] * 4,
            "correct": [1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0],
            "score": [3, 1, 2, 2] * 4,
        }
    )
    found = table(rows, by=["subject"], of=["correct", "score"]).set_index("subject")
    assert found["n_participants"].to_dict() == {"p": 1, "m": 0, "two runs": 0}
    assert found["n_runs"].to_dict() == {"p": 0, "m": 1, "two runs": 2}
    assert found["unit"].to_dict() == {"p": "participant", "m": "item", "two runs": "item"}
    assert np.isnan(found.loc["p", ["correct_se", "correct_ci_low", "correct_ci_high"]].astype(float)).all()

    def bounds(subject, column="correct", table=found):
        return tuple(float(table.loc[subject, f"{column}_ci_{end}"]) for end in ("low", "high"))

    assert found.loc["m", "correct_se"] == pytest.approx(0.25)
    assert bounds("m") == pytest.approx(wilson(3, 4))
    twos, ones = np.full(4, 2), np.array([2, 2, 1, 1])
    assert bounds("two runs") == pytest.approx(weighted_accuracy(ones, twos, twos)[1])
    # A column with other values has a t interval.
    assert bounds("m", "score") == pytest.approx(stats.t.interval(0.95, 3, 2, found.loc["m", "score_se"]))
    planned = PlannedTable(by=("subject",), of=("correct",))
    clustered = planned_table(rows, "t", planned, item_cluster="story").set_index("subject")
    assert clustered["unit"].to_dict() == {"p": "participant", "m": "story", "two runs": "story"}
    expected = weighted_accuracy(np.array([4, 1, 1]), np.array([4, 2, 2]), np.array([4, 2, 2]))[1]
    assert bounds("two runs", table=clustered) == pytest.approx(expected)
    # Without items, a single run has the interval of its rows. Several models in a cell are compared as runs.
    without = table(rows.drop(columns="item_id"), by=["subject"], of=["correct"]).set_index("subject")
    assert without["unit"].to_dict() == {"p": "participant", "m": "row", "two runs": "run"}
    assert bounds("m", table=without) == pytest.approx(wilson(3, 4))
    pooled = table(rows, by=["kind"], of=["correct"]).set_index("kind")
    assert pooled.loc["model", "unit"] == "run"
    assert bounds("model", table=pooled) == pytest.approx(proportion_interval(np.full(3, 3), np.full(3, 4), 0.95))
    everyone = table(rows.assign(all="x"), by=["all"], of=["correct"])
    assert everyone["unit"].tolist() == ["participant or run"]
    assert everyone[["n_participants", "n_runs"]].to_numpy().tolist() == [[1, 3]]


@pytest.mark.parametrize("n_runs", [1, 2, 3])
@pytest.mark.parametrize("n_right", [0, 1, 9, 10])
def test_the_interval_of_a_share_is_between_zero_and_one(n_runs, n_right):
    right = np.tile(np.arange(10) < n_right, n_runs)
    rows = pd.DataFrame({"participant": np.repeat([f"r{n}" for n in range(n_runs)], 10), "kind": "model",
                         "model": "M", "correct": right})  # fmt: skip
    row = table(rows, by=["model"], of=["correct"]).iloc[0]
    assert 0 <= row["correct_ci_low"] <= row["correct_mean"] <= row["correct_ci_high"] <= 1
    assert row["correct_ci_low"] < row["correct_ci_high"]


def test_rows_are_the_units_of_a_table_by_participant():
    rows = pd.DataFrame({"participant": ["a", "a", "b", "b"], "score": [1.0, 2.0, 3.0, 5.0]})
    found = table(rows, by=["participant"], of=["score"])
    assert "n_participants" not in found
    assert found["score_se"].tolist() == pytest.approx([0.5, 1])


def test_a_row_without_a_participant_is_refused():
    message = refused(SMALL.assign(participant=["a", None, "b", "c", "c"]), by=["group"], of=["score"])
    assert message.startswith("the table `summary`: 1 of 5 rows have no `participant`. Fix: ")


# Comparison with every cell of the published tables of the Black Box study

PUBLISHED_PLAN = """
subject: model
flags:
  perfect: {atoms_correct: 4}
tables:
  by_prompt:
    by: [model, prompt, thinking]
    of: [atoms_correct, score, mean_atoms_per_ray, rays_used]
  by_visualization:
    by: [vot_grid, vot_ray, vot_hypothesis]
    of: [atoms_correct, score, mean_atoms_per_ray]
  leaderboard:
    by: [model, prompt, thinking]
    of: [atoms_correct, score, perfect]
    order_by: [-atoms_correct, score]
    first: 10
"""
BY_PROMPT = """
Haiku 4.5 | augmented | no | 40 | 0.88 | 1.20 | 31.52 | 8.20 | 1.02 | 11.03
Haiku 4.5 | augmented | yes | 40 | 1.77 | 1.44 | 26.40 | 10.17 | 0.97 | 10.95
Haiku 4.5 | baseline | no | 40 | 0.82 | 1.32 | 26.80 | 6.72 | 1.12 | 7.90
Haiku 4.5 | baseline | yes | 40 | 0.75 | 1.17 | 29.82 | 6.84 | 1.00 | 9.50
Opus 4.5 | augmented | no | 40 | 1.18 | 1.30 | 29.62 | 8.96 | 1.03 | 10.88
Opus 4.5 | augmented | yes | 40 | 1.80 | 1.40 | 25.88 | 9.77 | 1.04 | 10.72
Opus 4.5 | baseline | no | 40 | 0.92 | 1.19 | 28.20 | 6.43 | 1.05 | 8.95
Opus 4.5 | baseline | yes | 40 | 0.92 | 1.29 | 28.35 | 7.50 | 0.96 | 9.00
Sonnet 4.5 | augmented | no | 40 | 1.23 | 1.31 | 30.92 | 10.06 | 1.00 | 11.72
Sonnet 4.5 | augmented | yes | 40 | 1.57 | 1.30 | 27.68 | 8.97 | 0.98 | 10.97
Sonnet 4.5 | baseline | no | 40 | 0.98 | 1.35 | 27.48 | 7.59 | 1.04 | 8.90
Sonnet 4.5 | baseline | yes | 40 | 0.95 | 1.15 | 28.00 | 8.00 | 0.97 | 9.03
"""
BY_VISUALIZATION = """
no | no | no | 120 | 1.16 | 1.34 | 28.00 | 8.02 | 1.01
no | no | yes | 120 | 1.17 | 1.29 | 28.66 | 8.35 | 1.03
no | yes | no | 120 | 1.13 | 1.35 | 27.83 | 8.13 | 1.01
yes | no | no | 120 | 1.13 | 1.32 | 29.07 | 9.24 | 1.00
"""
LEADERBOARD = """
Opus 4.5 | augmented | yes | 1.8 | 0.22 | 25.875 | 15 | 40
Haiku 4.5 | augmented | yes | 1.77 | 0.23 | 26.400 | 22.5 | 40
Sonnet 4.5 | augmented | yes | 1.57 | 0.21 | 27.675 | 10 | 40
Sonnet 4.5 | augmented | no | 1.23 | 0.21 | 30.925 | 12.5 | 40
Opus 4.5 | augmented | no | 1.18 | 0.21 | 29.625 | 12.5 | 40
Sonnet 4.5 | baseline | no | 0.98 | 0.21 | 27.475 | 10 | 40
Sonnet 4.5 | baseline | yes | 0.95 | 0.18 | 28.000 | 2.5 | 40
Opus 4.5 | baseline | no | 0.92 | 0.19 | 28.200 | 5 | 40
Opus 4.5 | baseline | yes | 0.92 | 0.2 | 28.350 | 7.5 | 40
Haiku 4.5 | augmented | no | 0.88 | 0.19 | 31.525 | 7.5 | 40
"""


@pytest.fixture(scope="module")
def published(test_data):
    plan = parse_yaml(PUBLISHED_PLAN, Path("plan.yaml"), PlannedAnalyses)
    data = add_flags(read_data_file(test_data / "blackbox" / "play_games.csv"), plan.flags)
    return {name: planned_table(data, name, planned) for name, planned in plan.tables.items()}


def printed(text):
    words = {"yes": True, "no": False}
    return [
        [words[cell] if cell in words else float(cell) if cell[0].isdigit() else cell for cell in line.split(" | ")]
        for line in text.strip().splitlines()
    ]


def rounded_by_r(value, digits=2):
    """Round like R 4: to the nearer candidate in floating point, and to the even candidate if both are equally near."""
    scale = 10**digits
    low, high = math.floor(value * scale) / scale, math.ceil(value * scale) / scale
    if value - low == high - value:
        return low if math.floor(value * scale) % 2 == 0 else high
    return low if value - low < high - value else high


def test_the_summary_by_model_prompt_and_thinking_is_as_printed(published):
    found = published["by_prompt"]
    measures = ["atoms_correct_mean", "atoms_correct_sd", "score_mean", "score_sd", "mean_atoms_per_ray_mean",
                "rays_used_mean"]  # fmt: skip
    rows = [
        [row["model"], row["prompt"], row["thinking"], row["n"], *(rounded_by_r(row[name]) for name in measures)]
        for row in found.to_dict("records")
    ]
    assert rows == printed(BY_PROMPT)


def test_the_summary_by_visualization_is_as_printed(published):
    measures = ["atoms_correct_mean", "atoms_correct_sd", "score_mean", "score_sd", "mean_atoms_per_ray_mean"]
    rows = [
        [row["vot_grid"], row["vot_ray"], row["vot_hypothesis"], row["n"],
         *(rounded_by_r(row[name]) for name in measures)]
        for row in published["by_visualization"].to_dict("records")
    ]  # fmt: skip
    assert rows == printed(BY_VISUALIZATION)


def test_the_leaderboard_is_as_printed(published):
    rows = [
        [row["model"], row["prompt"], row["thinking"], rounded_by_r(row["atoms_correct_mean"]),
         rounded_by_r(row["atoms_correct_se"]), row["score_mean"], rounded_by_r(100 * row["perfect_mean"], 1), row["n"]]
        for row in published["leaderboard"].to_dict("records")
    ]  # fmt: skip
    assert rows == printed(LEADERBOARD)


# Content of the table

SMALL = pd.DataFrame(
    {
        "group": ["b", "a", "b", "a", "c"],
        "score": [1.0, 2.0, 3.0, 4.0, 5.0],
        "passed": pd.array([True, None, False, True, True], dtype="boolean"),
        "certain": [True, False, True, True, False],
    }
)


def test_a_single_row_has_a_mean_but_no_deviation_and_no_error():
    row = table(SMALL, by=["group"], of=["score"], where={"group": "c"}).iloc[0]
    assert (row["n"], row["score_mean"]) == (1, 5)
    assert np.isnan(row["score_sd"])
    assert np.isnan(row["score_se"])


def test_yes_counts_as_one_and_no_as_zero():
    found = table(SMALL, by=["group"], of=["certain"])
    assert found["certain_mean"].tolist() == [0.5, 1, 0]


def test_the_number_of_values_is_a_column_if_it_differs_from_the_number_of_rows():
    found = table(SMALL, by=["group"], of=["passed", "score"])
    assert found["n"].tolist() == [2, 2, 1]
    assert found["passed_n"].tolist() == [1, 2, 1]
    assert "score_n" not in found
    assert found["passed_mean"].tolist() == [1, 0.5, 1]
    assert found["passed_se"][1] == pytest.approx(math.sqrt(0.5) / math.sqrt(2))


def test_a_cell_without_any_value_has_a_missing_mean_and_is_not_dropped():
    found = table(SMALL.assign(score=SMALL["score"].where(SMALL["group"] != "c")), by=["group"], of=["score"])
    assert found["group"].tolist() == ["a", "b", "c"]
    assert found["score_n"].tolist() == [2, 2, 0]
    assert np.isnan(found["score_mean"][2])


def test_rows_without_a_level_are_the_last_row():
    found = table(SMALL.assign(group=["b", None, "b", None, "a"]), by=["group"], of=["score"])
    assert found["group"].fillna("none").tolist() == ["a", "b", "none"]
    assert found["n"].sum() == len(SMALL)


def test_only_combinations_that_occur_have_a_row():
    data = pd.DataFrame({"a": ["x", "x", "y"], "b": [1, 2, 1], "v": [1, 2, 3]})
    assert table(data, by=["a", "b"], of=["v"])[["a", "b"]].to_numpy().tolist() == [["x", 1], ["x", 2], ["y", 1]]


def test_where_chooses_rows_before_anything_is_counted():
    found = table(SMALL, by=["group"], of=["score"], where={"group": ["a", "b"], "certain": True})
    assert found["n"].tolist() == [1, 2]


def test_levels_are_in_their_natural_order_factor_by_factor():
    data = pd.DataFrame({"config": ["c10", "c2", "C1", "c10"], "thinking": [True, True, False, False], "v": 1.0})
    found = table(data, by=["config", "thinking"], of=["v"])
    assert found["config"].tolist() == ["C1", "c2", "c10", "c10"]
    assert found["thinking"].tolist() == [False, True, False, True]


def test_levels_with_commas_other_letters_and_no_letters_are_unchanged():
    data = pd.DataFrame({"g": ["Köln, Süd", "", "日本", "Köln, Süd"], "v": [1, 2, 3, 4]})
    assert sorted(table(data, by=["g"], of=["v"])["g"]) == ["", "Köln, Süd", "日本"]


# Order

RANKED = pd.DataFrame({"team": ["t10", "t2", "t1", "t3"], "score": [5.0, 7.0, 5.0, np.nan], "time": [2.0, 1.0, 1.0, 3]})


def order(**planned):
    return table(RANKED, by=["team"], of=["score", "time"], **planned)["team"].tolist()


def test_rows_are_ordered_up_or_down_by_the_short_or_full_name_of_a_mean():
    assert order(order_by=["time"]) == order(order_by=["time_mean"]) == ["t1", "t2", "t10", "t3"]
    assert order(order_by=["-time"]) == ["t3", "t10", "t1", "t2"]


def test_ties_are_ordered_by_the_next_column_and_then_in_natural_order():
    assert order(order_by=["-score", "time"]) == ["t2", "t1", "t10", "t3"]
    assert order(order_by=["-score", "-time"]) == ["t2", "t10", "t1", "t3"]
    assert order(order_by=["-score"]) == ["t2", "t1", "t10", "t3"]


def test_a_missing_mean_is_never_first():
    assert order(order_by=["score"])[-1] == order(order_by=["-score"])[-1] == "t3"


def test_the_first_rows_are_the_first_of_the_ordered_table():
    assert order(order_by=["-score", "time"], first=2) == ["t2", "t1"]
    assert order(first=99) == ["t1", "t2", "t3", "t10"]


def test_order_by_keeps_the_natural_order_of_a_factor():
    assert order(order_by=["team"]) == ["t1", "t2", "t3", "t10"]
    assert order(order_by=["-team"]) == ["t10", "t3", "t2", "t1"]


def test_order_by_an_unknown_column_is_refused_and_the_error_lists_the_columns():
    message = refused(RANKED, by=["team"], of=["score"], order_by=["-speed"])
    assert message.startswith("the table `summary`: `order_by` has `speed`")
    assert "score_mean" in message


# Columns that cannot be averaged


def test_text_is_refused_with_an_example_of_it():
    message = refused(SMALL, by=["certain"], of=["group"])
    assert message.startswith("the table `summary`: the column `group` contains text, such as 'b'")
    assert "use a column of numbers" in message


@pytest.mark.parametrize("column", ["of", "by"])
def test_an_unknown_column_is_refused_and_the_error_lists_the_columns(column):
    assert "no column `scores`" in refused(SMALL, **{"by": ["group"], "of": ["score"], column: ["scores"]})


def test_an_infinite_value_is_refused_as_it_would_leave_a_table_without_deviations():
    with pytest.raises(InputError, match="score"):
        table(SMALL.assign(score=[1, 2, np.inf, 4, 5]), by=["group"], of=["score"])


@pytest.mark.parametrize("name", ["n", "score_mean", "score_sd", "score_n", "score_ci_low"])
def test_a_factor_with_the_name_of_a_column_of_the_table_is_refused_in_a_sentence(name):
    message = refused(SMALL.assign(**{name: 1, "score": [None, 1, 2, 3, 4]}), by=[name], of=["score"])
    assert name in message


def test_a_duplicate_factor_is_refused():
    assert "group" in refused(SMALL, by=["group", "group"], of=["score"])


def test_a_column_of_missing_values_is_not_called_text():
    assert "text" not in refused(SMALL.assign(empty=None), by=["group"], of=["empty"])


# Any data


@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]), st.sampled_from([0, 1]), st.one_of(st.none(), st.integers(-1000, 1000))
        ),
        min_size=1, max_size=30,
    ),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_rows_add_up_and_their_order_in_the_file_does_not_matter(rows, seed):
    data = pd.DataFrame(rows, columns=["g", "h", "v"]).astype({"g": "str", "v": "Float64"})
    found = table(data, by=["g", "h"], of=["v"])
    assert found["n"].sum() == len(rows)
    values = found["v_n"] if "v_n" in found else found["n"]
    assert values.sum() == data["v"].notna().sum()
    weighted = (found["v_mean"].fillna(0) * values).sum()
    assert weighted == pytest.approx(float(data["v"].sum()), abs=1e-6)
    spread = found["v_sd"].dropna()
    assert (spread >= 0).all()
    assert spread.index.tolist() == values[values > 1].index.tolist()
    assert (found["v_se"] ** 2 * values).fillna(-1).tolist() == pytest.approx((found["v_sd"] ** 2).fillna(-1).tolist())
    shuffled = data.sample(frac=1, random_state=seed).reset_index(drop=True)
    pd.testing.assert_frame_equal(table(shuffled, by=["g", "h"], of=["v"]), found)
