"""Studies in the participants' language, in a real browser with a real server."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from experiment.texts import catalogue
from tests.end_to_end.visitor import Visitor
from tests.server_process import running_server
from tests.timed_study import choice, make_timed_study

PRACTICE_FEEDBACK = re.compile("صحيح|ليس تمامًا")


@contextmanager
def served(study_folder: Path, language: str, *lines: str) -> Iterator[str]:
    """Serve the sample study with another `language`, and with further lines in study.yaml."""
    path = study_folder / "study.yaml"
    text = re.sub(r"^language: .*$", f"language: {language}", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    path.write_text("\n".join([text, *lines, ""]), encoding="utf-8")
    with running_server(study_folder) as url:
        yield url


def words_of(page: Any) -> str:
    text: str = page.locator("body").inner_text()
    return text


def test_an_arabic_study_is_read_from_right_to_left_with_arabic_texts(visit: Any, study_folder: Path) -> None:
    arabic = catalogue("ar")
    with served(study_folder, "ar") as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        expect(page.locator("#consent-agree")).to_have_text(arabic["agree"])
        assert page.evaluate("[document.dir, document.documentElement.lang]") == ["rtl", "ar"]
        assert page.evaluate("getComputedStyle(document.querySelector('.buttons')).direction") == "rtl"
        # The pages of the sample study are English, so they are read from left to right.
        assert page.evaluate("getComputedStyle(document.querySelector('.server-html p')).unicodeBidi") == "plaintext"
        visitor.shoot_everywhere("arabic-consent")
        visitor.begin()
        visitor.wait_for_trial()
        expect(page.locator("label[for=progress]")).to_have_text(arabic["practice"])
        # The board is not mirrored.
        west, east = (page.locator(f"[data-port={port}]").bounding_box() for port in ("west-4", "east-4"))
        assert west["x"] < east["x"]
        visitor.shoot_everywhere("arabic-trial")
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        expect(page.locator(".verdict")).to_have_text(PRACTICE_FEEDBACK)
        visitor.shoot_everywhere("arabic-feedback")
        page.locator("#leave-study").click()
        visitor.shoot_everywhere("arabic-leave")
        shown = words_of(page)
        for name in ("leave_title", "leave_explained", "leave_stay", "leave_confirm"):
            assert arabic[name] in shown
        page.locator("#leave-confirm").click()
        expect(page.locator("h1")).to_have_text(arabic["withdrawn_title"])
        expect(page.get_by_text(arabic["withdrawn"])).to_be_visible()


MINUS_IS_LEFT = """(selector) => {
  const texts = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT);
  while (!texts.nextNode().data.includes("-"));
  const at = texts.currentNode.data.indexOf("-");
  const [minus, digit] = [at, at + 1].map((first) => {
    const one = document.createRange();
    one.setStart(texts.currentNode, first);
    one.setEnd(texts.currentNode, first + 1);
    return one.getBoundingClientRect();
  });
  return minus.right <= digit.left + 1;
}"""
"""JavaScript function: whether the first minus sign in an element is at the left of its number."""


def test_in_an_arabic_study_a_minus_sign_is_at_the_left_of_its_number(visit: Any, tmp_path: Path) -> None:
    rating = {"prompt": "How warm?", "low": -3, "high": 3, "labels": ["cold", "warm"]}
    number = {"prompt": "How much?", "low": -1, "high": 1, "decimals": 2, "unit": "kg"}
    items = [
        {"item_id": task, "task": task, "factors": {"topic": "test"}, "content": content, "key": key}
        for task, content, key in (("rating", rating, -1), ("number", number, -0.25))
    ]
    ranking = {"prompt": "Which is first?", "options": ["horse", "mouse"]}
    items.append({"item_id": "r", "task": "ranking", "factors": {"topic": "test"}, "content": ranking, "key": [2, 1]})
    study = make_timed_study(tmp_path / "study", [*items, choice("q")], "language: ar\n", practice=3)
    with running_server(study) as url:
        page = visit(url).page
        for _ in range(2):
            page.locator("#page-next").click()
            page.wait_for_timeout(600)  # a second click within half a second is a double click
        page.locator("[data-point='-3']").wait_for()
        assert page.evaluate(MINUS_IS_LEFT, ".rating-number")
        page.wait_for_timeout(50)
        page.locator("[data-point='-3']").click()
        assert page.locator(".verdict").inner_text().count("-1") == 1
        assert page.evaluate(MINUS_IS_LEFT, ".verdict")
        page.locator("#feedback-continue").click()
        page.locator("#typed-answer").wait_for()
        assert page.evaluate(MINUS_IS_LEFT, "#answer-hint")
        assert page.locator("#typed-answer").evaluate("field => getComputedStyle(field).direction") == "ltr"
        page.locator("#typed-answer").fill("-0.25")
        page.keyboard.press("Enter")
        for selector in (".verdict", ".option-mark"):
            page.locator(selector).wait_for()
            assert page.evaluate(MINUS_IS_LEFT, selector), selector
        page.locator("#feedback-continue").click()
        page.locator(".ranking").wait_for()
        page.wait_for_timeout(50)
        for key in ("2", "1", "Enter"):
            page.keyboard.press(key)
        page.locator(".verdict").wait_for()
        # The answer is one piece of text with its own direction.
        assert "\N{FIRST STRONG ISOLATE}1. mouse, 2. horse\N{POP DIRECTIONAL ISOLATE}" in (
            page.locator(".verdict").text_content() or ""
        )


def test_a_notice_of_the_server_is_in_the_studys_language(visit: Any, study_folder: Path) -> None:
    with served(study_folder, "de-AT", "recruitment: {entry: panel}") as url:
        visitor = visit(url)
        expect(visitor.page.get_by_role("alert")).to_contain_text(catalogue("de")["no_entry"])
        assert httpx.get(f"{url}/api/session").json()["error"] == catalogue("de")["no_session"]


def test_a_studys_texts_replace_our_texts(visit: Any, study_folder: Path) -> None:
    own = ["texts:", "  agree: Yes, I take part", "  practice: First try", "  question_of: Board {number}"]
    with served(study_folder, "en", *own) as url:
        visitor = visit(url)
        expect(visitor.page.locator("#consent-agree")).to_have_text("Yes, I take part")
        visitor.begin()
        visitor.wait_for_trial()
        expect(visitor.page.locator("label[for=progress]")).to_have_text("First try")
        visitor.answer_practice()
        visitor.wait_for_trial()
        expect(visitor.page.locator("label[for=progress]")).to_have_text("Board 1")


@pytest.mark.parametrize("language", ["fr", "he"])
def test_fallback_texts_are_marked_as_english(visit: Any, study_folder: Path, language: str) -> None:
    with served(study_folder, language) as url:
        page = visit(url).page
        expect(page.locator("#consent-agree")).to_have_text(catalogue("en")["agree"])
        assert page.evaluate("document.documentElement.lang") == language
        assert page.evaluate("document.querySelector('#consent-agree').closest('[lang]').lang") == "en"
        assert page.evaluate("document.dir") == ("rtl" if language == "he" else "ltr")
