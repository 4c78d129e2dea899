"""The plans of published analyses: effects that were planted in fabricated data come out of the published models."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

import equipoise
from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.demands import accuracy_by_demand
from analysis.planned.plan_mistakes import plan_mistakes, rows_of_items
from analysis.planned.results import run_planned
from analysis.planned.study_rows import study_rows
from batteries.items import load_battery
from experiment.study.analysis_plan import AnalysisPlan

HERE = Path(equipoise.__file__).parent
PLANS = {
    "single": HERE / "studies" / "intuition-single" / "published-analysis.yaml",
    "double": HERE / "studies" / "intuition-double" / "published-analysis.yaml",
    "perturbations": HERE / "studies" / "intuition-single" / "published-analysis-of-perturbations.yaml",
}
DEMANDS = ("constitutional", "functional", "spatiotemporal", "beliefs", "intentions", "feelings")
MODELS = ("gpt-a", "gpt-b")
USED = ("condition", "inference_level", "template_id", "capability_type", "scenario_number", *DEMANDS)


def plan_of(name):
    return AnalysisPlan.model_validate(yaml.safe_load(PLANS[name].read_text()))


def items_of(study):
    items = load_battery(HERE / "studies" / study / "battery.jsonl").items
    return [item for item in items if "template_id" in item.factors]


def fabricated(view, row, items, probability, n_people, n_epochs):
    """Return trials of people and models, who are right with the given probability at each item."""
    rng = np.random.default_rng(11)
    people = [("people", {"participant": f"P{n:02}"}) for n in range(n_people)]
    runs = [
        (model, {"kind": "model", "run": f"{model}, epoch {epoch}", "model": model, "model_version": model,
                 "run_parameters": json.dumps({"epoch": epoch})})
        for model in MODELS
        for epoch in range(1, n_epochs + 1)
    ]  # fmt: skip
    rows = [
        row(trial_index=place, item_id=item_id, factors=factors, rt_ms=30_000.0 if subject == "people" else None,
            response=1 if rng.random() < probability(subject, factors) else 2, **who)
        for subject, who in [*people, *runs]
        for place, (item_id, factors) in enumerate(items)
    ]  # fmt: skip
    return apply_exclusions(tidy_trials(view(rows)), AnalysisPlan()).trials


def has(factors, demand):
    return factors[demand] >= 1


def check(model, planted, n_zero):
    """Assert that each planted effect is found, and that the effects without a planted value are near 0."""
    table = model.model.coefficients.set_index("term")
    for term, effect in planted.items():
        found = table.loc[term]
        assert abs(found["estimate"] - effect) < 3.5 * found["std_error"], term
        assert found["p_value"] < 0.001, term
    others = table.drop(index=["(Intercept)", *planted])
    assert len(others) == n_zero
    assert (others["estimate"].abs() < 3.5 * others["std_error"]).all(), others[["estimate", "std_error"]]


@pytest.mark.parametrize("name", PLANS)
def test_a_published_plan_has_no_mistakes(name):
    studies = ["intuition-single", "intuition-double"] if name == "perturbations" else [f"intuition-{name}"]
    items = [item for study in studies for item in items_of(study)]
    if name == "perturbations":
        clean = {"spacing_noise_proportion": 0, "character_noise_number": 0, "capitalisation_number": 0}
        items = [item.model_copy(update={"factors": {**item.factors, **clean}}) for item in items]
    assert plan_mistakes(plan_of(name), rows_of_items(items)) == []


@pytest.fixture(scope="module")
def single(view, row):
    """People are better at explained stories; gpt-b is worse in B; both models are worse at functional demands."""

    def probability(subject, factors):
        p = 0.7 + 0.1 * (factors["inference_level"] == 0)
        p -= 0.2 * (subject == "gpt-b") * (factors["condition"] == "B")
        return p - 0.3 * (subject != "people") * has(factors, "functional")

    items = [(item.item_id, {name: item.factors[name] for name in USED}) for item in items_of("intuition-single")]
    return fabricated(view, row, items, probability, n_people=14, n_epochs=7)


@pytest.fixture(scope="module")
def of_single(single):
    plan = plan_of("single")
    found = run_planned(study_rows(single, plan.demands), plan)
    assert found.not_computed == []
    return found


def test_table_8_finds_the_planted_effects_of_condition_and_demands(of_single):
    planted = {"inference_level0": 0.1, "subjectgpt-b:conditionB": -0.2}
    planted |= {f"subject{model}:has_functionalTrue": -0.3 for model in MODELS}
    for name in ("table_8_demands", "table_8_demands_with_participants"):
        # 2 models, condition, level 3, 1 interaction with the condition, and the demands. Here, each question
        # has one demand, or constitutional beside spatiotemporal. So one demand is redundant: 5, and 8 interactions.
        check(of_single.models[name], planted, n_zero=2 + 1 + 1 + 1 + 5 + 8)
        terms = of_single.models[name].model.anova.set_index("term")["p_value"]
        assert terms["subject:has_functional"] < 0.001
        assert terms.notna().all()
        assert "has_feelings" not in terms
        assert any(
            "redundant and were left out: `has_feelingsTrue`" in said for said in of_single.models[name].warnings
        )


def test_table_8_without_demands_finds_the_planted_effects_of_condition(of_single):
    """One of six questions has a functional demand, so models are 5 points worse in condition A."""
    planted = {"subjectgpt-b:conditionB": -0.2, "inference_level0": 0.1}
    for name in ("table_8_conditions", "table_8_conditions_with_participants"):
        check(of_single.models[name], planted, n_zero=2 + 1 + 1 + 1)
        (means,) = of_single.models["table_8_conditions"].means
        by_subject = means.set_index("subject")["estimate"]
        assert by_subject["people"] - by_subject["gpt-b"] == pytest.approx(0.05 + 0.2 / 2, abs=0.06)


def test_table_9_finds_no_difference_between_levels_of_models_and_people(of_single):
    table = of_single.models["table_9_inference_levels"].model.coefficients.set_index("term")
    interactions = table[table.index.str.contains(":")]
    assert len(interactions) == 4
    assert (interactions["estimate"].abs() < 3.5 * interactions["std_error"]).all()
    assert table.loc["inference_level0", "estimate"] == pytest.approx(0.1, abs=0.07)


def test_the_published_formulas_have_the_warning_that_they_deserve(of_single):
    for name, model in of_single.models.items():
        is_warned = any("no random effect for `participant`" in said for said in model.warnings)
        assert is_warned != name.endswith("_with_participants"), name


def test_the_six_demands_show_where_models_fail(single):
    table = accuracy_by_demand(single, DEMANDS, [], AnalysisPlan()).set_index(["subject", "demand"])
    assert set(table.index.get_level_values("demand")) == set(DEMANDS)
    for model in MODELS:
        assert table.loc[(model, "functional"), "ci_high"] < table.loc[("people", "functional"), "ci_low"]


def test_table_8_of_double_questions_finds_the_planted_effects(view, row):
    def probability(subject, factors):
        p = 0.75 - 0.2 * (factors["condition"] == "D") - 0.1 * (factors["inference_level"] == 3)
        p -= 0.3 * (subject == "gpt-a") * (factors["condition"] == "C")
        return p + 0.2 * (subject != "people") * has(factors, "feelings")

    items = [(item.item_id, {name: item.factors[name] for name in USED}) for item in items_of("intuition-double")]
    trials = fabricated(view, row, items, probability, n_people=10, n_epochs=4)
    plan = plan_of("double")
    chosen = plan.model_copy(update={"models": {"m": plan.models["table_8_demands"]}})
    found = run_planned(study_rows(trials, plan.demands), chosen)
    assert found.not_computed == []
    planted = {"conditionD": -0.2, "inference_level3": -0.1, "subjectgpt-a:conditionC": -0.3}
    planted |= {f"subject{model}:has_feelingsTrue": 0.2 for model in MODELS}
    check(found.models["m"], planted, n_zero=2 + 2 + 1 + 5 + 6 + 10)
    means = found.tables["table_3"].set_index(["subject", "condition"])["correct_mean"]
    assert means[("gpt-a", "C")] < means[("gpt-b", "C")] - 0.2


def test_tables_10_and_11_find_the_planted_perturbations(view, row):
    levels = [{}, *({"spacing_noise_proportion": p} for p in (0.25, 0.5, 0.75)),
              *({"character_noise_number": n} for n in (5, 10, 15)),
              *({"capitalisation_number": n} for n in (5, 10, 15))]  # fmt: skip
    clean = {"spacing_noise_proportion": 0, "character_noise_number": 0, "capitalisation_number": 0}
    items = [
        (f"{item.item_id}-{place}", {**{name: item.factors[name] for name in USED}, **clean, **level})
        for study in ("intuition-single", "intuition-double")
        for item in items_of(study)[::7]
        for place, level in enumerate(levels)
    ]

    def probability(subject, factors):
        p = 0.8 - 0.2 * (factors["capability_type"] == "double")
        p -= 0.03 * factors["character_noise_number"]
        return p - 0.25 * (subject == "gpt-b") * (factors["capitalisation_number"] > 0)

    trials = fabricated(view, row, items, probability, n_people=0, n_epochs=8)
    found = run_planned(study_rows(trials), plan_of("perturbations"))
    assert found.not_computed == []
    planted = {"capability_typedouble": -0.2}
    planted |= {f"character_noise_number{number}": -0.03 * number for number in (5, 10, 15)}
    planted |= {f"subjectgpt-b:capitalisation_number{number}": -0.25 for number in (5, 10, 15)}
    # 1 model, 3 conditions, 3 levels, 6 levels of two perturbations, and 3 + 6 interactions with the model.
    check(found.models["table_10"], planted, n_zero=1 + 3 + 3 + 6 + 9)
    pooled, with_runs = (any("no random effect for `run`" in said for said in found.models[name].warnings)
                         for name in ("table_10", "table_10_with_runs"))  # fmt: skip
    assert (pooled, with_runs) == (True, False)
    spelling = found.tables["table_11_spelling"].set_index(["subject", "character_noise_number"])["correct_mean"]
    assert spelling[("gpt-a", 15)] == pytest.approx(spelling[("gpt-a", 0)] - 0.45, abs=0.07)
