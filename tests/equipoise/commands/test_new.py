"""The study folder that `equipoise new` makes."""

import re
from pathlib import Path

import pytest

import equipoise as eq
from equipoise.studies import sample_studies
from experiment.study.definition import StudyDefinition
from experiment.study.recruitment import Recruitment
from experiment.study.timeline import Timeline, Timing

OFF = re.compile(r"^( *)#((?: {2}| {4})?[a-z_]+:(?: .*)?)$", re.MULTILINE)
"""An entry of study.yaml that is off: a # before its name."""
FOR_LATER = {
    "blocks", "completion_code", "confidence", "event_codes", "feedback_ms", "intertrial_ms", "look", "plugins",
    "psychopy_trials", "response_keys", "texts",
}  # fmt: skip
"""Entries that a newcomer does not need."""
ABOUT_YOU = "questions:\n  - {name: age, ask: How old are you?, answer: number}\n"


@pytest.fixture(params=[name for name in sample_studies() if name != "showcase"])  # The showcase is for looking.
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    eq.new(tmp_path / "study", request.param)
    return tmp_path / "study"


def test_every_entry_that_a_newcomer_needs_is_in_study_yaml(made: Path) -> None:
    names = set(re.findall(r"^ *#? *([a-z_]+):", (made / "study.yaml").read_text(encoding="utf-8"), re.MULTILINE))
    assert StudyDefinition.model_fields.keys() - FOR_LATER <= names
    assert (Timeline.model_fields.keys() | Timing.model_fields.keys()) - FOR_LATER <= names
    assert {"entry", "quota", "exits"} <= names & Recruitment.model_fields.keys()


def test_every_part_of_study_yaml_has_a_comment(made: Path) -> None:
    lines = (made / "study.yaml").read_text(encoding="utf-8").splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        if re.match(r"#?[a-z_]+:", line):
            is_explained = before.startswith("# ") or "   # " in line
            assert is_explained or re.match(r"#?[a-z_]+:", before), line


def test_all_entries_that_are_off_can_be_switched_on(made: Path) -> None:
    text, n_off = OFF.subn(r"\1\2", (made / "study.yaml").read_text(encoding="utf-8"))
    assert n_off >= 15
    (made / "study.yaml").write_text(text, encoding="utf-8")
    (made / "information.md").write_text("# About this study\n\nIt is about games.\n", encoding="utf-8")
    (made / "about-you.yaml").write_text(ABOUT_YOU, encoding="utf-8")
    definition = eq.load_study(made).definition
    assert definition.timing.reading_ms and definition.timing.deadline_ms
    assert definition.recruitment.entry == "panel"
    assert definition.recruitment.exits.no_consent.code
    assert definition.recruitment.prolific and definition.recruitment.prolific.reward_cents == 150
    assert definition.timeline.demographics and definition.practice_criterion and definition.resume.max_age_min
