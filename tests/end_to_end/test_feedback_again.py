"""Practice feedback after a reload, in a real browser with a real server."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.end_to_end.visitor import Visitor, Walker
from tests.end_to_end.whole_study import make_whole_study
from tests.server_process import running_server


def test_a_board_shows_its_feedback_again_after_a_reload(
    visit: Any, server: str, study_folder: Path, rows: Any
) -> None:
    visitor: Visitor = visit(server)
    page = visitor.page
    visitor.begin()
    visitor.wait_for_trial()
    for key in ("a", "Enter"):
        page.keyboard.press(key)
    verdict = page.locator(".verdict")
    shown = verdict.inner_text()
    page.reload()
    page.locator("#page-next").click()  # the welcome page
    expect(verdict).to_have_text(shown)
    expect(page.locator("#stimulus .ray")).to_have_count(1)
    expect(page.locator("[data-response=absorbed]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("label[for=progress]")).to_have_text("Practice")
    expect(page.locator(".feedback")).to_contain_text("The practice ends here.")
    page.keyboard.press("r")  # the question has its response already
    page.locator("[data-port=west-5]").click(force=True)
    expect(page.locator("#response-text")).to_have_text("Your answer: Absorbed")
    visitor.shoot_everywhere("feedback-again")
    page.locator("#feedback-continue").click()
    visitor.wait_for_trial()
    assert visitor.question.startswith("Question 1")
    page.reload()  # the next question has begun, so the feedback was read
    page.locator("#page-next").click()
    visitor.wait_for_trial()
    assert visitor.question.startswith("Question 1")
    assert len([row for row in rows(study_folder) if row["response"] is not None]) == 1


def test_the_feedback_of_a_failed_round_is_shown_before_the_next_round(visit: Any, tmp_path: Path) -> None:
    folder = make_whole_study(tmp_path / "study")
    with running_server(folder) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor, answer=lambda _prompt: 3)
        walker.to_trial(1)
        walker.step()
        walker.to("feedback")
        visitor.page.reload()
        walker.to("feedback")
        expect(visitor.page.locator(".option.wrong")).to_have_attribute("data-option", "3")
        walker.step()
        expect(visitor.page.locator("h1")).to_have_text("Practise again")


def test_the_feedback_is_shown_after_a_reload_that_came_before_the_reply(visit: Any, server: str) -> None:
    visitor: Visitor = visit(server)
    page = visitor.page
    visitor.begin()
    visitor.wait_for_trial()
    visitor.expected.append("ERR_FAILED")
    page.route("**/api/responses", lambda route: route.abort())
    for key in ("a", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".feedback")).to_contain_text("Checking")
    page.unroute("**/api/responses")
    page.once("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.locator("#page-next").click()
    expect(page.locator(".verdict")).to_have_text(re.compile("ray"))
