"""The first words of the page on a slow line and without scripts, in a real browser with a real server."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.end_to_end.test_accessibility import assert_without_violations

TITLE = "Where does the ray come out?"


@pytest.fixture
def page(chromium: Browser) -> Iterator[Any]:
    context = chromium.new_context()
    yield context.new_page()
    context.close()


def test_the_page_has_words_before_its_script_has_arrived(page: Any, server: str) -> None:
    arrived = threading.Event()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)
        arrived.set()

    page.route("**/static/equipoise.js", hold)
    page.goto(server, wait_until="commit")
    expect(page.locator("h1")).to_have_text(TITLE)
    expect(page.get_by_role("status")).to_have_text("One moment…")
    assert_without_violations(page, "the first words")
    slow = page.get_by_text("This takes longer than usual.")
    expect(slow).to_be_hidden()
    expect(slow).to_be_visible(timeout=15_000)
    held[0].continue_()
    expect(page.locator("#consent-agree")).to_be_visible()


def test_without_scripts_the_page_says_what_is_missing(chromium: Browser, server: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server)
    expect(page.locator("h1")).to_have_text(TITLE)
    expect(page.locator("noscript p")).to_be_visible()
    expect(page.locator("noscript p")).to_contain_text("This study needs JavaScript.")
    expect(page.get_by_text("One moment")).to_be_hidden()
    context.close()
