"""Sessions of the sample study in a real browser with a real server process, by keyboard only and by mouse only.

If EQUIPOISE_SCREENSHOTS names a folder, the tests save a screenshot of every kind of page in this folder.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from equipoise.studies import copy_sample_study
from experiment.load_study import load_study
from experiment.study.definition import Study
from tests.end_to_end.visitor import PHONE, Visitor, simulated
from tests.server_process import running_server

ATTENTION_CHECK_OPTION = 2


def chosen_outcomes(study: Study, n: int) -> list[str]:
    """Return responses of every kind, in turn."""
    kinds = ["absorbed", "reflected", "west-5", "north-1", "east-8", "south-3"]
    return [kinds[index % len(kinds)] for index in range(n)]


def check_whole_session(session: list[dict[str, Any]], answers: list[Any]) -> None:
    """Check that the store has the given responses, in order, with plausible timings."""
    assert [json.loads(row["response"]) for row in session] == answers
    for row in session:
        assert (row["kind"], row["source"], row["status"]) == ("human", "web", "completed")
        assert 0 < row["rt_ms"] < 60_000
        assert 150 < row["fixation_ms"] < 1_000
        assert row["fixation_frames"] >= 1
        assert row["shown_at"].endswith("+00:00")
        assert row["focus_lost"] >= 0
    assert [row["phase"] for row in session].count("attention_check") == 1


def take_with_keyboard(visitor: Visitor, answers: list[str]) -> list[Any]:
    given: list[Any] = []
    keys = visitor.page.keyboard
    while not visitor.page.locator("#completion-code").count():
        question = visitor.question
        if visitor.wait_for_trial() == "multiple_choice":
            visitor.shoot("attention-check")
            given.append(ATTENTION_CHECK_OPTION)
            keys.press(str(ATTENTION_CHECK_OPTION))
        else:
            given.append(answer := answers[len(given)])
            for key in [answer[0], answer.split("-")[1]] if "-" in answer else [answer[0]]:
                keys.press(key)
            expect(visitor.page.locator("#response-text")).to_contain_text("Your answer")
            visitor.shoot("trial-chosen")
            keys.press("Enter")
        if len(given) == 1:
            expect(visitor.page.locator("#feedback-continue")).to_be_focused()
            visitor.shoot("practice-feedback")
            keys.press("Enter")
        visitor.next_question(question)
    return given


def test_the_whole_study_by_keyboard_alone(visit: Any, server: str, study_folder: Path, rows: Any) -> None:
    visitor = visit(server)
    keys = visitor.page.keyboard
    visitor.page.locator("#consent-agree").wait_for()
    visitor.shoot("consent")
    keys.press("Enter")  # Enter on the page does not give consent
    expect(visitor.page.locator("#consent-agree")).to_be_visible()
    while visitor.page.evaluate("document.activeElement.id") != "consent-agree":
        keys.press("Tab")
    keys.press("Enter")
    expect(visitor.page.locator("h1")).to_have_text("What happens to a ray")
    visitor.shoot("instructions-1")
    keys.press("Enter")
    expect(visitor.page.locator("h1")).to_have_text("How to answer")
    visitor.shoot("instructions-2")
    keys.press("Enter")
    visitor.wait_for_trial()
    visitor.shoot("practice")
    given = take_with_keyboard(visitor, chosen_outcomes(load_study(study_folder), 30))
    code = visitor.page.locator("#completion-code").inner_text()
    assert re.fullmatch(r"[0-9A-F]{10}", code)
    expect(visitor.page.get_by_text("What this was about", exact=True)).to_be_visible()
    visitor.shoot("debrief")
    check_whole_session(rows(study_folder), given)


def test_the_whole_study_by_mouse_alone_on_a_small_screen(
    visit: Any, server: str, study_folder: Path, rows: Any
) -> None:
    visitor = visit(server, viewport=PHONE)
    page = visitor.page
    visitor.shoot("consent-mouse")
    visitor.begin()
    answers = chosen_outcomes(load_study(study_folder), 30)
    given: list[Any] = []
    while not page.locator("#completion-code").count():
        question = visitor.question
        if visitor.wait_for_trial() == "multiple_choice":
            given.append(ATTENTION_CHECK_OPTION)
            page.locator(f"[data-option='{ATTENTION_CHECK_OPTION}']").click()
        else:
            given.append(answer := answers[len(given)])
            page.locator(f"[data-port='{answer}'], [data-response='{answer}']").click()
            if len(given) == 2:
                visitor.shoot("trial-mouse")
            page.locator("#submit-response").click()
        if len(given) == 1:
            visitor.shoot("practice-feedback-mouse")
            page.locator("#feedback-continue").click()
        visitor.next_question(question)
    visitor.shoot("debrief-mouse")
    check_whole_session(rows(study_folder), given)


def test_declining_stores_nothing(visit: Any, server: str, study_folder: Path, rows: Any) -> None:
    visitor = visit(server)
    visitor.page.locator("#consent-decline").click()
    expect(visitor.page.get_by_text("Nothing was stored")).to_be_visible()
    visitor.shoot("declined")
    assert rows(study_folder) == []


def test_leaving_deletes_the_responses(visit: Any, server: str, study_folder: Path, rows: Any) -> None:
    visitor = visit(server)
    visitor.begin()
    visitor.answer_practice()
    visitor.wait_for_trial()
    visitor.page.locator("#leave-study").click()
    visitor.shoot("leave")
    visitor.page.locator("#leave-confirm").click()
    expect(visitor.page.get_by_text("Your answers were deleted")).to_be_visible()
    visitor.shoot("withdrawn")
    assert {row["status"] for row in rows(study_folder)} == {"withdrawn"}
    assert [row for row in rows(study_folder) if row["response"] is not None] == []
    visitor.page.reload()
    expect(visitor.page.get_by_text("Your answers were deleted")).to_be_visible()


def test_a_reload_resumes_at_the_first_question_without_a_response(
    visit: Any, server: str, study_folder: Path, rows: Any
) -> None:
    visitor = visit(server)
    visitor.begin()
    visitor.answer_practice()
    visitor.answer_questions(2)
    assert visitor.question.startswith("Question 3")
    visitor.page.reload()
    expect(visitor.page.locator("h1")).to_have_text("Welcome back")
    visitor.shoot("welcome-back")
    visitor.page.locator("#page-next").click()
    visitor.wait_for_trial()
    assert visitor.question.startswith("Question 3")
    assert len([row for row in rows(study_folder) if row["response"] is not None]) == 3


def test_a_simulation_address_never_continues_a_persons_session(
    visit: Any, server: str, study_folder: Path, rows: Any
) -> None:
    visitor = visit(server)
    visitor.begin()
    visitor.answer_practice()
    visitor.wait_for_trial()
    visitor.page.goto(simulated(server, study_folder))
    visitor.page.reload()  # a change after the # does not reload the page
    expect(visitor.page.locator("h1")).to_have_text("Welcome back")
    visitor.page.locator("#page-next").click()
    visitor.wait_for_trial()
    visitor.page.wait_for_timeout(1_000)
    assert visitor.question.startswith("Question 1")
    assert [row["kind"] for row in rows(study_folder) if row["response"] is not None] == ["human"]


def test_a_second_tab_shows_that_its_question_already_has_a_response(
    visit: Any, server: str, study_folder: Path, rows: Any
) -> None:
    first = visit(server)
    first.begin()
    first.answer_practice()
    first.wait_for_trial()
    second = visit(server, beside=first)
    second.page.locator("#page-next").click()
    second.wait_for_trial()
    first.answer_questions(3)
    for key in ("r", "Enter"):
        second.page.keyboard.press(key)
    expect(second.page.locator("h1")).to_have_text("An answer could not be saved")
    second.shoot("not-saved")
    for _ in range(3):
        second.page.keyboard.press("Escape")
    expect(second.page.locator("#stimulus")).to_have_count(
        0
    )  # the participant cannot give responses that are not stored
    second.page.get_by_role("button", name="Reload the page").click()
    second.page.locator("#page-next").click()
    second.wait_for_trial()
    assert second.question.startswith("Question 4")
    assert [row["trial_index"] for row in rows(study_folder) if row["response"] is not None] == [0, 1, 2, 3]


@pytest.mark.parametrize("token", ["", "&token=wrong"])
def test_a_simulation_without_the_researchers_token_is_refused(
    visit: Any, server: str, study_folder: Path, rows: Any, token: str
) -> None:
    visitor = visit(f"{server}/#simulate=data-only{token}")
    visitor.expected.append("status of 403")
    expect(visitor.page.get_by_role("alert")).to_contain_text("token")
    visitor.shoot_everywhere("simulation-refused")
    assert rows(study_folder) == []


@pytest.mark.parametrize("mode", ["data-only", "visual"])
def test_a_simulated_session_completes_and_is_labelled(
    visit: Any, server: str, study_folder: Path, rows: Any, mode: str
) -> None:
    visitor = visit(simulated(server, study_folder, mode))
    visitor.page.locator("#completion-code").wait_for(timeout=120_000)
    assert visitor.page.url == f"{server}/#simulate={mode}"  # the token has left the address
    session = rows(study_folder)
    assert {(row["kind"], row["status"]) for row in session} == {("simulated", "completed")}
    assert all(row["response"] is not None for row in session)


def test_the_page_fits_a_narrow_phone_and_declares_its_language(visit: Any, server: str) -> None:
    visitor = visit(server, viewport={"width": 320, "height": 640})
    visitor.begin()
    visitor.wait_for_trial()
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 320
    assert visitor.page.evaluate("document.documentElement.lang") == "en"
    box = visitor.page.locator("[data-port='west-5']").bounding_box()
    assert min(box["width"], box["height"]) >= 24


def test_a_screen_reader_can_read_the_board(visit: Any, server: str) -> None:
    visitor = visit(server)
    visitor.begin()
    visitor.wait_for_trial()
    page = visitor.page
    assert page.get_by_role("radio").count() == 32
    expect(page.get_by_role("radio", name="West, row 5")).to_have_attribute("aria-checked", "false")
    expect(page.get_by_role("radiogroup", name="What happens to the ray?")).to_be_visible()
    expect(page.get_by_text("Atoms at row 2 column 7; row 3 column 5; row 6 column 3; row 7 column 6.")).to_be_visible()
    expect(page.get_by_text("The ray enters at WEST 4: left edge, row 4, going right.")).to_be_visible()


def test_the_browser_never_receives_an_answer_key(chromium: Browser, server: str, study_folder: Path) -> None:
    """Search everything that the server sends, from the first page to the last response."""
    received: list[str] = []
    context = chromium.new_context()
    page = context.new_page()
    page.on("response", lambda response: received.append(response.text()) if response.ok else None)
    page.goto(simulated(server, study_folder))
    page.locator("#completion-code").wait_for(timeout=120_000)
    context.close()
    battery = load_study(study_folder).battery
    everything = "\n".join(received)
    assert "api/session" in everything  # the bundle is included
    assert '"atoms"' in everything  # the plan is included
    for item in battery.items:
        assert item.item_id not in everything
    assert battery.canary is not None
    everything = everything.replace('"outcome":"east-5"', "")  # the feedback on the practice item, after the response
    everything = everything.replace('?"key":', "")  # the bundle's name for the input device keyboard
    for secret in (battery.canary, '"key":', '"factors":', '"outcome":', "imported_correct"):
        assert secret not in everything


def test_each_participant_of_the_vignette_study_reads_24_stories(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = tmp_path / "stories"
    copy_sample_study("intuition-single", folder)
    study = load_study(folder)
    with running_server(folder) as url:
        visitor = visit(url)
        visitor.shoot("stories-consent")
        visitor.page.locator("#consent-agree").click()
        expect(visitor.page.locator("h1")).to_have_text("How it goes")
        visitor.shoot("stories-instructions")
        visitor.page.locator("#page-next").click()
        read: list[str] = []
        given: list[int] = []
        while not visitor.page.locator("#completion-code").count():
            question = visitor.question
            assert visitor.wait_for_trial() == "multiple_choice"
            read.append(visitor.page.locator("#text").inner_text())
            assert visitor.page.locator(".option").count() == 4
            answer = 2 if "choose option 2, blue" in read[-1] else len(read) % 4 + 1
            given.append(answer)
            if len(read) in {1, 2}:
                visitor.shoot(f"story-{len(read)}")
            visitor.page.keyboard.press(str(answer))
            if len(read) == 1:
                expect(visitor.page.locator("#feedback-continue")).to_be_focused()
                visitor.page.keyboard.press("Enter")
            visitor.next_question(question)
        visitor.shoot("stories-debrief")
        check_whole_session(rows(folder), given)
        test = [row for row in rows(folder) if row["phase"] == "test"]
    assert len(test) == 24
    assert len(set(read)) == 26
    seen = [study.battery.by_id[row["item_id"]] for row in test]
    assert [json.loads(row["key"]) for row in test] == [item.key for item in seen]
    assert len({(item.factors["scenario"], item.factors["version"]) for item in seen}) == 24
    cells = Counter((item.factors["condition"], item.factors["inference_level"]) for item in seen)
    assert set(cells.values()) == {4}
