"""Blocks and sequences in the plans of sessions."""

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from batteries.design import assign_groups
from batteries.errors import InputError
from batteries.items import Battery, Item
from experiment.load_study import load_study
from experiment.pages_between_trials import block_instructions, break_positions
from experiment.plan import Phase, plan_session
from experiment.study.blocks import balanced_latin_square
from experiment.study.definition import Study, StudyDefinition
from tests.block_study import make_block_study

STEPS = [2, 10, "a", "b"]
"""Levels of the factor that orders a sequence, in their order: numbers by value, then texts."""


@st.composite
def studies(draw: Callable[..., Any]) -> Study:
    """Make a study with blocks of sequences, in which the order of ids says nothing about the order of items."""
    n_groups, n_steps = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    lists = [
        (f"material {n}", f"list {n}.{each}")
        for n in range(draw(st.integers(2, 5)))
        for each in range(draw(st.integers(1, 3)))
    ]
    numbers = iter(draw(st.permutations(range(len(lists) * n_groups * n_steps))))
    items = [
        _item(f"q{next(numbers):03}", material=material, list=name, cell=cell, step=step)
        for material, name in lists
        for cell in range(n_groups)
        for step in STEPS[:n_steps]
    ]
    checks = [_item(f"check {n}") for n in range(draw(st.integers(0, 3)))]
    spacing = draw(st.integers(1, 2))
    assume(spacing * (len(checks) + 1) <= len(lists))
    definition = StudyDefinition.model_validate(
        {
            "study": "blocks",
            "version": "1",
            "title": "Blocks",
            "battery": "battery.yaml",
            "attention_checks": [check.item_id for check in checks],
            "design": {
                "method": "latin_square",
                "groups": n_groups,
                "rows": ["list"],
                "cells": ["cell"],
                "versions": "step",
                "offset_versions": False,
            },
            "order": {
                "attention_check_spacing": spacing,
                "sequence": {"of": ["list", "cell"], "by": "step"},
            },
            "blocks": {
                "of": "material",
                "order": draw(st.sampled_from(["fixed", "random", "balanced"])),
                "levels": [{"level": material} for material in sorted({material for material, _ in lists})],
            },
            "timeline": {"breaks": {"every": draw(st.integers(1, 5))}},
        }
    )
    battery = Battery(battery="blocks", version="1", items=(*items, *checks))
    return Study(Path(), definition, battery, assign_groups(items, definition.design), {})


def _item(item_id: str, **factors: Any) -> Item:
    content = {"prompt": f"What is {item_id}?", "options": ["a", "b"]}
    return Item(item_id=item_id, task="multiple_choice", factors=factors, content=content, key=1)


def planned_items(study: Study, group: int, seed: int) -> list[tuple[Phase, Item]]:
    return [(trial.phase, study.battery.by_id[trial.item_id]) for trial in plan_session(study, group, seed).trials]


def block_order(study: Study, group: int, seed: int) -> list[Any]:
    """Return the levels of the blocks in the order of a session. A level appears twice if its block is interrupted."""
    tests = [item for phase, item in planned_items(study, group, seed) if phase is Phase.TEST]
    return [level for level, _ in groupby(item.factors["material"] for item in tests)]


@given(studies(), st.integers(0, 2**31), st.data())
def test_blocks_and_sequences_are_whole_and_in_order(study: Study, seed: int, data: st.DataObject) -> None:
    group = data.draw(st.integers(1, study.definition.n_groups))
    trials = planned_items(study, group, seed)
    tests = [item for phase, item in trials if phase is Phase.TEST]
    dealt = (group - 1) % study.definition.design.groups + 1
    assert sorted(item.item_id for item in tests) == sorted(name for name, of in study.groups.items() if of == dealt)
    assert len(set(block_order(study, group, seed))) == len(block_order(study, group, seed))

    # A run of trials with the same list contains no check, and it is in the order of the steps.
    runs = [(name, list(run)) for name, run in groupby(trials, key=lambda trial: trial[1].factors.get("list"))]
    names = [name for name, _ in runs if name is not None]
    assert len(set(names)) == len(names)
    n_steps = len({item.factors["step"] for item in tests})
    for name, run in runs:
        if name is not None:
            assert [item.factors["step"] for _, item in run] == STEPS[:n_steps]

    # The spacing of checks counts sequences.
    checks = [index for index, (phase, _) in enumerate(trials) if phase is Phase.ATTENTION_CHECK]
    assert len(checks) == len(study.definition.attention_checks)
    for before, after in pairwise([-1, *checks, len(trials)]) if checks else ():
        between = {item.factors["list"] for _, item in trials[before + 1 : after]}
        assert len(between) >= study.definition.order.attention_check_spacing


