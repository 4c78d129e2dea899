"""The question about confidence after each answer, in a real browser with a real server."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.end_to_end.test_jspsych_plugins import PLUGIN
from tests.end_to_end.test_keypress import answered, finished, taking, wait_for_stimulus
from tests.end_to_end.test_question_tasks import copy_question_study
from tests.end_to_end.visitor import NOTHING_WAITS, Visitor, simulated
from tests.server_process import running_server
from tests.timed_study import CONFIDENCE, choice, keypress, make_timed_study, recall

SLIDER = "confidence: {prompt: How sure are you?, low: 0, high: 100, shown_as: slider}\n"
BOX = {
    "item_id": "box",
    "task": "blackbox_predict",
    "factors": {"topic": "test"},
    "content": {"atoms": [[2, 3], [3, 6], [6, 2], [7, 7]], "entry": "north-1", "size": 8},
    "key": "west-5",
}
PLUGIN_ITEM = {
    "item_id": "plugin",
    "task": "jspsych",
    "factors": {"topic": "test"},
    "content": {"plugin": "slider", "parameters": {"stimulus": "<p>dots</p>", "min": 1, "max": 3, "slider_start": 2}},
    "key": None,
}
PLUGINS = "plugins: {slider: {file: slider.js, variable: jsPsychHtmlSliderResponse}}\n"


def plain(item_id: str, task: str, content: dict[str, Any]) -> dict[str, Any]:
    content = {"prompt": item_id, **content}
    return {"item_id": item_id, "task": task, "factors": {"topic": "test"}, "content": content, "key": None}


EVERY_TASK = [
    choice("multiple_choice"),
    plain("rating", "rating", {}),
    plain("number", "number", {"low": 0, "high": 9}),
    plain("free_text", "free_text", {"lines": 1}),
    plain("ranking", "ranking", {"options": ["one", "two"]}),
    keypress("keypress", "word", prompt="keypress"),
    keypress("withheld", "none", prompt="withheld", window_ms=600, withhold=True),
    recall("recall", ["apple"]),
    BOX,
    PLUGIN_ITEM,
]
RESPONSES = {
    "multiple_choice": 2, "rating": 3, "number": 4, "free_text": "cat", "ranking": [2, 1], "keypress": "word",
    "withheld": "none", "recall": ["apple"], "box": "absorbed",
}  # fmt: skip


def answer(visitor: Visitor) -> str:
    """Answer the question on the screen, and return the id of its item."""
    page = visitor.page
    page.wait_for_selector("#stimulus:not(.confidence), #jspsych-html-slider-response-response")
    page.wait_for_timeout(100)
    if page.locator("#jspsych-html-slider-response-response").count():
        page.locator("#jspsych-html-slider-response-response").press("ArrowRight")
        page.locator("#jspsych-html-slider-response-next").click()
        return "plugin"
    item_id = page.locator("#prompt").inner_text()
    if "blackbox" in str(page.locator("#stimulus").get_attribute("class")):
        item_id = "box"
    keys = {
        "multiple_choice": "2", "rating": "3", "number": "4", "free_text": "cat", "ranking": "21", "keypress": "f",
        "withheld": "", "recall": "apple", "box": "a",
    }[item_id]  # fmt: skip
    page.keyboard.type(keys)
    if item_id in {"number", "free_text", "box"}:
        page.keyboard.press("Enter")
    elif item_id in {"recall", "ranking"}:
        page.locator("#submit-response").click()
    return item_id


def test_confidence_is_asked_after_every_answer_and_stored_with_it(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", EVERY_TASK, CONFIDENCE + PLUGINS)
    shutil.copy(PLUGIN, folder / "slider.js")
    given: dict[str, int] = {}
    with taking(visit, folder) as visitor:
        page = visitor.page
        for number in range(len(EVERY_TASK)):
            item_id = answer(visitor)
            expect(page.locator("#stimulus.confidence #prompt")).to_have_text("How sure are you?")
            assert page.locator("#fixation").count() == 0
            visitor.wait_until(NOTHING_WAITS)
            assert len(answered(rows(folder))) == number, "a response was sent before its confidence"
            page.wait_for_timeout(100)
            if number == 0:
                visitor.shoot_everywhere("confidence")
            given[item_id] = number % 5 + 1
            page.keyboard.press(str(given[item_id]))
        page.locator("#completion-code").wait_for()
        stored = {row["item_id"]: row for row in answered(rows(folder))}
    assert {item_id: row["confidence"] for item_id, row in stored.items()} == given
    assert {item_id: json.loads(stored[item_id]["response"]) for item_id in RESPONSES} == RESPONSES
    assert json.loads(stored["plugin"]["response"])["response"] == 3
    assert all(50 < row["confidence_rt_ms"] < 30_000 for row in stored.values())
    assert all(row["rt_ms"] is not None for item_id, row in stored.items() if item_id != "withheld")


def test_confidence_comes_before_the_feedback_of_a_practice_trial(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [choice("practice"), choice("test")], SLIDER, practice=1)
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        page.keyboard.press("1")
        slider = page.locator("#rating-slider")
        slider.wait_for()
        page.wait_for_timeout(100)  # input before the question is visible is ignored
        assert page.locator(".feedback").count() == 0
        page.keyboard.press("2")  # the answer cannot change any more
        slider.press("End")
        page.locator("#submit-response").click()
        expect(page.locator(".verdict.wrong")).to_have_text("The right answer is “two”.")
        expect(page.locator(".option.right")).to_have_attribute("data-option", "2")
        page.locator("#feedback-continue").click()
        page.wait_for_selector("#stimulus:not(.closed):has([data-option])")
        page.wait_for_timeout(100)
        page.keyboard.press("2")
        slider.wait_for()
        page.wait_for_timeout(100)
        slider.press("Home")
        page.locator("#submit-response").click()
        page.locator("#completion-code").wait_for()
        stored = answered(rows(folder))
    assert [(json.loads(row["response"]), row["confidence"]) for row in stored] == [(1, 100), (2, 0)]


def test_a_missing_response_has_no_confidence(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [keypress("word", "word", window_ms=300)], CONFIDENCE)
    with taking(visit, folder) as visitor:
        row = finished(visitor, rows, folder)
    assert (row["missing"], row["confidence"], row["confidence_rt_ms"]) == ("deadline", None, None)


def test_a_reload_before_the_confidence_repeats_the_trial(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [choice("question")], CONFIDENCE)
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        page.keyboard.press("1")
        page.locator("#stimulus.confidence").wait_for()
        page.reload()
        page.click("#page-next")
        page.wait_for_selector("#stimulus:not(.confidence)")
        page.wait_for_timeout(100)
        page.keyboard.press("2")
        page.locator("#stimulus.confidence").wait_for()
        page.wait_for_timeout(100)
        page.keyboard.press("4")
        row = finished(visitor, rows, folder)
    assert (json.loads(row["response"]), row["confidence"], row["attempt"]) == (2, 4, 2)


def test_a_double_click_on_the_answer_does_not_rate_the_confidence(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [choice("question")], CONFIDENCE)
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor, 600)
        box = page.locator("[data-option='1']").bounding_box()
        assert box is not None
        point = [box["x"] + 20, box["y"] + 20]
        page.mouse.move(*point)
        for count in (1, 2, 3):
            page.mouse.down(click_count=count)
            page.mouse.up(click_count=count)
            page.wait_for_timeout(150)
        page.locator("#stimulus.confidence").wait_for()
        page.wait_for_timeout(600)
        assert page.evaluate("point => document.elementFromPoint(...point).closest('[data-point]') !== null", point)
        assert answered(rows(folder)) == []


@pytest.mark.parametrize("mode", ["data-only", "visual"])
@pytest.mark.parametrize("question", [CONFIDENCE, SLIDER])
def test_simulations_give_a_confidence_with_every_answer(
    visit: Any, tmp_path: Path, rows: Any, mode: str, question: str
) -> None:
    folder = copy_question_study(tmp_path / "study")
    with (folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(question)
    with running_server(folder) as url:
        visitor: Visitor = visit(simulated(url, folder, mode))
        visitor.page.locator("#completion-code").wait_for(timeout=90_000)
        stored = rows(folder)
    assert all(row["confidence"] is not None and row["confidence_rt_ms"] > 0 for row in stored)
