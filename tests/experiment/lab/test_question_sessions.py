"""Whole sessions of every task in a real window: each stored response equals what was entered."""

import csv
import json
import shutil
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from batteries.tasks import task_named
from experiment.lab.input.response_state import ResponseState
from experiment.lab.screens.keypress import keypress
from experiment.lab.screens.trial_header import TrialMoment
from tests.experiment.lab.scripted_participant import ScriptedParticipant
from tests.paths import ROOT

QUESTIONS = {
    "practice-rating": (["7"], 7, "key"),
    "practice-number": ([*"61", "BackSpace", "0", "Return"], 60, "key"),
    "practice-text": ([*"dg", "Left", "o", "Return"], "dog", "key"),
    "practice-ranking": (["2", ("click", "3"), "1", ("click", "submit")], [2, 3, 1], "mouse"),
    "check-rating": (["Right", "Right", "Return"], 2, "key"),
    "likert": ([("click", "point-3")], 4, "mouse"),
    "likelihood": (["Left", "Left", "Return"], 9, "key"),
    "brightness": ([("click", "point-80"), "Left", "Left", "Return"], 78, "key"),
    "mountain": ([*"99999", "Return", *["BackSpace"] * 5, *"8849", ("click", "submit")], 8849, "mouse"),
    "balance": ([*"-0,25", "Return"], -0.25, "key"),
    "reason": ([*"to tell", "Return", *"her", "Home", *"to ", "ctrl+Return"], "to tell\nto her", "key"),
    "planets": (["1", "2", "4", "2", "4", "3", "2", "Return"], [1, 4, 3, 2], "key"),
}


def copied(name, folder):
    shutil.copytree(ROOT / "tests" / name, folder)
    return folder


@pytest.fixture(scope="module")
def questions(screen, fingers, tmp_path_factory):
    """Take a session of all questions; return the participant and the stored responses."""
    folder = copied("question_study", tmp_path_factory.mktemp("questions") / "study")
    participant = ScriptedParticipant(screen, fingers, folder, {name: keys for name, (keys, *_) in QUESTIONS.items()})
    return participant, participant.run()


def test_each_response_equals_what_was_entered(questions):
    _, rows = questions
    assert {name: row["response"] for name, row in rows.items()} == {
        name: response for name, (_, response, _) in QUESTIONS.items()
    }
    assert {name: row["input"] for name, row in rows.items()} == {
        name: device for name, (*_, device) in QUESTIONS.items()
    }


def test_the_response_time_ends_with_the_press_that_submits(questions):
    _, rows = questions
    for name, (keys, *_) in QUESTIONS.items():
        n_presses = len(keys)
        assert rows[name]["missing"] is None
        assert 30 * (n_presses - 1) < rows[name]["rt_ms"] < 20_000, name


def test_the_marked_answer_is_on_the_screen_before_it_is_submitted(questions):
    participant, _ = questions
    planets = participant.study.battery.by_id["planets"]
    drawn = participant.picture(planets, response_state=ResponseState([1, 4, 3, 2]))
    assert participant.shots["planets"].tobytes() == drawn.image.tobytes()


def test_all_answers_can_be_scored(questions):
    participant, rows = questions
    for name, row in rows.items():
        item = participant.study.battery.by_id[name]
        task_named(item.task).check_response(item.content, row["response"])


MEMORY = {
    "practice-go": (["space"], "go"),
    "practice-list": ([*"lamp", "Return", *"boat", "ctrl+Return"], ["lamp", "boat"]),
    "lexical-1": ([("wait", 0.4), "f"], "word"),
    "lexical-2": ([("click", "key-j")], "nonword"),
    "red-disc": ([None], "none"),
    "list-1": (
        [*"river", "Return", *"sofas", "Return", "BackSpace", "BackSpace", "Return", ("click", "submit")],
        ["river", "sofa"],
    ),
    "breakfast": (["ctrl+Return", ("click", "submit")], []),
}
SCREENS_MS = {"lexical-1": [100, 50], "practice-list": [300, 300], "list-1": [None, 200, 100, 200, 200]}
CONFIDENCE = "confidence: {prompt: How sure are you?, low: 1, high: 5}\n"


@pytest.fixture(scope="module")
def memory(screen, fingers, tmp_path_factory):
    """Take a session with screens, key presses and lists; return the participant and the stored responses."""
    folder = copied("memory_study", tmp_path_factory.mktemp("memory") / "study")
    with (folder / "study.yaml").open("a") as file:
        file.write(CONFIDENCE)
    answers = {name: keys for name, (keys, _) in MEMORY.items()}
    participant = ScriptedParticipant(screen, fingers, folder, answers, confidence_key="4")
    return participant, participant.run()


def test_screens_keys_and_lists_are_stored(memory):
    _, rows = memory
    assert {name: row["response"] for name, row in rows.items()} == {
        name: answer for name, (_, answer) in MEMORY.items()
    }
    withheld = rows["red-disc"]
    assert (withheld["missing"], withheld["input"], withheld["rt_ms"]) == (None, None, None)


