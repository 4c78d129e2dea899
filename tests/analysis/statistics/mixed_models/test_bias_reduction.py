"""Logistic models of separated outcomes are fitted with Firth's bias reduction, and agree with R's brglm2."""

import json

import numpy as np
import pandas as pd
import pytest

from analysis.statistics.mixed_models.contrasts import pairwise_contrasts
from analysis.statistics.mixed_models.fit import fit_mixed_model, standardized_coefficients
from analysis.statistics.mixed_models.ratios import odds_ratios
from tests.analysis.statistics.mixed_models.r_fixtures import data_of
from tests.paths import FIXTURES

CASES = {case["name"]: case for case in json.loads((FIXTURES / "bias_reduction.json").read_text(encoding="utf-8"))}


def separated(name: str) -> pd.DataFrame:
    trials = data_of("trials")
    neutral = trials["condition"] == "neutral"
    return {
        "level": trials.assign(correct=trials["correct"].mask(neutral, 1)),
        "cell": trials.assign(correct=trials["correct"].mask(neutral & (trials["prompt"] == "plus"), 0)),
        "covariate": trials.assign(correct=(trials["load"] > 3).astype(int)),
    }[name]


@pytest.mark.parametrize("name", CASES)
def test_a_model_without_random_effects_agrees_with_brglm2(name):
    case = CASES[name]
    model = fit_mixed_model(separated(name), case["formula"], family="binomial")
    assert model.bias_reduced
    assert model.fit["converged"].all()
    assert model.coefficients["term"].tolist() == case["term"]
    np.testing.assert_allclose(model.coefficients["estimate"], case["estimate"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.coefficients["std_error"], case["std_error"], rtol=1e-5)
    # The likelihood has no maximum, so it cannot be compared with other fits.
    assert model.fit[["loglik", "aic", "bic"]].isna().all(axis=None)


@pytest.fixture(scope="module")
def perfect_model():
    """People and two models answer 24 items; the model `tracer` is always right."""
    rng = np.random.default_rng(20261125)
    easiness, ability = rng.normal(0, 0.8, 24), rng.normal(0, 0.7, 20)
    people = pd.DataFrame({"participant": np.repeat(np.arange(20), 24), "item": np.tile(np.arange(24), 20)})
    odds = 0.8 + easiness[people["item"]] + ability[people["participant"]]
    people["correct"] = (rng.random(480) < 1 / (1 + np.exp(-odds))).astype(int)
    mini = pd.DataFrame({"participant": 20, "item": np.arange(24), "correct": (np.arange(24) % 2)})
    tracer = pd.DataFrame({"participant": 21, "item": np.arange(24), "correct": 1})
    rows = pd.concat([people.assign(subject="people"), mini.assign(subject="mini"), tracer.assign(subject="tracer")])
    return rows.astype({"participant": str, "item": str})


def test_a_model_that_is_always_right_has_an_effect_with_a_p_value(perfect_model):
    formula = "correct ~ subject + (1 | participant) + (1 | item)"
    model = fit_mixed_model(perfect_model, formula, family="binomial", reference={"subject": "people"})
    assert model.bias_reduced
    assert model.anova["p_value"].between(0, 0.05).all()
    (warning,) = model.warnings
    assert warning.startswith("Every outcome is 1 at `subject` tracer (separation)")
    assert "Firth's bias reduction, not from maximum likelihood" in warning
    estimates = model.coefficients.set_index("term")["estimate"]
    assert 1 < estimates["subjecttracer"] < 10
    assert odds_ratios(model)["ci_high"].lt(1e6).all()
    # Without the separated level, maximum likelihood has an estimate, and the bias reduction hardly changes it.
    rest = perfect_model[perfect_model["subject"] != "tracer"]
    likelihood = fit_mixed_model(rest, formula, family="binomial", reference={"subject": "people"})
    assert not likelihood.bias_reduced
    assert estimates["subjectmini"] == pytest.approx(
        likelihood.coefficients.set_index("term")["estimate"]["subjectmini"], abs=0.05
    )
    assert pairwise_contrasts(model, ["subject"])["p_value"].notna().all()


def test_the_standardized_coefficients_are_bias_reduced_too():
    table = standardized_coefficients(separated("covariate"), "correct ~ load + session", family="binomial")
    model = fit_mixed_model(separated("covariate"), "correct ~ load + session", family="binomial")
    scale = data_of("trials")["load"].std()
    assert table["estimate"][1] == pytest.approx(model.coefficients["estimate"][1] * scale, rel=1e-4)


def test_a_model_without_separation_is_fitted_by_maximum_likelihood():
    assert not fit_mixed_model(data_of("trials"), "correct ~ condition * prompt", family="binomial").bias_reduced
