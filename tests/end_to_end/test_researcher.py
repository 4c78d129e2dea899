"""Sign-in of a researcher in a real browser: with the link and its token, with the form, and sign-out."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

PHONE = {"width": 390, "height": 844}


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context()
    yield context
    context.close()


@pytest.fixture
def token(study_folder: Path, server: str) -> str:
    return (study_folder / "data" / "researcher-token").read_text(encoding="ascii")


def keep_screenshots(page: Page, name: str) -> None:
    """Save screenshots of the page on a phone and on a desktop, if EQUIPOISE_SCREENSHOTS names a folder."""
    folder = os.environ.get("EQUIPOISE_SCREENSHOTS")
    for size, viewport in (("desktop", {"width": 1280, "height": 800}), ("phone", PHONE)):
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            f"{name} scrolls sideways on a {size}"
        )
        if folder:
            page.screenshot(path=Path(folder) / f"researcher-{name}-{size}.png", full_page=True)


def test_the_printed_link_signs_in_and_its_token_is_in_no_address(
    context: BrowserContext, server: str, token: str
) -> None:
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{server}/researcher/#{token}")
    page.get_by_role("heading", name="People").wait_for()
    assert page.url == f"{server}/researcher/"
    assert not [url for url in asked if token in url.partition("#")[0]]
    assert [text for text in complaints if "403" not in text] == []  # the page without a sign-in is a 403
    keep_screenshots(page, "progress")
    page.goto(f"{server}/researcher/#{token}")  # the same link again, after the sign-in
    page.wait_for_url(f"{server}/researcher/")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").wait_for()
    page.reload()
    assert page.get_by_label("Token").is_visible()
    keep_screenshots(page, "sign-in")


def test_the_link_works_if_the_page_is_already_open(context: BrowserContext, server: str, token: str) -> None:
    page = context.new_page()
    page.goto(f"{server}/researcher/")
    page.evaluate("token => { location.hash = token; }", token)
    page.get_by_role("heading", name="People").wait_for()
    assert page.url == f"{server}/researcher/"


def test_a_wrong_token_is_refused_and_the_right_token_is_then_accepted(
    context: BrowserContext, server: str, token: str
) -> None:
    page = context.new_page()
    page.goto(f"{server}/researcher/#a-wrong-token")
    page.get_by_role("alert").wait_for()
    assert "#" not in page.url
    keep_screenshots(page, "refused")
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="People").wait_for()


def test_without_scripts_the_form_signs_in(chromium: Browser, server: str, token: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server}/researcher/")
    assert page.get_by_label("Token").get_attribute("type") == "password"
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="People").wait_for()
    assert token not in page.content()
    context.close()
