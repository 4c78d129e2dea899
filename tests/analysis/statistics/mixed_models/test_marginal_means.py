"""Marginal means and their contrasts agree with emmeans."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.statistics.mixed_models.contrasts import pairwise_contrasts
from analysis.statistics.mixed_models.fit import fit_mixed_model
from analysis.statistics.mixed_models.marginal_means import marginal_means
from analysis.statistics.mixed_models.wald_tests import Satterthwaite
from batteries.errors import InputError
from tests.analysis.statistics.mixed_models.r_fixtures import CASES, data_of, fitted, numbers

ASKED = [(name, index) for name, case in CASES.items() for index in range(len(case["means"]))]


def asked(name, index):
    case = CASES[name]["means"][index]
    logistic = CASES[name]["family"] == "binomial"
    return fitted(name), case, logistic, 5e-5 if logistic else 5e-6


@pytest.mark.parametrize(("name", "index"), ASKED)
def test_means_agree_with_emmeans(name, index):
    model, expected, logistic, tolerance = asked(name, index)
    means = marginal_means(model, expected["of"], by=expected["by"])
    for factor, levels in expected["labels"].items():
        assert means[factor].tolist() == levels
    columns = {"estimate": "emmean", "std_error": "SE", "df": "df", "ci_low": "low", "ci_high": "high"}
    for column, theirs in columns.items():
        if column == "df" and logistic:
            assert means["df"].isna().all()
        else:
            of_r = numbers(expected["means"][theirs])
            np.testing.assert_allclose(means[column], of_r, rtol=tolerance, atol=tolerance, err_msg=column)
    assert ("probability" in means) == logistic


@pytest.mark.parametrize(("name", "index"), ASKED)
def test_pairs_agree_with_emmeans(name, index):
    model, expected, logistic, tolerance = asked(name, index)
    pairs = pairwise_contrasts(model, expected["of"], by=expected["by"])
    assert pairs["contrast"].tolist() == list(np.atleast_1d(expected["pairs"]["contrast"]))
    columns = {"estimate": "estimate", "std_error": "SE", "statistic": "statistic", "ci_low": "low", "ci_high": "high"}
    for column, theirs in columns.items():
        of_r = numbers(expected["pairs"][theirs])
        np.testing.assert_allclose(pairs[column], of_r, rtol=tolerance, atol=tolerance, err_msg=column)
    if not logistic:
        np.testing.assert_allclose(pairs["df"], numbers(expected["pairs"]["df"]), rtol=tolerance)


@pytest.mark.parametrize(("name", "index"), ASKED)
@pytest.mark.parametrize(("adjust", "theirs"), [("none", "none"), ("tukey", "tukey"), ("holm", "holm"), ("bh", "BH")])
def test_corrected_p_values_agree_with_emmeans(name, index, adjust, theirs):
    model, expected, *_ = asked(name, index)
    pairs = pairwise_contrasts(model, expected["of"], by=expected["by"], adjust=adjust)
    np.testing.assert_allclose(pairs["p_adjusted"], numbers(expected["contrasts"][theirs]), rtol=2e-4, atol=1e-9)
    assert (pairs["p_adjusted"].dropna() >= pairs["p_value"].dropna() - 1e-9).all()


def test_probabilities_and_odds_ratios_are_those_of_the_log_odds():
    model = fitted("logistic, crossed intercepts")
    means = marginal_means(model, ["condition"])
    for probability, log_odds in (("probability", "estimate"), ("probability_ci_low", "ci_low")):
        np.testing.assert_allclose(means[probability], 1 / (1 + np.exp(-means[log_odds])), rtol=1e-12)
    pairs = pairwise_contrasts(model, ["condition"])
    for ratio, log_odds in (("odds_ratio", "estimate"), ("or_ci_low", "ci_low"), ("or_ci_high", "ci_high")):
        np.testing.assert_allclose(pairs[ratio], np.exp(pairs[log_odds]), rtol=1e-12)
    odds = means["probability"] / (1 - means["probability"])
    assert pairs["odds_ratio"][0] == pytest.approx(odds[0] / odds[1])


def test_means_of_empty_cells_are_missing():
    model = fitted("an empty cell")
    means = marginal_means(model, ["condition"], by=["prompt"]).set_index(["prompt", "condition"])
    missing = means["estimate"].isna()
    assert missing[missing].index.tolist() == [("plus", "neutral")]
    assert marginal_means(model, ["prompt"])["estimate"].isna().tolist() == [False, True]
    assert pairwise_contrasts(model, ["prompt"])["p_adjusted"].isna().all()


def test_a_redundant_covariate_changes_no_mean():
    trials = data_of("trials").assign(twice=lambda d: 2 * d["load"] + 1)
    doubled = fit_mixed_model(trials, "rt ~ condition + load + twice + (1 | participant)")
    single = fit_mixed_model(trials, "rt ~ condition + load + (1 | participant)")
    pd.testing.assert_frame_equal(marginal_means(doubled, ["condition"]), marginal_means(single, ["condition"]))


def test_tests_that_cannot_be_computed_count_in_their_family():
    model = fitted("an empty cell")
    pairs = pairwise_contrasts(model, ["condition"], by=["prompt"], adjust="holm")
    (made,) = pairs[(pairs["prompt"] == "plus") & pairs["p_value"].notna()].index
    assert pairs["p_adjusted"][made] == pytest.approx(3 * pairs["p_value"][made])


def test_satterthwaites_degrees_of_freedom_are_those_of_the_coefficients():
    model = fitted("slopes and crossed intercepts")
    assert isinstance(model.degrees, Satterthwaite)
    rows = np.eye(2)
    np.testing.assert_allclose(model.degrees.df(rows, model.covariance), model.coefficients["df"])
    np.testing.assert_allclose(model.degrees.df(7 * rows, model.covariance), model.coefficients["df"])


def test_a_single_name_means_a_list_of_one_name():
    model = fitted("crossed intercepts")
    pd.testing.assert_frame_equal(marginal_means(model, "condition"), marginal_means(model, ["condition"]))
    pd.testing.assert_frame_equal(
        pairwise_contrasts(model, "condition", by="prompt"), pairwise_contrasts(model, ["condition"], by=["prompt"])
    )


@pytest.mark.parametrize(
    ("of", "by", "complaint"),
    [
        ([], [], "need a factor. Fix: choose one of `condition`, `prompt`"),
        (["load"], [], "`load` is a covariate"),
        (["item"], [], "`item` is not a factor of"),
        (["condition"], ["condition"], "duplicate factor `condition`"),
    ],
)
def test_a_name_that_is_not_a_factor_of_the_model_is_refused(of, by, complaint):
    model = fitted("crossed intercepts")
    for function in (marginal_means, pairwise_contrasts):
        with pytest.raises(InputError, match=complaint):
            function(model, of, by=by)


def test_an_unknown_correction_is_refused():
    with pytest.raises(InputError, match="choose one of `holm`, `tukey`, `bh`, `none`"):
        pairwise_contrasts(fitted("crossed intercepts"), ["condition"], adjust="bonferroni")


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_means_of_a_saturated_design_are_the_means_of_its_cells_with_equal_weights(data):
    counts = data.draw(st.lists(st.integers(1, 4), min_size=6, max_size=6))
    rows = [
        (a, b) for (a, b), n in zip([(a, b) for a in "pqr" for b in "uv"], counts, strict=True) for _ in range(n + 1)
    ]
    table = pd.DataFrame(rows, columns=["a", "b"])
    table["y"] = data.draw(st.lists(st.integers(-50, 50), min_size=len(rows), max_size=len(rows), unique=True))
    means = marginal_means(fit_mixed_model(table, "y ~ a * b"), ["a"])
    cells = table.groupby(["a", "b"])["y"].mean().groupby("a").mean()
    np.testing.assert_allclose(means["estimate"], cells, atol=1e-9)


def test_the_reference_level_changes_no_mean():
    trials = data_of("trials")
    formula = "rt ~ condition * prompt + load + (1 | participant)"
    one = marginal_means(fit_mixed_model(trials, formula), ["condition"]).set_index("condition")
    other = fit_mixed_model(trials, formula, reference={"condition": "neutral", "prompt": "plus"})
    again = marginal_means(other, ["condition"]).set_index("condition").loc[one.index]
    pd.testing.assert_frame_equal(one, again, rtol=1e-6)
