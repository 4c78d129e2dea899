"""A real browser and a real server process."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium; in CI it must be there."""
    named = os.environ.get("EQUIPOISE_CHROMIUM")
    path = named or next((found for name in CHROMIUM_NAMES if (found := shutil.which(name))), None)
    if path is None:
        reason = "no Chromium or Chrome was found; install one or set EQUIPOISE_CHROMIUM to its path"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def rows() -> Any:
    """Read the rows of a study's view `trials`, as the analysis does."""

    def read(study_folder: Path) -> list[dict[str, Any]]:
        uri = f"{(study_folder / 'data' / 'equipoise.db').as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute("SELECT * FROM trials ORDER BY session, trial_index")]

    return read
