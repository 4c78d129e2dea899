"""Entry of participants, in a real browser with a real server: full studies, panel ids, personal links, resuming."""

import csv
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from playwright.sync_api import expect

from equipoise.cli.main import main
from tests.end_to_end.visitor import NOTHING_WAITS, Visitor, simulated
from tests.server.recruitment.prolific_keys import STUDY_URL, token, write_keys
from tests.server_process import running_server

TITLE = "Where does the ray come out?"
PANEL_ADDRESS = "/?PROLIFIC_PID=5f3a9c0d12ab34cd56ef7890&STUDY_ID=s&SESSION_ID=x"


@contextmanager
def recruiting(study_folder: Path, recruitment: str) -> Iterator[str]:
    """Serve the study with these entries of `recruitment`."""
    with (study_folder / "study.yaml").open("a", encoding="utf-8") as file:
        file.write(f"\nrecruitment: {recruitment}\n")
    with running_server(study_folder) as url:
        yield url


@pytest.fixture
def panel(study_folder: Path) -> Iterator[str]:
    with recruiting(study_folder, "{entry: panel}") as url:
        yield url


def expect_notice(visitor: Visitor, words: str) -> None:
    """Expect the study's title and an announced sentence, without buttons."""
    notice = visitor.page.get_by_role("alert")
    expect(notice).to_be_visible()
    expect(notice).to_be_focused()
    expect(notice.locator("h1")).to_have_text(TITLE)
    expect(notice).to_contain_text(words)
    assert visitor.page.title() == TITLE
    expect(visitor.page.locator("#consent-agree, #page-next")).to_have_count(0)
    expect(visitor.page.locator("#consent-agree")).to_have_count(0)


def rows_of_sessions(rows: Any, study_folder: Path) -> set[str]:
    """Return the names of the study's sessions."""
    return {row["session"] for row in rows(study_folder)}


def expect_notice_of_other_browser(visitor: Visitor) -> None:
    """Expect the notice that the session was opened in another browser."""
    expect(visitor.page.locator("h1")).to_have_text("The study has stopped in this window")
    expect(visitor.page.get_by_role("alert")).to_contain_text("opened again in another browser. Open the study's link")
    expect(visitor.page.locator("#save-status")).to_be_empty()


def waiting_responses(visitor: Visitor) -> list[int]:
    """Return the trials whose responses the browser keeps."""
    kept: list[int] = visitor.page.evaluate(
        "Object.entries(localStorage).filter(([key]) => key.startsWith('equipoise-response-'))"
        ".map(([, entry]) => JSON.parse(entry).trial_index).sort((a, b) => a - b)"
    )
    return kept


def begin_with_practice(visitor: Visitor) -> None:
    visitor.begin()
    visitor.answer_practice()
    visitor.wait_for_trial()


def complete_over_http(url: str, address: str) -> str:
    """Complete the study without a browser, and return the completion code."""
    with httpx.Client(base_url=url, follow_redirects=True) as http:
        http.get(address)
        digest = http.get("/api/study").json()["consent_digest"]
        start = {"start_id": str(uuid.uuid4()), "consent_digest": digest, "kind": "human"}
        session = http.post("/api/session", json=start).raise_for_status().json()
        answers = [
            {
                "response_id": str(uuid.uuid4()),
                "trial_index": trial["trial_index"],
                "response": "absorbed" if trial["task"] == "blackbox_predict" else 2,
            }
            for trial in session["trials"][session["next_trial_index"] :]
        ]
        http.post("/api/responses", json={"session": session["session"], "responses": answers}).raise_for_status()
        code: str = http.post("/api/complete", json={}).raise_for_status().json()["completion_code"]
    return code


def test_a_full_study_shows_a_notice_instead_of_the_consent(visit: Any, study_folder: Path) -> None:
    with recruiting(study_folder, "{quota: 1}") as url:
        complete_over_http(url, "/")
        visitor = visit(url)
        expect_notice(visitor, "This study has all the participants it needs. Thank you for your interest!")
        visitor.shoot_everywhere("full")


def test_a_study_without_a_free_slot_says_when_to_try_again(visit: Any, study_folder: Path) -> None:
    with recruiting(study_folder, "{quota: 1}") as url:
        first = visit(url)
        begin_with_practice(first)
        second = visit(url)
        expect_notice(
            second,
            "All places in this study are taken at the moment. If another participant leaves, a place becomes free",
        )
        second.shoot_everywhere("taken")
        first.page.reload()  # a participant with a slot resumes
        expect(first.page.locator("h1")).to_have_text("Welcome back")


