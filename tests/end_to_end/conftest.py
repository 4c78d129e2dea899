"""Fixtures of the end-to-end tests."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.end_to_end.visitor import DESKTOP, Visitor
from tests.engines import (
    ENGINES,
    HEIGHT_PX,
    MINIBROWSER_BAR_PX,
    WIDTH_PX,
    Launch,
    chromium_window,
    firefox_window,
    webkit_window,
)
from tests.missing import skip_but_never_in_ci
from tests.server_process import running_server
from tests.x_server import x_server


@pytest.fixture
def server(study_folder: Path) -> Iterator[str]:
    with running_server(study_folder) as url:
        yield url


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Return the name of each engine."""
    return str(request.param)


@pytest.fixture
def launch(engine: str, request: pytest.FixtureRequest) -> Iterator[Launch]:
    """Start a browser of the engine."""
    if engine == "chromium":
        browser_type = request.getfixturevalue("chromium").browser_type
        yield lambda **options: chromium_window(browser_type, **options)
    elif engine == "firefox":
        yield firefox_window
    elif shutil.which("Xvfb") is None:
        skip_but_never_in_ci("no Xvfb was found; install the package xvfb")
    else:
        with x_server(WIDTH_PX, HEIGHT_PX + MINIBROWSER_BAR_PX) as server:
            yield lambda: webkit_window(server.display)


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Any]:
    """Open pages: each page in a new browser context, or in the context of another visitor."""
    visitors: list[Visitor] = []

    def open_page(url: str, beside: Visitor | None = None, **options: Any) -> Visitor:
        context = beside.context if beside else chromium.new_context(**({"viewport": DESKTOP} | options))
        visitors.append(Visitor(context, url))
        return visitors[-1]

    yield open_page
    for visitor in visitors:
        visitor.context.close()
        assert visitor.complaints == []


@pytest.fixture
def query() -> Any:
    """Read from a study's store while the server is running."""

    def read(study_folder: Path, sql: str) -> list[dict[str, Any]]:
        uri = f"{(study_folder / 'data' / 'equipoise.db').as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql)]

    return read


@pytest.fixture
def rows(query: Any) -> Any:
    """Read the rows of a study's view `trials`, as the analysis does."""
    return lambda study_folder: query(study_folder, "SELECT * FROM trials ORDER BY session, trial_index")
