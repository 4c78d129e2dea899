"""The published mixed models of Black Box Play, to every digit that the paper prints, and their marginal means."""

import json

import numpy as np
import pandas as pd
import pytest

from analysis.statistics.mixed_models.contrasts import pairwise_contrasts
from analysis.statistics.mixed_models.fit import fit_mixed_model, standardized_coefficients
from analysis.statistics.mixed_models.marginal_means import marginal_means
from tests.analysis.statistics.mixed_models.r_fixtures import FIXTURES

REFERENCE = {"model": "Haiku 4.5", "prompt": "baseline", "thinking": False}
FULL = (
    "model * prompt * thinking + vot_grid + vot_ray + vot_hypothesis + mean_cells_per_ray + mean_atoms_per_ray"
    " + (1 | config_index)"
)
MAIN = (
    "model + prompt + thinking + vot_grid + vot_ray + vot_hypothesis + mean_atoms_per_ray + mean_cells_per_ray"
    " + (1 | config_index)"
)
MODIFIED = (
    "model * mean_atoms_per_ray + prompt * mean_atoms_per_ray + thinking * mean_atoms_per_ray + (1 | config_index)"
)

# Term, chi-square, degrees of freedom, p, as printed.
TYPE_THREE = {
    ("atoms_correct", FULL): """
        (Intercept)             27.2631 1 1.776e-07
        model                   0.3670 2 0.8323348
        prompt                  0.0036 1 0.9520407
        thinking                0.8654 1 0.3522327
        vot_grid                0.0599 1 0.8065953
        vot_ray                 0.0614 1 0.8042212
        vot_hypothesis          0.0005 1 0.9822117
        mean_cells_per_ray      14.2036 1 0.0001641
        mean_atoms_per_ray      10.0086 1 0.0015581
        model:prompt            1.4129 2 0.4933897
        model:thinking          0.3365 2 0.8451256
        prompt:thinking         15.3121 1 9.113e-05
        model:prompt:thinking   3.9425 2 0.1392848
    """,
    ("score", FULL): """
        (Intercept)             23.5213 1 1.235e-06
        model                   0.3128 2 0.85524
        prompt                  11.5430 1 0.00068
        thinking                5.5337 1 0.01865
        vot_grid                1.9582 1 0.16171
        vot_ray                 0.0620 1 0.80331
        vot_hypothesis          1.9525 1 0.16231
        mean_cells_per_ray      55.5404 1 9.156e-14
        mean_atoms_per_ray      4.3600 1 0.03679
        model:prompt            2.0350 2 0.36150
        model:thinking          4.0974 2 0.12890
        prompt:thinking         19.1000 1 1.240e-05
        model:prompt:thinking   5.8130 2 0.05467
    """,
    ("atoms_correct", MODIFIED): """
        (Intercept)                 5.1668 1 0.023022
        model                       0.4739 2 0.789024
        mean_atoms_per_ray          1.2987 1 0.254447
        prompt                      8.8511 1 0.002929
        thinking                    1.4040 1 0.236057
        model:mean_atoms_per_ray    0.9369 2 0.625956
        mean_atoms_per_ray:prompt   1.3581 1 0.243861
        mean_atoms_per_ray:thinking 0.0355 1 0.850581
    """,
    ("score", MODIFIED): """
        (Intercept)                 134.4055 1 <2.2e-16
        model                       0.9796 2 0.6127337
        mean_atoms_per_ray          17.1909 1 3.381e-05
        prompt                      11.0847 1 0.0008704
        thinking                    0.6117 1 0.4341481
        model:mean_atoms_per_ray    1.0161 2 0.6016530
        mean_atoms_per_ray:prompt   13.9388 1 0.0001889
        mean_atoms_per_ray:thinking 0.0267 1 0.8701434
    """,
}

# Standard deviations of configurations and residual, adjusted and unadjusted ICC, conditional and marginal R squared.
FITS = {
    ("atoms_correct", FULL): ("0.86425", "0.79650", "0.541", "0.474", "0.597", "0.123"),
    ("score", FULL): ("6.4130", "5.3934", "0.586", "0.525", "0.629", "0.104"),
}

