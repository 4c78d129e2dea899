"""The time left until a deadline, in a real browser with a real server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from experiment.texts import texts_in
from tests.end_to_end.visitor import Visitor, Walker
from tests.end_to_end.whole_study import make_whole_study
from tests.server_process import running_server

SHARE = """() => document.querySelector(".time-left-bar").getBoundingClientRect().width
  / document.querySelector(".time-left").getBoundingClientRect().width"""
POSITIONS = """() => [...document.querySelectorAll("#stimulus > *")].map((one) => one.getBoundingClientRect().top)"""


@pytest.fixture(scope="module", params=["en", "ar"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("deadline") / "study"
    with running_server(make_whole_study(folder, request.param, "{fixation_ms: 100, deadline_ms: 30000}")) as url:
        yield url


def at_a_question(visitor: Visitor) -> Visitor:
    Walker(visitor).to_trial(2)
    visitor.wait_for_trial()
    visitor.wait_until("document.getAnimations().length > 0")
    return visitor


def shift_clock(visitor: Visitor, to_ms: int) -> None:
    visitor.page.evaluate(f"document.querySelector('.time-left-bar').getAnimations()[0].currentTime = {to_ms}")


def test_a_bar_shows_the_time_left_and_moves_nothing(visit: Any, url: str) -> None:
    visitor = at_a_question(visit(url))
    page = visitor.page
    expect(page.locator(".time-left")).to_be_in_viewport()
    before = page.evaluate(POSITIONS)
    first = page.evaluate(SHARE)
    page.wait_for_timeout(1_500)
    later = page.evaluate(SHARE)
    assert 0.8 < later < first <= 1
    assert first - later >= 0.04
    assert page.evaluate(POSITIONS) == before
    # The bar empties towards the side where reading begins.
    sides = page.evaluate(
        "['.time-left-bar', '.time-left'].map((one) => document.querySelector(one).getBoundingClientRect())"
        ".flatMap(({left, right}) => document.dir === 'rtl' ? [right] : [left])"
    )
    assert sides[0] == pytest.approx(sides[1], abs=0.5)
    visitor.shoot_everywhere("time-left")


def test_reduced_motion_changes_the_bar_in_steps(visit: Any, url: str) -> None:
    visitor = at_a_question(visit(url, reduced_motion="reduce"))
    shift_clock(visitor, 4_000)
    assert visitor.page.evaluate(SHARE) == pytest.approx(0.9, abs=0.01)
    shift_clock(visitor, 5_500)
    assert visitor.page.evaluate(SHARE) == pytest.approx(0.9, abs=0.01)


def test_the_bar_stays_in_sight_while_a_story_scrolls(visit: Any, url: str) -> None:
    visitor = at_a_question(visit(url, viewport={"width": 390, "height": 300}))
    visitor.page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    assert visitor.page.evaluate("scrollY") > 50
    expect(visitor.page.locator(".time-left")).to_be_in_viewport()


def test_practice_has_no_bar(visit: Any, url: str) -> None:
    visitor: Visitor = visit(url)
    Walker(visitor).to("trial")
    expect(visitor.page.locator(".time-left")).to_have_count(0)


LISTENING = """
// Long waits are 50 times shorter, so that the test need not wait for the announcements.
const wait = setTimeout;
window.setTimeout = (run, ms) => wait(run, ms > 4000 ? ms / 50 : ms);
window.said = [];
new MutationObserver((changes) => {
  for (const { target, addedNodes } of changes) {
    if (target.matches?.(".time-left [role=status]") && addedNodes.length > 0) said.push(target.textContent);
  }
}).observe(document, { childList: true, subtree: true });
"""


def test_the_time_left_is_announced_only_at_half_of_the_time_and_before_the_end(visit: Any, url: str) -> None:
    visitor = at_a_question(visit(url))
    page = visitor.page
    page.context.add_init_script(LISTENING)
    page.reload()
    page.locator("#page-next, #fullscreen-go").click()
    visitor.wait_for_trial()
    page.wait_for_timeout(900)
    language = page.evaluate("document.documentElement.lang")
    assert page.evaluate("said") == [texts_in(language, {}).say("time_left", seconds=seconds) for seconds in (15, 10)]
