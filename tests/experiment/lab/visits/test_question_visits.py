"""Visits with typed answers, key presses and confidence: deadlines, escape, and presses that come too early."""

import json
import shutil

import pytest

from experiment.load_study import load_study
from experiment.plan import plan_session
from tests.experiment.lab.visits.lab_visits import FakeDisplay, careful, names_on, press, rows
from tests.paths import ROOT

ANSWERS = {
    "practice-go": ["space"], "practice-list": [*"lamp", "return", "ctrl_return"], "lexical-1": ["f"],
    "lexical-2": ["j"], "red-disc": [None], "list-1": [*"river", "ctrl_return"], "breakfast": ["ctrl_return"] * 2,
}  # fmt: skip


@pytest.fixture
def memory(tmp_path):
    shutil.copytree(ROOT / "tests" / "memory_study", tmp_path / "memory")
    return tmp_path / "memory"


def scripted(study, answers=ANSWERS, at_item=None, instead=()):
    """Return a person who gives the planned presses of each trial; on one item, `instead` comes first."""
    plan, waiting, instead = plan_session(study, 1, 1), [], list(instead)
    begun = [0]

    def person(display):
        names = names_on(display)
        if {"stay", "agree", "next"} & names:
            return careful(display)
        if "point-0" in names:
            return press("3")
        if len(display.trials) > begun[0]:
            begun[0] = len(display.trials)
            item_id = plan.trials[begun[0] - 1 - n_repeated[0]].item_id
            waiting[:] = list(answers[item_id])
            if item_id == at_item and instead:
                n_repeated[0] += 1
                waiting[:] = [instead.pop()]
        name = waiting.pop(0)
        return None if name is None else press(name)

    n_repeated = [0]
    return person


def stored(study, visit):
    return {row["item_id"]: {**row, "response": json.loads(row["response"])} for row in rows(study, visit.session)}


def test_each_response_is_stored_in_the_form_of_its_task(lab, memory):
    study = load_study(memory)
    found = stored(study, lab(study, scripted(study)))
    assert {name: row["response"] for name, row in found.items()} == {
        "practice-go": "go", "practice-list": ["lamp"], "lexical-1": "word", "lexical-2": "nonword",
        "red-disc": "none", "list-1": ["river"], "breakfast": [],
    }  # fmt: skip
    assert found["red-disc"]["rt_ms"] is None and found["red-disc"]["missing"] is None


def test_a_missed_window_is_missing_unless_no_key_is_a_response(lab, memory):
    battery = memory / "battery.yaml"
    battery.write_text(
        battery.read_text().replace(
            "keys: {f: word, j: nonword}\n    key: nonword",
            "keys: {f: word, j: nonword}\n      window_ms: 700\n    key: nonword",
        )
    )
    study = load_study(memory)
    found = stored(study, lab(study, scripted(study, ANSWERS | {"lexical-2": [None]})))
    assert (found["lexical-2"]["response"], found["lexical-2"]["missing"]) == (None, "deadline")


def test_escape_in_a_typed_trial_repeats_the_trial(lab, memory):
    study = load_study(memory)
    found = stored(study, lab(study, scripted(study, at_item="list-1", instead=["escape"])))
    assert (found["list-1"]["response"], found["list-1"]["attempt"]) == (["river"], 2)


def test_confidence_is_asked_after_every_response_but_not_after_a_missed_one(lab, memory):
    with (memory / "study.yaml").open("a") as file:
        file.write("confidence: {prompt: How sure are you?, low: 1, high: 5}\ntiming: {deadline_ms: 9000}\n")
    study = load_study(memory)
    visit = lab(study, scripted(study, ANSWERS | {"lexical-2": [None]}))
    found = stored(study, visit)
    assert {name: row["confidence"] for name, row in found.items()} == {
        name: None if name == "lexical-2" else 3.0 for name in found
    }
    asked = sum("How sure are you?" in seen and "·" not in seen for seen in visit.display.seen)
    assert asked >= len(found) - 1


def test_trials_have_the_background_of_the_study_and_pages_are_white(lab, memory, monkeypatch):
    with (memory / "study.yaml").open("a", encoding="utf-8") as file:
        file.write('\nlook: {background: "#808080"}\n')
    study, corners = load_study(memory), []

    def fixate(display, fixation, screens, stimulus, fixation_ms, intertrial, *trial):
        steps = [*screens, *stimulus, *([intertrial] if intertrial else [])]
        corners.append("fixation")
        corners.extend(picture.image.getpixel((3, 3)) for picture in (fixation, *(step.picture for step in steps)))
        return original(display, fixation, screens, stimulus, fixation_ms, intertrial, *trial)

    def see(display, picture):
        corners.append(picture.image.getpixel((3, 3)))
        seen(display, picture)

    original, seen = FakeDisplay.fixate, FakeDisplay.see
    for name in ("see", "redraw", "confirm"):
        monkeypatch.setattr(FakeDisplay, name, see)
    monkeypatch.setattr(FakeDisplay, "fixate", fixate)
    lab(study, scripted(study))
    first, last = corners.index("fixation"), len(corners) - 1
    assert set(corners[:first]) == {(255, 255, 255)}  # consent and instructions
    assert set(corners[first:last]) == {"fixation", (128, 128, 128)}  # also feedback and confidence
    assert corners[last] == (255, 255, 255)
