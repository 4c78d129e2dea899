"""The timing of screens and sounds, and the confidence in a response: stored as sent, and refused if impossible."""

import json
from dataclasses import replace
from typing import Any

import pytest

from experiment.study.definition import Study
from experiment.study.timeline import Confidence
from server.store import Store
from tests.server.participants.test_signals import begun, row, sentence
from tests.server.stores import problems

SCREENS = {
    "screens": [{"duration_ms": 500.125, "frames": 30, "frames_intended": 30}, {"duration_ms": 2_040, "frames": 122}],
    "stimulus": {"duration_ms": 100, "frames": 6, "frames_intended": 6},
    "sounds": [{"part": 0, "onset_ms": None}],
}
SURE = Confidence(prompt="How sure are you?", low=0, high=100, step=10)


@pytest.fixture
def sure_study(small_study: Study) -> Study:
    return replace(small_study, definition=small_study.definition.model_copy(update={"confidence": SURE}))


def test_the_timing_of_screens_is_stored_as_sent(small_study: Study, any_store: Store) -> None:
    participant = begun(small_study, any_store)
    assert participant.answer(0, presentation=SCREENS).status_code == 201
    assert json.loads(row(any_store)["presentation"]) == SCREENS
    assert problems(any_store) == []


def test_a_mapping_of_keys_that_the_browser_sends_is_not_stored(small_study: Study, any_store: Store) -> None:
    participant = begun(small_study, any_store)
    assert participant.answer(0, presentation=SCREENS | {"response_mapping": 3}).status_code == 201
    assert json.loads(row(any_store)["presentation"]) == SCREENS


@pytest.mark.parametrize(
    ("presentation", "where"),
    [
        ({"screens": [{"duration_ms": -1, "frames": 1}]}, "duration_ms"),
        ({"screens": [{"duration_ms": 10, "frames": 1, "answer": "x"}]}, "answer"),
        ({"screens": [{"duration_ms": 10, "frames": 1}] * 101}, "screens"),
        ({"sounds": [{"part": 0}]}, "onset_ms"),
        ({"key": 1}, "key"),
    ],
)
def test_an_impossible_timing_is_refused(small_study: Study, any_store: Store, presentation: Any, where: str) -> None:
    participant = begun(small_study, any_store)
    assert where in sentence(participant.answer(0, presentation=presentation))
    assert row(any_store)["received_at"] is None


def test_the_confidence_is_stored_if_the_study_asks_for_it(sure_study: Study, any_store: Store) -> None:
    participant = begun(sure_study, any_store)
    assert participant.session["confidence"]["prompt"] == "How sure are you?"
    assert participant.answer(0, confidence=70, confidence_rt_ms=812.5).status_code == 201
    found = row(any_store)
    assert (found["confidence"], found["confidence_rt_ms"]) == (70, 812.5)
    assert problems(any_store) == []


@pytest.mark.parametrize("confidence", [75, 110, -10])
def test_a_confidence_outside_the_scale_is_refused(sure_study: Study, any_store: Store, confidence: float) -> None:
    reply = begun(sure_study, any_store).answer(0, confidence=confidence)
    assert reply.status_code == 422
    assert "from 0 to 100 in steps of 10" in reply.get_json()["error"]


def test_a_confidence_that_was_not_asked_is_refused(small_study: Study, any_store: Store) -> None:
    assert begun(small_study, any_store).answer(0, confidence=70).status_code == 422
