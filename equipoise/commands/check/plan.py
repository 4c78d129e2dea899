"""Point on the analysis plan of a study."""

from batteries.errors import InputError
from equipoise.commands.check.checklist import Point, failed, needs_attention, passed, problem_and_fix
from equipoise.commands.plan_check import check_study_plan
from experiment.study.definition import Study


def plan_point(study: Study) -> Point:
    """Check the formulas, columns and levels of the plan, and that rules exclude careless participants."""
    subject, plan = "Analysis plan", study.definition.analysis
    try:
        check_study_plan(study)
    except InputError as error:
        return failed(subject, *problem_and_fix(error))
    if not plan.exclusions:
        return needs_attention(
            subject,
            "the plan has no exclusion rule, so careless participants stay in the analysis.",
            "add rules under `analysis.exclusions` before you see data.",
        )
    rules = "1 exclusion rule" if len(plan.exclusions) == 1 else f"{len(plan.exclusions)} exclusion rules"
    return passed(subject, f"{rules}; all columns and levels that the plan names exist.")