# Tables 22 and 23: term; coefficient, standard error, t, p, interval.
COEFFICIENTS = {
    "atoms_correct": """
        (Intercept)         | 2.361 0.4790025 4.930 <0.001 1.404 3.319
        modelSonnet 4.5     | 0.135 0.0911824 1.481 0.13916 -0.044 0.314
        modelOpus 4.5       | 0.164 0.0908236 1.802 0.07227 -0.015 0.342
        promptaugmented     | 0.494 0.0742062 6.656 <0.001 0.348 0.640
        thinkingTrue        | 0.236 0.0754796 3.122 0.00191 0.087 0.384
        vot_gridTrue        | -0.024 0.1047820 -0.230 0.81816 -0.230 0.182
        vot_rayTrue         | -0.025 0.1047642 -0.242 0.80867 -0.231 0.180
        vot_hypothesisTrue  | -0.005 0.1049183 -0.050 0.95976 -0.211 0.201
        mean_atoms_per_ray  | -0.575 0.2067574 -2.782 0.00562 -0.981 -0.169
        mean_cells_per_ray  | -0.174 0.0425068 -4.101 <0.001 -0.258 -0.091
    """,
    "score": """
        (Intercept)         | 18.409 3.3575784 5.483 <0.001 11.673 25.144
        modelSonnet 4.5     | -0.619 0.6173580 -1.003 0.3165 -1.832 0.594
        modelOpus 4.5       | -0.869 0.6149246 -1.413 0.1585 -2.077 0.340
        promptaugmented     | 0.633 0.5024199 1.260 0.2082 -0.354 1.621
        thinkingTrue        | -1.230 0.5110886 -2.407 0.0165 -2.235 -0.226
        vot_gridTrue        | 0.967 0.7094300 1.363 0.1736 -0.427 2.361
        vot_rayTrue         | -0.174 0.7093091 -0.246 0.8061 -1.568 1.220
        vot_hypothesisTrue  | 0.995 0.7103532 1.401 0.1619 -0.401 2.391
        mean_atoms_per_ray  | -3.464 1.4037725 -2.467 0.0140 -6.222 -0.705
        mean_cells_per_ray  | 2.233 0.2880145 7.752 <0.001 1.667 2.799
    """,
}
R_SQUARED = {"atoms_correct": ("0.099", "0.584"), "score": ("0.085", "0.62")}

# Term; coefficient in standard deviations, interval.
STANDARDIZED = {
    "atoms_correct": """
        promptaugmented    | 0.37 0.26 0.48
        thinkingTrue       | 0.18 0.07 0.29
        mean_cells_per_ray | -0.13 -0.20 -0.07
        mean_atoms_per_ray | -0.13 -0.22 -0.04
        modelOpus 4.5      | 0.12 -0.01 0.26
        modelSonnet 4.5    | 0.10 -0.03 0.24
        vot_rayTrue        | -0.02 -0.17 0.14
        vot_gridTrue       | -0.02 -0.17 0.14
        vot_hypothesisTrue | -4.01e-03 -0.16 0.15
    """,
    "score": """
        mean_cells_per_ray | 0.27 0.20 0.34
        thinkingTrue       | -0.15 -0.26 -0.03
        mean_atoms_per_ray | -0.12 -0.22 -0.02
        vot_hypothesisTrue | 0.12 -0.05 0.28
        vot_gridTrue       | 0.11 -0.05 0.28
        modelOpus 4.5      | -0.10 -0.25 0.04
        promptaugmented    | 0.08 -0.04 0.19
        modelSonnet 4.5    | -0.07 -0.22 0.07
        vot_rayTrue        | -0.02 -0.19 0.14
    """,
}


def as_printed(value: float, text: str) -> str:
    """Return a number as the paper prints it: with its decimals, in powers of ten, or as below a bound."""
    if text.startswith("<"):
        return text if value < float(text[1:]) else f"{value}"
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return f"{value:.{decimals}{'e' if exponent else 'f'}}"


def rows_of(table: str) -> list[tuple[str, list[str]]]:
    """Return each row's term and its numbers."""
    rows = []
    for line in table.strip().splitlines():
        term, bar, rest = line.partition("|")
        term, *values = (term.strip(), *rest.split()) if bar else line.split()
        rows.append((term, values))
    return rows


