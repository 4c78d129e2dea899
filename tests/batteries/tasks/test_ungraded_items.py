"""Items without a right answer (`key: null`): how they are written, scored, drawn and read."""

import random
from pathlib import Path
from typing import Any

import pytest

from batteries.errors import InputError
from batteries.items import Battery, Item, load_battery, save_battery
from batteries.tasks import TASKS, score_response, task_named
from batteries.variants.option_orders import in_other_orders

CHOICE = {"prompt": "Which?", "options": ["Red", "Blue", "Green"]}
SLIDER: dict[str, Any] = {"plugin": "html-slider-response", "parameters": {"min": 10, "max": 20}, "answers": []}
BUTTONS = SLIDER | {"plugin": "html-button-response", "parameters": {"choices": ["Left", "Right"]}}
HEAD = 'battery: b\nversion: "1"\nitems:\n'


def item(key: str, task: str = "multiple_choice", content: str = "{prompt: Which?, options: [a, b]}") -> str:
    return f"- item_id: one\n  task: {task}\n  content: {content}\n  {key}\n"


@pytest.mark.parametrize("key", ["key: null", "key: ~", "key: Null  # an opinion"])
def test_a_written_null_is_an_ungraded_item(tmp_path: Path, key: str) -> None:
    (tmp_path / "battery.yaml").write_text(HEAD + item(key), encoding="utf-8")
    (one,) = load_battery(tmp_path / "battery.yaml").items
    assert one.key is None
    assert not one.is_graded


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("key:", "line 7: `key` is empty. Fix: write the right answer, or `key: null` for an ungraded item"),
        ("key:   # to do", "line 7: `key` is empty"),
        ("factors: {}", "`items.0.key` is missing. Fix: add it"),
    ],
)
def test_a_forgotten_key_is_an_error_and_not_an_ungraded_item(tmp_path: Path, key: str, message: str) -> None:
    (tmp_path / "battery.yaml").write_text(HEAD + item(key), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_battery(tmp_path / "battery.yaml")


def test_an_empty_key_in_braces_is_found_among_written_nulls(tmp_path: Path) -> None:
    line = "- {{item_id: {}, task: multiple_choice, key: {}, content: {{prompt: x, options: [a, b]}}}}\n"
    text = HEAD + line.format("a", "null") + line.format("b", "") + line.format("c", "2")
    (tmp_path / "battery.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_battery(tmp_path / "battery.yaml")
    assert [line.partition(": ")[0] for line in str(error.value).split("\n")] == [
        f"{tmp_path / 'battery.yaml'}, line 5"
    ]


def test_a_ray_always_has_a_right_answer() -> None:
    with pytest.raises(InputError, match=r"the key is null, but .*`blackbox_predict` has a right answer.*Fix: "):
        task_named("blackbox_predict").checked_content({"atoms": [[2, 3]], "entry": "north-1"}, None)


def test_an_ungraded_item_is_saved_and_read_with_its_null(tmp_path: Path) -> None:
    whole = task_named("multiple_choice").checked_content(CHOICE, None)
    one = Item(item_id="one", task="multiple_choice", content=whole, key=None)
    battery = Battery(battery="b", version="1", items=(one,))
    save_battery(battery, tmp_path / "battery.jsonl")
    assert '"key":null' in (tmp_path / "battery.jsonl").read_text(encoding="utf-8")
    assert load_battery(tmp_path / "battery.jsonl") == battery


def test_an_ungraded_response_has_no_score_and_is_never_wrong() -> None:
    content = task_named("multiple_choice").checked_content(CHOICE, None)
    for key, correct in ((None, None), (2, True), (1, False)):
        one = Item(item_id="one", task="multiple_choice", content=content, key=key)
        score = one.score(2)
        assert (None if score is None else score.correct) is correct
    assert score_response("multiple_choice", content, None, 1) is None
    with pytest.raises(InputError, match="unknown task"):
        score_response("dance", content, None, 1)


def test_other_orders_of_an_ungraded_item_are_ungraded() -> None:
    content = task_named("multiple_choice").checked_content(CHOICE, None)
    orders = in_other_orders(Item(item_id="one", task="multiple_choice", content=content, key=None))
    assert [one.key for one in orders] == [None, None]
    assert [one.content["options"] for one in orders] == [["Blue", "Green", "Red"], ["Green", "Red", "Blue"]]


def test_a_plugin_without_answers_can_only_be_ungraded() -> None:
    task = task_named("jspsych")
    assert task.checked_content({"plugin": "p", "parameters": {}}, None)["answers"] == []
    with pytest.raises(InputError, match="is not in `answers`"):
        task.checked_content({"plugin": "p", "parameters": {}}, {"response": 1})


@pytest.mark.parametrize(
    ("content", "response", "value"),
    [
        (SLIDER, {"response": 14, "rt": 812.5}, 14.0),
        (SLIDER, {"response": 14.5}, 14.5),
        (SLIDER, {"response": True}, None),
        (SLIDER, {"response": "14"}, None),
        (SLIDER, {"rt": 812}, None),
        # The number is the index of a button, which has no size.
        (BUTTONS | {"answers": [{"response": 0}, {"response": 1}]}, {"response": 1}, None),
    ],
)
def test_the_value_of_a_plugins_response_is_its_number(content: Any, response: Any, value: float | None) -> None:
    assert task_named("jspsych").value(content, response) == value


def test_a_choice_is_named_as_the_participant_saw_it() -> None:
    assert task_named("multiple_choice").choice(CHOICE, 3) == "Green"
    several = CHOICE | {"several": {"at_least": 0, "at_most": 2}}
    assert [task_named("multiple_choice").choice(several, one) for one in ([1, 3], [])] == ["Red + Green", "(none)"]
    picture = CHOICE | {"options": ["Red", {"image": "assets/a.png", "alt": "A blue door"}]}
    assert task_named("multiple_choice").choice(picture, 2) == "A blue door"
    answers = BUTTONS | {"answers": [{"response": 0}, {"response": 1, "side": "right"}]}
    names = [task_named("jspsych").choice(answers, answer) for answer in answers["answers"]]
    assert names == ["response: 0", "response: 1, side: right"]
    assert task_named("jspsych").choice(answers, {"response": 7}) is None


@pytest.mark.parametrize(
    ("task", "content", "possible"),
    [
        ("multiple_choice", CHOICE, [1, 2, 3]),
        ("jspsych", SLIDER, [{"response": number} for number in range(10, 21)]),
        ("jspsych", BUTTONS, [{"response": 0}, {"response": 1}]),
        ("jspsych", BUTTONS | {"plugin": "html-keyboard-response"}, [{"response": "Left"}, {"response": "Right"}]),
        ("jspsych", SLIDER | {"answers": [{"response": 10}, {"response": 20}]}, [{"response": 10}, {"response": 20}]),
        ("jspsych", SLIDER | {"plugin": "survey-text"}, [{"response": "simulated"}]),
    ],
)
def test_a_drawn_response_is_possible_and_every_possible_response_is_drawn(
    task: str, content: Any, possible: list[Any]
) -> None:
    rng = random.Random(1)
    drawn = [TASKS[task].draw(content, rng) for _ in range(300)]
    for response in drawn:
        TASKS[task].check_response(content, response)
        assert response in possible
    assert all(one in drawn for one in possible)


@pytest.mark.parametrize(
    ("reply", "response"),
    [
        ("14", {"response": 14}),
        (" 14.5 ", {"response": 14.5}),
        ('I choose {"response": 14, "why": "so"}.', {"response": 14, "why": "so"}),
        ('{"response": 14} or {"response": 15}', None),
        ("Between 14 and 15", None),
        ("", None),
    ],
)
def test_a_reply_to_a_plugin_without_answers_is_a_number_or_an_object(reply: str, response: Any) -> None:
    reading = task_named("jspsych").read_reply(SLIDER, reply)
    assert (reading.response, reading.is_valid) == (response, response is not None)
