"""The system's Chromium, with a window or without one."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as PlaywrightError

WITHOUT_WINDOW = "chromium-headless-shell"
"""Debian's Chromium of the same version without the program's own windows. It needs half the processor time."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def chromium_path() -> str | None:
    """Return the path of the browser; None if no browser is installed and EQUIPOISE_CHROMIUM names none."""
    named = os.environ.get("EQUIPOISE_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def quick_chromium_path() -> str | None:
    """Return the path of the Chromium without windows if it is installed, otherwise that of the browser."""
    named = os.environ.get("EQUIPOISE_CHROMIUM")
    return named or shutil.which(WITHOUT_WINDOW) or chromium_path()


def resize(page: Page, size: Mapping[str, int]) -> None:
    """Set the size of a page (`width` and `height` in CSS pixels), also in the full screen.

    In the full screen, the Chromium without windows resizes the page and then refuses to resize its window.
    """
    try:
        page.set_viewport_size(size)  # type: ignore[arg-type]
    except PlaywrightError as refusal:
        if "fullscreen" not in str(refusal):
            raise
        assert page.evaluate("innerWidth") == size["width"]


@contextmanager
def running_chromium(path: str | None, *flags: str) -> Iterator[Browser]:
    """Start the browser with a path, and close it at the end. `flags` are further arguments of the browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *flags])
        yield browser
        browser.close()
