"""Points on groups and quotas."""

from dataclasses import replace
from typing import Any

import pytest

from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.groups import groups_point, quotas_point
from experiment.study.definition import Study
from tests.equipoise.commands.check.studies import choice, with_items, with_recruitment


def test_groups_with_equally_many_items_pass(sample_study: Study) -> None:
    point = groups_point(sample_study)
    assert point.verdict is Verdict.PASSED
    assert "10 groups with 23 to 24 test items each" in point.found


def test_groups_with_different_numbers_of_items_need_attention(sample_study: Study) -> None:
    items = [choice(f"q{number}", 1) for number in range(6)]
    groups = {item.item_id: 1 if number < 4 else 2 for number, item in enumerate(items)}
    point = groups_point(with_items(sample_study, items, groups))
    assert (point.verdict, "2 to 4 test items" in point.found) == (Verdict.ATTENTION, True)


def test_a_group_that_lacks_a_level_of_a_reported_factor_needs_attention(sample_study: Study) -> None:
    items = [choice(f"q{number}", 1, outcome="a" if number < 3 else "b") for number in range(4)]
    groups = {item.item_id: 1 + number % 2 for number, item in enumerate(items)}
    point = groups_point(with_items(sample_study, items, groups))
    assert point.verdict is Verdict.ATTENTION
    assert "Not every group sees every level of `outcome`: group 1" in point.found


def test_an_item_without_a_reported_factor_is_an_item_of_another_level(sample_study: Study) -> None:
    first, second = choice("q1", 1, outcome="a"), choice("q2", 1)
    without = second.model_copy(update={"factors": {}})
    point = groups_point(with_items(sample_study, [first, without], {"q1": 1, "q2": 2}))
    assert (point.verdict, "every level of `outcome`" in point.found) == (Verdict.ATTENTION, True)


@pytest.mark.parametrize(
    ("rules", "verdict", "found"),
    [
        ({"quota": 60}, Verdict.PASSED, "60 people, 6 in each of 10 groups"),
        ({"quota_per_group": 6}, Verdict.PASSED, "60 people, 6 in each of 10 groups"),
        ({"quota": 60, "quota_per_group": 8}, Verdict.PASSED, "60 people"),
        ({}, Verdict.ATTENTION, "no quota"),
        ({"quota": 55}, Verdict.ATTENTION, "55 people do not divide equally over 10 groups"),
        ({"quota": 60, "quota_per_group": 5}, Verdict.FAILED, "10 groups of 5 people have only 50 slots"),
        ({"quota": 9}, Verdict.FAILED, "9 people cannot fill 10 groups"),
    ],
)
def test_quotas_are_compared_with_the_groups(
    sample_study: Study, rules: dict[str, Any], verdict: Verdict, found: str
) -> None:
    point = quotas_point(with_recruitment(sample_study, **rules))
    assert (point.verdict, found in point.found) == (verdict, True), point


def test_a_list_of_fewer_panel_ids_than_the_quota_needs_attention(sample_study: Study) -> None:
    study = replace(with_recruitment(sample_study, quota=20), panel_ids=frozenset({"a", "b"}))
    point = quotas_point(study)
    assert (point.verdict, "2 ids" in point.found) == (Verdict.ATTENTION, True)
