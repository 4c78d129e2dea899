"""Ratings, numbers and free texts in a real browser: by keyboard, mouse and touch, and by jsPsych's simulation."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from batteries.items import load_battery
from tests.end_to_end.visitor import PHONE, Visitor, press_focused, simulated
from tests.paths import ROOT
from tests.server_process import running_server
from tests.timed_study import make_timed_study

STUDY = ROOT / "tests" / "question_study"
ITEMS = load_battery(STUDY / "battery.yaml").by_id
BY_PROMPT = {item.content["prompt"]: item for item in ITEMS.values()}
ANSWERS: dict[str, Any] = {
    "practice-rating": 7, "practice-number": 60, "practice-text": "Dog.", "practice-ranking": [2, 3, 1],
    "check-rating": 2, "likert": 5, "likelihood": 0, "brightness": 100, "mountain": 8000, "balance": -0.25,
    "reason": "Because she is glad.\nReally \N{GRINNING FACE}", "planets": [4, 3, 2, 1],
}  # fmt: skip


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return copy_question_study(tmp_path / "study")


def copy_question_study(folder: Path) -> Path:
    folder.mkdir()
    for file in STUDY.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def take(visitor: Visitor, hand: str, look: Callable[[str], None] = lambda _name: None) -> None:
    """Take a whole session, and give the response in `ANSWERS` to each item. Call `look` with the name of each page."""
    page = visitor.page
    press(visitor, hand, "#consent-agree")
    press(visitor, hand, "#page-next")
    for _ in ITEMS:
        stimulus = page.locator("#stimulus:not(.closed)")
        stimulus.wait_for()
        # A second press at the same place within half a second is a double click, which does not answer a question.
        page.wait_for_timeout(50 if hand == "keyboard" else 600)
        item = BY_PROMPT[page.locator("#prompt").inner_text()]
        visitor.shoot_everywhere(item.item_id)
        look(item.item_id)
        give(visitor, hand, item.task, ANSWERS[item.item_id])
        if item.item_id.startswith("practice"):
            expect(page.locator(".verdict.right")).to_be_visible()
            visitor.shoot_everywhere(f"{item.item_id}-feedback")
            look(f"{item.item_id}-feedback")
            press(visitor, hand, "#feedback-continue")
        page.wait_for_selector(
            f"#completed, #stimulus:not(.closed) #prompt:not(:text-is({json.dumps(item.content['prompt'])}))"
        )
    page.locator("#completion-code").wait_for()


def press(visitor: Visitor, hand: str, selector: str) -> None:
    target = visitor.page.locator(selector)
    target.wait_for()
    if hand == "keyboard":
        press_focused(visitor.page, selector)
    elif hand == "mouse":
        target.click()
    else:
        target.tap()


def give(visitor: Visitor, hand: str, task: str, answer: Any) -> None:
    page, slider = visitor.page, visitor.page.locator("#rating-slider")
    if task == "rating" and not slider.count():
        if hand == "keyboard" and answer > 0:
            page.keyboard.press(str(answer))
        else:
            press(visitor, hand, f"[data-point='{answer}']")
    elif task == "rating":
        expect(page.locator("#submit-response")).to_be_disabled()
        if hand == "keyboard":
            page.keyboard.press("Tab")
            page.keyboard.press("End")
            page.keyboard.press("Enter")
            return
        box = slider.bounding_box()
        assert box is not None
        at = {"x": box["width"] - 2, "y": box["height"] / 2}
        if hand == "mouse":
            slider.click(position=at)
        else:
            slider.tap(position=at)
        press(visitor, hand, "#submit-response")
    elif task == "ranking":
        expect(page.locator("#submit-response")).to_be_disabled()
        for option in (answer[1], answer[0], answer[1], *answer):  # The third press takes both options back.
            if hand == "keyboard":
                page.keyboard.press(str(option))
            else:
                press(visitor, hand, f"[data-option='{option}']")
        press(visitor, hand, "#submit-response")
    elif hand == "keyboard":
        page.keyboard.type(str(answer))  # The first character brings the focus into the field.
        if page.locator("textarea").count():
            press(visitor, hand, "#submit-response")
        else:
            page.keyboard.press("Enter")
    else:
        page.locator("#typed-answer").fill(str(answer))
        press(visitor, hand, "#submit-response")


@pytest.mark.parametrize("hand", ["keyboard", "mouse", "touch"])
def test_every_answer_in_the_store_is_the_answer_that_was_given(
    visit: Any, questions: Path, rows: Any, hand: str
) -> None:
    options = {"viewport": PHONE, "has_touch": True} if hand == "touch" else {}
    with running_server(questions) as url:
        take(visit(url, **options), hand)
        stored = rows(questions)
    assert {row["item_id"]: json.loads(row["response"]) for row in stored} == ANSWERS
    for row in stored:
        assert row["rt_ms"] > 0
        assert row["fixation_frames"] >= row["fixation_frames_intended"] == 12
        assert row["onset_source"] == "presented"
        assert row["missing"] is None


def test_a_tap_on_the_hidden_mark_of_a_slider_sets_the_mark(visit: Any, tmp_path: Path, rows: Any) -> None:
    line = {"prompt": "How bright?", "low": 0, "high": 100, "shown_as": "slider"}
    item = {"item_id": "line", "task": "rating", "factors": {"topic": "light"}, "content": line, "key": None}
    folder = make_timed_study(tmp_path / "study", [item])
    with running_server(folder) as url:
        page = visit(url, viewport=PHONE, has_touch=True).page
        page.tap("#page-next")
        page.wait_for_timeout(600)
        page.tap("#page-next:text-is('Begin')")
        page.locator("#rating-slider").wait_for()
        page.wait_for_timeout(100)
        page.tap("#rating-slider")
        expect(page.locator("#submit-response")).to_be_enabled()
        page.tap("#submit-response")
        page.locator("#completion-code").wait_for()
        (row,) = rows(folder)
    assert (json.loads(row["response"]), row["input"]) == (50, "touch")


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_simulations_give_possible_answers_to_every_task(visit: Any, questions: Path, rows: Any, mode: str) -> None:
    with running_server(questions) as url:
        visitor: Visitor = visit(simulated(url, questions, mode))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        stored = rows(questions)
    assert {row["item_id"] for row in stored if row["response"] is not None} == set(ANSWERS)


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_simulated_texts_are_not_longer_than_possible(visit: Any, tmp_path: Path, rows: Any, mode: str) -> None:
    short = {"prompt": "Which letters?", "most_characters": 3, "lines": 1}
    item = {"item_id": "short", "task": "free_text", "factors": {"topic": "text"}, "content": short, "key": None}
    folder = make_timed_study(tmp_path / "study", [item])
    with running_server(folder) as url:
        visitor: Visitor = visit(simulated(url, folder, mode))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        (row,) = rows(folder)
    assert 1 <= len(json.loads(row["response"])) <= 3


def test_an_impossible_number_is_explained_and_not_sent(visit: Any, questions: Path, rows: Any) -> None:
    with running_server(questions) as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        page.locator("#consent-agree").click()
        page.locator("#page-next").click()
        page.locator("[data-point='7']").click()
        page.locator("#feedback-continue").click()
        page.locator(".number").wait_for()
        page.wait_for_timeout(50)
        for wrong in ("", "sixty", "60.5", "1001", "-1", "1,000,0", "6 0"):
            page.locator("#typed-answer").fill(wrong)
            page.locator("#submit-response").click()
            expect(page.get_by_role("alert")).to_have_text("Enter a whole number from 0 to 1000.")
            expect(page.locator("#typed-answer")).to_be_focused()
        assert sum(row["response"] is not None for row in rows(questions)) == 1
        page.locator("#typed-answer").fill("٦٠")  # Arabic digits
        page.keyboard.press("Enter")
        expect(page.locator(".verdict")).to_have_text("That is right: “60 min”.")
