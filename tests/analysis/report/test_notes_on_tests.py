"""The notes below the table of tests, and the methods, say how significance, values and intervals are defined."""

import html

import numpy as np
import pandas as pd
import pytest

from analysis.planned.results import PlannedResults, run_planned
from analysis.preregistration.deviations import NOT_LOCKED
from analysis.report.html import environment
from analysis.report.methods_section import methods_of_data
from analysis.report.planned_section import planned_section
from analysis.report.planned_sentences import sentence_of_test
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.planned_analyses import PlannedAnalyses

N_ITEMS = 12
PAIRED = {"test": "t", "of": "rt_ms", "per": "participant", "within": "condition"}
BETWEEN = {"test": "welch_t", "of": "rt_ms", "per": "participant", "between": "team"}


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    """Ten participants answer twelve items of four scenarios in two conditions."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"participant": np.repeat([f"p{n}" for n in range(10)], N_ITEMS),
                          "item_id": np.tile([f"i{n:02d}" for n in range(N_ITEMS)], 10)})  # fmt: skip
    number = table["item_id"].str[1:].astype(int)
    table["condition"] = np.where(number % 2, "A", "B")
    table["scenario"] = number % 4
    table["team"] = np.where(table["participant"] < "p5", "x", "y")
    table["rt_ms"] = 1000 + 30 * (number % 2) + rng.normal(0, 20, len(table))
    return table.assign(correct=rng.integers(0, 2, len(table)), chance=0.25)


def results(trials: pd.DataFrame, plan: PlannedAnalyses) -> PlannedResults:
    return run_planned(lambda _who: trials, plan)


def notes(found: PlannedResults, plan: PlannedAnalyses) -> str:
    """Return the section on tests as text."""
    page = (
        environment()
        .get_template("planned.html")
        .render(planned=planned_section(found, plan, {}), registration=NOT_LOCKED)
    )
    return html.unescape(page.replace("<code>", "`").replace("</code>", "`")).replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("changes", "below", "in_methods"),
    [
        ({"confidence": 0.9}, "significant if p < 0.1 (1 minus the confidence level) after Holm correction.",
         "Tests with p < 0.1 are called significant (1 minus the confidence level), after the correction of p."),
        ({"correction": "none"}, "significant if p < 0.05 (1 minus the confidence level).",
         "Tests with p < 0.05 are called significant (1 minus the confidence level), without a correction"),
    ],
)  # fmt: skip
def test_the_level_of_significance_is_stated(
    trials: pd.DataFrame, changes: dict[str, object], below: str, in_methods: str
) -> None:
    model = {"formula": "rt_ms ~ condition + (1 | participant) + (1 | item_id)"}
    plan = PlannedAnalyses.model_validate({"tests": {"t": PAIRED}, "models": {"m": model}, **changes})
    found = results(trials, plan)
    assert below in notes(found, plan)
    methods = " ".join(methods_of_data(plan, found, "1.0").paragraphs)
    assert in_methods in methods
    assert f"Terms with p < {1 - plan.confidence:.2g} are called significant" in methods


def test_only_the_interval_of_the_difference_is_narrower_in_an_equivalence_test(trials: pd.DataFrame) -> None:
    plan = PlannedAnalyses.model_validate({"tests": {"t": PAIRED | {"equivalence_margin": 50}}, "confidence": 0.9})
    found = results(trials, plan)
    main, equivalence = found.tests.to_dict("records")
    assert equivalence["effect_ci_low"] == pytest.approx(main["effect_ci_low"])
    assert equivalence["ci_low"] > main["ci_low"]
    assert (
        "Confidence intervals: 90 %. Only the interval of the difference in an equivalence test has 80 %."
    ) in notes(found, plan)


@pytest.mark.parametrize(
    ("tests", "value"),
    [
        ({"t": PAIRED}, "the mean of its rows, with equal weights of the rows."),
        ({"t": PAIRED | {"summary": "sum"}}, "the sum of its rows."),
        (
            {"t": PAIRED, "s": PAIRED | {"summary": "sum"}},
            "the mean of its rows, with equal weights of the rows (in s: the sum of its rows).",
        ),
    ],
)
def test_the_value_of_a_unit_is_defined(trials: pd.DataFrame, tests: dict[str, object], value: str) -> None:
    plan = PlannedAnalyses.model_validate({"tests": tests})
    found = results(trials, plan)
    for text in (notes(found, plan), " ".join(methods_of_data(plan, found, "1.0").paragraphs)):
        assert f"The value of a unit, such as a participant, is {value} Each unit has the same weight" in text


def test_a_test_that_counts_rows_has_no_values_of_units(trials: pd.DataFrame) -> None:
    counts = {"test": "chi_square", "of": "correct", "between": "condition"}
    plan = PlannedAnalyses.model_validate({"tests": {"counts": counts}})
    assert "The value of a unit" not in notes(results(trials, plan), plan)


def test_the_bayes_factor_of_welchs_test_is_said_to_be_that_of_students_test(trials: pd.DataFrame) -> None:
    tests = {"welch": BETWEEN | {"bayes_factor": True}, "student": BETWEEN | {"test": "t", "bayes_factor": True}}
    plan = PlannedAnalyses.model_validate({"tests": tests})
    found = results(trials, plan)
    welch, student = found.tests.to_dict("records")
    assert welch["bayes_factor_10"] == student["bayes_factor_10"]
    assert "; Bayes factor (of Student's t test, which assumes equal variances) " in sentence_of_test(welch, plan)
    assert "(of Student's" not in sentence_of_test(student, plan)
    said = "Beside Welch's t test, the Bayes factor is that of Student's t test, which assumes equal variances."
    methods = " ".join(methods_of_data(plan, found, "1.0").paragraphs)
    assert said in notes(found, plan)
    assert said in methods
    only = PlannedAnalyses.model_validate({"tests": {"student": tests["student"]}})
    assert said not in notes(results(trials, only), only)


def test_dependent_rows_of_a_test_have_a_warning(trials: pd.DataFrame) -> None:
    """The rows of a participant and the items of a scenario are related, but these tests treat them as independent."""
    plan = AnalysisPlan.model_validate({
        "item_cluster": "scenario",
        "tests": {
            "counts": {"test": "chi_square", "of": "correct", "between": "condition"},
            "items": {"test": "t", "of": "correct", "per": "item_id", "against": "chance"},
            "scenarios": {"test": "t", "of": "correct", "per": "scenario", "against": "chance"},
            "people": {"test": "t", "of": "correct", "per": "participant", "against": "chance"},
        },
    })  # fmt: skip
    found = results(trials, plan)
    warnings = dict(zip(found.tests["name"], found.tests["warnings"].str.replace("\u00a0", " "), strict=True))
    assert warnings["counts"].startswith(
        "The test treats the 120 rows as independent, but several of them have the same level of `participant` (10 "
        "levels), `item_id` (12 levels), `scenario` (4 levels). So p can be far too small. Fix: fit a mixed model with "
        "random effects, such as `(1 | participant)`."
    )
    assert warnings["items"].startswith(
        "The test treats the 12 items as independent, but several of them have the same level of `scenario` (4 "
        "levels). So p can be far too small. Fix: fit a mixed model with random effects, such as `(1 | scenario)`, or "
        "use `per: scenario`."
    )
    assert "independent" not in warnings["scenarios"] + warnings["people"]
    assert "counts: The test treats the 120 rows as independent" in notes(found, plan)
    once = trials.drop_duplicates("item_id").assign(participant=[f"p{n}" for n in range(N_ITEMS)])
    alone = PlannedAnalyses.model_validate({"tests": {"counts": plan.tests["counts"].model_dump()}})
    assert "independent" not in results(once, alone).tests["warnings"].iloc[0]


def test_the_order_of_a_table_is_in_words(trials: pd.DataFrame) -> None:
    by = {"by": ["scenario"], "of": ["correct"]}
    tables = {"board": by | {"order_by": ["-correct_mean", "scenario"], "first": 3}, "plain": by,
              "two": by | {"first": 2}}  # fmt: skip
    plan = PlannedAnalyses.model_validate({"tables": tables})
    page = notes(results(trials, plan), plan)
    assert (
        "The rows are sorted by correct_mean (descending), then scenario (ascending). The table has only the first 3 "
        "rows."
    ) in page
    assert "-correct" not in page
    assert page.count("The rows are sorted by") == 1
    assert "The table has only the first 2 rows." in page