def test_a_participant_who_agrees_too_late_is_refused_without_retries(
    visit: Any, study_folder: Path, query: Any
) -> None:
    with recruiting(study_folder, "{quota: 1}") as url:
        late = visit(url)
        late.page.locator("#consent-agree").wait_for()
        visit(url).begin()
        starts: list[str] = []
        late.page.on("request", lambda request: starts.append(request.url) if request.method == "POST" else None)
        late.page.locator("#consent-agree").click()
        expect_notice(late, "All places in this study are taken at the moment.")
        late.shoot_everywhere("too-late")
        late.page.wait_for_timeout(3_000)
        assert len(starts) == 1
    assert len(query(study_folder, "SELECT session FROM sessions")) == 1


def test_a_simulation_neither_uses_nor_needs_a_slot(visit: Any, study_folder: Path, rows: Any) -> None:
    with recruiting(study_folder, "{entry: panel, quota: 1}") as url:
        complete_over_http(url, PANEL_ADDRESS)
        visitor = visit(simulated(url, study_folder))
        visitor.page.locator("#completion-code").wait_for(timeout=60_000)
        assert {row["kind"] for row in rows(study_folder)} == {"human", "simulated"}


def test_a_panel_study_without_an_id_says_how_to_open_it(visit: Any, panel: str) -> None:
    visitor = visit(panel)
    expect_notice(visitor, "Please open this study with the link that you were given")
    visitor.shoot_everywhere("no-panel-id")
    visitor.page.goto(f"{panel}/?PROLIFIC_PID=")
    expect_notice(visitor, "Please open this study with the link that you were given")


def test_a_panel_id_leaves_the_address_and_is_stored_only_after_consent(
    visit: Any, panel: str, study_folder: Path, query: Any
) -> None:
    visitor = visit(panel + PANEL_ADDRESS)
    assert visitor.page.url == f"{panel}/"
    visitor.page.locator("#consent-agree").wait_for()
    assert visitor.page.evaluate("[document.referrer, document.cookie, history.length]") == ["", "", 2]
    for table in ("sessions", "participants", "identities", "events"):
        found = query(study_folder, f"SELECT * FROM {table}")
        assert not any("5f3a9c" in str(row.values()) for row in found)
        assert table == "events" or found == []
    visitor.page.locator("#consent-agree").click()
    visitor.page.locator("#page-next").wait_for()
    [identity] = query(study_folder, "SELECT id_kind, external_id, parameters FROM identities")
    assert (identity["id_kind"], identity["external_id"]) == ("panel", "5f3a9c0d12ab34cd56ef7890")
    assert identity["parameters"] == '{"STUDY_ID": "s", "SESSION_ID": "x"}'


def test_declining_leaves_no_trace_of_a_panel_id(visit: Any, panel: str, study_folder: Path, query: Any) -> None:
    visitor = visit(panel + PANEL_ADDRESS)
    visitor.page.locator("#consent-decline").click()
    expect(visitor.page.get_by_text("Nothing was stored")).to_be_visible()
    assert query(study_folder, "SELECT * FROM identities") == []
    assert query(study_folder, "SELECT * FROM sessions") == []


def test_a_participant_resumes_in_another_browser_and_the_first_browser_shows_it(
    visit: Any, panel: str, study_folder: Path, rows: Any
) -> None:
    first = visit(panel + PANEL_ADDRESS)
    begin_with_practice(first)
    first.answer_questions(2)
    second = visit(panel + PANEL_ADDRESS)
    second.page.locator("#continue-here").wait_for()
    expect(second.page.locator("#consent-agree")).to_have_count(0)
    # A program that opens the link, or another person who has it, sees nothing of the session and takes nothing away.
    expect(second.page.locator("main")).not_to_contain_text("3 of")
    first.page.wait_for_timeout(300)
    second.shoot_everywhere("begun-before")
    second.page.locator("#continue-here").click()
    expect(second.page.get_by_text("Your answers so far are saved (3 of")).to_be_visible()
    assert len(rows_of_sessions(rows, study_folder)) == 1
    second.shoot_everywhere("resumed")
    second.page.locator("#page-next").click()
    second.wait_for_trial()
    assert second.question.startswith("Question 3")

    first.answer()
    expect_notice_of_other_browser(first)
    first.shoot_everywhere("elsewhere")
    assert waiting_responses(first) == [3]
    assert first.page.locator("#stimulus").count() == 0

    second.answer_questions(1)
    expect(second.page.locator("label[for=progress]")).to_contain_text("Question 4")
    second.wait_until(NOTHING_WAITS)
    assert [row["trial_index"] for row in rows(study_folder) if row["response"] is not None] == [0, 1, 2, 3]


