"""Checks before a session begins, in a real browser with a real server: cookies, browser storage, ids in the link."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import FLAGS, chromium_path
from tests.end_to_end.test_entry import PANEL_ADDRESS, expect_notice, recruiting
from tests.end_to_end.test_journeys import NO_STORAGE
from tests.end_to_end.visitor import DESKTOP, Visitor, Walker
from tests.end_to_end.whole_study import make_whole_study
from tests.server_process import running_server

BLOCKED = "Your browser blocks cookies for this page."


@pytest.fixture
def without_cookies(chromium: Browser, tmp_path: Path) -> Iterator[Any]:
    """Open pages in a browser whose settings block all cookies, and therefore the browser's storage too."""
    profile = tmp_path / "profile" / "Default"
    profile.mkdir(parents=True)
    settings = {"profile": {"default_content_setting_values": {"cookies": 2}}}
    (profile / "Preferences").write_text(json.dumps(settings), encoding="utf-8")
    context = chromium.browser_type.launch_persistent_context(
        profile.parent, executable_path=chromium_path(), args=list(FLAGS), viewport=DESKTOP
    )
    yield lambda url: Visitor(context, url)
    context.close()


@pytest.mark.parametrize("recruitment", ["{entry: open}", "{entry: panel}"])
def test_a_browser_that_blocks_cookies_gets_a_notice_and_takes_no_slot(
    without_cookies: Any, study_folder: Path, query: Any, recruitment: str
) -> None:
    with recruiting(study_folder, recruitment) as url:
        visitor: Visitor = without_cookies(url + PANEL_ADDRESS)
        expect_notice(visitor, BLOCKED)
        expect(visitor.page.locator("#notice")).to_contain_text("Whom to ask")  # the contact of the study
        visitor.shoot_everywhere("cookies-blocked")
        visitor.page.reload()
        expect_notice(visitor, BLOCKED)
        assert visitor.complaints == []
        assert query(study_folder, "SELECT * FROM sessions") == []


def test_a_browser_that_loses_its_cookies_before_the_consent_takes_no_slot(
    visit: Any, server: str, study_folder: Path, query: Any
) -> None:
    visitor: Visitor = visit(server)
    visitor.expected.append("status of 403")
    visitor.page.locator("#consent-agree").wait_for()
    visitor.context.clear_cookies()
    visitor.page.locator("#consent-agree").click()
    expect_notice(visitor, BLOCKED)
    assert query(study_folder, "SELECT * FROM sessions") == []


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}", "placeholder instead"),
        ("PROLIFIC_PID=[%MID%]", "placeholder instead"),
        ("PROLIFIC_PID=${e://Field/PROLIFIC_PID}", "placeholder instead"),
        ("PROLIFIC_PID=5f3a9c0d12ab34cd56ef789", "is not complete, or has another form"),
        ("PROLIFIC_PID=maria@example.org", "is not complete, or has another form"),
    ],
)
def test_a_link_without_a_valid_panel_id_is_explained_and_takes_no_slot(
    visit: Any, study_folder: Path, query: Any, parameters: str, words: str
) -> None:
    with recruiting(study_folder, "{entry: panel}") as url:
        visitor: Visitor = visit(f"{url}/?{parameters}")
        assert visitor.page.url == f"{url}/"
        expect_notice(visitor, words)
        expect_notice(visitor, "write to the researchers")
        visitor.shoot_everywhere(words.partition(" ")[0])
        assert query(study_folder, "SELECT * FROM sessions") == []
        visitor.page.goto(url + PANEL_ADDRESS)
        expect(visitor.page.locator("#consent-agree")).to_be_visible()


@pytest.mark.parametrize("stores", [True, False])
def test_the_device_says_whether_the_browser_can_store_responses(
    visit: Any, tmp_path: Path, query: Any, stores: bool
) -> None:
    folder = make_whole_study(tmp_path / "study")
    with running_server(folder) as url:
        visitor: Visitor = visit("about:blank")
        if not stores:
            visitor.page.add_init_script(NO_STORAGE)
        visitor.page.goto(url)
        Walker(visitor).to_trial(0)
        (opened,) = query(folder, "SELECT device FROM visits")
        assert json.loads(opened["device"])["storage"] is stores
