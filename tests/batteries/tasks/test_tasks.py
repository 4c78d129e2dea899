from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.canonical_json import same_json
from batteries.errors import InputError
from batteries.tasks import TASKS, Feedback, task_named
from experiment.texts import ENGLISH, languages, texts_in

BOARD = {"size": 8, "atoms": [[1, 3]], "entry": "north-2"}  # reflected at entry
CHOICE = {"text": "", "prompt": "Which?", "options": ["a", "b", "c"]}
OPPOSITE = {"north-2": "south-2", "south-2": "north-2", "west-2": "east-2", "east-2": "west-2"}
SLIDER = {"plugin": "slider", "parameters": {}, "answers": [{"response": 1}, {"response": 2}]}
EXAMPLES = {
    "blackbox_predict": (BOARD, "reflected"),
    "jspsych": (SLIDER, {"response": 2}),
    "multiple_choice": (CHOICE, 2),
    "rating": ({"prompt": "How?", "low": -1, "high": 1, "step": 0.5}, 0.5),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_exactly_one_possible_response_is_right(name: str) -> None:
    content, key = EXAMPLES[name]
    task = TASKS[name]
    content = task.checked_content(content, key)
    scores = [task.score(content, key, response) for response in task.responses(content)]
    assert sum(score.correct for score in scores) == 1
    assert sum(score.score for score in scores) == 1
    assert task.chance(content) == 1 / len(scores)


def test_chance_counts_outcomes_not_buttons() -> None:
    # 32 ports, absorbed and reflected; the entry port and `reflected` are one outcome.
    assert task_named("blackbox_predict").chance(BOARD) == 1 / 33
    assert task_named("multiple_choice").chance(CHOICE) == 1 / 3


def test_leaving_by_the_entry_port_counts_as_reflected() -> None:
    task = task_named("blackbox_predict")
    assert task.score(BOARD, "reflected", "north-2").correct
    assert task.score(BOARD, "north-2", "reflected").correct
    assert not task.score(BOARD, "reflected", "north-3").correct


def said(feedback: Feedback) -> str:
    return ENGLISH.say(feedback.text, **feedback.values)


@pytest.mark.parametrize("language", languages())
def test_every_response_has_a_feedback_sentence(language: str) -> None:
    words = texts_in(language, {})
    boards = [({"size": 8, "atoms": [], "entry": entry}, key) for entry, key in OPPOSITE.items()]
    struck = ({"size": 8, "atoms": [[4, 3]], "entry": "north-3"}, "absorbed")
    for name, examples in {
        "blackbox_predict": [(BOARD, "reflected"), struck, *boards],
        "multiple_choice": [(CHOICE, 2)],
    }.items():
        task = task_named(name)
        said = {
            (feedback.correct, words.say(feedback.text, **feedback.values))
            for content, key in examples
            for response in task.responses(content)
            for feedback in [task.feedback(content, key, response)]
        }
        assert len(said) == 2 * len(examples), "two outcomes are reported in the same words"
        assert not any("{" in sentence for _, sentence in said)


def test_feedback_names_the_right_answer() -> None:
    wrong = task_named("blackbox_predict").feedback(BOARD, "reflected", "absorbed")
    assert not wrong.correct
    assert "reflected" in said(wrong)
    assert wrong.solution == {
        "outcome": "reflected",
        "path": [],
        "encounters": [{"atoms": [[1, 3]], "n_cells": 0}],
    }
    right = task_named("multiple_choice").feedback(CHOICE, 2, 2)
    assert right.correct
    assert "“b”" in said(right)


@given(st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text() | st.lists(st.integers(-9, 9)))
def test_a_response_of_a_wrong_form_is_refused(response: object) -> None:
    for name, (content, _) in EXAMPLES.items():
        task = TASKS[name]
        allowed = [*task.responses(content), content.get("entry")]
        if not any(same_json(response, one) for one in allowed):
            with pytest.raises(InputError, match=r"the response must be .* Fix: "):
                task.check_response(content, response)  # type: ignore[arg-type]


def test_a_key_that_contradicts_the_board_is_refused() -> None:
    with pytest.raises(InputError, match="the outcome of this ray is 'reflected'"):
        task_named("blackbox_predict").checked_content(BOARD, "absorbed")


def test_an_unknown_task_is_refused_with_the_known_tasks() -> None:
    with pytest.raises(
        InputError, match=r"unknown task `dance`.*blackbox_predict, free_text, jspsych, keypress, multiple_choice"
    ):
        task_named("dance")


def test_feedback_ends_in_one_full_stop() -> None:
    content = {"text": "", "prompt": "Which?", "options": ["It rolled.", "It stayed."]}
    for response in (1, 2):
        assert said(task_named("multiple_choice").feedback(content, 1, response)).endswith("“It rolled”.")


def choice(*options: str, text: str = "A story.") -> dict[str, Any]:
    return {"text": text, "prompt": "Is it so?", "options": list(options)}


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (choice("yes", "no"), choice("No", "Yes")),
        (choice("Yes", "No"), choice("No.", "Yes.")),
        (choice("yes", "no"), choice(" no", "yes ")),
        (choice("the red", "the green", "the blue"), choice("the green one", "the blue one", "the red one")),
        (choice("True", "False"), choice("Wrong", "Right")),
        (choice("1", "-1"), choice("-1 ", "1 ")),
        (choice("<", ">"), choice("> ", "< ")),
        (choice("की", "का"), choice("का।", "की।")),
        (choice("yes", "no", text=""), choice("yes", "no")),
        (choice("yes", "no"), choice("yes", "no", text=" ")),
    ],
)
def test_moved_options_and_an_added_or_removed_story_are_not_a_rewording(was, now):
    task = task_named("multiple_choice")
    assert not task.is_reworded(was, now)
    assert not task.is_reworded(now, was)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (choice("yes", "no"), choice("Yes.", "No.")),
        (choice("yes", "no"), choice("Yes, it is so", "No, it is not")),
        (choice("the red", "the green"), choice("the red one", "the grean one")),
        (choice("1", "-1"), choice("1.", "-1.")),
        (choice("yes", "no"), choice("yes", "no", text="Another story.")),
    ],
)
def test_edits_of_options_at_their_positions_are_a_rewording(was, now):
    task = task_named("multiple_choice")
    assert task.is_reworded(was, now)
    assert task.is_reworded(now, was)
