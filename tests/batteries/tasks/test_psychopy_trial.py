"""Items whose trials a Python class of the laboratory draws: their fields, and the score of a response."""

import random
from typing import Any

import pytest
from pydantic import ValidationError

from batteries.errors import InputError
from batteries.tasks import task_named

TASK = task_named("psychopy")
TILT: dict[str, Any] = {"trial": "gabor", "parameters": {"orientation": -3}, "answers": ["left", "right"]}
SIDES: dict[str, Any] = TILT | {"answers": [{"side": "left"}, {"side": "right"}]}
FREE: dict[str, Any] = {"trial": "brightness", "parameters": {}, "answers": []}


def test_a_response_is_right_if_it_equals_the_key_or_has_its_fields() -> None:
    assert [TASK.score(TILT, "left", response).correct for response in ("left", "right")] == [True, False]
    assert TASK.score(SIDES, {"side": "left"}, {"side": "left", "n_presses": 4}).correct
    assert not TASK.score(SIDES, {"side": "left"}, {"side": "right", "n_presses": 4}).correct
    assert not TASK.score(TILT | {"answers": [1, 2]}, 1, True).correct
    assert TASK.chance(TILT) == 0.5


@pytest.mark.parametrize("key", ["middle", "Left", 0, {"side": "left"}, []])
def test_the_key_is_one_of_the_answers(key: Any) -> None:
    assert TASK.checked_content(TILT, "left") == TASK.checked_content(TILT, None) == TILT
    with pytest.raises(InputError, match=r"is not in `answers`\. Fix: use an entry"):
        TASK.checked_content(TILT, key)
    with pytest.raises(InputError, match="is not in `answers`"):
        TASK.checked_content(FREE, "left")


@pytest.mark.parametrize(
    ("answers", "message"),
    [(["a"], "only one entry"), (["a", "a"], "are equal"), (["a", {}], "is empty"), (["a", None], "is null")],
)
def test_answers_that_could_not_be_scored_are_refused(answers: list[Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TASK.checked_content(TILT | {"answers": answers}, None)


def test_a_response_that_is_not_an_answer_is_refused() -> None:
    for content, response in ((TILT, "right"), (SIDES, {"side": "left", "more": [1]}), (FREE, 3), (FREE, {"x": None})):
        TASK.check_response(content, response)
    for content, response in ((TILT, "up"), (SIDES, "left"), (SIDES, {"n_presses": 4}), (FREE, None), (FREE, 2**60)):
        with pytest.raises(InputError, match=r"Fix: .*\.$"):
            TASK.check_response(content, response)


def test_a_number_without_answers_is_the_value_of_a_response() -> None:
    values = [TASK.value(FREE, each) for each in (2, 0.5, {"response": 3, "n": 9}, {"n": 9}, True, "2")]
    assert values == [2, 0.5, 3, None, None, None]
    assert TASK.value(TILT | {"answers": [1, 2]}, 1) is None
    assert [TASK.choice(SIDES, {"side": "left", "n": 3}), TASK.choice(TILT, "right"), TASK.choice(FREE, 3)] == [
        "side: left", "right", None,
    ]  # fmt: skip


def test_simulated_participants_draw_an_answer_or_a_number() -> None:
    rng = random.Random(1)
    assert {TASK.draw(TILT, rng) for _ in range(50)} == {"left", "right"}
    assert TASK.draw_wrong(TILT, "left", rng) == "right"
    TASK.check_response(FREE, TASK.draw(FREE, rng))


def test_feedback_shows_no_key_and_exports_keep_only_the_texts_of_answers() -> None:
    for given, text in (("left", "answer_right"), ("right", "answer_wrong")):
        feedback = TASK.feedback(TILT, "left", given)
        assert (feedback.correct, feedback.text, feedback.solution) == (given == "left", text, None)
    kept = TASK.without_free_texts(SIDES, None, {"side": "left", "note": "my name"}, lambda _: "text-1")
    assert kept == {"side": "left", "note": "text-1"}


def test_the_files_of_parameters_are_named_in_the_content() -> None:
    shown = TASK.checked_content(TILT | {"parameters": {"image": "assets/face.png"}}, "left")
    assert shown["files"] == {"assets/face.png": None}


def test_a_reply_of_a_model_has_no_response() -> None:
    assert not TASK.read_reply(TILT, "left").is_valid
