"""The entry `analysis.coding` of a study, checked when the study is loaded."""

from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.load_study import load_study

ITEMS = """battery: b
version: "1"
items:
  - {item_id: open, task: free_text, factors: {form: a}, content: {prompt: Why?}, key: null}
  - {item_id: graded, task: free_text, factors: {form: a}, content: {prompt: Which animal barks?}, key: [dog]}
  - {item_id: number, task: number, factors: {form: a}, content: {prompt: How many?, low: 0, high: 9}, key: null}
"""
CODES = "codes: [{name: a, definition: A.}, {name: b, definition: B.}]"


def make(folder: Path, coding: str) -> Path:
    (folder / "battery.yaml").write_text(ITEMS, encoding="utf-8")
    (folder / "study.yaml").write_text(
        'study: s\nversion: "1"\ntitle: T\nbattery: battery.yaml\ndesign: {method: deal, groups: 1, balance: [form]}\n'
        f"analysis:\n  coding:\n{coding}",
        encoding="utf-8",
    )
    return folder


def test_a_coding_does_not_change_the_digest_of_a_study(tmp_path: Path) -> None:
    with_coding = load_study(make(tmp_path, f"    why: {{coders: 2, {CODES}}}\n")).digest
    path = tmp_path / "study.yaml"
    path.write_text(path.read_text(encoding="utf-8").partition("analysis:")[0], encoding="utf-8")
    assert load_study(tmp_path).digest == with_coding


@pytest.mark.parametrize(("entry", "sentence"), [
    ("items: [opne]", "names the item `opne`, which is not a test item. Fix: correct the id."),
    ("items: [number]", "answers of the task `number` cannot be coded"),
    ("items: [graded], right: [a]", "the item `graded` has a right answer already"),
])  # fmt: skip
def test_items_that_cannot_be_coded_are_refused(tmp_path: Path, entry: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        load_study(make(tmp_path, f"    why: {{{entry}, coders: 2, {CODES}}}\n"))
    assert sentence in str(error.value)


def test_an_item_has_one_coding(tmp_path: Path) -> None:
    two = f"    why: {{coders: 2, {CODES}}}\n    how: {{items: [open], coders: 2, {CODES}}}\n"
    with pytest.raises(InputError, match="the item `open` is in the codings `why` and `how`"):
        load_study(make(tmp_path, two))