@given(studies(), st.integers(0, 2**31))
def test_breaks_are_between_sequences_and_instructions_before_blocks(study: Study, seed: int) -> None:
    trials = planned_items(study, 1, seed)
    every = study.definition.timeline.breaks.every  # type: ignore[union-attr]
    breaks = break_positions(study.definition, trials)
    for position in breaks:
        (_, before), (phase, item) = trials[position - 1], trials[position]
        assert phase is Phase.ATTENTION_CHECK or before.factors.get("list") != item.factors["list"]
    starts = [position for position, (_, item) in enumerate(trials) if item.factors.get("step", 2) == 2]
    due = [min((start for start in starts if start >= n), default=None) for n in range(every, len(trials), every)]
    assert breaks == sorted({position for position in due if position is not None})

    first = [
        next(i for i, (_, item) in enumerate(trials) if item.factors.get("material") == level)
        for level in block_order(study, 1, seed)
    ]
    assert list(block_instructions(study.definition, trials)) == first


@pytest.mark.parametrize("n", range(2, 21))
def test_a_balanced_square_has_each_number_in_each_position_and_after_each_other_number_equally_often(n: int) -> None:
    rows = balanced_latin_square(n)
    assert len(rows) == (n if n % 2 == 0 else 2 * n)
    assert all(sorted(row) == list(range(n)) for row in rows)
    assert set(Counter((position, number) for row in rows for position, number in enumerate(row)).values()) == {
        len(rows) // n
    }
    followers = Counter(pair for row in rows for pair in pairwise(row))
    assert len(followers) == n * (n - 1)
    assert len(set(followers.values())) == 1


