"""Models of response times agree with lme4, lmerTest, emmeans and glmmTMB; fixtures/other_outcomes.R has the R code."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import polygamma

from analysis.statistics.mixed_models.contrasts import pairwise_contrasts
from analysis.statistics.mixed_models.fit import fit_mixed_model, standardized_coefficients
from analysis.statistics.mixed_models.marginal_means import marginal_means
from analysis.statistics.mixed_models.ratios import ratios
from batteries.errors import InputError
from tests.paths import FIXTURES

DATA = pd.read_csv(FIXTURES / "other_outcomes.csv")
OF_R = json.loads((FIXTURES / "other_outcomes.json").read_text(encoding="utf-8"))
LOG = OF_R["log_linear"]


@pytest.fixture(scope="module")
def of_logarithms():
    return fit_mixed_model(DATA, LOG["formula"])


def test_a_model_of_the_logarithm_agrees_with_lmer(of_logarithms):
    table, expected = of_logarithms.coefficients, LOG["coefficients"]
    for column, of_r in (("estimate", "Estimate"), ("std_error", "Std. Error"), ("df", "df"), ("p_value", "Pr(>|t|)")):
        np.testing.assert_allclose(table[column], expected[of_r], rtol=1e-4)
    np.testing.assert_allclose(of_logarithms.random["sd"], LOG["sd"], rtol=1e-5)
    assert of_logarithms.fit["loglik"].iloc[0] == pytest.approx(LOG["loglik"], abs=1e-6)


def test_marginal_means_of_logarithms_are_geometric_means_in_the_unit_of_the_outcome(of_logarithms):
    table, expected = marginal_means(of_logarithms, ["condition"]), LOG["means"]
    np.testing.assert_allclose(table["geometric_mean"], expected["response"], rtol=1e-6)
    np.testing.assert_allclose(table["geometric_mean_ci_low"], expected["lower.CL"], rtol=1e-5)
    np.testing.assert_allclose(table["geometric_mean_ci_high"], expected["upper.CL"], rtol=1e-5)


def test_the_geometric_mean_of_one_cell_is_that_of_its_values():
    rows = pd.DataFrame({"rt_ms": [100.0, 400, 800, 200, 300, 900], "prompt": ["a"] * 3 + ["b"] * 3})
    means = marginal_means(fit_mixed_model(rows, "log(rt_ms) ~ prompt"), ["prompt"])["geometric_mean"]
    assert means.tolist() == pytest.approx([(100 * 400 * 800) ** (1 / 3), (200 * 300 * 900) ** (1 / 3)])


def test_contrasts_of_logarithms_are_ratios(of_logarithms):
    table, expected = pairwise_contrasts(of_logarithms, ["condition"], adjust="none"), LOG["contrasts"]
    np.testing.assert_allclose(table["ratio"], expected["ratio"], rtol=1e-6)
    np.testing.assert_allclose(table["ratio_ci_low"], expected["lower.CL"], rtol=1e-5)
    np.testing.assert_allclose(table["ratio_ci_high"], expected["upper.CL"], rtol=1e-5)
    np.testing.assert_allclose(table["p_value"], expected["p.value"], rtol=1e-4)


def test_standardized_coefficients_are_in_standard_deviations_of_the_logarithm():
    table = standardized_coefficients(DATA, LOG["formula"])
    np.testing.assert_allclose(table["estimate"], LOG["standardized"], rtol=1e-5)


def test_a_column_of_logarithms_gives_the_same_model(of_logarithms):
    data = DATA.assign(logarithm=np.log(DATA["rt_ms"]))
    same = fit_mixed_model(data, LOG["formula"].replace("log(rt_ms)", "logarithm"))
    pd.testing.assert_frame_equal(same.coefficients, of_logarithms.coefficients)
    assert "geometric_mean" not in marginal_means(same, ["condition"])


@pytest.mark.parametrize("expected", OF_R["gamma"], ids=lambda case: case["formula"])
def test_a_gamma_mixed_model_agrees_with_glmmtmb(expected):
    model = fit_mixed_model(DATA, expected["formula"], family="gamma")
    table, of_r = model.coefficients, expected["coefficients"]
    np.testing.assert_allclose(table["estimate"], of_r["Estimate"], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(table["std_error"], of_r["Std. Error"], rtol=1e-4)
    np.testing.assert_allclose(table["p_value"], of_r["Pr(>|z|)"], rtol=1e-3)
    assert table["df"].isna().all()
    np.testing.assert_allclose(model.random["sd"], expected["sd"], rtol=1e-4)
    fit = model.fit.iloc[0]
    assert (fit["loglik"], fit["aic"]) == pytest.approx((expected["loglik"], expected["aic"]), abs=1e-4)
    assert fit["dispersion"] == pytest.approx(expected["dispersion"], rel=1e-4)
    assert set(model.anova["statistic_name"]) == {"chisq"}
    random = (model.random["sd"] ** 2).sum()
    assert fit["icc_adjusted"] == pytest.approx(random / (random + polygamma(1, 1 / expected["dispersion"])), rel=1e-4)


def test_a_gamma_model_without_random_effects_agrees_with_glm():
    expected = OF_R["gamma_glm"]
    model = fit_mixed_model(DATA, expected["formula"], family="gamma")
    of_r = expected["coefficients"]
    for column, name in (("estimate", "Estimate"), ("std_error", "Std. Error"), ("p_value", "Pr(>|t|)")):
        np.testing.assert_allclose(model.coefficients[column], of_r[name], rtol=1e-5)
    assert model.fit["dispersion"].iloc[0] == pytest.approx(expected["dispersion"])
    assert set(model.coefficients["df"]) == {len(DATA) - 3}


def test_a_gamma_model_of_one_factor_has_the_arithmetic_means_of_the_cells():
    model = fit_mixed_model(DATA, "rt_ms ~ condition", family="gamma")
    means = marginal_means(model, ["condition"]).set_index("condition")["mean"]
    expected = DATA.groupby("condition")["rt_ms"].mean()
    assert means.to_dict() == pytest.approx(expected.to_dict())
    contrast = pairwise_contrasts(model, ["condition"]).iloc[0]
    assert contrast["ratio"] == pytest.approx(expected["easy"] / expected["hard"])
    assert ratios(model)["ratio"].tolist()[:2] == pytest.approx([expected["easy"], expected["hard"] / expected["easy"]])


@pytest.mark.parametrize(
    ("formula", "family"), [("log(rt_ms) ~ condition", "gaussian"), ("rt_ms ~ condition", "gamma")]
)
def test_times_of_0_or_below_are_refused_with_their_number(formula, family):
    data = DATA.assign(rt_ms=DATA["rt_ms"].where(DATA.index > 2, -DATA.index.to_numpy()))
    with pytest.raises(InputError, match=r"`rt_ms` is 0 or negative in 3 of 270 rows.*needs values above 0.*Fix: "):
        fit_mixed_model(data, formula, family=family)


def test_a_logarithm_is_only_for_linear_models():
    with pytest.raises(InputError, match=r"`log\(rt_ms\)` is only for linear models.*`gamma`.*Fix: "):
        fit_mixed_model(DATA, "log(rt_ms) ~ condition", family="gamma")


def test_a_linear_model_of_the_outcome_itself_has_no_ratios():
    model = fit_mixed_model(DATA, "rt_ms ~ condition + (1 | participant)")
    assert "ratio" not in pairwise_contrasts(model, ["condition"])
    with pytest.raises(InputError, match="have ratios of means"):
        ratios(model)
