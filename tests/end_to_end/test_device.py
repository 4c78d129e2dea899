"""A study's requirements for a participant's device, which the page checks before anything is stored."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.end_to_end.visitor import PHONE, Visitor, Walker, simulated
from tests.end_to_end.whole_study import make_whole_study
from tests.server_process import running_server

Served = Callable[[str], AbstractContextManager[str]]
TOUCH = {"has_touch": True, "is_mobile": True}
TABLET = {"width": 820, "height": 1180}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "study"


@pytest.fixture
def served(folder: Path) -> Served:
    """Serve the study with these device requirements."""

    @contextmanager
    def serve(device: str) -> Iterator[str]:
        make_whole_study(folder)
        text = (folder / "study.yaml").read_text(encoding="utf-8")
        before = "{phones: true, width_px: 320, height_px: 200}"
        assert before in text
        (folder / "study.yaml").write_text(text.replace(before, device), encoding="utf-8")
        with running_server(folder) as url:
            yield url

    return serve


def expect_refused(visitor: Visitor, reason: str, query: Any, folder: Path) -> None:
    expect(visitor.page.locator("#incompatible")).to_contain_text(reason)
    expect(visitor.page.locator("#exit-code")).to_have_text("DEVICE26")
    assert query(folder, "SELECT * FROM sessions") == []


def test_a_phone_is_refused_unless_the_study_allows_phones(
    visit: Any, served: Served, folder: Path, query: Any
) -> None:
    with served("{}") as url:
        expect_refused(visit(url, viewport=PHONE, **TOUCH), "cannot be taken on a phone", query, folder)
        for options in ({"viewport": TABLET, **TOUCH}, {}):
            expect(visit(url, **options).page.locator("#page-next")).to_be_visible()


def test_a_window_that_is_too_small_can_be_made_larger(visit: Any, served: Served, folder: Path, query: Any) -> None:
    with served("{width_px: 1000, height_px: 700}") as url:
        visitor: Visitor = visit(url, viewport={"width": 900, "height": 800})
        expect_refused(visitor, "at least 1000 × 700 pixels; this window has 900 × 800", query, folder)
        visitor.page.locator("#device-try-again").click()
        expect_refused(visitor, "900 × 800", query, folder)
        visitor.page.set_viewport_size({"width": 1000, "height": 700})
        expect(visitor.page.locator("#page-next")).to_be_visible()


def test_a_required_keyboard_is_checked_with_a_key(visit: Any, served: Served, folder: Path, query: Any) -> None:
    with served("{keyboard: true}") as url:
        without: Visitor = visit(url)
        without.page.locator("#keyboard-none").click()
        expect_refused(without, "needs a keyboard", query, folder)
        without.page.locator("#device-try-again").click()
        walker = Walker(without, "keyboard")
        walker.to_trial(1)
        assert walker.stages[0] == "keyboard check"
        (opened,) = query(folder, "SELECT device FROM visits")
        assert json.loads(opened["device"])["keyboard"] is True
        without.page.reload()  # after a reload, the keyboard is not checked again
        again = Walker(without, "keyboard")
        assert again.look() != "keyboard check"


def test_a_screen_that_is_too_slow_is_refused(visit: Any, served: Served, folder: Path, query: Any) -> None:
    with served("{refresh_hz: 500}") as url:
        expect_refused(visit(url), "at least 500 images per second", query, folder)
    with served_after_change(folder, "refresh_hz: 500", "refresh_hz: 20") as url:
        expect(visit(url).page.locator("#page-next")).to_be_visible()


@contextmanager
def served_after_change(folder: Path, before: str, after: str) -> Iterator[str]:
    """Serve the study with one changed requirement."""
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    (folder / "study.yaml").write_text(text.replace(before, after), encoding="utf-8")
    with running_server(folder) as url:
        yield url


def test_a_simulation_runs_on_any_device(visit: Any, served: Served, rows: Any, folder: Path) -> None:
    with served("{keyboard: true, width_px: 5000}") as url:
        visitor: Visitor = visit(simulated(url, folder))
        visitor.page.locator("#completion-code, #ended").wait_for(timeout=60_000)
        assert {row["kind"] for row in rows(folder)} == {"simulated"}
