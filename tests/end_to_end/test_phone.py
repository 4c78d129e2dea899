"""The page on phones and with enlarged text, in a real browser with a real server."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.end_to_end.test_accessibility import assert_without_violations
from tests.end_to_end.visitor import Visitor, Walker
from tests.end_to_end.whole_study import make_whole_study
from tests.server_process import running_server

SMALL_PHONE = {"viewport": {"width": 390, "height": 664}, "has_touch": True, "is_mobile": True}
LEAST_TARGET_PX = 44
OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll("header label, header button")].map((one) => one.getBoundingClientRect());
  const seen = boxes.filter(({ width }) => width > 0);
  const beside = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1;
  const below = (a, b) => a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  return seen.flatMap((a, at) => seen.slice(at + 1).filter((b) => !beside(a, b) && !below(a, b))).length;
}"""
BELOW_THE_FOLD = """() => [...document.querySelectorAll("main *")]
  .filter((one) => one.checkVisibility() && one.getBoundingClientRect().bottom > innerHeight)
  .map((one) => one.outerHTML.slice(0, 80))"""


def set_text_size(visitor: Visitor, percent: int) -> None:
    """Set the text size as in the browser's settings."""
    session = visitor.context.new_cdp_session(visitor.page)
    sizes = {"standard": 16 * percent // 100, "fixed": 13 * percent // 100}
    session.send("Page.setFontSizes", {"fontSizes": sizes})


@pytest.mark.parametrize("percent", [100, 150, 200])
def test_the_header_stays_small_when_the_text_is_enlarged(visit: Any, server: str, percent: int) -> None:
    visitor: Visitor = visit(server, **SMALL_PHONE)
    Walker(visitor, "touch").to_trial(1)
    visitor.wait_for_trial()
    set_text_size(visitor, percent)
    page = visitor.page
    assert visitor.question.startswith("Question 1 of")
    assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") == 16 * percent / 100
    assert page.locator("header").bounding_box()["height"] <= 0.16 * 664
    assert page.evaluate(OVERLAPS) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    beside, in_menu = page.locator("#show-rules"), page.locator("#show-rules-in-menu")
    assert beside.is_visible() == (percent == 100)
    page.locator("#open-menu").tap()
    expect(page.locator("#leave-study")).to_be_in_viewport(ratio=1)
    assert in_menu.is_visible() != beside.is_visible()
    assert page.evaluate(OVERLAPS) == 0
    assert_without_violations(page, f"text of {percent} %")


def test_the_menu_of_a_phone_opens_and_closes(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server, **SMALL_PHONE)
    Walker(visitor, "touch").to_trial(1)
    visitor.wait_for_trial()
    page, leave = visitor.page, visitor.page.locator("#leave-study")
    menu = page.get_by_role("button", name="Menu")
    expect(leave).to_be_hidden()
    menu.tap()
    expect(leave).to_be_visible()
    visitor.shoot("menu")
    page.keyboard.press("Escape")
    expect(leave).to_be_hidden()
    expect(menu).to_be_focused()
    menu.tap()
    page.locator("#response-text").tap()
    expect(leave).to_be_hidden()
    menu.tap()
    leave.tap()
    expect(page.locator("#leave-dialog")).to_be_visible()
    expect(leave).to_be_hidden()


@pytest.mark.parametrize("deadline", ["", "\n  deadline_ms: 60000"])
def test_nothing_of_a_board_is_below_the_fold_of_a_phone(
    visit: Any, study_folder: Path, edit: Any, deadline: str
) -> None:
    edit(study_folder / "study.yaml", "  fixation_ms: 200", f"  fixation_ms: 200{deadline}")
    with running_server(study_folder) as url:
        visitor: Visitor = visit(url, **SMALL_PHONE)
        Walker(visitor, "touch").to_trial(1)
        visitor.wait_for_trial()
        assert visitor.page.evaluate(BELOW_THE_FOLD) == []
        visitor.page.locator("[data-port=west-5]").tap()
        assert visitor.page.evaluate(BELOW_THE_FOLD) == []
        expect(visitor.page.locator("#submit-response")).to_be_in_viewport(ratio=1)
        port = visitor.page.locator("[data-port=west-5] rect").bounding_box()
        assert min(port["width"], port["height"]) >= 26


def test_the_button_for_submitting_stays_in_sight_while_the_question_scrolls(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server, **SMALL_PHONE | {"viewport": {"width": 390, "height": 500}})
    Walker(visitor, "touch").to_trial(1)
    visitor.wait_for_trial()
    assert visitor.page.evaluate("document.documentElement.scrollHeight > innerHeight")
    expect(visitor.page.locator("#submit-response")).to_be_in_viewport(ratio=1)


def test_buttons_and_links_are_large_enough_for_a_finger(visit: Any, tmp_path: Path) -> None:
    """Links within a text and the ports of a board are excepted: 40 targets do not fit around a phone's board."""
    small: list[str] = []
    with running_server(make_whole_study(tmp_path / "study")) as url:
        visitor: Visitor = visit(url, **SMALL_PHONE)

        def measure(stage: str) -> None:
            found = visitor.page.locator("button:visible, .button:visible, summary:visible, select:visible").all()
            for one in found:
                box = one.bounding_box()
                if box and min(box["width"], box["height"]) < LEAST_TARGET_PX:
                    small.append(f"{stage}: {one.evaluate('one => one.outerHTML')}")

        Walker(visitor, "touch", measure).to_the_end()
        # The panel's button comes right after the code.
        expect(visitor.page.locator("#exit-link")).to_be_in_viewport(ratio=1)
    assert small == []
