"""Items that are trials of published jsPsych plugins: their required fields, and the score of their data."""

from typing import Any

import pytest
from pydantic import ValidationError

from batteries.errors import InputError
from batteries.tasks import task_named

SLIDER: dict[str, Any] = {
    "plugin": "html-slider-response",
    "parameters": {"stimulus": "How many dots were there?", "min": 0, "max": 10},
    "answers": [{"response": 3}, {"response": 4}, {"response": 5}],
}
TASK = task_named("jspsych")


@pytest.mark.parametrize(
    ("response", "is_correct"),
    [
        ({"response": 4, "rt": 812, "slider_start": 5}, True),
        ({"response": 4}, True),
        ({"response": 5, "rt": 812}, False),
        ({"response": 9, "rt": 812}, False),
        ({"response": "4"}, False),
        ({"rt": 812}, False),
        ({}, False),
    ],
)
def test_an_answer_is_right_if_the_plugins_data_contain_the_keys_fields(response: Any, is_correct: bool) -> None:
    score = TASK.score(SLIDER, {"response": 4}, response)
    assert (score.correct, score.score) == (is_correct, float(is_correct))


def test_true_is_not_one_and_order_in_objects_does_not_matter() -> None:
    assert not TASK.score(SLIDER, {"response": 1}, {"response": True}).correct
    assert not TASK.score(SLIDER, {"response": True}, {"response": 1}).correct
    assert TASK.score(SLIDER, {"response": {"a": 1, "b": 2}}, {"response": {"b": 2, "a": 1}}).correct


def test_each_possible_answer_is_scored_as_itself() -> None:
    for answer in TASK.responses(SLIDER):
        correct = [other for other in TASK.responses(SLIDER) if TASK.score(SLIDER, answer, other).correct]
        assert correct == [answer]
    assert TASK.chance(SLIDER) == pytest.approx(1 / 3)


def test_an_item_needs_a_key_that_is_one_of_its_answers() -> None:
    assert TASK.checked_content(SLIDER, {"response": 4}) == SLIDER
    for key in ({"response": 9}, 4, {}):
        with pytest.raises(InputError):
            TASK.checked_content(SLIDER, key)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answers": [{"response": 4}]}, "only one entry"),
        ({"answers": [{"response": 4}, {}]}, "an entry of `answers` is empty"),
        ({"answers": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}, "are equal"),
        ({"plugin": ""}, "at least 1 character"),
        ({"question": "?"}, "Extra inputs"),
    ],
)
def test_an_item_that_could_not_be_scored_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TASK.checked_content(SLIDER | changes, {"response": 4})


@pytest.mark.parametrize("response", [4, "4", None, [{"response": 4}], {"response": 2**60}])
def test_a_response_that_is_not_plugin_data_is_refused(response: Any) -> None:
    with pytest.raises(InputError, match=r"\.$"):
        TASK.check_response(SLIDER, response)


def test_feedback_says_if_the_response_was_right_and_shows_no_key() -> None:
    for given, text in ((4, "answer_right"), (5, "answer_wrong")):
        feedback = TASK.feedback(SLIDER, {"response": 4}, {"response": given})
        assert (feedback.correct, feedback.text, feedback.solution) == (given == 4, text, None)
