"""Point on completion codes and return links."""

from typing import Any

import pytest

from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.exits import codes_point
from experiment.study.definition import Study
from tests.equipoise.commands.check.studies import with_entries, with_recruitment

LINK = "https://app.prolific.com/submissions/complete?cc={code}"
DONE, NO = {"code": "DONE1234", "link": LINK}, {"code": "NOCONSENT1", "link": LINK}


def test_a_study_without_a_panel_needs_no_codes(sample_study: Study) -> None:
    assert codes_point(sample_study).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("exits", "verdict", "found"),
    [
        ({"completed": DONE, "no_consent": NO}, Verdict.PASSED, "completed DONE1234 and no_consent NOCONSENT1"),
        ({"completed": DONE | {"code": "TODO-COMPLETED"}}, Verdict.FAILED, "the code of completed is a mark"),
        ({"completed": DONE}, Verdict.ATTENTION, "have no code: no_consent"),
        ({"no_consent": NO}, Verdict.FAILED, "no code for completed sessions"),
        ({"completed": DONE, "no_consent": DONE}, Verdict.FAILED, "completed and no_consent have the same code"),
        (
            {"completed": DONE | {"link": "https://app.prolific.co/submissions/complete?cc={code}"}, "no_consent": NO},
            Verdict.FAILED,
            "the return link of completed does not lead to app.prolific.com",
        ),
    ],
)
def test_a_panel_needs_a_different_code_for_each_outcome(
    sample_study: Study, exits: dict[str, Any], verdict: Verdict, found: str
) -> None:
    point = codes_point(with_recruitment(sample_study, entry="panel", exits=exits))
    assert (point.verdict, found in point.found) == (verdict, True), point


def test_a_completion_code_in_study_yaml_is_the_code_of_completed_sessions(sample_study: Study) -> None:
    study = with_recruitment(sample_study, entry="panel", exits={"no_consent": NO})
    assert codes_point(with_entries(study, completion_code="DONE1234")).verdict is Verdict.PASSED
    assert codes_point(with_entries(study, completion_code="NOCONSENT1")).verdict is Verdict.FAILED


def test_a_link_with_the_participants_id_replaces_a_code(sample_study: Study) -> None:
    exits = {"completed": {"link": "https://school.sona-systems.com/credit?id={id}"}, "no_consent": {"code": "NONO"}}
    study = with_recruitment(sample_study, entry="panel", panel_parameter="id", exits=exits)
    assert codes_point(study).verdict is Verdict.PASSED


def test_an_outcome_that_the_rules_of_the_study_allow_needs_a_code(sample_study: Study) -> None:
    study = with_recruitment(sample_study, entry="panel", exits={"completed": DONE, "no_consent": NO})
    device = study.definition.device.model_copy(update={"phones": False})
    point = codes_point(with_entries(study, device=device))
    assert (point.verdict, "incompatible_device" in point.found) == (Verdict.ATTENTION, True)
