"""Blocks and sequences in the checklist, in exports and in the preview."""

from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from equipoise.commands.battery import battery_export, battery_preview
from equipoise.commands.check.checklist import Verdict
from equipoise.commands.check.duration import estimated_duration
from equipoise.commands.check.groups import groups_point, quotas_point
from equipoise.commands.check.study_texts import files_point, pages_point
from experiment.load_study import load_study
from experiment.study.definition import Study
from tests.block_study import make_block_study
from tests.equipoise.commands.check.studies import with_recruitment, with_texts


@pytest.fixture
def blocks(tmp_path: Path) -> Study:
    return load_study(make_block_study(tmp_path / "blocks"))


def test_the_groups_are_those_of_the_design_with_each_order_of_blocks(blocks: Study) -> None:
    point = groups_point(blocks)
    assert point.verdict is Verdict.PASSED
    assert "4 groups with 8 test items each" in point.found
    assert "Each test item is in 2 groups, which have different orders of the blocks." in point.found


def test_quotas_are_divided_over_the_orders_of_blocks_too(blocks: Study) -> None:
    assert quotas_point(with_recruitment(blocks, quota=8)).verdict is Verdict.PASSED
    point = quotas_point(with_recruitment(blocks, quota=6))
    assert (point.verdict, "6 people do not divide equally over 4 groups" in point.found) == (Verdict.ATTENTION, True)


def test_the_instructions_of_blocks_are_pages_of_the_study(blocks: Study) -> None:
    assert "its battery and 5 pages are there" in files_point(blocks).found
    point = pages_point(with_texts(blocks, words="# Now words\n\nTODO\n"))
    assert (point.verdict, "words.md, line 3 (TODO)" in point.found) == (Verdict.FAILED, True)
    point = pages_point(with_texts(blocks, words=" "))
    assert (point.verdict, "words.md has no text" in point.found) == (Verdict.FAILED, True)


def test_the_duration_includes_the_instructions_of_blocks(blocks: Study) -> None:
    before, after = estimated_duration(blocks), estimated_duration(with_texts(blocks, words="word " * 1000))
    assert before is not None and after is not None
    assert after.n_words - before.n_words == 1000 - len(blocks.texts["words.md"].split())
    assert after.minutes > before.minutes + 3


@pytest.mark.parametrize("without", ["blocks", "sequence"])
@pytest.mark.parametrize("form", ["gorilla", "jspsych"])
def test_an_export_that_would_lose_the_order_is_refused(tmp_path: Path, form: str, without: str) -> None:
    def change(study: dict[str, Any]) -> None:
        if without == "blocks":
            del study["blocks"]
        else:
            del study["order"]["sequence"]

    folder = make_block_study(tmp_path / "study", change)
    with pytest.raises(InputError, match=r"study\.yaml: the study has `blocks` or a `sequence`, .* Fix: run the study"):
        battery_export(folder, form, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_preview_shows_the_groups_of_items(blocks: Study, tmp_path: Path) -> None:
    battery_preview(blocks.folder, tmp_path / "preview.html")
    assert "l1.long.study" in (tmp_path / "preview.html").read_text(encoding="utf-8")
