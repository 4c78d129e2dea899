"""The screenshots of the documentation show the current pages."""

from pathlib import Path

from playwright.sync_api import Browser

from docs.make_screenshots import FOLDER, saved_texts, screenshots
from tests.docs.test_docs import PAGES, text_of

MOST_BYTES = 60_000


def test_each_screenshot_has_the_texts_and_the_styles_of_its_page(chromium: Browser, tmp_path: Path) -> None:
    taken = {screenshot.name: screenshot for screenshot in screenshots(chromium)}
    assert set(taken) == {path.stem for path in FOLDER.glob("*")}
    for name, screenshot in taken.items():
        message = f"docs/images/{name}.png shows an earlier page. Fix: run .venv/bin/python -m docs.make_screenshots"
        assert saved_texts(FOLDER / f"{name}.png") == screenshot.shows, message
        screenshot.save(tmp_path)
        assert saved_texts(tmp_path / f"{name}.png") == screenshot.shows


def test_every_screenshot_is_small_and_on_a_page() -> None:
    text = "".join(map(text_of, PAGES))
    for path in FOLDER.glob("*"):
        assert path.stat().st_size < MOST_BYTES, path.name
        assert f"images/{path.name})" in text
