"""Runs of models as a random factor of a formula: `(1 | run)` and `(1 | model)`."""

import numpy as np
import pandas as pd
import pytest

from analysis.planned.grouping_warnings import grouping_warnings
from analysis.planned.models import fit_planned_model
from analysis.planned.tests import planned_tests
from batteries.errors import InputError
from experiment.study.planned_analyses import PlannedAnalyses, PlannedModel

ITEMS = [f"i{n}" for n in range(20)]
POOLED = "no random effect for `run`"
CONFOUNDED = "cannot distinguish the variance between runs"


def of_models(n_runs=5, models=("M1", "M2", "M3"), sd=0.5, seed=1):
    """Return rows of models: a value of each run at each item, which differs between runs with the given SD."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            {"kind": "model", "subject": model, "model": model, "run": f"{model}, epoch {epoch}", "item_id": item,
             "participant": f"session {model} {epoch}", "condition": "AB"[place % 2], "value": shift + rng.normal()}
            for model in models
            for epoch in range(n_runs)
            for shift in [rng.normal(0, sd)]
            for place, item in enumerate(ITEMS)
        ]
    )  # fmt: skip


def of_people(n=12, seed=2):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        [
            {"kind": "human", "subject": "people", "item_id": item, "participant": f"P{person}",
             "condition": "AB"[place % 2], "value": shift + rng.normal()}
            for person in range(n)
            for shift in [rng.normal()]
            for place, item in enumerate(ITEMS)
        ]
    )  # fmt: skip


def fitted(rows, formula):
    return fit_planned_model(rows, "m", PlannedModel(formula=formula), 0.95)


def about_runs(rows, formula):
    return [said for said in grouping_warnings(rows, formula) if POOLED in said or CONFOUNDED in said]


def test_the_variance_between_runs_is_estimated():
    """The data are balanced, so the variance is that of the analysis of variance: (MS runs - MS residual) / items."""
    rows = of_models(n_runs=40)
    found = fitted(rows, "value ~ subject + (1 | run)").model.random.set_index("group")["sd"]
    means = rows.groupby(["subject", "run"])["value"].mean()
    of_runs = 20 * ((means - means.groupby("subject").transform("mean")) ** 2).sum() / (3 * 39)
    within = ((rows["value"] - rows.groupby("run")["value"].transform("mean")) ** 2).sum() / (120 * 19)
    assert found["run"] == pytest.approx(np.sqrt((of_runs - within) / 20), rel=1e-4)
    assert found["run"] == pytest.approx(0.5, abs=0.1)


def test_a_person_is_one_level_of_the_runs():
    rows = pd.concat([of_people(), of_models()], ignore_index=True)
    of_runs, of_units = (
        fitted(rows, f"value ~ subject * condition + (1 | {group})") for group in ("run", "participant")
    )
    assert of_runs.model.fit["n"].tolist() == [len(rows)]
    pd.testing.assert_frame_equal(of_runs.model.coefficients, of_units.model.coefficients)
    assert any(said.startswith("For people, each participant is one level of `run`.") for said in of_runs.warnings)
    assert any(said.startswith("For models, each run is one level of `participant`.") for said in of_units.warnings)
    of_models_alone = fitted(of_models(), "value ~ subject * condition + (1 | run)")
    assert not any("is one level of" in said for said in of_models_alone.warnings)


def test_participants_and_runs_together_are_one_grouping():
    rows = pd.concat([of_people(), of_models()], ignore_index=True)
    with pytest.raises(InputError, match="`participant` and `run` divide the rows into the same groups"):
        fitted(rows, "value ~ subject + (1 | participant) + (1 | run)")


def test_models_are_a_random_factor_beside_their_runs():
    rows = pd.concat([of_people(), of_models()], ignore_index=True)
    found = fitted(rows, "value ~ kind + (1 | model) + (1 | run)")
    assert found.model.fit["n"].tolist() == [len(rows)]
    assert found.model.random["group"].tolist() == ["model", "run", "Residual"]
    assert any("assumes that models differ as much as participants do" in said for said in found.warnings)


@pytest.mark.parametrize(
    ("formula", "pooled"),
    [
        ("value ~ subject * condition + (1 | item_id)", True),
        ("value ~ condition + (1 | model) + (1 | item_id)", True),
        ("value ~ subject * condition + (1 | run) + (1 | item_id)", False),
        ("value ~ subject * condition + (1 | participant) + (1 | item_id)", False),
        ("value ~ condition + run + (1 | item_id)", False),
    ],
)
def test_a_formula_that_pools_runs_has_a_warning(formula, pooled):
    said = about_runs(of_models(), formula)
    assert any(POOLED in one and one.endswith("Fix: add `(1 | run)`.") for one in said) == pooled
    assert not any("(1 | participant)" in one for one in said)


def test_a_single_run_of_each_model_is_not_pooled():
    single = of_models(n_runs=1)
    assert about_runs(single, "value ~ subject * condition + (1 | item_id)") == []
    (said,) = about_runs(single, "value ~ condition + (1 | item_id)")
    assert POOLED in said


def test_a_run_that_is_the_only_one_of_its_model_cannot_be_distinguished_from_the_model():
    (said,) = about_runs(of_models(n_runs=1), "value ~ subject * condition + (1 | run) + (1 | item_id)")
    assert CONFOUNDED in said
    assert "levels of `subject` has only one run" in said
    assert about_runs(of_models(), "value ~ subject + (1 | run) + (1 + subject | item_id)") == []


def test_people_without_a_random_effect_have_the_first_warning():
    rows = pd.concat([of_people(), of_models()], ignore_index=True)
    (said,) = grouping_warnings(rows, "value ~ subject + (1 + subject | item_id)")
    assert said.endswith("Fix: add `(1 | participant)`.")
    assert not any("no random effect for `participant`" in one for one in grouping_warnings(
        rows, "value ~ subject + (1 | run) + (1 + subject | item_id)"
    ))  # fmt: skip


def warnings_of(rows, **test):
    plan = PlannedAnalyses.model_validate({"tests": {"it": {"test": "t", "of": "value"} | test}})
    return planned_tests(lambda _: rows, plan)["warnings"].tolist()


OF_RUNS = "Several units of this test are runs of "


@pytest.mark.parametrize("per", ["participant", "run"])
def test_runs_of_one_model_as_units_of_a_test_have_a_warning(per):
    (warning,) = warnings_of(of_models(models=["M1"]), per=per, within="condition")
    assert warning == (
        f"{OF_RUNS}one model (M1). So the test generalizes to other runs of this model under the same "
        "conditions, with these items, but not to other models. Fix: state conclusions only about this model."
    )


def test_several_models_with_several_runs_are_named_once_each():
    rows = pd.concat([of_models(models=["M2", "M1"]), of_models(n_runs=1, models=["M3"])])
    (warning,) = warnings_of(rows, per="run", against=0)
    assert f"{OF_RUNS}the same model (M1, M2). " in warning
    assert "not to other models. Fix: state conclusions only about these models." in warning


def test_participants_without_a_run_are_not_units_of_a_test_of_runs():
    rows = pd.concat([of_people(), of_models(models=["M1"])], ignore_index=True)
    (warning,) = warnings_of(rows, per="run", against=0)
    assert "other participants" not in warning
    assert "Fix: state conclusions only about this model." in warning


def test_runs_of_one_model_among_participants_have_the_warning_too():
    (warning,) = warnings_of(pd.concat([of_people(), of_models(models=["M1"])]), per="participant", between="kind")
    assert f"{OF_RUNS}one model (M1). So the test generalizes to other participants and to other runs of" in warning
    assert "Fix: for models, state conclusions only about this model." in warning


@pytest.mark.parametrize(
    ("rows", "test"),
    [
        (of_models(n_runs=1), {"per": "run", "within": "condition"}),
        (of_models(models=["M1"]), {"per": "item_id", "against": 0}),
        (of_people(), {"per": "participant", "within": "condition"}),
        (of_models(models=["M1"]).drop(columns="kind"), {"per": "run", "within": "condition"}),
    ],
    ids=["one run of each model", "items as units", "people", "no trials of a study"],
)
def test_other_units_have_no_warning_about_runs(rows, test):
    assert not any(OF_RUNS in warning for warning in warnings_of(rows, **test))
