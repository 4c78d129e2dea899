"""The page for a wrong address, in a real browser with a real server."""

from typing import Any

from playwright.sync_api import expect

from tests.end_to_end.test_accessibility import look_at
from tests.end_to_end.visitor import Visitor


def test_a_wrong_address_shows_a_plain_page_that_leads_to_the_study(visit: Any, server: str) -> None:
    visitor: Visitor = visit(f"{server}/wrong-adress")
    expect(visitor.page.locator("h1").first).to_have_text("This page does not exist")
    assert ["404" in complaint for complaint in visitor.complaints] == [True]
    visitor.complaints.clear()
    look_at(visitor, "wrong-address")
    visitor.page.locator("a.button").click()
    expect(visitor.page.locator("#consent-agree")).to_be_visible()
