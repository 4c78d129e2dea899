"""The researchers' pages in a real browser: accounts, live numbers, actions, and access."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

import equipoise as eq
from experiment.load_study import load_study
from experiment.simulated_participants import simulate
from tests.server.served import ServedParticipant

N_SIMULATED = 30
PASSWORD = "seven blue chairs sing"
SIZES = {"phone": {"width": 390, "height": 844}, "desktop": {"width": 1280, "height": 900}}


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context()
    yield context
    context.close()


@pytest.fixture
def token(study_folder: Path, server: str) -> str:
    return (study_folder / "data" / "researcher-token").read_text(encoding="ascii")


@pytest.fixture
def accounts(study_folder: Path, server: str) -> None:
    """Accounts with each role, made while the server runs."""
    for name, role in (("olga", "owner"), ("rita", "researcher"), ("vera", "viewer")):
        eq.researchers_add(study_folder, name, PASSWORD, role=role)


def sign_in(page: Page, server: str, account: str) -> None:
    page.goto(f"{server}/researcher/")
    page.get_by_label("Account").fill(account)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Projected finish").wait_for()


def check_page(page: Page, name: str) -> None:
    """Check a page with axe-core, in both sizes and colour schemes, and save screenshots if a folder is set."""
    folder = os.environ.get("EQUIPOISE_SCREENSHOTS")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for size, viewport in SIZES.items():
            page.set_viewport_size(viewport)  # type: ignore[arg-type]
            found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
            assert found.violations_count == 0, f"{name}, {size}, {scheme}: {found.generate_report()}"
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} scrolls on a {size}"
            if folder:
                page.screenshot(path=Path(folder) / f"dashboard-{name}-{size}-{scheme}.png", full_page=True)


def n_completed(page: Page) -> int:
    found = re.search(r"(\d+)( of \d+)? completed", page.locator("#live-summary").inner_text())
    assert found is not None
    return int(found[1])


def test_a_researcher_watches_participants_arrive_and_changes_the_data_collection(
    context: BrowserContext, study_folder: Path, server: str, token: str, accounts: None, tmp_path: Path
) -> None:
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{server}/researcher/")
    check_page(page, "sign-in")
    sign_in(page, server, "olga")
    assert n_completed(page) == 0

    page.evaluate("window.isSamePage = true")
    page.get_by_text("Response times as a table").click()
    study = load_study(study_folder)
    for n_before in range(0, N_SIMULATED, N_SIMULATED // 3):
        simulate(server, token, study, N_SIMULATED // 3, 7, first_number=n_before)
        expect(page.locator("#live-summary")).to_contain_text(
            f"{n_before + N_SIMULATED // 3} completed", timeout=30_000
        )
    expect(page.locator("#connection")).to_contain_text("Live")
    assert page.evaluate("window.isSamePage"), "the page was never loaded again"
    assert page.locator("#live-rt-table").is_visible(), "an open table stays open"
    page.get_by_label("Payment per participant").fill("2.5")
    expect(page.locator("#cost")).to_contain_text("75.00")
    check_page(page, "progress")

    person = ServedParticipant(server)
    person.answer(0)
    expect(page.get_by_role("heading", name="People")).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Close group 2").click()
    expect(page.get_by_role("status").first).to_contain_text("closed for new participants")
    expect(page.locator("#live-groups")).to_contain_text("2 (closed)")

    page.get_by_role("link", name="Sessions").click()
    check_page(page, "sessions")
    page.get_by_label("Pseudonym").fill(person.session["session"])
    page.get_by_role("button", name="Find").click()
    page.locator("tbody a").click()
    page.get_by_text("Raw events").click()
    page.get_by_label("Reason to exclude").fill("fire alarm")
    page.get_by_role("button", name="Exclude").click()
    expect(page.get_by_role("status").first).to_contain_text("excluded from the analysis")
    page.get_by_text("Raw events").click()
    check_page(page, "participant")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the message").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    assert "fire alarm" in page.evaluate("navigator.clipboard.readText()")

    page.get_by_role("link", name="Progress").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the list of sessions").click()
    download.value.save_as(tmp_path / "sessions.csv")
    assert (tmp_path / "sessions.csv").read_text(encoding="utf-8").count("\n") == N_SIMULATED + 2

    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Password").wait_for()
    page.goto(f"{server}/researcher/participants")
    assert page.get_by_label("Password").is_visible()
    assert [text for text in complaints if "403" not in text] == []
    log = dict(events_with_names(study_folder))
    assert {log[event] for event in ("closed", "excluded", "exported")} == {"olga"}


def events_with_names(folder: Path) -> list[tuple[str, str]]:
    from server.store import SqliteStore
    from tests.server.stores import rows

    store = SqliteStore(folder / "data" / "equipoise.db")
    found = rows(store, "SELECT event, details ->> 'by' FROM events WHERE details ->> 'by' IS NOT NULL")
    store.close()
    return [(str(event), str(by)) for event, by in found]


def test_a_viewer_sees_no_action_and_the_server_refuses_one(
    context: BrowserContext, server: str, accounts: None
) -> None:
    page = context.new_page()
    sign_in(page, server, "vera")
    assert page.get_by_role("button").all_inner_texts() == ["Sign out", "Start the preview"]
    status = page.evaluate("fetch('/researcher/pause', {method: 'POST'}).then(reply => reply.status)")
    assert status == 403


def test_a_stolen_session_ends_at_the_sign_out_and_its_open_dashboard_too(
    chromium: Browser, context: BrowserContext, server: str, accounts: None
) -> None:
    page = context.new_page()
    sign_in(page, server, "rita")
    stolen = chromium.new_context()
    stolen.add_cookies(
        [cookie for cookie in context.cookies() if cookie["name"].startswith("equipoise_researcher_black")]
    )
    thief = stolen.new_page()
    thief.goto(f"{server}/researcher/")
    thief.get_by_role("heading", name="Projected finish").wait_for()
    page.get_by_role("button", name="Sign out").click()
    thief.get_by_label("Password").wait_for(timeout=20_000)
    thief.goto(f"{server}/researcher/participants")
    assert thief.get_by_label("Password").is_visible()
    stolen.close()


def test_a_participants_browser_cannot_enter(visit: object, server: str, accounts: None) -> None:
    visitor = visit(server)  # type: ignore[operator]
    visitor.page.goto(f"{server}/researcher/")
    assert visitor.page.get_by_label("Password").is_visible()
    visitor.complaints.clear()  # The page without a sign-in is a 403.


def test_without_scripts_the_dashboard_shows_its_numbers(chromium: Browser, server: str, accounts: None) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, server, "rita")
    assert n_completed(page) == 0
    page.get_by_role("button", name="Close group 1", exact=True).click()
    expect(page.locator("#live-groups")).to_contain_text("1 (closed)")
    context.close()


def test_a_preview_is_marked_and_never_counted(
    context: BrowserContext, server: str, accounts: None, study_folder: Path, query: Any
) -> None:
    page = context.new_page()
    sign_in(page, server, "vera")
    page.get_by_role("textbox", name="Group").fill("4")
    page.get_by_role("textbox", name="Seed").fill("12")
    page.get_by_role("button", name="Start the preview").click()
    mark = page.get_by_role("complementary", name="Preview")
    expect(mark).to_contain_text("group 4, seed 12")
    page.locator("#consent-agree").wait_for()
    check_page(page, "preview")
    page.locator("#consent-agree").click()
    page.locator("#consent-agree").wait_for(state="detached")
    expect(mark).to_be_visible()
    page.get_by_role("button", name="End the preview").click()
    page.get_by_role("heading", name="Projected finish").wait_for()
    assert query(study_folder, "SELECT * FROM sessions") == []
    page.goto(server)
    page.locator("#consent-agree").wait_for()
    assert page.get_by_role("complementary", name="Preview").count() == 0
