"""Planned rank tests, permutation tests, and tests against a value or chance."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.planned.tests import PAIRED
from analysis.statistics.bayes_factors import bayes_factor_t
from tests.analysis.planned.small_plans import BY_GROUP, IN_CONDITION, X_Z, T, one, refused, run, units

# Rank tests


def test_a_rank_test_compares_the_values_of_units_and_says_how_p_was_computed(made_up):
    """The values are those of the t tests, and scipy's exact tests are the comparison."""
    means = made_up.groupby(["participant", "condition"])["rt"].mean().unstack()[["x", "z"]].dropna()
    wilcoxon = one(made_up, **T | IN_CONDITION | X_Z | {"test": "wilcoxon"})
    expected = stats.wilcoxon(means["x"], means["z"], method="exact")
    assert wilcoxon["p_value"] == pytest.approx(expected.pvalue)
    assert (wilcoxon["n"], wilcoxon["test"]) == (len(means), "Wilcoxon's signed-rank test (exact)")
    assert np.isnan(wilcoxon["estimate"])
    units = made_up.groupby(["participant", "group"])["rt"].mean().dropna().unstack()
    groups = [units[group].dropna() for group in ("A", "B")]
    mann_whitney = one(made_up, **T | BY_GROUP | {"test": "mann_whitney"})
    expected = stats.mannwhitneyu(*groups, method="exact")
    assert (mann_whitney["statistic"], mann_whitney["p_value"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert mann_whitney["effect"] == pytest.approx(2 * expected.statistic / (len(groups[0]) * len(groups[1])) - 1)


def test_wilcoxon_s_test_can_compare_units_with_a_value():
    """The ranks of 1, -2, 3 and 4 against 0 are 1, 2, 3 and 4, so V is 8."""
    data = pd.DataFrame({"unit": [*"abcd"], "value": [11.0, 8.0, 13.0, 14.0]})
    row = one(data, test="wilcoxon", of="value", per="unit", against=10)
    assert (row["statistic"], row["n"], row["effect"], row["against"]) == (8, 4, pytest.approx(0.6), "10")


def test_a_mann_whitney_test_of_the_same_units_has_wilcoxon_s_test_as_its_paired_form():
    test = {"of": "value", "per": "unit", "levels": ["a", "b"]}
    paired = one(units(), PAIRED, **test, test="mann_whitney", between="condition")
    assert paired["p_value"] == one(units(), **test, test="wilcoxon", within="condition")["p_value"]
    assert paired["test"].startswith("Wilcoxon's")


# Permutation tests


def test_a_permutation_test_has_all_forms_and_the_seed_and_the_resamples_of_the_plan():
    test = {"test": "permutation", "of": "value", "per": "unit"}
    data = units().assign(value=lambda rows: rows["value"] + 0.1 * rows.index)
    pairs = data.pivot(index="unit", columns="condition", values="value")
    differences = (pairs["a"] - pairs["b"]).to_numpy()
    flips = np.array(list(product([-1, 1], repeat=len(differences)))) @ differences
    exact = float(np.mean(np.abs(flips) >= abs(differences.sum()) - 1e-9))
    within = one(data, **test, within="condition", levels=["a", "b"])
    assert within["p_value"] == pytest.approx(exact)
    assert within["estimate"] == within["statistic"] == pytest.approx(differences.mean())
    assert (within["statistic_name"], within["test"]) == (
        "mean difference", f"Sign-flip permutation test (exact, {len(flips):,} sign flips)",
    )  # fmt: skip
    assert np.isnan(within["ci_low"])
    assert one(data, PAIRED, **test, between="condition", levels=["a", "b"])["p_value"] == within["p_value"]
    against = one(
        data.assign(value=data["unit"].map(dict(zip(pairs.index, differences + 5, strict=True)))), **test, against=5
    )
    assert against["p_value"] == pytest.approx(exact)

    many = pd.DataFrame({"unit": range(40), "g": ["a", "b"] * 20, "value": np.sin(np.arange(40.0)) + [0, 0.4] * 20})
    drawn = {
        (resamples, seed): run(many, {"it": {**test, "between": "g"}}, resamples=resamples, seed=seed).iloc[0]
        for resamples, seed in [(1_000, 1), (1_000, 2), (2_000, 1)]
    }
    assert {row["test"] for row in drawn.values()} == {
        "Permutation test (1,000 random permutations)", "Permutation test (2,000 random permutations)",
    }  # fmt: skip
    assert len({row["p_value"] for row in drawn.values()}) == 3


# Tests against chance


def test_against_chance_each_unit_is_compared_with_the_chance_of_the_items_that_it_answered():
    """The means minus chance are 1 - 3/8, 1/2 - 1/2 and 1/2 - 1/4, so t is that of 5/8, 0 and 1/4 against 0."""
    data = pd.DataFrame({"unit": ["a", "a", "b", "b", "c", "c"], "correct": [1, 1, 0, 1, 1, 0],
                         "chance": [0.25, 0.5, 0.5, 0.5, 0.25, 0.25]})  # fmt: skip
    row = one(data, test="t", of="correct", per="unit", against="chance", bayes_factor=True)
    differences = np.array([5 / 8, 0, 1 / 4])
    expected = stats.ttest_1samp(differences, 0)
    assert (row["statistic"], row["p_value"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert row["estimate"] == pytest.approx(7 / 24)
    assert row["bayes_factor_10"] == pytest.approx(bayes_factor_t(expected.statistic, 3))
    assert row["against"] == "chance"


def test_a_row_without_a_response_does_not_count_in_the_chance_of_its_unit():
    """The same is true for a row without a chance level."""
    data = pd.DataFrame({"unit": ["a", "a", "b", "c", "c"], "correct": [1, None, 0, 1, 0],
                         "chance": [0.25, 1, 0.25, 0.5, None]})  # fmt: skip
    row = one(data, test="t", of="correct", per="unit", against="chance")
    assert row["estimate"] == pytest.approx((0.75 - 0.25 + 0.5) / 3)
    assert row["warnings"] == "2 of 5 rows have no value and were excluded."


def test_a_sum_is_compared_with_the_sum_of_chances():
    data = pd.DataFrame({"unit": ["a", "a", "b", "b"], "correct": [1, 1, 0, 1], "chance": [0.25, 0.5, 0.25, 0.5]})
    row = one(data, test="t", of="correct", per="unit", against="chance", summary="sum")
    assert row["estimate"] == pytest.approx((1.25 + 0.25) / 2)


def test_data_without_chance_levels_cannot_be_tested_against_chance():
    message = refused(units(), test="t", of="value", per="unit", against="chance")
    assert "the test `it`: there is no column `chance` in the data. Fix: " in message


def test_units_that_are_all_at_chance_are_refused_in_spite_of_rounding_errors():
    data = pd.DataFrame({"unit": [*"aaabbb"], "correct": [0.1, 0.2, 0.3, 0.3, 0.2, 0.1], "chance": 0.2})
    assert "cannot be computed" in refused(data, test="t", of="correct", per="unit", against="chance")
