"""The notes below the tables of a statistical model describe only what a model of its kind has."""

import re

import numpy as np
import pandas as pd
import pytest

from analysis.planned.results import run_planned
from analysis.report.planned_section import planned_section
from experiment.study.planned_analyses import PlannedAnalyses

N_ITEMS = 12
RANDOM = " + (1 | participant)"


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"participant": np.repeat([f"p{n}" for n in range(12)], N_ITEMS),
                          "item_id": np.tile([f"i{n}" for n in range(N_ITEMS)], 12)})  # fmt: skip
    table["condition"] = np.where(table["item_id"].str[1:].astype(int) % 2, "A", "B")
    person = np.repeat(rng.normal(0, 0.3, 12), N_ITEMS)
    n = len(table)
    return table.assign(
        rt_ms=np.exp(7 + person + rng.normal(0, 0.3, n)),
        correct=(rng.logistic(size=n) + 3 * person > 0).astype(int),
        rating=rng.integers(1, 5, n),
    )


ABSENT = {
    "gaussian": "gamma|ordinal|logistic|Wald|log-odds",
    "binomial": "gamma|ordinal|linear|Satterthwaite|F test|residual|outcome in standard deviations",
    "gamma": "logistic|ordinal|linear|Satterthwaite|log-odds|outcome in standard deviations|geometric",
    "ordinal": "logistic|gamma|linear|Satterthwaite|F test|residual|outcome in standard deviations",
}


@pytest.mark.parametrize(
    ("formula", "family", "terms", "coefficients", "means"),
    [
        ("rt_ms ~ condition", "gaussian", "F tests have the residual degrees", "Degrees of freedom are the residual",
         "Covariates are set to their means."),
        (f"rt_ms ~ condition{RANDOM}", "gaussian", "F tests have Satterthwaite's degrees",
         "Degrees of freedom are Satterthwaite's", "and random effects to 0."),
        (f"correct ~ condition{RANDOM}", "binomial", "The tests are Wald χ² tests.", "Tests are Wald's z.",
         "So the probability is that of an average level of the random effects (participant)."),
        ("correct ~ condition", "binomial", "The tests are Wald χ² tests.", "Tests are Wald's z.",
         "Covariates are set to their means."),
        (f"rt_ms ~ condition{RANDOM}", "gamma", "The tests are Wald χ² tests.", "Tests are Wald's z.",
         "So the mean is that of an average level of the random effects (participant)."),
        (f"rating ~ condition{RANDOM}", "ordinal", "The tests are Wald χ² tests.", "Tests are Wald's z.",
         "Means are log-odds of higher categories"),
    ],
)  # fmt: skip
def test_a_model_has_only_the_notes_of_its_kind(
    trials: pd.DataFrame, formula: str, family: str, terms: str, coefficients: str, means: str
) -> None:
    model = {"formula": formula, "family": family, "contrasts": [{"of": ["condition"]}]}
    plan = PlannedAnalyses.model_validate({"models": {"m": model}})
    (shown,) = planned_section(run_planned(lambda _who: trials, plan), plan, {})["models"]
    notes = {part["title"]: part["note"] for part in shown["parts"]}
    assert terms in notes["Terms"]
    assert coefficients in notes["Coefficients"]
    assert means in notes["Estimated marginal means"]
    found = re.findall(ABSENT[family], " ".join(notes.values()))
    assert not found
    assert ("mixed model" in notes.get("Effect sizes of terms", "")) == (family == "gaussian" and RANDOM in formula)


def test_the_note_of_ratios_says_which_means(trials: pd.DataFrame) -> None:
    models = {
        "log": {"formula": f"log(rt_ms) ~ condition * rating{RANDOM}"},
        "gamma": {"formula": f"rt_ms ~ condition{RANDOM}", "family": "gamma"},
    }
    plan = PlannedAnalyses.model_validate({"models": models})
    shown = planned_section(run_planned(lambda _who: trials, plan), plan, {})["models"]
    log, gamma = (part["note"] for model in shown for part in model["parts"] if part["title"] == "Ratios of means")
    assert "ratios of geometric means, because the outcome is a logarithm." in log
    assert "geometric" not in gamma
    assert "The row of an interaction has a ratio of ratios." in log
    assert "interaction" not in gamma
