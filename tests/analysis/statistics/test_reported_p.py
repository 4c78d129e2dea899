import json
from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.statistics.grim import rounding_bounds
from analysis.statistics.intervals import Interval
from analysis.statistics.reported_p import MOST_DF, possible_df, possible_p
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "reported_p.json").read_text(encoding="utf-8"))
STATISTIC = st.floats(0.01, 6)
DF = st.integers(1, 300)


def exactly(number):
    return Fraction(number), Fraction(number)


def printed(number, decimals):
    return rounding_bounds(f"{number:.{decimals}f}")


@pytest.mark.parametrize("row", R)
def test_p_of_an_exact_statistic_is_that_of_r(row):
    low, high = possible_p(row["kind"], exactly(row["statistic"]), [exactly(df) for df in row["df"]])
    assert low == high == pytest.approx(row["p"], rel=1e-9, abs=1e-300)


def test_a_correlation_of_one_has_p_zero():
    assert possible_p("r", exactly(1), [exactly(10)]) == (0, 0)


def test_a_statistic_that_may_be_zero_may_have_p_one():
    assert possible_p("t", rounding_bounds("0.00"), [exactly(20)]).high == 1


@given(statistic=STATISTIC, df=DF, decimals=st.integers(1, 4), sign=st.sampled_from([1, -1]))
def test_the_p_of_the_statistic_before_it_was_rounded_is_within_the_bounds(statistic, df, decimals, sign):
    for kind in ("t", "chi2"):
        bounds = printed(sign * statistic if kind == "t" else statistic, decimals)
        low, high = possible_p(kind, bounds, [exactly(df)])
        real = possible_p(kind, exactly(statistic), [exactly(df)]).low
        assert low <= real <= high


@given(statistic=STATISTIC, df=DF, effect=st.integers(1, 9))
def test_the_p_of_f_before_it_was_rounded_is_within_the_bounds(statistic, df, effect):
    low, high = possible_p("F", printed(statistic, 2), [printed(effect + 0.34, 1), printed(df + 0.24, 1)])
    real = possible_p("F", exactly(statistic), [exactly(effect + 0.34), exactly(df + 0.24)]).low
    assert low * (1 - 1e-6) <= real <= high * (1 + 1e-6)


@given(statistic=STATISTIC, df=DF, kind=st.sampled_from(["t", "chi2"]))
def test_the_degrees_of_freedom_are_found_from_p(statistic, df, kind):
    p = possible_p(kind, exactly(statistic), [exactly(df)]).low
    found = possible_df(kind, printed(statistic, 3), Interval(p - 5e-4, p + 5e-4))
    assert found is not None
    assert found.low <= df <= found.high


@given(statistic=STATISTIC, df=st.integers(1, 60), kind=st.sampled_from(["t", "chi2"]))
def test_degrees_of_freedom_outside_of_the_bounds_do_not_give_p(statistic, df, kind):
    p = Interval(0.0395, 0.0405)
    found = possible_df(kind, printed(statistic, 2), p)
    low, high = possible_p(kind, printed(statistic, 2), [exactly(df)])
    fits = low <= p.high and high >= p.low
    assert fits == (found is not None and found.low <= df <= found.high)


def test_a_normal_p_fits_all_large_degrees_of_freedom():
    assert possible_df("t", rounding_bounds("1.96"), Interval(0.0495, 0.0505)).high == inf
    assert possible_df("t", rounding_bounds("1.96"), Interval(0.0495, 0.0505)).low < MOST_DF
