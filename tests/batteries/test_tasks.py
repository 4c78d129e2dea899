import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from batteries.tasks import TASKS, task_named

BOARD = {"size": 8, "atoms": [[1, 3]], "entry": "north-2"}  # reflected at entry
CHOICE = {"text": "", "prompt": "Which?", "options": ["a", "b", "c"]}
EXAMPLES = {"blackbox_predict": (BOARD, "reflected"), "multiple_choice": (CHOICE, 2)}


@pytest.mark.parametrize("name", TASKS)
def test_exactly_one_possible_response_is_right(name: str) -> None:
    content, key = EXAMPLES[name]
    task = TASKS[name]
    task.checked_content(content, key)
    scores = [task.score(content, key, response) for response in task.responses(content)]
    assert sum(score.correct for score in scores) == 1
    assert sum(score.score for score in scores) == 1
    assert task.chance(content) == 1 / len(scores)


def test_chance_counts_outcomes_not_buttons() -> None:
    # 32 ports, absorbed and reflected; the entry port and `reflected` are one outcome.
    assert task_named("blackbox_predict").chance(BOARD) == 1 / 33
    assert task_named("multiple_choice").chance(CHOICE) == 1 / 3


def test_leaving_by_the_entry_port_is_being_reflected() -> None:
    task = task_named("blackbox_predict")
    assert task.score(BOARD, "reflected", "north-2").correct
    assert task.score(BOARD, "north-2", "reflected").correct
    assert not task.score(BOARD, "reflected", "north-3").correct


def test_feedback_tells_the_right_answer() -> None:
    wrong = task_named("blackbox_predict").feedback(BOARD, "reflected", "absorbed")
    assert not wrong.correct
    assert "reflected" in wrong.message
    assert wrong.solution == {"outcome": "reflected", "path": []}
    right = task_named("multiple_choice").feedback(CHOICE, 2, 2)
    assert right.correct
    assert "“b”" in right.message


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers())))
def test_a_response_of_another_form_is_refused(response: object) -> None:
    for name, (content, _) in EXAMPLES.items():
        task = TASKS[name]
        allowed = [*task.responses(content), content.get("entry")]
        if not any(type(response) is type(one) and response == one for one in allowed):
            with pytest.raises(InputError, match="an answer is"):
                task.check_response(content, response)  # type: ignore[arg-type]


def test_a_key_that_contradicts_the_board_is_refused() -> None:
    with pytest.raises(InputError, match="by the rules the outcome is 'reflected'"):
        task_named("blackbox_predict").checked_content(BOARD, "absorbed")


def test_an_unknown_task_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no task `dance`.*blackbox_predict, multiple_choice"):
        task_named("dance")


def test_feedback_ends_in_one_full_stop() -> None:
    content = {"text": "", "prompt": "Which?", "options": ["It rolled.", "It stayed."]}
    for response in (1, 2):
        message = task_named("multiple_choice").feedback(content, 1, response).message
        assert message.endswith("“It rolled”.")
