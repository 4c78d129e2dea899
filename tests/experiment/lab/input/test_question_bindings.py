"""Effects of presses on the responses of questions: choices, rankings, ratings, typed answers, lists and fast keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batteries.errors import InputError
from batteries.tasks import task_named
from experiment.lab.input.key_bindings import is_typed, keys_of, state_after
from experiment.lab.input.response_state import ResponseState
from experiment.lab.input.typed_numbers import typed_number
from experiment.lab.input.typed_text import TypedText

OPTIONS = {"prompt": "Which?", "text": "", "options": ["a", "b", "c", "d"]}
SEVERAL = {**OPTIONS, "several": {"at_least": 1, "at_most": 2}}
LIKERT = {"prompt": "How?", "text": "", "low": 1, "high": 5, "step": 1, "labels": [], "shown_as": "buttons"}
SIGNED = {**LIKERT, "low": -2, "high": 2}
SLIDER = {**LIKERT, "low": 0, "high": 1, "step": 0.1, "shown_as": "slider"}
NUMBER = {"prompt": "How many?", "text": "", "low": -10, "high": 1000, "decimals": 1, "unit": ""}
WORD = {"prompt": "Which?", "text": "", "lines": 1, "most_characters": 5}
TEXT = {**WORD, "lines": 3, "most_characters": 40}
LIST = {"prompt": "Which?", "text": "", "most_entries": 2, "ordered": False, "typos": 0}
GO = {"prompt": "Go?", "text": "", "keys": {"f": "word", "5": "nonword", "space": "go"}, "withhold": True}


def pressed(task, content, *presses, is_rtl=False):
    state = ResponseState()
    for press in presses:
        state = state_after(task, content, state, press, is_rtl)
    return state


@pytest.mark.parametrize(
    ("task", "content", "presses", "response"),
    [
        ("multiple_choice", SEVERAL, ["3", "num_1", "return"], [1, 3]),
        ("multiple_choice", SEVERAL, ["3", "1", "3", "submit"], [1]),
        ("multiple_choice", SEVERAL, ["return"], None),
        ("multiple_choice", SEVERAL, ["1", "2", "3", "return"], None),
        ("multiple_choice", {**SEVERAL, "several": {"at_least": 0, "at_most": 2}}, ["return"], []),
        ("multiple_choice", SEVERAL, ["5", "1", "num_enter"], [1]),
        ("ranking", OPTIONS, ["4", "1", "2", "3", "return"], [4, 1, 2, 3]),
        ("ranking", OPTIONS, ["4", "1", "2", "return"], None),
        ("ranking", OPTIONS, ["4", "1", "2", "1", "3", "2", "1", "submit"], [4, 3, 2, 1]),
        ("rating", LIKERT, ["4"], 4),
        ("rating", LIKERT, ["6"], None),
        ("rating", LIKERT, ["num_2"], 2),
        ("rating", LIKERT, ["point-0"], 1),
        ("rating", LIKERT, ["right", "right", "return"], 2),
        ("rating", LIKERT, ["left", "left", "return"], 4),
        ("rating", LIKERT, ["return"], None),
        ("rating", SIGNED, ["2", "right", "up", "return"], -1),
        ("rating", SIGNED, ["end", "return"], 2),
        ("rating", {**LIKERT, "low": 0, "high": 9}, ["0"], 0),
        ("rating", SLIDER, ["right", "return"], 0.6),
        ("rating", SLIDER, ["left", "return"], 0.4),
        ("rating", SLIDER, ["point-3", "left", "submit"], 0.2),
        ("rating", SLIDER, ["submit"], None),
        ("number", NUMBER, [*"12", "backspace", *"0,5", "return"], 10.5),
        ("number", NUMBER, [*"7.0", "submit"], 7),
        ("number", NUMBER, [*"1000.1", "return"], None),
        ("number", NUMBER, [*"0.25", "return"], None),
        ("number", NUMBER, [*"-٣", "return"], -3),
        ("free_text", WORD, [*"abcdefgh", "return"], "abcde"),
        ("free_text", WORD, [" ", " ", "return"], None),
        ("free_text", TEXT, [*"ab", "return", "c", "ctrl_return"], "ab\nc"),
        ("free_text", TEXT, [*"ac", "left", "b", "home", "x", "end", "delete", "submit"], "xabc"),
        ("recall", LIST, [*"sun", "return", *"sea", "ctrl_return"], ["sun", "sea"]),
        ("recall", LIST, [*"sun", "return", "backspace", "backspace", "return", "submit"], ["su"]),
        ("recall", LIST, [*"a", "return", *"b", "return", *"c", "return", "submit"], ["a", "b"]),
        ("recall", LIST, ["submit"], None),
        ("recall", LIST, ["submit", "submit"], []),
        ("keypress", GO, ["f"], "word"),
        ("keypress", GO, ["num_5"], "nonword"),
        ("keypress", GO, ["key-space"], "go"),
        ("keypress", GO, ["x"], None),
    ],
)
def test_presses_give_the_response(task, content, presses, response):
    state = pressed(task, content, *presses)
    assert state.response == response
    if response is not None:
        task_named(task).check_response(content, response)
        assert type(state.response) is type(response)


def test_the_arrow_keys_follow_the_direction_of_the_script():
    assert pressed("rating", SLIDER, "left", is_rtl=True).chosen == 0.6
    assert pressed("rating", SLIDER, "right", is_rtl=True).chosen == 0.4
    assert pressed("rating", SLIDER, "up", is_rtl=True).chosen == 0.6


def test_a_refused_number_stays_in_the_field_until_it_is_corrected():
    refused = pressed("number", NUMBER, "x", "return")
    assert (refused.is_refused, refused.typed.text) == (True, "x")
    corrected = state_after("number", NUMBER, refused, "backspace")
    assert (corrected.is_refused, corrected.typed.text) == (False, "")


def test_only_keys_that_can_be_responses_count_as_too_early():
    assert set(keys_of("multiple_choice", OPTIONS)) == {f"{block}{digit}" for digit in "1234" for block in ("", "num_")}
    assert "return" in keys_of("multiple_choice", SEVERAL)
    assert set(keys_of("number", NUMBER)) == {"return", "num_enter"}
    assert set(keys_of("keypress", GO)) == {"f", "5", "num_5", "space"}
    assert [is_typed(task) for task in ("number", "free_text", "recall", "rating")] == [True, True, True, False]


ARABIC = "ابج"


def test_the_cursor_moves_in_the_direction_of_the_text():
    text = TypedText(ARABIC, 3)
    assert text.after("right", 9).cursor == 2, "in Arabic, the right arrow key moves back"
    assert text.after("left", 9).cursor == 3
    assert TypedText("abc", 3).after("left", 9).cursor == 2


def test_the_cursor_moves_between_lines():
    text = TypedText("abc\nd\nefg", 9)
    assert text.after("up", 99).cursor == 5
    assert text.after("up", 99).after("up", 99).cursor == 1
    assert TypedText("abc\nd", 2).after("down", 99).cursor == 5
    assert text.after("down", 99).cursor == 9
    assert TypedText("abc", 2).after("up", 99).cursor == 0


@given(
    st.lists(st.sampled_from([*"ab ä", "left", "right", "home", "end", "up", "down", "backspace", "delete", "return"]))
)
def test_the_cursor_always_stays_within_the_text(presses):
    text = TypedText()
    for press in presses:
        text = text.after(press, 10, has_lines=True)
        assert 0 <= text.cursor <= len(text.text) <= 10
    assert "left" not in text.text


@pytest.mark.parametrize(
    ("text", "number"),
    [(" 12 ", 12), ("1,5", 1.5), (".5", 0.5), ("٣٫٥", 3.5), ("−2", -2), ("+4.", 4), ("1,000,000", None), ("", None),
     ("1e3", None), ("12a", None), ("1 2", None)],
)  # fmt: skip
def test_typed_numbers_are_read_as_on_the_web(text, number):
    found = typed_number(text)
    assert (found and found.value) == number


def test_a_task_without_a_form_in_the_laboratory_is_refused():
    with pytest.raises(InputError, match="the task route cannot be shown in the laboratory"):
        keys_of("route", {})