def with_blocks(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda study: study["blocks"].update(changes)


def test_balanced_orders_are_crossed_with_the_groups_of_the_design(tmp_path: Path) -> None:
    study = load_study(make_block_study(tmp_path / "study"))
    assert study.definition.n_groups == 4
    assert [block_order(study, group, 5) for group in range(1, 5)] == [["pictures", "words"]] * 2 + [
        ["words", "pictures"]
    ] * 2
    items = [{item.item_id for item in study.test_items_by_group[group]} for group in range(1, 5)]
    assert items[0] == items[2] != items[1] == items[3]
    with pytest.raises(ValueError, match="Fix: use a group from 1 to 4"):
        plan_session(study, 5, 1)


def test_fixed_blocks_are_as_listed_and_random_blocks_depend_on_the_seed(tmp_path: Path) -> None:
    fixed = load_study(make_block_study(tmp_path / "fixed", with_blocks(order="fixed")))
    assert fixed.definition.n_groups == 2
    assert {tuple(block_order(fixed, 2, seed)) for seed in range(20)} == {("pictures", "words")}
    random = load_study(make_block_study(tmp_path / "random", with_blocks(order="random")))
    assert random.definition.n_groups == 2
    orders = Counter(tuple(block_order(random, 1, seed)) for seed in range(200))
    assert len(orders) == 2
    assert min(orders.values()) > 65  # 100 expected, five standard deviations are 35


def test_the_longest_run_applies_within_a_block(tmp_path: Path) -> None:
    def change(study: dict[str, Any]) -> None:
        study["order"] = {"attention_check_spacing": 1, "max_run": {"of": ["step"], "length": 1}}

    study = load_study(make_block_study(tmp_path / "study", change))
    for seed in range(20):
        tests = [item for phase, item in planned_items(study, 1, seed) if phase is Phase.TEST]
        for _, block in groupby(tests, key=lambda item: item.factors["material"]):
            steps = [item.factors["step"] for item in block]
            assert all(before != after for before, after in pairwise(steps))


def _put(study: dict[str, Any], place: str, value: Any) -> None:
    *parts, last = place.split(".")
    for part in parts:
        study = study[part]
    study[last] = value


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (
            "order.max_run",
            {"of": ["step"], "length": 2},
            r"line \d+: `order`: `max_run` and `sequence` cannot be combined\. Fix: delete one",
        ),
        (
            "design.offset_versions",
            True,
            r"`l1\.long\.study` and `l1\.long\.probe` are .* different groups\. Fix: .*`offset_versions: false`",
        ),
        ("order.sequence.of", ["list"], r"and `l1\.short\.probe` are one sequence, but they are in different groups"),
        (
            "order.sequence.by",
            "delay",
            r"`l1\.long\.\w+` and `l1\.long\.\w+` are in one .* level of `delay`, 'long'.*Fix: give each",
        ),
        (
            "order.sequence.by",
            "stepp",
            r"line \d+: `order\.sequence\.by` names the factor `stepp`, which no test item has",
        ),
        (
            "order.sequence.of",
            ["lists"],
            r"line \d+: `order\.sequence\.of` names the factor `lists`, which no test item has",
        ),
        ("order.attention_check_spacing", 3, r"need 6 sequences of test trials, but there are 4\. Fix: lower"),
        ("blocks.of", "materials", r"line \d+: `blocks\.of` names the factor `materials`, which no test item has"),
        ("blocks.of", "step", r"does not name the level 2 of `step`, which the test item `l1\.long\.probe` has"),
        (
            "blocks.levels",
            [{"level": "pictures"}, {"level": "sounds"}],
            r"does not name the level 'words' of `material`, which the test item `l3\.long\.probe` has\. Fix: add",
        ),
        (
            "blocks.levels",
            [{"level": level} for level in ("pictures", "words", "sounds")],
            r"names the level 'sounds', but group 1 has no test item with this level of `material`\. Fix: delete",
        ),
        (
            "blocks.levels",
            [{"level": "words"}, {"level": "words"}],
            r"line \d+: `blocks`: `levels` names the level 'words' more than once",
        ),
        ("blocks.levels", [{"level": "words"}], r"line \d+: `blocks\.levels`"),
        ("blocks.levels", [{"level": "pictures", "instructions": ["none.md"]}, {"level": "words"}], r"none\.md"),
        (
            "blocks.levels",
            [{"level": "pictures", "instructions": ["../x.md"]}, {"level": "words"}],
            r"line \d+: `blocks\.levels\.0\.instructions\.0` names the file `\.\./x\.md`, which is outside",
        ),
        ("blocks.order", "latin", r"line \d+: `blocks\.order`"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, place: str, value: Any, message: str) -> None:
    def change(study: dict[str, Any]) -> None:
        if place == "blocks.of" and value == "step":
            del study["order"]["sequence"]
            study["blocks"]["levels"] = [{"level": 1}, {"level": "words"}]
        _put(study, place, value)

    with pytest.raises(InputError, match=message) as error:
        load_study(make_block_study(tmp_path / "study", change))
    assert "\n" not in str(error.value)
    assert re.search(r"Fix: |must|Field", str(error.value))


def test_a_sequence_in_two_blocks_is_refused(tmp_path: Path) -> None:
    def change(study: dict[str, Any]) -> None:
        study["blocks"] = {"of": "step", "order": "fixed", "levels": [{"level": 1}, {"level": 2}]}

    with pytest.raises(
        InputError, match=r"`l1\.long\.study` and `l1\.long\.probe` are one sequence, but they are in different blocks"
    ):
        load_study(make_block_study(tmp_path / "study", change))


def test_too_many_groups_are_refused(tmp_path: Path) -> None:
    def change(study: dict[str, Any]) -> None:
        study |= {"battery": "battery.jsonl", "practice": [], "attention_checks": [], "order": {}}
        study["design"] = {"method": "deal", "groups": 501, "balance": ["material"]}

    folder = make_block_study(tmp_path / "study", change)
    items = [_item(f"{material} {n}", material=material) for material in ("pictures", "words") for n in range(501)]
    lines = ['{"battery": "many", "version": "1"}', *(item.model_dump_json() for item in items)]
    (folder / "battery.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"`blocks`: 501 groups with 2 orders .* 1,002 groups.* Fix: write `order: random`"
    ):
        load_study(folder)


def test_deal_and_breaks_keep_sequences_whole_beside_items_that_are_in_none(tmp_path: Path) -> None:
    items = [
        {"item_id": f"{name}-{step}", "task": "recall", "factors": {"length": length, "list": name, "step": step},
         "content": {"prompt": f"List {name}, question {step}?"}, "key": [name]}
        for name, length in [("ash", "long"), ("bay", "long"), ("cob", "short"), ("dew", "short")]
        for step in (2, 1)
    ]  # fmt: skip
    alone = [
        {"item_id": f"alone-{n}", "task": "recall", "factors": {"length": "none"}, "content": {"prompt": f"{n}?"},
         "key": ["x"]}
        for n in (1, 2)
    ]  # fmt: skip
    battery = {"battery": "b", "version": "1", "items": [*items, *alone]}
    study = {
        "study": "s", "version": "1", "title": "S", "battery": "battery.yaml",
        "design": {"method": "deal", "groups": 2, "balance": ["length"]},
        "order": {"sequence": {"of": ["list"], "by": "step"}}, "timeline": {"breaks": {"every": 1}},
    }  # fmt: skip
    (tmp_path / "battery.yaml").write_text(json.dumps(battery), encoding="utf-8")
    (tmp_path / "study.yaml").write_text(json.dumps(study), encoding="utf-8")
    loaded = load_study(tmp_path)
    for group in (1, 2):
        ids = [trial.item_id for trial in plan_session(loaded, group, seed=5).trials]
        lengths = Counter(loaded.battery.by_id[item_id].factors["length"] for item_id in ids)
        assert lengths == {"long": 2, "short": 2, "none": 1}
        firsts = [position for position, item_id in enumerate(ids) if item_id.endswith("-1") and "alone" not in item_id]
        assert all(ids[position + 1] == ids[position].replace("-1", "-2") for position in firsts)
        starts = [position for position, item_id in enumerate(ids) if item_id.startswith("alone") or position in firsts]
        assert break_positions(loaded.definition, planned_items(loaded, group, seed=5)) == starts[1:]
