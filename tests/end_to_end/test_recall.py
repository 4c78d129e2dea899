"""Recall of lists, in a real browser with a real server."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.end_to_end.test_keypress import TOUCH, finished, taking, wait_for_stimulus
from tests.end_to_end.visitor import simulated
from tests.server_process import running_server
from tests.timed_study import choice, make_timed_study, recall

LIST = ("apple", "house", "train")

PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
  return document.querySelector("#typed-answer").dispatchEvent(event);
}"""


def entries(page: Page) -> list[str]:
    return page.locator(".recall-entry").all_inner_texts()


def test_entries_are_added_and_removed_by_keyboard(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [recall("Which words?", LIST)])
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        status = page.locator("#stimulus [role=status]")
        page.keyboard.type("train")  # The first character brings the focus into the field.
        page.keyboard.press("Enter")
        expect(status).to_have_text("Added: train. Entries: 1.")
        page.keyboard.press("Enter")  # An empty field adds nothing.
        page.keyboard.type("  hose  ")
        page.keyboard.press("Enter")
        page.keyboard.type("apple")
        page.keyboard.press("Enter")
        assert entries(page) == ["train", "hose", "apple"]
        for _ in range(3):
            page.keyboard.press("Tab")  # to Add, to the first entry, to the second entry
        expect(page.get_by_role("button", name="Remove hose")).to_be_focused()
        page.keyboard.press("Enter")
        expect(status).to_have_text("Removed: hose. Entries: 2.")
        expect(page.get_by_role("button", name="Remove apple")).to_be_focused()
        visitor.shoot_everywhere("recall")
        page.locator("#typed-answer").fill("car")
        page.locator("#submit-response").click()  # A typed entry counts, although it was not added.
        row = finished(visitor, rows, folder)
    assert json.loads(row["response"]) == ["train", "apple", "car"]
    assert not {"too_early", "pasted"} & set(json.loads(row["signals"] or "{}"))
    assert row["rt_ms"] > 200


def test_entries_are_added_and_removed_by_touch(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [recall("Which words?", LIST)])
    with taking(visit, folder, **TOUCH) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        for entry in ("apple", "pear", "plum", "a very long entry with many words that needs more than one line"):
            page.locator("#typed-answer").fill(entry)
            page.locator("#add-entry").tap()
            page.wait_for_timeout(600)
        for button in page.locator("#stimulus button").all():
            box = button.bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44
        visitor.shoot("recall-touch")
        page.get_by_role("button", name="Remove apple").tap()
        assert page.evaluate("document.activeElement.id") != "typed-answer", "the keyboard would cover the list"
        attributes = ["autocapitalize", "autocomplete", "autocorrect", "spellcheck"]
        found = page.locator("#typed-answer").evaluate(
            "(field, names) => names.map((name) => field.getAttribute(name))", attributes
        )
        assert found == ["off", "off", "off", "false"]
        page.wait_for_timeout(600)
        page.locator("#submit-response").tap()
        row = finished(visitor, rows, folder)
    assert json.loads(row["response"])[:2] == ["pear", "plum"]


def test_an_empty_answer_is_asked_for_once(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [recall("Which words?", LIST)])
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        page.locator("#submit-response").dblclick()
        expect(page.get_by_role("alert").first).to_have_text("You have entered nothing. Submit anyway?")
        page.wait_for_timeout(600)
        assert page.locator("#completion-code").count() == 0
        page.locator("#submit-response").click()
        row = finished(visitor, rows, folder)
    assert json.loads(row["response"]) == []


def test_a_double_click_removes_one_entry(visit: Any, tmp_path: Path) -> None:
    folder = make_timed_study(tmp_path / "study", [recall("Which words?", LIST)])
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        for entry in ("one", "two", "six"):
            page.keyboard.type(entry)
            page.keyboard.press("Enter")
        page.get_by_role("button", name="Remove one").dblclick()
        assert entries(page) == ["two", "six"]


def test_pasted_lines_are_entries_and_are_counted(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [recall("Which words?", LIST, most_entries=4)])
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        page.locator("#typed-answer").fill("a")
        page.evaluate(PASTE, "pple\r\nhouse\n\n train \n")
        assert entries(page) == ["apple", "house", "train"]
        expect(page.locator("#typed-answer")).to_have_value("")
        page.evaluate(PASTE, "one\ntwo")
        expect(page.locator("#typed-problem")).to_have_text("Your answer can have at most 4 entries.")
        assert entries(page) == ["apple", "house", "train"]
        assert page.evaluate(PASTE, "one line"), "the field itself takes one line"
        page.locator("#submit-response").click()
        row = finished(visitor, rows, folder)
    assert json.loads(row["response"]) == ["apple", "house", "train"]
    assert json.loads(row["signals"])["pasted"] == 3


def test_too_many_entries_are_refused_with_words(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_timed_study(tmp_path / "study", [recall("Which words?", ["apple"], most_entries=1)])
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        for entry in ("apple", "house"):
            page.keyboard.type(entry)
            page.keyboard.press("Enter")
        expect(page.locator("#typed-problem")).to_have_text("Your answer can have at most 1 entries.")
        page.locator("#submit-response").click()  # the second entry is still in the field
        page.wait_for_timeout(200)
        assert page.locator("#completion-code").count() == 0
        page.locator("#typed-answer").fill("")
        page.locator("#submit-response").click()
        row = finished(visitor, rows, folder)
    assert json.loads(row["response"]) == ["apple"]


def test_enter_ends_a_composed_word_and_does_not_add_it(visit: Any, tmp_path: Path) -> None:
    folder = make_timed_study(tmp_path / "study", [recall("Which words?", LIST)])
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        page.locator("#typed-answer").focus()
        session = visitor.context.new_cdp_session(page)
        composed = {"selectionStart": 3, "selectionEnd": 3, "text": "りんご"}
        session.send("Input.imeSetComposition", composed)
        enter = 'new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true })'
        page.evaluate(f"document.querySelector('#typed-answer').dispatchEvent({enter})")
        assert entries(page) == []
        session.send("Input.insertText", {"text": "りんご"})
        page.keyboard.press("Enter")
        assert entries(page) == ["りんご"]


def test_practice_shows_the_list_after_the_answer_and_again_after_a_reload(visit: Any, tmp_path: Path) -> None:
    items = [recall("Which words?", LIST), choice("test")]
    folder = make_timed_study(tmp_path / "study", items, practice=1)
    with taking(visit, folder) as visitor:
        page = visitor.page
        wait_for_stimulus(visitor)
        page.keyboard.type("house")
        page.keyboard.press("Enter")
        page.locator("#submit-response").click()
        for _ in range(2):
            expect(page.locator(".verdict.wrong")).to_have_text("You recalled 1 of 3.")
            expect(page.locator(".option-mark")).to_have_text("✓ right answer: apple · house · train")
            assert entries(page) == ["house"]
            assert page.locator(".recall-remove:visible").count() == 0
            visitor.shoot_everywhere("recall-feedback")
            page.reload()
            page.click("#page-next")
        page.locator("#feedback-continue").click()


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_simulations_take_recall_trials(visit: Any, tmp_path: Path, rows: Any, mode: str) -> None:
    folder = make_timed_study(tmp_path / "study", [recall("Which words?", ["apple"], most_entries=2)])
    with running_server(folder) as url:
        visitor = visit(simulated(url, folder, mode))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        (row,) = rows(folder)
    assert len(json.loads(row["response"])) == 2