def test_the_actual_durations_of_screens_and_stimuli_are_stored(memory):
    _, rows = memory
    for name, intended_ms in SCREENS_MS.items():
        screens, frame_ms = rows[name]["presentation"]["screens"], rows[name]["frame_ms"]
        assert len(screens) == len(intended_ms)
        for screen, duration_ms in zip(screens, intended_ms, strict=True):
            if duration_ms is None:
                assert "frames_intended" not in screen and screen["duration_ms"] > 0
            else:
                assert screen["frames_intended"] == round(duration_ms / frame_ms)
                assert abs(screen["duration_ms"] - duration_ms) < 10 * frame_ms
    assert rows["lexical-2"]["presentation"].keys() == {"events"}
    for part, duration_ms in (("stimulus", 100), ("mask", 200)):
        shown, frame_ms = rows["lexical-1"]["presentation"][part], rows["lexical-1"]["frame_ms"]
        assert shown["frames_intended"] == round(duration_ms / frame_ms)
        assert abs(shown["duration_ms"] - duration_ms) < 10 * frame_ms


EVENTS = {
    "lexical-1": ["fixation", "screen", "screen", "stimulus", "mask", "blank", "response"],
    "lexical-2": ["fixation", "stimulus", "response"],
    "red-disc": ["fixation", "stimulus", "time_out"],
}


def test_each_event_is_stored_with_its_time_to_a_microsecond(memory):
    participant, rows = memory
    with closing(participant.store()) as store:
        (device,) = store.execute("SELECT device FROM visits").fetchone()
    clock_started_at = datetime.fromisoformat(json.loads(device)["clock_started_at"])
    for name, row in rows.items():
        events = row["presentation"]["events"]
        names = [event["event"] for event in events]
        assert names == EVENTS.get(name, names), name
        shown = [event for event in events if event["event"] not in {"response", "time_out"}]
        for event, following in pairwise(shown):
            assert event["offset_us"] == following["onset_us"] > event["onset_us"]
        onset_us = next(event["onset_us"] for event in events if event["event"] == "stimulus")
        assert (shown[0]["offset_us"] - shown[0]["onset_us"]) / 1000 == pytest.approx(row["fixation_ms"], abs=0.01)
        if "response" in names:
            assert (events[-1]["onset_us"] - onset_us) / 1000 == pytest.approx(row["rt_ms"], abs=0.01)
        shown_at = clock_started_at + timedelta(microseconds=onset_us)
        assert abs(datetime.fromisoformat(row["shown_at"]) - shown_at) <= timedelta(milliseconds=1)
        assert not any("code" in event for event in events), "no device receives codes"


def test_the_confidence_in_each_response_is_stored(memory):
    _, rows = memory
    assert {row["confidence"] for row in rows.values()} == {4.0}
    assert all(0 < row["confidence_rt_ms"] < 5_000 for row in rows.values())


def test_nothing_but_the_prompt_is_on_the_screen_after_the_mask(memory):
    participant, _ = memory
    item = participant.study.battery.by_id["lexical-1"]
    bounds = replace(TrialMoment(), progress=participant.progress_of(item))
    blank = keypress(participant.sheet, item.content, bounds, ())
    assert participant.shots["lexical-1"].tobytes() == blank.image.tobytes()


def test_psychopys_log_has_every_event_and_no_pressed_key(questions):
    participant, rows = questions
    lab = participant.folder / "data" / "lab"
    (path,) = (lab / "logs").iterdir()
    (table,) = lab.glob("*.csv")
    assert path.name == f"{table.stem}_run-1.log" and path.stat().st_mode & 0o077 == 0
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert {level for _, level, _ in lines} <= {"EXP ", "WARNING ", "ERROR "}
    (events,) = (lab / "events").glob("*.tsv")
    of_events = list(csv.DictReader(events.read_text().splitlines(), delimiter="\t"))
    names = {event["trial_type"] for event in of_events}
    logged = [(float(time_s), name) for time_s, _, message in lines if (name := message.partition(":")[0]) in names]
    expected = [(round(float(event["onset"]), 4), event["trial_type"]) for event in of_events]
    assert sorted(logged) == sorted(expected)
    times_s = [float(time_s) for time_s, *_ in lines]
    assert times_s == sorted(times_s)
    of_psychopy = {message: level for _, level, message in lines if message.partition(":")[0] not in names}
    assert "Monitor specification not found. Creating a temporary one..." in of_psychopy
    assert set(of_psychopy.values()) <= {"WARNING ", "ERROR "}, "PsychoPy logs pressed keys at lower levels"
    assert not any("press" in message.lower() for message in of_psychopy)
    responses = [message for *_, message in lines if message.startswith("response:")]
    assert len(responses) == len(rows)
