"""Ordinal models agree with R's package ordinal; fixtures/other_outcomes.R has the R code."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.statistics.mixed_models.contrasts import pairwise_contrasts
from analysis.statistics.mixed_models.cumulative_logit import _Likelihood, fit_cumulative_logit
from analysis.statistics.mixed_models.fit import fit_mixed_model
from analysis.statistics.mixed_models.marginal_means import marginal_means
from analysis.statistics.mixed_models.ratios import odds_ratios
from batteries.errors import InputError
from tests.paths import FIXTURES

DATA = pd.read_csv(FIXTURES / "other_outcomes.csv")
CASES = json.loads((FIXTURES / "other_outcomes.json").read_text(encoding="utf-8"))["ordinal"]


@pytest.fixture(scope="module", params=CASES, ids=[case["formula"] for case in CASES])
def case(request):
    return fit_mixed_model(DATA, request.param["formula"], family="ordinal"), request.param


def test_thresholds_and_coefficients_agree_with_clmm(case):
    model, expected = case
    slopes = model.coefficients.query("term != '(Intercept)'")
    assert model.thresholds["threshold"].tolist() == expected["threshold_names"] == ["1|2", "2|3", "3|4", "4|5"]
    assert slopes["term"].tolist() == expected["terms"]
    np.testing.assert_allclose(model.thresholds["estimate"], expected["thresholds"], atol=2e-4)
    np.testing.assert_allclose(slopes["estimate"], expected["beta"], atol=2e-4)
    errors = [*model.thresholds["std_error"], *slopes["std_error"]]
    np.testing.assert_allclose(errors, expected["std_error"], rtol=1e-4)
    np.testing.assert_allclose(slopes["p_value"], 2 * stats.norm.sf(np.abs(slopes["statistic"])))


def test_random_effects_and_fit_agree_with_clmm(case):
    model, expected = case
    np.testing.assert_allclose(model.random["sd"], np.atleast_1d(expected["sd"]), atol=1e-4)
    assert model.random["group"].tolist() == list(np.atleast_1d(expected["groups"]))
    fit = model.fit.iloc[0]
    assert (fit["loglik"], fit["aic"]) == pytest.approx((expected["loglik"], expected["aic"]), abs=1e-4)
    assert fit["converged"]
    assert not fit["singular"]
    assert model.warnings == ()


def test_means_and_contrasts_agree_with_emmeans(case):
    model, expected = case
    means, contrasts = marginal_means(model, ["condition"]), pairwise_contrasts(model, ["condition"], adjust="none")
    for table, of_r, estimate in ((means, expected["means"], "emmean"), (contrasts, expected["contrasts"], "estimate")):
        for column, name in (("estimate", estimate), ("std_error", "SE"), ("ci_low", "asymp.LCL"),
                             ("ci_high", "asymp.UCL")):  # fmt: skip
            np.testing.assert_allclose(table[column], of_r[name], atol=3e-4)
    np.testing.assert_allclose(contrasts["odds_ratio"], np.exp(contrasts["estimate"]))


def test_the_tests_of_terms_are_walds(case):
    _, expected = case
    table = fit_mixed_model(DATA, expected["formula"], family="ordinal", term_tests="treatment").anova
    condition = table.set_index("term").loc["condition"]
    assert condition["statistic_name"] == "chisq"
    assert condition["df"] == 2
    assert condition["statistic"] == pytest.approx(expected["treatment_chisq"], rel=1e-3)


def test_the_gradient_is_that_of_the_likelihood():
    groups = [pd.factorize(DATA[name])[0] for name in ("participant", "item")]
    design = np.column_stack([DATA["condition"] == "hard", DATA["rt_ms"] / 1000]).astype(float)
    likelihood = _Likelihood(DATA["rating"].to_numpy() - 1, design, groups)
    at = np.array([-2.0, -0.5, 0.7, 2.0, 0.4, -0.3, 0.8, 0.5])
    differences = [
        (likelihood.with_gradient(at + step)[0] - likelihood.with_gradient(at - step)[0]) / 2e-5
        for step in 1e-5 * np.eye(len(at))
    ]
    np.testing.assert_allclose(likelihood.with_gradient(at)[1], differences, atol=1e-6)


def test_two_categories_give_the_logistic_mixed_model():
    high = (DATA["rating"] > 3).astype(int)
    groups = pd.factorize(DATA["participant"])[0]
    hard = (DATA["condition"] == "hard").to_numpy(dtype=float)
    found = fit_cumulative_logit(high.to_numpy(), hard[:, None], [groups])
    logistic = fit_mixed_model(
        DATA.assign(high=high, hard=hard), "high ~ hard + (1 | participant)", family="binomial"
    ).coefficients
    assert [-found.thresholds[0], found.slopes[0]] == pytest.approx(logistic["estimate"].tolist(), abs=1e-3)
    errors = np.sqrt(np.diag(found.covariance))
    assert errors.tolist() == pytest.approx(logistic["std_error"].tolist(), rel=1e-2)


def test_the_scale_and_the_names_of_the_numbers_do_not_change_the_coefficients():
    formula = "rating ~ condition + rt_ms + (1 | participant)"
    model = fit_mixed_model(DATA, formula, family="ordinal")
    other = DATA.assign(rating=DATA["rating"] ** 3, rt_ms=DATA["rt_ms"] / 1e6 + 50)
    same = fit_mixed_model(other, formula, family="ordinal")
    assert same.thresholds["threshold"].tolist() == ["1|8", "8|27", "27|64", "64|125"]
    one, another = model.coefficients.set_index("term"), same.coefficients.set_index("term")
    assert another.loc["conditionhard", "estimate"] == pytest.approx(one.loc["conditionhard", "estimate"], abs=1e-4)
    assert another.loc["rt_ms", "statistic"] == pytest.approx(one.loc["rt_ms", "statistic"], rel=1e-3)
    assert another.loc["rt_ms", "estimate"] == pytest.approx(1e6 * one.loc["rt_ms", "estimate"], rel=1e-3)


def test_a_positive_coefficient_means_higher_categories():
    rows = pd.DataFrame({"rating": [1, 2, 2, 3, 1, 1, 2, 2, 2, 3, 3, 3], "prompt": ["a"] * 6 + ["b"] * 6})
    table = odds_ratios(fit_mixed_model(rows, "rating ~ prompt", family="ordinal"))
    assert table["term"].tolist() == ["promptb"], "thresholds take the place of the intercept"
    assert table["odds_ratio"][0] > 1


def test_a_random_intercept_without_variance_is_reported_as_zero():
    rows = DATA.sort_values(["group", "rating"]).assign(participant=np.arange(len(DATA)) % 9)
    model = fit_mixed_model(rows, "rating ~ group + (1 | participant)", family="ordinal")
    plain = fit_mixed_model(rows, "rating ~ group", family="ordinal")
    assert model.fit["singular"][0]
    assert "The random effect `(Intercept)` of `participant` is estimated as zero." in model.warnings
    np.testing.assert_allclose(model.coefficients["std_error"], plain.coefficients["std_error"], rtol=1e-4)


def test_a_perfectly_predicted_outcome_is_not_reported_as_an_estimate():
    rows = DATA.assign(rating=np.where(DATA["condition"] == "hard", 5, DATA["rating"].clip(upper=4)))
    model = fit_mixed_model(rows, "rating ~ condition + (1 | participant)", family="ordinal")
    assert not model.fit["converged"][0]
    assert any("did not converge: do not use" in warning for warning in model.warnings)


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("rating ~ 0 + condition", "thresholds instead of an intercept"),
        ("rating ~ condition + (1 + condition | item)", "no random slopes"),
        ("rt_ms ~ condition", r"has 2\d\d categories, but it must have 3 to 20. Fix: use the family `gaussian`"),
        ("young ~ condition", "has 2 categories, but it must have 3 to 20. Fix: use the family `binomial`"),
        ("group ~ condition", "of an ordinal model has values of the type string, but it must have numbers"),
    ],
)
def test_a_model_that_is_not_possible_is_refused(formula, sentence):
    with pytest.raises(InputError, match=sentence):
        fit_mixed_model(DATA.assign(young=(DATA["group"] == "young").astype(int)), formula, family="ordinal")


def test_too_many_random_intercepts_are_refused_before_they_need_memory():
    n = 5000
    with pytest.raises(InputError, match="have 2,500 levels together, but at most 2,000 are possible"):
        fit_cumulative_logit(np.arange(n) % 3, np.empty((n, 0)), [np.arange(n) // 2])
