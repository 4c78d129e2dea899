"""Mixed models agree with lme4, lmerTest and car; the R script of the fixture has the R code."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.statistics.mixed_models.fit import fit_mixed_model, standardized_coefficients
from analysis.statistics.mixed_models.ratios import odds_ratios
from analysis.statistics.mixed_models.term_tests import effect_sizes_of_terms
from analysis.statistics.mixed_models.wald_tests import Satterthwaite, joint_test
from batteries.errors import InputError
from tests.analysis.statistics.mixed_models.r_fixtures import CASES, data_of, fitted, numbers

MIXED = [name for name, case in CASES.items() if case["random"]]


def tolerance(name):
    """Linear models agree to 6 digits; for logistic models R differentiates numerically."""
    return 5e-6 if CASES[name]["family"] == "gaussian" else 5e-5


@pytest.mark.parametrize("name", CASES)
def test_coefficients_agree_with_r(name):
    table, expected = fitted(name).coefficients, CASES[name]["coefficients"]
    assert table["term"].tolist() == expected["term"]
    for column in ("estimate", "std_error", "df", "ci_low", "ci_high"):
        found, of_r = table[column].to_numpy(), numbers(expected[column])
        np.testing.assert_allclose(found, of_r, rtol=tolerance(name), atol=tolerance(name), err_msg=column)
    np.testing.assert_allclose(table["p_value"], numbers(expected["p_value"]), rtol=2e-4, atol=1e-12)
    np.testing.assert_allclose(table["statistic"], table["estimate"] / table["std_error"], rtol=1e-12)


@pytest.mark.parametrize("name", MIXED)
def test_treatment_tests_agree_with_car(name):
    table, expected = fitted(name, "treatment").anova, CASES[name]["anova"]
    assert table["term"].tolist() == expected["term"]
    assert table["df"].tolist() == expected["df"]
    assert set(table["test"]) == {"treatment"}
    assert set(table["statistic_name"]) == {"chisq"}
    np.testing.assert_allclose(table["statistic"], expected["chisq"], rtol=4 * tolerance(name))
    np.testing.assert_allclose(table["p_value"], expected["p_value"], rtol=2e-4)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["joint"]])
def test_joint_tests_agree_with_lmertest_and_emmeans(name):
    table, expected = fitted(name).anova, CASES[name]["joint"]
    assert table["term"].tolist() == list(np.atleast_1d(expected["term"]))
    assert table["df"].tolist() == list(np.atleast_1d(expected["df"]))
    gaussian = CASES[name]["family"] == "gaussian"
    assert set(table["test"]) == {"joint"}
    assert set(table["statistic_name"]) == {"F" if gaussian else "chisq"}
    # emmeans prints the statistic with three decimals.
    is_mixed_linear = gaussian and CASES[name]["random"]
    np.testing.assert_allclose(
        table["statistic"], expected["statistic"], rtol=2e-5, atol=1e-9 if is_mixed_linear else 2e-3
    )
    # With more than two levels, lmerTest's degrees of freedom depend a little on the order of the levels; ours do not.
    one_df = table["df"] == 1
    np.testing.assert_allclose(table["df_error"], numbers(expected["df_error"]), rtol=0.01)
    np.testing.assert_allclose(table["df_error"][one_df], numbers(expected["df_error"])[one_df], rtol=1e-5)
    np.testing.assert_allclose(table["p_value"], expected["p_value"], rtol=5e-3)


@pytest.mark.parametrize("formula", ["rt ~ condition * prompt * device + load + (1 | participant)",
                                     "correct ~ condition * prompt + (1 | item)"])  # fmt: skip
def test_joint_tests_do_not_depend_on_reference_levels(formula):
    family = "binomial" if formula.startswith("correct") else "gaussian"
    one = fit_mixed_model(data_of("trials"), formula, family=family)
    other = fit_mixed_model(
        data_of("trials"), formula, family=family, reference={"condition": "neutral", "prompt": "plus"}
    )
    pd.testing.assert_frame_equal(one.anova, other.anova, rtol=1e-4)
    # The coefficients of the same fits do depend on them.
    assert one.coefficients["estimate"].iloc[1] != pytest.approx(other.coefficients["estimate"].iloc[1], abs=0.01)


def test_a_joint_test_that_needs_an_empty_cell_is_missing():
    table = fitted("an empty cell").anova.set_index("term")
    assert table["p_value"].isna().to_dict() == {
        "condition": True, "prompt": True, "load": False, "condition:prompt": True,
    }  # fmt: skip


def test_a_joint_test_without_an_intercept_compares_the_means():
    with_intercept = fit_mixed_model(data_of("trials"), "rt ~ condition + prompt + (1 | participant)").anova
    pd.testing.assert_frame_equal(fitted("no intercept").anova, with_intercept, rtol=1e-6)


# R 4.2.2, effectsize 0.8.3, of "crossed intercepts" with sum-to-zero contrasts and a centred covariate: a <- anova(m);
#   eta_squared(a, alternative = "two.sided"); omega_squared(a); cohens_f(a, alternative = "two.sided")
# partial eta squared and its bounds; partial omega squared; Cohen's f and its bounds.
EFFECT_SIZES = {
    "condition": (0.0802434, 0.0285858, 0.1417354, 0.0738343, 0.2953713, 0.1715429, 0.4063764),
    "load": (0.1722557, 0.1014954, 0.2488421, 0.1689845, 0.4561825, 0.3360957, 0.5755675),
    "prompt": (0.0226523, 0.0013663, 0.0663721, 0.0192905, 0.1522409, 0.0369892, 0.2666280),
    "condition:load": (0.0233133, 0, 0.0633064, 0.0167352, 0.1544983, 0, 0.2599712),
}


def test_effect_sizes_of_terms_agree_with_effectsize():
    table = effect_sizes_of_terms(fitted("crossed intercepts").anova)
    assert table["term"].tolist() == list(EFFECT_SIZES)
    columns = ["partial_eta_squared", "partial_eta_squared_ci_low", "partial_eta_squared_ci_high",
               "partial_omega_squared", "cohens_f", "cohens_f_ci_low", "cohens_f_ci_high"]  # fmt: skip
    # With more than two levels, lmerTest's degrees of freedom depend a little on the order of the levels; ours do not.
    np.testing.assert_allclose(table[columns], list(EFFECT_SIZES.values()), rtol=6e-4)
    one_df = table["term"].isin(["load", "prompt"])
    np.testing.assert_allclose(table.loc[one_df, columns], [EFFECT_SIZES["load"], EFFECT_SIZES["prompt"]], rtol=5e-5)


def test_terms_with_chi_square_tests_have_no_effect_sizes():
    assert effect_sizes_of_terms(fitted("crossed intercepts", "treatment").anova) is None
    assert effect_sizes_of_terms(fitted("logistic, crossed intercepts").anova) is None


def test_a_term_that_cannot_be_tested_has_no_effect_size():
    table = effect_sizes_of_terms(fitted("an empty cell").anova).set_index("term")
    assert table["cohens_f"].isna().to_dict() == {
        "condition": True, "prompt": True, "load": False, "condition:prompt": True,
    }  # fmt: skip


def test_an_unknown_kind_of_tests_is_refused():
    with pytest.raises(InputError, match="`term_tests` has the value `anova`"):
        fit_mixed_model(data_of("trials"), "rt ~ load", term_tests="anova")


@pytest.mark.parametrize("name", MIXED)
def test_random_effects_agree_with_lme4(name):
    def effects(groups, terms, sds):
        # For (1 | a/b) lme4 names the groups b:a, and Equipoise names them a:b.
        return {(frozenset(group.split(":")), term): sd for group, term, sd in zip(groups, terms, sds, strict=True)}

    model, expected = fitted(name), CASES[name]
    found = effects(*(model.random[column] for column in ("group", "term", "sd")))
    of_r = effects(*(np.atleast_1d(expected["random"][column]) for column in ("group", "term", "sd")))
    assert found == pytest.approx(of_r, rel=tolerance(name))
    correlations = expected["correlations"]
    for column in ("term_1", "term_2"):
        assert model.correlations[column].tolist() == list(np.atleast_1d(correlations[column]))
    np.testing.assert_allclose(model.correlations["correlation"], numbers(correlations["correlation"]), rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_the_fit_agrees_with_r(name):
    fit, expected = fitted(name).fit.iloc[0], CASES[name]["fit"]
    assert fit["n"] == expected["n"]
    for column in ("loglik", "aic", "bic"):
        assert fit[column] == pytest.approx(expected[column], abs=5e-6), column
    for column in ("icc_adjusted", "r2_marginal", "r2_conditional", "rmse"):
        of_r = expected[column]
        assert fit[column] == pytest.approx(math.nan if of_r is None else of_r, rel=tolerance(name), nan_ok=True)
    assert fit["converged"]
    assert not fit["singular"]


@pytest.mark.parametrize("name", [name for name in CASES if name != "an empty cell"])
def test_a_model_without_problems_has_no_warnings(name):
    assert fitted(name).warnings == ()


def test_a_coefficient_of_an_empty_cell_is_left_out_with_a_warning():
    model = fitted("an empty cell")
    (warning,) = model.warnings
    assert warning.startswith("These coefficients are redundant and were left out: `conditionneutral:promptplus`")
    assert "No row has `condition` neutral and `prompt` plus." in warning
    assert model.covariance.shape == (len(model.coefficients),) * 2


def test_restricted_maximum_likelihood_is_for_linear_models_with_random_effects():
    assert [fitted(name).reml for name in ("crossed intercepts", "crossed intercepts by maximum likelihood")] == [
        True,
        False,
    ]
    assert not fitted("linear, no random effects").reml
    assert not fitted("logistic, crossed intercepts").reml


def test_the_order_of_random_effects_is_that_of_the_formula():
    trials = data_of("trials")
    one = fit_mixed_model(trials, "rt ~ load + (1 | item) + (1 + load | participant)")
    other = fit_mixed_model(trials, "rt ~ load + (1 + load | participant) + (1 | item)")
    assert one.random["group"].tolist() == ["item", "participant", "participant", "Residual"]
    assert other.random["group"].tolist() == ["participant", "participant", "item", "Residual"]
    assert sorted(one.random["sd"]) == pytest.approx(sorted(other.random["sd"]), rel=1e-5)


def test_nested_groups_are_the_groups_and_their_combinations():
    schools = data_of("schools")
    written_out = fit_mixed_model(schools, "points ~ treatment + age + (1 | school) + (1 | school:class)")
    pd.testing.assert_frame_equal(written_out.random, fitted("nested intercepts").random)


def test_random_effects_of_levels_equal_an_intercept_with_slopes():
    levels, differences = fitted("levels of a factor"), fitted("slopes of a factor")
    assert levels.fit.equals(differences.fit)
    assert levels.coefficients.equals(differences.coefficients)


def test_degrees_of_freedom_are_satterthwaites_between_groups_and_rows():
    model = fitted("crossed intercepts")
    assert isinstance(model.degrees, Satterthwaite)
    assert (model.coefficients["df"] > 10).all()
    assert (model.coefficients["df"] < 330).all()


def test_the_reference_level_may_be_given_as_text():
    trials = data_of("trials").assign(
        plus=data_of("trials")["prompt"] == "plus", session=lambda d: d["session"].astype("str")
    )
    for named in (True, "True", "true"):
        model = fit_mixed_model(trials, "rt ~ plus + session", reference={"plus": named, "session": 2})
        assert model.coefficients["term"].tolist() == ["(Intercept)", "plusFalse", "session1"]
    assert fit_mixed_model(trials, "rt ~ plus").coefficients["term"].tolist() == ["(Intercept)", "plusTrue"]


def test_a_confidence_level_only_changes_the_intervals():
    wide = fit_mixed_model(data_of("trials"), "rt ~ load + (1 | item)", confidence=0.99).coefficients
    narrow = fit_mixed_model(data_of("trials"), "rt ~ load + (1 | item)", confidence=0.9).coefficients
    assert (wide["ci_low"] < narrow["ci_low"]).all()
    assert (wide["ci_high"] > narrow["ci_high"]).all()
    same = ["term", "estimate", "std_error", "statistic", "df", "p_value"]
    assert wide[same].equals(narrow[same])


def test_a_model_fitted_twice_is_the_same_to_the_last_bit():
    def fit():
        return fit_mixed_model(data_of("trials"), "correct ~ load * condition + (1 | participant)", family="binomial")

    one, other = fit(), fit()
    assert one.coefficients.equals(other.coefficients)
    assert np.array_equal(one.covariance, other.covariance)


def test_a_fit_changes_no_data_and_prints_nothing(capfd):
    trials = data_of("trials").copy()
    before = trials.copy(deep=True)
    fit_mixed_model(trials, "rt ~ condition * load + (1 + load | participant) + (1 | item)")
    standardized_coefficients(trials, "correct ~ load + (1 | item)", family="binomial")
    pd.testing.assert_frame_equal(trials, before)
    assert capfd.readouterr() == ("", "")


def test_the_index_of_the_data_does_not_matter():
    trials = data_of("trials")
    model = fit_mixed_model(trials.set_index(np.zeros(len(trials), dtype=int)), CASES["correlated slopes"]["formula"])
    assert model.coefficients.equals(fitted("correlated slopes").coefficients)


def test_odds_ratios_are_exponentiated_coefficients():
    model = fitted("logistic, nested intercepts")
    table, coefficients = odds_ratios(model), model.coefficients
    assert table["term"].tolist() == coefficients["term"].tolist()
    np.testing.assert_allclose(np.log(table["odds_ratio"]), coefficients["estimate"], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.log(table["ci_low"]), coefficients["ci_low"], rtol=1e-12, atol=1e-14)
    assert (odds_ratios(model, 0.5)["ci_low"] > table["ci_low"]).all()


def test_odds_ratios_of_a_linear_model_are_refused():
    with pytest.raises(InputError, match="only logistic and ordinal models have odds ratios"):
        odds_ratios(fitted("nested intercepts"))


def test_standardized_coefficients_are_in_standard_deviations():
    schools = data_of("schools")
    table = standardized_coefficients(schools, "points ~ treatment + age + (1 | school/class)").set_index("term")
    raw = fitted("nested intercepts").coefficients.set_index("term")
    deviation = schools["points"].std()
    assert table.loc["treatmentb", "estimate"] == pytest.approx(raw.loc["treatmentb", "estimate"] / deviation, rel=1e-6)
    scale = schools["age"].std() / deviation
    for column in ("estimate", "ci_low", "ci_high"):
        assert table.loc["age", column] == pytest.approx(raw.loc["age", column] * scale, rel=1e-5)


def test_standardized_coefficients_of_a_logistic_model_do_not_scale_the_outcome():
    table = standardized_coefficients(data_of("trials"), "correct ~ condition + load", family="binomial")
    raw = fitted("logistic, no random effects").coefficients
    scales = [*[1.0] * 2, data_of("trials")["load"].std()]
    np.testing.assert_allclose(table["estimate"][1:], raw["estimate"][1:] * scales, rtol=1e-8)


def test_standardized_coefficients_are_scaled_over_the_fitted_rows():
    schools = data_of("schools")
    holes = schools.assign(age=schools["age"].where(schools.index % 5 > 0))
    formula = "points ~ treatment + age"
    found = standardized_coefficients(holes, formula)
    pd.testing.assert_frame_equal(found, standardized_coefficients(holes.dropna(), formula))


@pytest.mark.parametrize(
    "formula", ["rt ~ condition * load + (1 | participant)", "rt ~ 0 + condition + load + (1 | item)", "rt ~ load"]
)
def test_an_outcome_far_from_zero_loses_no_digits(formula):
    trials = data_of("trials")
    model, shifted = (fit_mixed_model(trials.assign(rt=trials["rt"] + shift), formula) for shift in (0.0, 1e7))
    columns = ["std_error", "df"]
    pd.testing.assert_frame_equal(model.coefficients[columns], shifted.coefficients[columns], rtol=1e-5)
    moved = shifted.coefficients["estimate"] - model.coefficients["estimate"]
    terms = model.coefficients["term"]
    levels = terms.str.startswith("condition") if "0 +" in formula else terms == "(Intercept)"
    np.testing.assert_allclose(moved, np.where(levels, 1e7, 0.0), atol=1e-6)
    pd.testing.assert_frame_equal(model.random, shifted.random, rtol=1e-5)
    assert shifted.fit["r2_marginal"][0] == pytest.approx(model.fit["r2_marginal"][0], rel=1e-5)


def test_a_joint_test_without_degrees_of_freedom_is_a_chi_square_test():
    """Satterthwaite's degrees of freedom are missing where the data give no variance of a variance."""
    missing = Satterthwaite(np.zeros((1, 2, 2)), np.eye(1))
    found = joint_test(np.array([2.0, 1.0]), np.eye(2), missing, np.eye(2))
    assert found[:3] == ("chisq", 5.0, 2)
    assert np.isnan(found.df_error)
    assert found.p_value == pytest.approx(math.exp(-2.5))
