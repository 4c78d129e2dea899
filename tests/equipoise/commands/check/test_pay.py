"""Point on the pay."""

from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.duration import estimated_duration
from equipoise.commands.check.pay import pay_point
from experiment.study.definition import Study
from tests.equipoise.commands.check.studies import with_entries


def test_the_least_fair_payment_for_the_estimated_duration_is_named(sample_study: Study) -> None:
    estimate = estimated_duration(sample_study)
    assert estimate is not None
    point = pay_point(sample_study)
    assert point.verdict is Verdict.NOT_CHECKED
    assert f"{estimate.whole_minutes / 10:.2f} GBP or {8 * estimate.whole_minutes / 60:.2f} USD" in point.found


def test_without_a_duration_no_payment_is_named(sample_study: Study) -> None:
    assert "duration is not known" in pay_point(with_entries(sample_study, language="ja")).found
