"""The methods section states everything that was done, and nothing that was not."""

import re
from typing import Any

import pandas as pd
import pytest

from analysis.data.tidy_table import tidy_trials
from analysis.exclusions.flow import apply_exclusions
from analysis.measures.accuracy import accuracy
from analysis.measures.study_measures import study_measures
from analysis.planned.results import PlannedResults, run_planned
from analysis.preregistration.deviations import NOT_LOCKED, Registration
from analysis.report.computation import rule_sentences
from analysis.report.methods_section import Methods, methods_of_study
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedComparison

RULES = [{"rule": "attention_check"}, {"rule": "median_rt", "min_ms": 1000}]


def methods(rows: pd.DataFrame, plan: AnalysisPlan) -> Methods:
    exclusions = apply_exclusions(tidy_trials(rows), plan)
    tables = study_measures(exclusions.trials, plan, [])
    tables["accuracy_overall"] = accuracy(exclusions.trials, [], plan)
    results = run_planned(lambda _: exclusions.trials, plan) if plan.models else PlannedResults()
    return methods_of_study(exclusions, plan, results, tables, "1.0", NOT_LOCKED)


def text_of(found: Methods) -> str:
    return "\n".join(found.paragraphs).replace("\u00a0", " ")


@pytest.fixture(scope="module")
def people(view: Any, session: Any, row: Any) -> Any:
    """Six people; one of them withdrew, one did not finish, and one left a question unanswered."""
    groups = [
        session(participant=f"P{n}", n_correct=n, group=n % 2 + 1, factors={"level": n % 2}, rt_ms=1500.0 + 100 * n)
        for n in range(3)
    ]
    return [
        *groups,
        session(participant="withdrawn", status="withdrawn"),
        session(participant="incomplete", status="active"),
        [*session(participant="silent"), row(participant="silent", trial_index=4, item_id="i5", response=None,
                                             valid=None, missing="deadline", rt_ms=None)],
    ]  # fmt: skip


@pytest.fixture(scope="module")
def model(session: Any) -> Any:
    return session(kind="model", run="M", n_correct=3)


def test_every_exclusion_is_counted(view: Any, people: Any) -> None:
    text = text_of(methods(view(people), AnalysisPlan(exclusions=RULES)))
    assert "6 participants (people, source: web) started in 2 counterbalance groups." in text
    (excluded,) = re.findall(r"Trials of people were excluded in this order: (.*)\.", text)
    assert excluded == (
        "session withdrawn (1 participant, 4 trials); session not completed (1 participant, 4 trials); failed at least "
        "one attention check (0 participants, 0 trials); median response time under 1,000 ms (0 participants, 0 "
        "trials); test trial without a response (0 participants, 1 trial)"
    )
    assert "The plan has no exclusion rules." not in text
    without_rules = text_of(methods(view(people), AnalysisPlan()))
    assert "The plan has no exclusion rules. Trials of people were excluded in this order: session withdrawn" in (
        without_rules
    )


def test_people_and_simulated_participants_are_counted_separately(view: Any, people: Any, session: Any) -> None:
    simulated = session(participant="S", kind="simulated", status="active")
    text = text_of(methods(view(people, simulated), AnalysisPlan()))
    assert "Trials of people were excluded in this order: session withdrawn (1 participant, 4 trials)" in text
    assert "Trials of simulated participants were excluded in this order: session withdrawn (0 participants" in text


def test_the_design_and_the_number_of_items_are_stated(view: Any, people: Any, model: Any) -> None:
    text = text_of(methods(view(people, model), AnalysisPlan(by=["level"])))
    assert "The study has 5 test items (task: multiple_choice)." in text
    assert "A session of a participant has 4 to 5 test trials." in text
    assert "Accuracy was computed by these factors of the items: level (" in text


def test_models_alone_are_not_compared_with_people(view: Any, model: Any) -> None:
    alone = text_of(methods(view(model), AnalysisPlan(exclusions=RULES)))
    assert "People" not in alone
    assert "people" not in alone
    assert "same items" not in alone
    assert "No exclusion rule was applied to models." in alone


def test_each_measure_is_described_and_cited_only_if_it_was_measured(view: Any, people: Any, model: Any) -> None:
    without = methods(view(people), AnalysisPlan())
    found = methods(view(people, model), AnalysisPlan(difficulty="level"))
    described = {"Agreement by item is": None, "error consistency (Geirhos": "Geirhos", "The slope of accuracy": None}
    for words, cited in described.items():
        assert words in text_of(found)
        assert words not in text_of(without)
        if cited:
            assert any(work.startswith(cited) for work in found.references)
            assert not any(work.startswith(cited) for work in without.references)


def test_each_statistical_model_has_its_formula(view: Any, people: Any) -> None:
    models = {"by_level": {"formula": "rt_ms ~ level", "where": {"phase": "test"}}}
    text = text_of(methods(view(people), AnalysisPlan(models=models)))
    (sentence,) = [line for line in text.split(". ") if "by_level" in line and "formula" in line]
    assert sentence.split("The formula")[1].startswith(" of the statistical model by_level is rt_ms ~ level (")
    assert "(12 rows, where phase = test)" in sentence