def expect_refusal(visitor: Visitor, words: str) -> None:
    """Expect a sentence that says what to do, and the contact."""
    expect_notice(visitor, words)
    expect(visitor.page.locator("#notice")).to_contain_text("Whom to ask")  # the contact of the study


def test_a_participant_with_only_the_panel_id_sees_where_to_resume(visit: Any, panel: str) -> None:
    first = visit(panel + PANEL_ADDRESS)
    begin_with_practice(first)
    second = visit(panel + PANEL_ADDRESS.replace("SESSION_ID=x", "SESSION_ID=y"))
    second.page.locator("#consent-agree").click()
    expect_refusal(second, "This study was begun with your ID in another browser or on another device.")
    second.shoot_everywhere("begun-with-this-id")
    first.answer()
    expect(first.page.locator("label[for=progress]")).to_contain_text("Question 2")


def test_a_participant_who_is_not_on_the_list_is_refused(visit: Any, study_folder: Path) -> None:
    (study_folder / "ids.txt").write_text("66aa77bb88cc99dd00ee11ff\n", encoding="utf-8")
    with recruiting(study_folder, "{entry: panel, panel_ids: ids.txt}") as url:
        visitor = visit(url + PANEL_ADDRESS)
        visitor.expected.append("status of 403")
        visitor.page.locator("#consent-agree").click()
        expect_refusal(visitor, "Your ID is not on the list")
        visitor.shoot_everywhere("not-invited")


