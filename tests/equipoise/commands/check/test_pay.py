"""Point on the pay."""

import pytest

from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.duration import estimated_duration
from equipoise.commands.check.pay import pay_point
from experiment.study.definition import Study
from tests.equipoise.commands.check.studies import with_entries, with_recruitment


def test_the_least_fair_payment_for_the_estimated_duration_is_named(sample_study: Study) -> None:
    estimate = estimated_duration(sample_study)
    assert estimate is not None
    point = pay_point(sample_study)
    assert point.verdict is Verdict.NOT_CHECKED
    assert f"{estimate.whole_minutes / 10:.2f} GBP or {8 * estimate.whole_minutes / 60:.2f} USD" in point.found


def test_without_a_duration_no_payment_is_named(sample_study: Study) -> None:
    assert "duration is not known" in pay_point(with_entries(sample_study, language="ja")).found


@pytest.mark.parametrize(
    ("minutes", "wage", "verdict", "found"),
    [
        (8, 9, Verdict.PASSED, "1.20 GBP for about 8 minutes are 9.00 GBP per hour; Prolific's minimum is 6 GBP"),
        (8, 6, Verdict.PASSED, "0.80 GBP for about 8 minutes are 6.00 GBP per hour"),
        (3, 9, Verdict.FAILED, "0.45 GBP for about 8 minutes are 3.38 GBP per hour"),
        (4, 15, Verdict.ATTENTION, "But `recruitment.prolific` states 4 minutes"),
        (30, 9, Verdict.ATTENTION, "But `recruitment.prolific` states 30 minutes"),
    ],
)
def test_the_payment_at_prolific_is_compared_with_its_minimum_for_the_estimated_duration(
    sample_study: Study, minutes: int, wage: float, verdict: Verdict, found: str
) -> None:
    prolific = {"description": "Rays.", "address": "https://study.example.org/", "minutes": minutes}
    study = with_recruitment(sample_study, entry="panel", prolific=prolific | {"wage_per_hour": wage})
    point = pay_point(study)
    assert (point.verdict, found in point.found) == (verdict, True), point
