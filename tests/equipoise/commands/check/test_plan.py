"""Point on the analysis plan."""

from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.plan import plan_point
from experiment.study.analysis_plan import AnalysisPlan
from experiment.study.definition import Study
from tests.equipoise.commands.check.studies import with_entries


def test_a_plan_with_rules_passes(sample_study: Study) -> None:
    point = plan_point(sample_study)
    assert (point.verdict, "3 exclusion rules" in point.found) == (Verdict.PASSED, True)


def test_a_plan_without_exclusion_rules_needs_attention(sample_study: Study) -> None:
    assert plan_point(with_entries(sample_study, analysis=AnalysisPlan())).verdict is Verdict.ATTENTION


def test_a_plan_that_names_an_unknown_column_fails(sample_study: Study) -> None:
    test = {"test": "anova", "of": "correct", "per": "participant", "within": "outcom"}
    plan = AnalysisPlan.model_validate({"exclusions": [{"rule": "attention_check"}], "tests": {"outcomes": test}})
    point = plan_point(with_entries(sample_study, analysis=plan))
    assert (point.verdict, "`outcom`" in point.found) == (Verdict.FAILED, True), point
    assert point.fix