@pytest.fixture(scope="module")
def games(test_data):
    return pd.read_csv(test_data / "blackbox" / "play_games.csv")


def fit(games, outcome, formula):
    return fit_mixed_model(games, f"{outcome} ~ {formula}", reference=REFERENCE)


@pytest.mark.parametrize(("outcome", "formula"), TYPE_THREE)
def test_type_three_tests(games, outcome, formula):
    table = fit_mixed_model(games, f"{outcome} ~ {formula}", reference=REFERENCE, term_tests="treatment").anova
    printed = rows_of(TYPE_THREE[outcome, formula])
    assert table["term"].tolist() == [term for term, _ in printed]
    for row, (_, values) in zip(table.itertuples(), printed, strict=True):
        found = [as_printed(row.statistic, values[0]), str(row.df), as_printed(row.p_value, values[2])]
        assert found == values, row.term


@pytest.mark.parametrize(("outcome", "formula"), FITS)
def test_random_effects_and_shares_of_variance(games, outcome, formula):
    model = fit(games, outcome, formula)
    row = model.fit.iloc[0]
    unadjusted_icc = row["r2_conditional"] - row["r2_marginal"]
    values = [*model.random["sd"], row["icc_adjusted"], unadjusted_icc, row["r2_conditional"], row["r2_marginal"]]
    printed = FITS[outcome, formula]
    assert [as_printed(value, text) for value, text in zip(values, printed, strict=True)] == list(printed)
    assert model.warnings == ()


@pytest.mark.parametrize("outcome", COEFFICIENTS)
def test_coefficients_of_the_main_effects(games, outcome):
    model = fit(games, outcome, MAIN)
    table = model.coefficients.set_index("term")
    columns = ["estimate", "std_error", "statistic", "p_value", "ci_low", "ci_high"]
    printed = dict(rows_of(COEFFICIENTS[outcome]))
    assert set(table.index) == set(printed)
    for term, values in printed.items():
        assert [as_printed(table.loc[term, c], v) for c, v in zip(columns, values, strict=True)] == values, term
    marginal, conditional = R_SQUARED[outcome]
    assert as_printed(model.fit["r2_marginal"][0], marginal) == marginal
    assert as_printed(model.fit["r2_conditional"][0], conditional) == conditional


@pytest.mark.parametrize("outcome", STANDARDIZED)
def test_coefficients_in_standard_deviations(games, outcome):
    table = standardized_coefficients(games, f"{outcome} ~ {MAIN}", reference=REFERENCE).set_index("term")
    printed = dict(rows_of(STANDARDIZED[outcome]))
    assert set(table.index) == {"(Intercept)", *printed}
    for term, values in printed.items():
        found = [as_printed(table.loc[term, c], v) for c, v in zip(table.columns, values, strict=True)]
        assert [float(value) for value in found] == [float(value) for value in values], term


@pytest.mark.parametrize("outcome", ["atoms_correct", "score"])
def test_marginal_means_agree_with_emmeans(games, outcome):
    of_r = json.loads((FIXTURES / "published_mixed_models.json").read_text(encoding="utf-8"))[outcome]
    model = fit(games, outcome, FULL)
    means = marginal_means(model, ["model"], by=["prompt", "thinking"])
    pairs = pairwise_contrasts(model, ["model"], by=["prompt", "thinking"], adjust="tukey")
    assert pairs["contrast"].tolist() == of_r["pairs"]["contrast"]
    assert means["thinking"].tolist() == [False] * 6 + [True] * 6
    for column, theirs in (("estimate", "emmean"), ("std_error", "SE"), ("df", "df"), ("ci_low", "lower.CL")):
        np.testing.assert_allclose(means[column], of_r["means"][theirs], rtol=1e-6, err_msg=column)
    for column, theirs in (("estimate", "estimate"), ("std_error", "SE"), ("df", "df"), ("p_adjusted", "p.value")):
        np.testing.assert_allclose(pairs[column], of_r["pairs"][theirs], rtol=1e-5, err_msg=column)
