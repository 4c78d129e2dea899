"""Factorial analyses of variance, compared with R's afex (fixtures/factorial_anova.R) and with one-factor analyses."""

import json

import numpy as np
import pandas as pd
import pytest

from analysis.statistics.anova import one_way_anova, repeated_measures_anova
from analysis.statistics.factorial_anova import factorial_anova
from batteries.errors import InputError
from tests.paths import FIXTURES

R = json.loads((FIXTURES / "factorial_anova.json").read_text(encoding="utf-8"))


def of_case(case):
    """Return the values and groups of a case of R."""
    data = pd.DataFrame(case["data"])
    values = data.pivot(index="unit", columns=case["within"], values="y") if case["within"] else (
        data.set_index("unit")[["y"]]
    )  # fmt: skip
    groups = data.drop_duplicates("unit").set_index("unit")[case["between"]] if case["between"] else None
    return values, groups


@pytest.mark.parametrize("case", R, ids=[case["name"] for case in R])
def test_every_effect_has_the_numbers_of_afex(case):
    values, groups = of_case(case)
    found = factorial_anova(values, groups)
    assert {frozenset(effect) for effect in found} == {frozenset(row["term"].split(":")) for row in case["effects"]}
    for row in case["effects"]:
        test = found[tuple(row["term"].split(":"))]
        numbers = (test.statistic, test.df, test.df_error, test.p_value, test.effect, test.generalized_eta_squared,
                   test.cohens_f)  # fmt: skip
        expected = [row[name] for name in ("F", "df", "df_error", "p", "pes", "ges", "f")]
        assert numbers == pytest.approx(expected, rel=1e-9), row["term"]
        # In mixed designs with several factors between units, effectsize has another denominator for these factors.
        if not (len(case["between"]) > 1 and case["within"] and set(row["term"].split(":")) <= set(case["between"])):
            assert test.partial_omega_squared == pytest.approx(row["omega"], rel=1e-9), row["term"]
        assert test.n == len(values)
        assert test.effect_ci_low <= test.effect <= test.effect_ci_high


def test_main_effects_come_before_interactions():
    values, groups = of_case(R[-1])
    sizes = [len(effect) for effect in factorial_anova(values, groups)]
    assert sizes == sorted(sizes)
    assert sizes.count(1) == 4


def test_with_one_factor_the_numbers_are_those_of_the_one_factor_analyses():
    values, _ = of_case(R[2])
    within = values[1]  # The first level of the factor `a`.
    ((effect, found),) = factorial_anova(within).items()
    one = repeated_measures_anova(within)
    assert effect == ("b",)
    names = ("statistic", "df", "df_error", "p_value", "effect", "effect_ci_low", "effect_ci_high",
             "generalized_eta_squared", "partial_omega_squared", "cohens_f")  # fmt: skip
    assert [getattr(found, name) for name in names] == pytest.approx([getattr(one, name) for name in names])
    values, groups = of_case(R[1])
    (found,) = factorial_anova(values, groups[["site"]]).values()
    one = one_way_anova({str(site): rows["y"].to_numpy() for site, rows in values.groupby(groups["site"])})
    assert [getattr(found, name) for name in names] == pytest.approx([getattr(one, name) for name in names])


@pytest.mark.parametrize("case", [R[1], R[-1]], ids=["between", "mixed"])
def test_the_order_of_levels_units_and_the_unit_of_measurement_change_nothing(case):
    values, groups = of_case(case)
    turned = factorial_anova(1e6 - 250 * values.iloc[::-1, ::-1], groups.iloc[::-1])
    for effect, test in factorial_anova(values, groups).items():
        other = turned[effect]
        assert (other.statistic, other.df, other.effect) == pytest.approx(
            (test.statistic, test.df, test.effect), rel=1e-6
        )


def crossed(n_each=3):
    rng = np.random.default_rng(4)
    groups = pd.DataFrame({"a": [*"pq"] * 2 * n_each, "b": [*"rrss"] * n_each})
    return pd.DataFrame({"y": rng.normal(size=len(groups))}), groups


def test_a_combination_of_levels_without_a_unit_is_named():
    values, groups = crossed()
    there = ~((groups["a"] == "q") & (groups["b"] == "r"))
    with pytest.raises(InputError, match=r"no unit has a = q and b = r, .* Fix: "):
        factorial_anova(values[there], groups[there])


def test_too_few_units_are_refused_with_the_number_that_is_needed():
    values, groups = crossed(n_each=1)
    with pytest.raises(InputError, match="with 4 combinations of levels between units needs at least 5 units"):
        factorial_anova(values, groups)


def test_a_factor_with_one_level_is_named():
    values, groups = crossed()
    with pytest.raises(InputError, match="`b` has only one level"):
        factorial_anova(values[groups["b"] == "r"], groups[groups["b"] == "r"])


def test_a_missing_value_and_an_error_variance_of_0_are_refused():
    values, groups = crossed()
    with pytest.raises(InputError, match="1 of 12 units have no value"):
        factorial_anova(values.assign(y=values["y"].where(values.index != 3)), groups)
    means = groups["a"].map({"p": 0.1, "q": 0.7}) + groups["b"].map({"r": 0.2, "s": 1 / 3})
    with pytest.raises(InputError, match="the means of units do not vary between the units of a group"):
        factorial_anova(means.to_frame("y"), groups)
    parallel = pd.DataFrame({level: values["y"] + shift for level, shift in (("u", 0.1), ("v", 1 / 3))})
    parallel.columns.name = "c"
    with pytest.raises(InputError, match="the differences between levels of c do not vary"):
        factorial_anova(parallel, groups)
