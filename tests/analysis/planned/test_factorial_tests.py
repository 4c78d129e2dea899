"""Planned analyses of variance with several factors."""

import json

import numpy as np
import pandas as pd
import pytest

from analysis.planned.tests import MAIN
from analysis.statistics.corrections import holm
from tests.analysis.planned.small_plans import one, refused, run
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "factorial_anova.json").read_text(encoding="utf-8"))
MIXED = R[-1]
TEST = {"test": "anova", "of": "y", "per": "unit"}


def rows_of(case, n_rows=1):
    """Return the rows of a case of R. With several rows, the mean of each unit and cell is that of R."""
    data = pd.DataFrame(case["data"])
    return pd.concat([data.assign(y=data["y"] + row - (n_rows - 1) / 2) for row in range(n_rows)], ignore_index=True)


def factors_of(case):
    return {key: case[key] for key in ("between", "within") if case[key]}


def mixed_plan(**more):
    return {**TEST, **factors_of(MIXED), **more}


@pytest.mark.parametrize("case", R, ids=[case["name"] for case in R])
def test_a_plan_gives_one_row_for_each_effect_with_the_numbers_of_afex(case):
    table = run(rows_of(case, n_rows=3), {"it": {**TEST, **factors_of(case)}}).set_index("factor")
    assert sorted(table.index) == sorted(row["term"] for row in case["effects"])
    assert set(table["form"]) == {MAIN}
    for row in case["effects"]:
        found = table.loc[row["term"]]
        expected = [row[name] for name in ("F", "df", "df_error", "p", "pes", "ges")]
        names = ("statistic", "df", "df_error", "p_value", "effect", "generalized_eta_squared")
        assert [found[name] for name in names] == pytest.approx(expected, rel=1e-8)
        assert (found["statistic_name"], found["effect_name"]) == ("F", "partial eta squared")


def test_the_name_of_the_test_says_where_the_factors_vary():
    names = [
        run(rows_of(case), {"it": {**TEST, **{key: case[key] for key in ("between", "within") if case[key]}}})["test"][
            0
        ]
        for case in (R[0], R[2], R[4])
    ]
    assert names == [
        "Analysis of variance with 2 factors (type III)",
        "Repeated-measures analysis of variance with 2 factors (type III)",
        "Mixed analysis of variance with 2 factors (type III)",
    ]


def test_a_row_names_its_effect_and_the_levels_of_its_factors():
    table = run(rows_of(R[4]), {"it": {**TEST, "between": "group", "within": "a"}})
    assert table[["factor", "levels"]].to_numpy().tolist() == [
        ["group", "1, 2"], ["a", "1, 2, 3"], ["group:a", "1, 2 × 1, 2, 3"],
    ]  # fmt: skip


def test_the_effects_are_corrected_with_the_other_tests_of_their_family():
    tests = {
        "anova": {**TEST, "between": "group", "within": "a"},
        "t": {"test": "t", "of": "y", "per": "unit", "between": "group"},
        "apart": {**TEST, "between": "group", "within": "a", "family": "another"},
    }
    table = run(rows_of(R[4]), tests)
    together = table[table["family"] == "tests"]
    assert len(together) == 4
    assert together["p_holm"].tolist() == pytest.approx(holm(together["p_value"].to_numpy()))
    apart = table[table["family"] == "another"]
    assert apart["p_holm"].tolist() == pytest.approx(holm(apart["p_value"].to_numpy()))


def test_units_without_a_value_in_every_cell_are_left_out_and_counted_in_every_row():
    data = rows_of(MIXED)
    data.loc[(data["unit"].isin([3, 9])) & (data["a"] == 2) & (data["b"] == 1), "y"] = np.nan
    table = run(data, {"it": mixed_plan()})
    expected = run(data[~data["unit"].isin([3, 9])], {"it": mixed_plan()})
    assert table["statistic"].tolist() == pytest.approx(expected["statistic"].tolist())
    assert set(table["n"]) == {32}
    assert (
        table["warnings"]
        .str.startswith(
            "2 of 204 rows have no value and were excluded. 2 units that lack a value at a level were excluded."
        )
        .all()
    )


def test_rows_without_a_level_are_excluded_and_counted():
    data = rows_of(MIXED)
    data["a"] = data["a"].astype(float).where(data.index != 0)
    table = run(data, {"it": mixed_plan()})
    assert set(table["n"]) == {33}
    assert table["warnings"].str.startswith("1\xa0row without a level of `a` was excluded.").all()


@pytest.mark.parametrize("levels", [[True, False], ["x, y", ""], [0.5, "0.5 s"]], ids=str)
def test_levels_can_be_of_any_kind(levels):
    data, test = rows_of(R[2]), {"it": {**TEST, "within": ["a", "b"]}}
    plain = run(data, test)
    named = run(data.assign(b=data["b"].map(dict(zip([1, 2], levels, strict=True)))), test)
    assert named["statistic"].tolist() == pytest.approx(plain["statistic"].tolist())


def test_a_list_with_one_factor_is_this_factor():
    data = rows_of(R[4])
    listed, plain = one(data, **TEST, within=["a"]), one(data, **TEST, within="a")
    assert listed.drop("warnings").equals(plain.drop("warnings"))
    assert plain["test"] == "Repeated-measures analysis of variance"


def test_a_factor_that_varies_within_units_is_not_a_factor_between_units():
    message = refused(rows_of(R[4]), **TEST, between=["group", "a"])
    assert message == (
        "the test `it`: 16\xa0units have values at more than one level of `a`, so it is not a factor between units. "
        "Fix: move `a` to `within`."
    )


def test_a_factor_with_one_level_per_unit_is_not_a_factor_within_units():
    message = refused(rows_of(R[4]), **TEST, within=["group", "a"])
    assert message.startswith("the test `it`: no unit has a value at every combination of levels of group and a. Fix: ")


def test_a_factor_with_one_level_and_too_many_cells_are_refused():
    message = refused(rows_of(R[4]), **TEST, between="site", within="a")
    assert "the levels of `site` in these rows are 1" in message
    many = pd.DataFrame({"unit": 1, "a": np.arange(1100), "b": np.arange(1100) % 2, "y": 0.0})
    assert "2,200 combinations of levels, which need too much memory. Fix: " in refused(many, **TEST, within=["a", "b"])
