"""Whole sessions of every task in a real window: each stored response equals what was entered."""

import shutil

import pytest

from batteries.tasks import task_named
from experiment.lab.input.response_state import ResponseState
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
