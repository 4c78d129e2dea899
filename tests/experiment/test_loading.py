import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from batteries.errors import InputError
from experiment.loading import load_study

Edit = Callable[[Path, str, str], None]


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("study.yaml", "title:", "titel:", r"line \d+: `titel` is not a field Equipoise knows"),
        ("study.yaml", "battery: battery.jsonl", "battery: other.jsonl", r"`other.jsonl` is not in the folder"),
        ("study.yaml", "groups: 10", "groups: 0", r"line 16: `design.groups`: input should be greater"),
        ("study.yaml", "method: deal", "method: dale", r"'dale' is not known; it must be one of"),
        (
            "study.yaml",
            "[outcome, configuration",
            "[colour, configuration",
            r"`design.balance` names the factor `colour`, which no test item has",
        ),
        ("study.yaml", "by: [outcome]", "by: [colour]", r"`analysis.by` names the factor `colour`"),
        ("study.yaml", "practice: [practice-1]", "practice: [practice-9]", r"the item `practice-9`.* is not in the"),
        ("study.yaml", "practice: [practice-1]", "practice: [attention-1]", r"`attention-1` stands twice"),
        (
            "study.yaml",
            "of: [outcome]",
            "of: [mood]",
            r"`order.max_run.of` names the factor `mood`, which no test item has",
        ),
        ("study.yaml", "attention_check_spacing: 5", "attention_check_spacing: 50", r"lower attention_check_spacing"),
        ("study.yaml", "min_ms: 500", "min_ms: 500000", r"line \d+: .*min_ms \(500000\) must be under max_ms"),
        ("study.yaml", "rule: trial_rt", "rule: median_rt", r"the rule median_rt stands 2 times"),
        ("study.yaml", "fixation_ms: 200", "fixation_ms: fast", r"line \d+: `timing.fixation_ms`.*\(it is 'fast'\)"),
        ("study.yaml", "debrief: debrief.md", "debrief: thanks.md", r"thanks.md: there is no such file"),
        ("battery.jsonl", '"key":"west-5"', '"key":"west-6"', r"line 2, item `config-0.north-1`: the key says"),
    ],
)
def test_a_mistake_in_a_study_is_named_with_its_place(
    study_folder: Path, edit: Edit, file: str, old: str, new: str, message: str
) -> None:
    edit(study_folder / file, old, new)
    with pytest.raises(InputError, match=message) as error:
        load_study(study_folder)
    assert str(study_folder) in str(error.value)


def test_a_folder_without_a_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no study.yaml in it"):
        load_study(tmp_path)


def test_the_digest_changes_with_what_people_see_and_what_is_planned(study_folder: Path, edit: Edit) -> None:
    digests = {load_study(study_folder).digest}
    for file, old, new in [
        ("consent.md", "ten minutes", "twenty minutes"),
        ("study.yaml", "min_ms: 2000", "min_ms: 3000"),
        ("battery.jsonl", '"version":"1.0"', '"version":"1.1"'),
    ]:
        edit(study_folder / file, old, new)
        digests.add(load_study(study_folder).digest)
    assert len(digests) == 4


def test_the_digest_does_not_depend_on_the_place(study_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(study_folder, tmp_path / "elsewhere")
    assert load_study(tmp_path / "elsewhere").digest == load_study(study_folder).digest
