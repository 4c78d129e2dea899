"""Points on the battery and its answer keys."""

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.commands.check.battery import answer_keys_point, battery_point
from equipoise.commands.check.checklist import Verdict
from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.study.definition import Study
from tests.equipoise.commands.check.studies import choice, with_items


@pytest.fixture
def stories(tmp_path: Path) -> Study:
    copy_sample_study("intuition-single", tmp_path / "stories")
    return load_study(tmp_path / "stories")


def test_a_battery_without_a_specification_passes(sample_study: Study) -> None:
    point = battery_point(sample_study)
    assert point.verdict is Verdict.PASSED
    assert "237 items" in point.found


def test_a_battery_that_its_specification_builds_passes(stories: Study) -> None:
    point = battery_point(stories)
    assert point.verdict is Verdict.PASSED
    assert "spec.yaml builds the same items" in point.found


def test_a_battery_that_was_edited_after_it_was_built_needs_attention(stories: Study) -> None:
    first, *others = stories.battery.items
    edited = first.model_copy(update={"content": {**first.content, "prompt": "What happened?"}})
    study = replace(stories, battery=stories.battery.model_copy(update={"items": (edited, *others)}))
    assert battery_point(study).verdict is Verdict.ATTENTION


def test_a_specification_that_does_not_build_fails(stories: Study) -> None:
    (stories.folder / "spec.yaml").write_text("ids: [9.9.9.9.z]\n", encoding="utf-8")
    point = battery_point(stories)
    assert (point.verdict, "spec.yaml does not build" in point.found) == (Verdict.FAILED, True)


def test_positions_that_are_right_equally_often_pass(sample_study: Study) -> None:
    items = [choice(f"q{number:02}", 1 + number % 4) for number in range(16)]
    groups = {item.item_id: 1 + number // 8 for number, item in enumerate(items)}
    point = answer_keys_point(with_items(sample_study, items, groups))
    assert point.verdict is Verdict.PASSED
    assert "position 1 is right in 4 of 16 test items (25%); chance is 25%" in point.found


def test_a_position_that_is_right_more_often_than_chance_needs_attention(sample_study: Study) -> None:
    items = [choice(f"q{number:02}", 3 if number < 8 else 1 + number % 4) for number in range(16)]
    point = answer_keys_point(with_items(sample_study, items, {item.item_id: 1 for item in items}))
    assert point.verdict is Verdict.ATTENTION
    assert "always answering position 3 is right in 10 of 16 test items (62%); chance is 25%" in point.found


def test_a_group_in_which_one_position_is_mostly_right_needs_attention(sample_study: Study) -> None:
    items = [choice(f"q{number:02}", 1 + number // 4) for number in range(16)]
    groups = {item.item_id: 1 + number // 8 for number, item in enumerate(items)}
    point = answer_keys_point(with_items(sample_study, items, groups))
    assert point.verdict is Verdict.PASSED, "4 of 8 are at most 2 more than an equal share"
    groups = {item.item_id: item.key for item in items}
    one_key_per_group = answer_keys_point(with_items(sample_study, items, groups))
    assert one_key_per_group.verdict is Verdict.ATTENTION
    assert "in group 1, the right answer is position 1 in 4 of 4 items" in one_key_per_group.found


def test_outcomes_that_are_spread_over_the_groups_pass(sample_study: Study) -> None:
    point = answer_keys_point(sample_study)
    assert point.verdict is Verdict.PASSED
    assert "`absorbed` 11 to 12" in point.found


def test_outcomes_that_are_collected_in_one_group_need_attention(sample_study: Study) -> None:
    test_items = sorted(sample_study.test_items, key=lambda item: str(item.factors["outcome"]))
    groups = {item.item_id: 1 + number * 10 // len(test_items) for number, item in enumerate(test_items)}
    assert answer_keys_point(replace(sample_study, groups=groups)).verdict is Verdict.ATTENTION
