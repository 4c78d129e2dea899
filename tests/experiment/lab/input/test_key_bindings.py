"""Effects of presses on a response: every response can be given with keys only, and with clicks only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.blackbox import all_ports
from batteries.errors import InputError
from batteries.tasks import task_named
from experiment.lab.input.key_bindings import check_task, keys_of, state_after
from experiment.lab.input.response_state import ResponseState

CHOICE = {"text": "", "prompt": "Which?", "options": ["a", "b", "c", "d"]}
BOARD = {"size": 8, "atoms": [[2, 3], [6, 6]], "entry": "north-5"}
PREDICT = "blackbox_predict"
PORTS = [str(port) for port in all_ports(8)]


def pressed(task, content, *presses):
    state = ResponseState()
    for press in presses:
        state = state_after(task, content, state, press)
    return state


def keys_for(prediction):
    if prediction in {"absorbed", "reflected"}:
        return [prediction[0]]
    side, _, position = prediction.partition("-")
    return [side[0], position]


@pytest.mark.parametrize("block", ["", "num_"])
@pytest.mark.parametrize("n_options", range(2, 10))
def test_the_key_of_an_option_gives_the_final_response(n_options, block):
    content = {**CHOICE, "options": [f"option {n}" for n in range(n_options)]}
    task = task_named("multiple_choice")
    for response in task.responses(content):
        key = f"{block}{response}"
        assert key in keys_of("multiple_choice", content)
        state = pressed("multiple_choice", content, key)
        assert state.response == response
        task.check_response(content, state.response)


@pytest.mark.parametrize("press", ["5", "num_9", "0", "a", "return", "space", "12", "escape", ""])
def test_other_keys_give_no_response_to_a_choice(press):
    assert pressed("multiple_choice", CHOICE, press) == ResponseState()
    assert press not in keys_of("multiple_choice", CHOICE)


def every_prediction():
    return [*task_named(PREDICT).responses(BOARD), BOARD["entry"]]


@pytest.mark.parametrize("enter", ["return", "num_enter"])
@pytest.mark.parametrize("prediction", every_prediction())
def test_every_prediction_can_be_typed(prediction, enter):
    keys = [*keys_for(prediction), enter]
    assert set(keys) <= set(keys_of(PREDICT, BOARD))
    state = pressed(PREDICT, BOARD, *keys)
    assert state.response == prediction
    task_named(PREDICT).check_response(BOARD, state.response)


@pytest.mark.parametrize("prediction", every_prediction())
def test_every_prediction_can_be_clicked(prediction):
    chosen = pressed(PREDICT, BOARD, prediction)
    assert (chosen.chosen, chosen.response) == (prediction, None)
    assert state_after(PREDICT, BOARD, chosen, "submit").response == prediction


def test_every_port_can_be_reached_with_the_arrow_keys():
    found, waiting = set(), [ResponseState()]
    while waiting:
        state = waiting.pop()
        for arrow in ("left", "right", "up", "down"):
            following = state_after(PREDICT, BOARD, state, arrow)
            if following.chosen not in found:
                found.add(following.chosen)
                waiting.append(following)
    assert found == set(PORTS)


@pytest.mark.parametrize(
    ("port", "arrow", "leads_to"),
    [  # As in the web client.
        ("north-5", "right", "north-6"),
        ("north-5", "left", "north-4"),
        ("north-8", "right", "east-1"),
        ("north-1", "left", "west-1"),
        ("north-5", "down", "south-5"),
        ("north-5", "up", "north-5"),
        ("south-8", "right", "east-8"),
        ("south-1", "left", "west-8"),
        ("south-3", "up", "north-3"),
        ("south-3", "down", "south-3"),
        ("east-3", "down", "east-4"),
        ("east-1", "up", "north-8"),
        ("east-8", "down", "south-8"),
        ("east-3", "left", "west-3"),
        ("east-3", "right", "east-3"),
        ("west-1", "up", "north-1"),
        ("west-8", "down", "south-1"),
        ("west-2", "right", "east-2"),
        ("west-2", "left", "west-2"),
    ],
)
def test_arrow_keys_lead_along_the_edge_round_the_corner_and_across(port, arrow, leads_to):
    assert pressed(PREDICT, BOARD, port, arrow).chosen == leads_to


def test_arrow_keys_start_at_the_entry_where_no_port_is_chosen():
    assert pressed(PREDICT, BOARD, "right").chosen == "north-6"
    assert pressed(PREDICT, BOARD, "a", "right").chosen == "north-6"
    assert pressed(PREDICT, BOARD, "w", "right").chosen == "north-6"


@pytest.mark.parametrize("presses", [[], ["w"], ["a", "w"], ["5"], ["w", "9"], ["x"], ["space"]])
def test_without_a_choice_nothing_is_submitted(presses):
    assert pressed(PREDICT, BOARD, *presses, "return").response is None


def test_a_typed_side_clears_the_choice_until_its_number_is_typed():
    state = pressed(PREDICT, BOARD, "a", "w")
    assert (state.chosen, state.typed_side) == (None, "west")
    assert pressed(PREDICT, BOARD, "w", "s", "3").chosen == "south-3"
    assert pressed(PREDICT, BOARD, "w", "3", "4").chosen == "west-3"
    assert pressed(PREDICT, BOARD, "w", "r").typed_side is None
    assert pressed(PREDICT, BOARD, "W", "num_3").chosen == "west-3"


def test_a_choice_can_be_changed_until_it_is_submitted():
    assert pressed(PREDICT, BOARD, "a", "w", "5", "reflected", "east-2", "submit").response == "east-2"


def test_an_enter_that_submits_nothing_leaves_a_typed_side_waiting():
    assert pressed(PREDICT, BOARD, "w", "return", "5", "return").response == "west-5"


@given(st.lists(st.sampled_from([*"arnesw123456789", "return", "left", "right", "up", "down", "north-2", "submit"])))
def test_a_final_response_is_valid_for_the_task_and_never_changes(presses):
    state = pressed(PREDICT, BOARD, *presses)
    if state.response is not None:
        task_named(PREDICT).check_response(BOARD, state.response)
        assert all(state_after(PREDICT, BOARD, state, press) == state for press in presses)


@pytest.mark.parametrize("task", ["multiple_choice", PREDICT])
def test_every_accepted_key_has_an_effect(task):
    content = CHOICE if task == "multiple_choice" else BOARD
    states = [ResponseState(), pressed(task, content, "a"), pressed(task, content, "w")]
    for key in keys_of(task, content):
        assert any(state_after(task, content, state, key) != state for state in states)
    assert "escape" not in keys_of(task, content)


def test_jspsych_items_are_refused():
    with pytest.raises(InputError, match="the item `slider-1` has the task jspsych, which only a browser can show"):
        check_task("slider-1", "jspsych")
    with pytest.raises(InputError):
        keys_of("jspsych", {})
    check_task("m", "multiple_choice")
    check_task("b", PREDICT)
