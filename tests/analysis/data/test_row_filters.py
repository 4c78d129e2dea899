"""Row filters by levels, written in YAML, choose exactly the requested rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.data.row_filters import add_flags, chosen_rows, levels_of, matching, ordered_levels
from analysis.statistics.factor_levels import level_text
from batteries.errors import InputError

WHAT = "the test `warm_up`"
DATA = pd.DataFrame(
    {
        "one_shot": [0, 1, 0, 1],
        "share": [0.0, 0.5, 1.0, np.nan],
        "model": ["Haiku 4.5", "Opus, 4.5", "Köln", ""],
        "code": ["01", "1", "02", None],
        "thinking": [True, False, True, False],
        "passed": pd.array([True, None, False, True], dtype="boolean"),
        "count": pd.array([1, 2, None, 2], dtype="Int64"),
    }
)


def chosen(**where):
    return chosen_rows(DATA, where, WHAT).index.tolist()


def refused(data=DATA, **where):
    with pytest.raises(InputError) as error:
        chosen_rows(data, where, WHAT)
    return str(error.value)


@pytest.mark.parametrize("level", [1, 1.0, "1", np.int64(1), np.float64(1.0)])
def test_a_number_is_the_same_level_as_number_and_as_text(level):
    assert chosen(one_shot=level) == [1, 3]


@pytest.mark.parametrize("level", [True, "true", "True", "TRUE", np.True_])
def test_yes_in_any_spelling_is_the_same_level(level):
    assert chosen(thinking=level) == [0, 2]
    assert chosen(passed=level) == [0, 3]


def test_a_level_with_a_leading_zero_is_another_level():
    assert chosen(code="01") == [0]
    assert chosen(code=1) == chosen(code="1") == [1]


def test_zero_and_one_are_not_the_levels_no_and_yes():
    """A column has one type; a filter with 1 for yes gets an error that names the levels."""
    assert "Fix: choose one of false, true" in refused(thinking=1)
    assert "Fix: choose one of 0, 1" in refused(one_shot=True)


def test_levels_with_commas_letters_of_any_language_and_no_letters_at_all_are_found():
    assert chosen(model="Opus, 4.5") == [1]
    assert chosen(model="Köln") == [2]
    assert chosen(model="") == [3]
    assert chosen(model=("", "Haiku 4.5")) == [0, 3]


def test_a_list_chooses_any_of_its_levels_and_columns_choose_together():
    assert chosen(share=[0, 1]) == [0, 2]
    assert chosen(share=(0, 0.5), one_shot=1) == [1]
    assert chosen() == [0, 1, 2, 3]


def test_a_missing_value_is_not_a_level():
    assert chosen(count=[1, 2]) == [0, 1, 3]
    assert "Fix: choose one of 1, 2." in refused(count=3)
    assert "no level None" in refused(count="None")


def test_an_unknown_level_is_named_with_the_existing_levels():
    assert refused(one_shot=2) == "the test `warm_up`: `one_shot` has no level 2. Fix: choose one of 0, 1."


def test_a_long_list_of_levels_is_shortened():
    times = pd.DataFrame({"rt_ms": [float(number) for number in range(1000)]})
    assert refused(times, rt_ms=-1).endswith("18, 19 and 980 more.")


def test_one_unknown_level_of_a_list_is_enough_to_refuse_it():
    assert "no level Sonnet" in refused(model=["Haiku 4.5", "Sonnet"])


def test_an_unknown_column_is_named_with_the_existing_columns():
    assert "no column `oneshot`" in refused(oneshot=1)
    assert "one_shot, share, model" in refused(oneshot=1)


def test_a_column_of_missing_values_has_no_levels():
    assert "Fix: choose one of none" in refused(DATA.assign(code=None), code="01")


def test_a_filter_without_rows_is_refused_and_quoted():
    message = refused(one_shot=0, model=["Köln"], share=0)
    assert "no row" in message
    assert "one_shot = 0" in message


def test_the_words_of_a_filter_are_those_of_the_plan_and_not_of_python():
    message = refused(one_shot=1, model=["Köln", "Haiku 4.5"], thinking=True)
    for python in ("(", ")", "'", "True"):
        assert python not in message


@pytest.mark.parametrize("asked", [[], ()])
def test_an_empty_list_of_levels_is_refused(asked):
    assert "model" in refused(model=asked)
    with pytest.raises(InputError):
        matching(DATA, {"model": asked}, WHAT)
    with pytest.raises(InputError):
        add_flags(DATA, {"none": {"model": asked}})


def test_rows_keep_their_order_index_and_columns():
    data = DATA.set_index(pd.Index([9, 3, 7, 1]))
    assert chosen_rows(data, {"one_shot": 1}, WHAT).index.tolist() == [3, 1]
    assert chosen_rows(data, {}, WHAT).equals(data)


def test_data_without_rows_are_refused_with_one_sentence():
    message = refused(DATA.iloc[:0])
    assert "no row" in message
    assert "has all of the data" not in message


# Levels


def test_levels_are_in_natural_order():
    data = pd.DataFrame({"config": ["c10", "c2", None, "C1"], "n": [10, 9, -1, 9], "b": [True, False, True, False]})
    assert list(levels_of(data, "config", WHAT)) == ["C1", "c2", "c10"]
    assert list(levels_of(data, "n", WHAT)) == ["-1", "9", "10"]
    assert list(levels_of(data, "b", WHAT)) == ["false", "true"]


def test_requested_levels_are_in_the_requested_order():
    assert ordered_levels(DATA, "model", ["Köln", "Haiku 4.5"], WHAT) == ["Köln", "Haiku 4.5"]
    assert ordered_levels(DATA, "one_shot", ["1", 0.0], WHAT) == [1, 0]
    assert ordered_levels(DATA, "one_shot", [], WHAT) == [0, 1]


@pytest.mark.parametrize(
    "values",
    [
        [0.1234567, 0.1234568],
        [1234567.0, 1234568.5, 1234569.5],
        [9007199254740993, 9007199254740995],
        [1 / 3, 0.333333],
        [1e-7, 1.00000001e-7],
    ],
    ids=str,
)
def test_levels_that_differ_only_in_later_digits_are_different_levels(values):
    data = pd.DataFrame({"x": values})
    assert list(levels_of(data, "x", WHAT).values()) == sorted(values)
    for value in values:
        assert chosen_rows(data, {"x": value}, WHAT)["x"].tolist() == [value]


def test_a_column_with_an_infinite_number_can_be_filtered_by_its_other_levels():
    data = pd.DataFrame({"x": [1.0, np.inf, -np.inf]})
    assert chosen_rows(data, {"x": 1}, WHAT).index.tolist() == [0]


def column_of(values, dtype=None):
    cells = st.lists(values, min_size=1, max_size=8)
    return cells.map(lambda drawn: pd.array(drawn, dtype=dtype)) if dtype else cells


VALUES = st.one_of(
    column_of(st.one_of(st.none(), st.integers(-3, 12)), "Int64"),
    column_of(st.one_of(st.just(np.nan), st.floats(-100, 100).map(lambda x: round(x, 2)))),
    column_of(st.one_of(st.none(), st.booleans()), "boolean"),
    column_of(st.one_of(st.none(), st.text("aB1, é;=", max_size=3))),
)


@settings(deadline=None)
@given(values=VALUES, data=st.data())
def test_exactly_the_rows_with_the_requested_levels_are_chosen(values, data):
    frame = pd.DataFrame({"x": pd.Series(values)})
    present = [value for value in frame["x"].tolist() if not pd.isna(value)]
    if not present:
        return
    asked = data.draw(st.lists(st.sampled_from(present), min_size=1))
    texts = [level_text(level) for level in asked]
    expected = [not pd.isna(value) and level_text(value) in texts for value in frame["x"].tolist()]
    assert matching(frame, {"x": asked}, WHAT).tolist() == expected
    assert matching(frame, {"x": tuple(texts)}, WHAT).tolist() == expected
    assert len(levels_of(frame, "x", WHAT)) == len({level_text(value) for value in present})


# Flags


def test_a_flag_is_true_for_the_rows_with_its_levels():
    data = add_flags(DATA, {"warm": {"one_shot": 1}, "both": {"one_shot": 0, "share": [0, 0.5]}})
    assert data["warm"].tolist() == [False, True, False, True]
    assert data["both"].tolist() == [True, False, False, False]
    assert pd.api.types.is_bool_dtype(data["warm"])
    assert "warm" not in DATA


def test_a_flag_of_a_missing_value_is_missing_and_not_no():
    """As in R's `x == 4`; otherwise trials without an outcome would silently count as failures."""
    flag = add_flags(DATA, {"half": {"share": 0.5}})["half"]
    assert flag[:3].tolist() == [False, True, False]
    assert pd.isna(flag[3])


def test_a_flag_never_replaces_a_column():
    with pytest.raises(InputError, match="the flag `model` has the name of a column"):
        add_flags(DATA, {"model": {"one_shot": 1}})


def test_an_empty_flag_is_refused():
    with pytest.raises(InputError):
        add_flags(DATA, {"all": {}})


def test_a_mistake_in_a_flag_names_the_flag():
    with pytest.raises(InputError, match="the flag `warm`: `one_shot` has no level 3"):
        add_flags(DATA, {"warm": {"one_shot": 3}})
