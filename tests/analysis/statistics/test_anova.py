import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.anova import one_way_anova, repeated_measures_anova
from analysis.statistics.t_tests import independent_t, paired_t
from batteries.errors import InputError
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "one_factor_anova.json").read_text(encoding="utf-8"))
SAMPLES = st.lists(st.integers(-1000, 1000), min_size=2, max_size=9).filter(lambda values: len(set(values)) > 1)


@pytest.mark.parametrize("case", R["one_way"])
def test_the_one_way_analysis_gives_what_r_gives(case):
    groups = {name: np.array(values, dtype=float) for name, values in case["groups"].items()}
    result = one_way_anova(groups)
    found = (result.statistic, result.df, result.df_error, result.p_value, result.effect)
    assert found == pytest.approx([case[name] for name in ("F", "df", "df_error", "p", "eta_squared")], rel=1e-9)
    assert result.n == sum(len(values) for values in groups.values())


@given(st.lists(SAMPLES, min_size=2, max_size=5))
def test_the_one_way_analysis_agrees_with_scipy(samples):
    arrays = [np.array(sample, dtype=float) for sample in samples]
    result = one_way_anova({str(index): sample for index, sample in enumerate(arrays)})
    assert 0 <= result.effect <= 1
    if result.statistic > 1e-6:  # Below this, SciPy has rounding errors.
        theirs = stats.f_oneway(*arrays)
        assert (result.statistic, result.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-6)


def test_groups_with_one_mean_have_f_0_and_p_1():
    """SciPy's f_oneway subtracts sums of squares, and returns a negative F and no p for these groups."""
    result = one_way_anova({"one": np.array([0.0, 0, 0, 0, 1, 0]), "two": np.array([0.0, 0, 0, 0, 0, 1])})
    assert (result.statistic, result.p_value, result.effect) == pytest.approx((0, 1, 0), abs=1e-12)


@given(SAMPLES, SAMPLES)
def test_with_two_groups_f_is_the_square_of_students_t(first, second):
    one, two = np.array(first, dtype=float), np.array(second, dtype=float)
    f, t = one_way_anova({"one": one, "two": two}), independent_t(one, two, equal_variances=True)
    assert (f.statistic, f.p_value) == pytest.approx((t.statistic**2, t.p_value), rel=1e-9, abs=1e-12)


def test_groups_that_cannot_be_analysed_are_refused_by_name():
    good = np.array([1.0, 2.0, 4.0])
    with pytest.raises(InputError, match="the number of groups is 1"):
        one_way_anova({"text": good})
    with pytest.raises(InputError, match="the group image has 1 values"):
        one_way_anova({"text": good, "image": good[:1]})
    with pytest.raises(InputError, match="the group image has 1 missing"):
        one_way_anova({"text": good, "image": np.array([1.0, np.nan])})
    with pytest.raises(InputError, match="all values within each group are the same"):
        one_way_anova({"text": np.array([0.3, 0.1 + 0.2]), "image": np.array([0.7, 0.7])})


@pytest.mark.parametrize("case", R["repeated"])
def test_the_repeated_measures_analysis_gives_what_r_gives(case):
    """F equals F of aov with an Error term and of car's Anova; the corrected p equals p of car and of anova.mlm."""
    table = pd.DataFrame(case["cells"])
    result = repeated_measures_anova(table)
    assert (result.statistic, result.p_value, result.effect) == pytest.approx(
        [case[name] for name in ("F", "p", "partial_eta_squared")], rel=1e-9
    )
    units, levels = table.shape
    assert result.n == units
    epsilon = result.df / (levels - 1)
    assert result.df_error == pytest.approx(epsilon * (levels - 1) * (units - 1))
    if "epsilon_car" in case:
        assert (result.statistic, epsilon, result.p_value) == pytest.approx(
            [case[name] for name in ("F_car", "epsilon_car", "p_car")], rel=1e-9
        )
    (warning,) = result.warnings
    assert f"epsilon of {epsilon:.4f}" in warning
    assert f"p would be {case['p_uncorrected']:.3g}." in warning or f"{result.p_value:.3f}" == "0.000"


def test_the_warning_states_the_uncorrected_p_value_only_if_it_differs():
    table = pd.DataFrame(R["repeated"][0]["cells"])
    assert f"{R['repeated'][0]['p']:.3f}" == f"{R['repeated'][0]['p_uncorrected']:.3f}"
    assert "sphericity were assumed" not in repeated_measures_anova(table).warnings[0]


CELLS = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.lists(st.integers(-99, 99), min_size=k, max_size=k), min_size=2, max_size=8)
)


@given(CELLS)
def test_epsilon_is_within_its_bounds_and_does_not_depend_on_the_units_means(cells):
    table = pd.DataFrame(cells, dtype=float)
    spread = table.sub(table.mean(axis=1), axis=0)
    if np.allclose(spread, spread.iloc[0]):
        with pytest.raises(InputError, match="the differences between the levels are the same in every unit"):
            repeated_measures_anova(table)
        return
    result = repeated_measures_anova(table)
    k = table.shape[1]
    assert 1 - 1e-9 <= result.df <= k - 1
    shifted = repeated_measures_anova(table.add(np.arange(len(table)) * 10.0, axis=0))
    assert (shifted.statistic, shifted.df) == pytest.approx((result.statistic, result.df), rel=1e-6, abs=1e-9)
    turned = repeated_measures_anova(table.iloc[:, ::-1])
    assert (turned.statistic, turned.df) == pytest.approx((result.statistic, result.df), rel=1e-6, abs=1e-9)


@given(st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=2, max_size=9))
def test_with_two_levels_f_is_the_square_of_the_paired_t(pairs):
    table = pd.DataFrame(pairs, columns=["a", "b"], dtype=float)
    if (table["a"] - table["b"]).nunique() == 1:
        return
    f, t = repeated_measures_anova(table), paired_t(table["a"].to_numpy(), table["b"].to_numpy())
    assert (f.statistic, f.p_value) == pytest.approx((t.statistic**2, t.p_value), rel=1e-9, abs=1e-12)
    assert (f.df, f.df_error, f.warnings) == (pytest.approx(1), pytest.approx(len(table) - 1), ())


def test_there_is_no_warning_under_sphericity():
    table = pd.DataFrame({"a": [0.0, 1, 2], "b": [3.0, 1, 2], "c": [4.0, 5, 3]})
    assert repeated_measures_anova(table).warnings == ()


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, "x", np.inf])
def test_units_with_a_missing_cell_are_counted_and_refused(missing):
    table = pd.DataFrame({"a": [1.0, 2, 4, 3], "b": [2.0, 4, 1, 1]}, dtype=object)
    table.loc[[1, 2], "b"] = missing
    with pytest.raises(InputError, match="2 of 4 units have no value"):
        repeated_measures_anova(table)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (5, 1), (0, 0)])
def test_tables_that_are_too_small_are_refused(shape):
    with pytest.raises(InputError, match=f"are {shape[0]} and {shape[1]}"):
        repeated_measures_anova(pd.DataFrame(np.zeros(shape)))


def test_profiles_that_are_all_alike_are_refused_despite_rounding():
    table = pd.DataFrame(np.add.outer([0.1, 0.7, 1 / 3], [0.2, 0.3, 0.9]))
    with pytest.raises(InputError, match="the differences between the levels are the same in every unit"):
        repeated_measures_anova(table)
