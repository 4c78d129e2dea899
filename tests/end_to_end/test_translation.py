"""Pages that the browser translates, and further properties of the device, in a real browser with a real server."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.visitor import NOTHING_WAITS, Visitor

# The changes that Chrome's translation makes. Other translators make only some of them.
CHROME = """document.documentElement.lang = "de"; document.documentElement.classList.add("translated-ltr");"""
FONTS = """const words = document.querySelector("h1"), font = document.createElement("font");
           font.textContent = words.textContent; words.replaceChildren(font);"""
EDGE = """document.querySelector("h1").setAttribute("_msttexthash", "1");"""


def device_of(query: Any, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(query(folder, "SELECT device FROM visits")[-1]["device"])
    return found


@pytest.mark.parametrize("translate", [CHROME, FONTS, EDGE])
def test_a_page_that_was_translated_before_the_consent_is_recorded_with_the_device(
    visit: Any, server: str, study_folder: Path, query: Any, translate: str
) -> None:
    visitor: Visitor = visit(server)
    visitor.page.locator("#consent-agree").wait_for()
    visitor.page.evaluate(f"() => {{ {translate} }}")
    visitor.begin()
    visitor.wait_for_trial()
    assert device_of(query, study_folder)["translated"] is True


def test_a_later_translation_is_a_signal_of_each_trial(
    visit: Any, server: str, study_folder: Path, rows: Any, query: Any
) -> None:
    visitor: Visitor = visit(server)
    visitor.begin()
    visitor.answer_practice()
    visitor.answer_questions(1)
    visitor.page.evaluate(f"() => {{ {CHROME} }}")
    visitor.answer_questions(2)
    visitor.wait_until(NOTHING_WAITS)
    signals = [json.loads(row["signals"] or "{}") for row in rows(study_folder) if row["response"] is not None]
    assert [one.get("translated", 0) for one in signals] == [0, 0, 1, 1]
    assert device_of(query, study_folder)["translated"] is False


def test_the_browser_may_translate_pages_but_no_question(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server)
    visitor.page.locator("#consent-agree").wait_for()
    assert visitor.page.evaluate("document.querySelector('h1').translate") is True
    visitor.begin()
    visitor.wait_for_trial()
    assert visitor.page.evaluate("document.querySelector('#stimulus p').translate") is False


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_text_size_and_clock_are_recorded(
    visit: Any, server: str, study_folder: Path, query: Any, scheme: str
) -> None:
    visitor: Visitor = visit(server, color_scheme=scheme)
    visitor.begin()
    visitor.wait_for_trial()
    device = device_of(query, study_folder)
    assert (device["color_scheme"], device["text_px"], device["translated"]) == (scheme, 16, False)
    assert 0 < device["clock_ms"] <= 1
