"""Feedback of practice trials that closes by itself, in a real browser with a real server."""

from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.end_to_end.visitor import Visitor
from tests.server_process import running_server
from tests.timed_study import choice, make_timed_study

WATCH = """
window.times = [];
addEventListener("DOMContentLoaded", () => {
  const look = () => {
    const is_shown = document.querySelector(".feedback .verdict") !== null;
    if ((window.times.length % 2 === 1) !== is_shown) window.times.push(document.timeline.currentTime);
  };
  new MutationObserver(look).observe(document.querySelector("#jspsych"), { childList: true, subtree: true });
});
"""
"""JavaScript: notes when the feedback appears and disappears."""


def test_the_feedback_closes_by_itself_after_its_time(visit: Any, tmp_path: Path, rows: Any) -> None:
    items = [choice(f"q{number}") for number in range(2)]
    folder = make_timed_study(tmp_path / "study", items, "timing: {feedback_ms: 1500}\n", practice=1)
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        page = visitor.page
        page.add_init_script(WATCH)
        page.goto(url)
        page.click("#page-next")
        page.click("#page-next:text-is('Begin')")
        page.wait_for_selector("#stimulus")
        page.wait_for_timeout(150)
        page.keyboard.press("2")
        page.wait_for_selector(".feedback .verdict")
        visitor.shoot_everywhere("feedback-duration")
        expect(page.locator("#feedback-continue")).to_have_count(0)
        page.keyboard.press("Enter")
        page.keyboard.press(" ")
        expect(page.locator("#progress")).to_have_attribute("value", "1")
        page.wait_for_selector("#stimulus:not(.closed)")
        page.wait_for_timeout(150)
        page.keyboard.press("2")
        page.locator("#completion-code").wait_for()
        shown_ms, hidden_ms = page.evaluate("times")
    assert 1_450 <= hidden_ms - shown_ms <= 1_700