@pytest.mark.parametrize(("cluster", "units"), [(None, "items"), ("level", "levels of level")])
def test_random_items_are_in_the_methods_and_the_rules(
    view: Any, people: Any, model: Any, cluster: str | None, units: str
) -> None:
    plan = AnalysisPlan(items="random", item_cluster=cluster)
    found = methods(view(people, model), plan)
    assert f"over participants and {units} (Cameron et al., 2011), over participants alone" in text_of(found)
    assert "All take" not in text_of(found)
    assert (
        "The intervals of differences and of normalized accuracies take into account the correlation between "
        f"participants and model over {units}."
    ) in text_of(found)
    compared = text_of(
        methods(view(people, model), plan.model_copy(update={"comparisons": {"c": PlannedComparison()}}))
    )
    assert "The intervals of differences, of normalized accuracies and of ratios take into account the" in compared
    assert any(reference.startswith("Cameron") for reference in found.references)
    rules = " ".join(rule_sentences(plan, ["people"]))
    assert "Cameron et al., 2011" in rules
    assert "generalizes to other participants with these items" not in rules
    fixed = text_of(methods(view(people, model), AnalysisPlan())) + " ".join(rule_sentences(AnalysisPlan(), ["people"]))
    assert "Cameron" not in fixed
    assert "generalizes to other participants with these items" in fixed


@pytest.mark.parametrize(("cluster", "units"), [(None, "items"), ("scenario", "levels of scenario")])
def test_the_methods_and_the_rules_name_the_units_over_which_intervals_generalize(
    view: Any, people: Any, row: Any, cluster: str | None, units: str
) -> None:
    runs = [
        row(kind="model", run=f"{model}, epoch {epoch}", model=model, model_version=model,
            run_parameters=f'{{"epoch": {epoch}}}', trial_index=n, item_id=f"i{n}", response=1,
            factors={"level": n % 2, "scenario": n // 2})
        for model in "MN" for epoch in (1, 2) for n in range(4)
    ]  # fmt: skip
    plan = AnalysisPlan(item_cluster=cluster)
    found = methods(view(people, runs), plan)
    text = text_of(found) + " ".join(rule_sentences(plan, ["people"])).replace("\u00a0", " ")
    assert f"of pairs of replies. This number is computed from the variance between {units}" in text
    assert f"treat the {units} as random" in text
    assert f"treats the {units} as a random sample. So it generalizes to other {units} of the same kind" in text
    assert any(reference.startswith("Fleiss") for reference in found.references)
    once = methods(view(people, runs[:4]), plan)
    assert "The consistency of a model" not in text_of(once)
    assert not any(reference.startswith("Fleiss") for reference in once.references)


@pytest.mark.parametrize(
    ("cluster", "number"),
    [
        (None, "effective number of items"),
        ("level", "geometric mean of the effective numbers of levels of level and of items"),
    ],
)
def test_the_interval_of_a_model_without_errors_is_described_if_there_is_one(
    view: Any, people: Any, model: Any, session: Any, cluster: str | None, number: str
) -> None:
    plan = AnalysisPlan(item_cluster=cluster)
    perfect = session(kind="model", run="N", model="N", n_correct=4)
    sentence = f"this variance is unknown. Then the effective number of trials is the {number} (Kish, 1965)."
    found = methods(view(people, perfect), plan)
    assert sentence in text_of(found)
    assert ("The effective number of levels of level is the real number if the sum" in text_of(found)) is bool(cluster)
    assert any(work.startswith("Kish, L. (1965)") for work in found.references)
    assert "variance is unknown" not in text_of(methods(view(people, model), plan))
    assert f"Then the effective number of trials is the {number} (Kish, 1965)." in " ".join(
        rule_sentences(plan, ["people"])
    )


def test_the_correction_for_chance_does_not_come_between_an_interval_and_its_method(
    view: Any, people: Any, model: Any
) -> None:
    text = text_of(methods(view(people, model), AnalysisPlan()))
    assert "are Wilson intervals (Wilson, 1927). For several participants, the intervals use an effective" in text
    assert "corrected for chance in the same way" in text


def test_demands_and_margins_of_comparisons_are_described_if_the_plan_has_them(
    view: Any, people: Any, model: Any
) -> None:
    plan = AnalysisPlan.model_validate(
        {"demands": ["level"], "comparisons": {"overall": {"equivalence_margin": 0.1}, "each": {"by": ["level"]}}}
    )
    found = methods(view(people, model), plan)
    assert "Accuracy was also computed at the items with each demand." in text_of(found)
    assert "In the comparisons overall, participants and a model are equivalent if the interval (90 %)" in (
        text_of(found)
    )
    assert any(reference.startswith("Schuirmann") for reference in found.references)
    without = methods(view(people, model), AnalysisPlan.model_validate({"comparisons": {"each": {"by": ["level"]}}}))
    assert "demand" not in text_of(without)
    assert "one-sided" not in text_of(without)
    assert "one-sided" not in text_of(methods(view(model), plan)), "nobody is compared"


def test_methods_say_that_the_analysis_deviates_from_the_locked_plan(view: Any, people: Any) -> None:
    plan = AnalysisPlan.model_validate({})
    exclusions = apply_exclusions(tidy_trials(view(people)), plan)
    tables = {"accuracy_overall": accuracy(exclusions.trials, [], plan)}
    changed = Registration("The plan was locked.", ["`exclusions` changed.", "`tests` changed."])
    found = text_of(methods_of_study(exclusions, plan, PlannedResults(), tables, "1.0", changed))
    assert (
        "The analysis deviates from the locked plan: 2 deviations, listed in the section on preregistration." in found
    )
    as_planned = methods_of_study(exclusions, plan, PlannedResults(), tables, "1.0", NOT_LOCKED)
    assert "deviates" not in text_of(as_planned)
    assert "An effective number of trials is at most the real number of trials." in found


def test_with_random_items_the_largest_of_four_variances_is_named(view: Any, people: Any) -> None:
    """`CrossedProportion` takes the largest, so that no interval is too narrow."""
    plan = AnalysisPlan.model_validate({"items": "random"})
    assert "the largest of four variances" in text_of(methods(view(people), plan))
    assert any("It is the largest of four variances" in rule for rule in rule_sentences(plan, ["people"]))