def test_a_prolific_token_starts_one_session_only(
    visit: Any, study_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test has a real server, and its own keys instead of Prolific's keys."""
    monkeypatch.setenv("EQUIPOISE_PROLIFIC_KEYS", str(write_keys(tmp_path / "keys.json")))
    with recruiting(study_folder, f"{{entry: panel, prolific_secured_url: '{STUDY_URL}'}}") as url:
        unsigned = visit(url + PANEL_ADDRESS)
        expect_refusal(unsigned, "Please open this study from its page on Prolific.")
        unsigned.shoot_everywhere("not-signed")
        signed = f"{url}/?prolific_token={token(iat=int(time.time()) - 5)}"
        first = visit(signed)
        assert first.page.url == f"{url}/"
        begin_with_practice(first)
        replayed = visit(signed)
        replayed.page.locator("#consent-agree").click()
        expect_refusal(replayed, "go back to Prolific and open the study from there again")
        replayed.shoot_everywhere("open-again-from-prolific")


def test_a_network_with_too_many_slots_is_refused(
    visit: Any, study_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EQUIPOISE_SLOTS_PER_ADDRESS", "1")
    with running_server(study_folder) as url:
        first = visit(url)
        begin_with_practice(first)
        second = visit(url)
        second.page.locator("#consent-agree").click()
        expect_refusal(second, "Too many people are taking part from your network at the moment.")
        second.shoot_everywhere("places-of-address")


def test_a_waiting_response_is_sent_when_the_session_returns_to_the_browser(
    visit: Any, panel: str, study_folder: Path, rows: Any
) -> None:
    first = visit(panel + PANEL_ADDRESS)
    begin_with_practice(first)
    second = visit(panel + PANEL_ADDRESS)
    second.page.locator("#continue-here").click()
    second.page.locator("#page-next").click()
    second.wait_for_trial()
    first.answer()
    expect_notice_of_other_browser(first)
    assert waiting_responses(first) == [1]

    asked: list[str] = []
    first.page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    first.page.get_by_role("button", name="Reload the page").click()
    first.page.locator("#continue-here").click()  # for the server, this participant opens the study again
    expect(first.page.get_by_text("Your answers so far are saved (2 of")).to_be_visible()
    assert asked == []  # kept responses survive the reload, so the page does not ask
    assert waiting_responses(first) == []
    answered = [row for row in rows(study_folder) if row["response"] is not None]
    assert [(row["trial_index"], row["response"]) for row in answered] == [(0, '"absorbed"'), (1, '"reflected"')]

    second.answer()
    expect_notice_of_other_browser(second)


def test_a_waiting_response_is_dropped_if_another_browser_sent_a_response(
    visit: Any, panel: str, study_folder: Path, rows: Any
) -> None:
    first = visit(panel + PANEL_ADDRESS)
    begin_with_practice(first)
    second = visit(panel + PANEL_ADDRESS)
    second.page.locator("#continue-here").click()
    second.page.locator("#page-next").click()
    second.answer_questions(2)
    first.answer()
    expect_notice_of_other_browser(first)
    first.page.get_by_role("button", name="Reload the page").click()
    first.page.locator("#continue-here").click()
    expect(first.page.get_by_text("Your answers so far are saved (3 of")).to_be_visible()
    assert waiting_responses(first) == []
    assert [row["trial_index"] for row in rows(study_folder) if row["response"] is not None] == [0, 1, 2]


def test_a_completed_participant_gets_the_code_in_any_browser(visit: Any, panel: str) -> None:
    code = complete_over_http(panel, PANEL_ADDRESS)
    visitor = visit(panel + PANEL_ADDRESS)
    visitor.page.locator("#continue-here").click()
    expect(visitor.page.locator("#completion-code")).to_have_text(code)
    expect(visitor.page.get_by_text("What this was about", exact=True)).to_be_visible()
    visitor.shoot_everywhere("completed-again")
    visitor.page.reload()
    expect(visitor.page.locator("#completion-code")).to_have_text(code)


def test_a_waiting_response_does_not_prevent_the_completion_code(visit: Any, panel: str) -> None:
    first = visit(panel + PANEL_ADDRESS)
    begin_with_practice(first)
    code = complete_over_http(panel, PANEL_ADDRESS)
    first.answer()
    expect_notice_of_other_browser(first)
    assert waiting_responses(first) == [1]
    first.page.get_by_role("button", name="Reload the page").click()
    first.page.locator("#continue-here").click()
    expect(first.page.locator("#completion-code")).to_have_text(code)
    assert waiting_responses(first) == []


def test_a_withdrawn_participant_cannot_begin_another_session(visit: Any, panel: str) -> None:
    first = visit(panel + PANEL_ADDRESS)
    begin_with_practice(first)
    first.page.locator("#leave-study").click()
    first.page.locator("#leave-confirm").click()
    expect(first.page.get_by_text("Your answers were deleted")).to_be_visible()
    second = visit(panel + PANEL_ADDRESS)
    second.page.locator("#consent-agree").click()
    expect_notice(second, "You have left this study, and your answers were deleted; you cannot begin it again.")
    second.shoot_everywhere("left-before")


def test_a_personal_link_admits_one_participant(visit: Any, study_folder: Path, tmp_path: Path, query: Any) -> None:
    with recruiting(study_folder, "{entry: link}") as url:
        made = tmp_path / "links.csv"
        options = ["links", str(study_folder), "-n", "2", "--address", url, "-o", str(made)]
        assert CliRunner().invoke(main, options).exit_code == 0
        with made.open(encoding="utf-8") as file:
            links = [row["link"] for row in csv.DictReader(file)]
        expect_notice(visit(url), "Please open this study with the link that you were given")
        expect_notice(visit(links[0][:-3]), "Please open this study with the link that you were given")
        first = visit(links[0])
        assert first.page.url == f"{url}/"
        begin_with_practice(first)
        again = visit(links[0])
        again.page.locator("#continue-here").click()
        expect(again.page.locator("h1")).to_have_text("Welcome back")
        other = visit(links[1])
        other.begin()
        other.wait_for_trial()
    identities = query(study_folder, "SELECT DISTINCT id_kind, participant FROM identities")
    assert [identity["id_kind"] for identity in identities] == ["link", "link"]


def test_a_participant_who_lost_the_slot_is_informed_and_the_responses_are_kept(
    visit: Any, study_folder: Path, rows: Any
) -> None:
    with recruiting(study_folder, "{quota: 1}") as url:
        away = visit(url)
        away.begin()
        away.wait_for_trial()
        away.expected.append("ERR_FAILED")
        away.page.route("**/api/responses", lambda route: route.abort())
        away.page.keyboard.press("a")
        away.page.keyboard.press("Enter")
        expect(away.page.locator("#save-status")).to_contain_text("Offline")
        let_time_pass(study_folder)
        visit(url).begin()

        away.page.unroute("**/api/responses")
        away.page.once("dialog", lambda dialog: dialog.accept())
        away.page.reload()
        expect_notice(away, "your place in this study was given to another participant")
        away.shoot_everywhere("place-given-away")
        away.wait_until(NOTHING_WAITS)
    assert [row["response"] for row in rows(study_folder) if row["response"] is not None] == ['"absorbed"']


def let_time_pass(study_folder: Path) -> None:
    """Set the last visit of all participants to a time years ago."""
    with closing(sqlite3.connect(study_folder / "data" / "equipoise.db")) as db, db:
        db.execute("UPDATE sessions SET seen_at = '2020-01-01T00:00:00.000Z'")
