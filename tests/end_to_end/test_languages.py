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
