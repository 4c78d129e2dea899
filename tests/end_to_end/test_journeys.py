"""Complete sessions of a study with every part. At the end, the tests check the records in the store."""

import json
import os
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from server.serve import free_port
from server.store.open import open_store
from server.store.verify import verify
from tests.end_to_end.test_durability import start_server
from tests.end_to_end.visitor import PHONE, Visitor, Walker
from tests.end_to_end.whole_study import CHECK, N_STORIES, PRACTICE, make_whole_study
from tests.server_process import running_server

ALL_STAGES = ["page", "consent", "demographics", "full screen", "page", "trial"]
N_QUESTIONS = N_STORIES + 1
OFFLINE_S = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_whole_study(tmp_path / "study")


@contextmanager
def verified(folder: Path):
    """Serve the study. Afterwards, verify its store."""
    with running_server(folder) as url:
        yield url
    problems_in(folder)


def problems_in(folder: Path) -> None:
    store = open_store(str(folder / "data" / "equipoise.db"))
    with store.snapshot() as db:
        assert verify(db).problems == []
    store.close()


def with_response(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["received_at"] is not None]


def check_whole(rows: list[dict[str, Any]], walker: Walker, n_practice: int = 2) -> None:
    """Check that the store has each shown question once, with its response, and nothing else."""
    assert {row["status"] for row in rows} == {"completed"}
    assert len(rows) == 2 * len(PRACTICE) + N_QUESTIONS
    given = with_response(rows)
    assert [json.loads(row["content"])["prompt"] for row in given] == walker.prompts
    assert [json.loads(row["response"]) for row in given] == [PRACTICE.get(prompt, 2) for prompt in walker.prompts]
    assert [row["phase"] for row in given].count("practice") == n_practice
    assert [row["phase"] for row in given].count("attention_check") == 1
    for row in given:
        assert (row["attempt"], row["visit"], row["missing"]) == (1, 1, None)
        assert 0 < row["rt_ms"] < 60_000
        assert row["fixation_frames"] >= 1
        assert row["onset_source"] in {"presented", "painted"}
        assert json.loads(row["jspsych"])["trial_type"] == "multiple-choice"


@pytest.mark.parametrize("hand", ["keyboard", "mouse", "touch"])
def test_a_participant_completes_a_study_with_every_part(
    visit: Any, folder: Path, rows: Any, query: Any, hand: Any
) -> None:
    options = {"has_touch": True, "is_mobile": True, "viewport": PHONE} if hand == "touch" else {}
    with verified(folder) as url:
        visitor: Visitor = visit(url, **options)
        walker = Walker(visitor, hand)
        walker.to_the_end()
        assert walker.stages[: len(ALL_STAGES)] == ALL_STAGES
        expect(visitor.page.locator("#completion-code")).to_have_text("DONE2026")
        code = visitor.page.locator("#withdrawal-code").inner_text()
        check_whole(rows(folder), walker)
        used = {row["input"] for row in with_response(rows(folder))}
        assert used == {{"keyboard": "key"}.get(hand, hand)}
        # A break after three and after six questions.
        stages = [stage for stage in walker.stages if stage in {"trial", "page"}]
        assert stages == ["page"] * 2 + ["trial"] * (2 + 3) + ["page"] + ["trial"] * 3 + ["page", "trial"]
        (session,) = query(folder, "SELECT * FROM sessions")
        assert json.loads(session["demographics"])["answers"] == {
            "age": 34, "gender": None, "country": None, "remarks": None,
        }  # fmt: skip
        assert session["consent_digest"] is not None
        assert session["withdrawal_code"] == code
        (opened,) = query(folder, "SELECT device FROM visits")
        device = json.loads(opened["device"])
        assert device["automation"] is True
        assert device["phone"] is (hand == "touch")


def test_a_reload_at_every_stage_resumes_at_that_stage(visit: Any, folder: Path, rows: Any, query: Any) -> None:
    seen: list[str] = []
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        page = visitor.page

        def reload_once(stage: str) -> None:
            title = (
                page.locator("h1, h2, #prompt").first.inner_text() if page.locator("h1, h2, #prompt").count() else ""
            )
            if (name := f"{stage} {title}") in seen:
                return
            seen.append(name)
            page.reload()
            walker.look()
            raise Reloaded

        walker = Walker(visitor, on_stage=reload_once)
        while walker.stages[-1:] != ["end"]:
            with suppress(Reloaded):
                walker.step()
        expect(page.locator("#completion-code")).to_have_text("DONE2026")
        assert len({row["session"] for row in rows(folder)}) == 1
        given = with_response(rows(folder))
        assert [json.loads(row["response"]) for row in given] == [
            PRACTICE.get(json.loads(row["content"])["prompt"], 2) for row in given
        ]
        assert len(given) == 2 + N_QUESTIONS
        # Each question was interrupted once, shown again, and marked.
        assert [row["attempt"] for row in given] == [2] * len(given)
        assert [row["visit"] for row in given] == sorted(row["visit"] for row in given)
        assert given[-1]["visit"] > len(given)
        assert query(folder, "SELECT COUNT(*) AS n FROM visits")[0]["n"] >= given[-1]["visit"]


class Reloaded(Exception):
    """The page was reloaded, so the elements on the screen are new."""


def test_an_interrupted_trial_is_skipped_if_the_study_asks_for_it(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_whole_study(tmp_path / "study", resume="{interrupted_trial: skip}")
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor)
        walker.to_trial(4)
        prompt = visitor.page.locator("#prompt").inner_text()
        visitor.page.reload()
        walker.look()
        expect(visitor.page.get_by_text("is skipped")).to_be_visible()
        visitor.shoot_everywhere("trial-skipped")
        walker.to_the_end()
        (skipped,) = [row for row in with_response(rows(folder)) if row["missing"] == "interrupted"]
        assert json.loads(skipped["content"])["prompt"] == prompt
        assert (skipped["response"], skipped["rt_ms"], skipped["attempt"]) == ("null", None, 1)
        assert prompt not in walker.prompts
        assert len(with_response(rows(folder))) == 2 + N_QUESTIONS


def test_a_trial_ends_at_its_deadline(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_whole_study(tmp_path / "study", timing="{fixation_ms: 100, deadline_ms: 4000}")
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor)
        walker.to_trial(2)
        late = visitor.page.locator("#prompt").inner_text()
        visitor.page.wait_for_selector(f"#prompt:not(:text-is({json.dumps(late)}))", timeout=10_000)
        walker.to_the_end()
        (missed,) = [row for row in with_response(rows(folder)) if row["missing"] == "deadline"]
        assert json.loads(missed["content"])["prompt"] == late
        assert (missed["response"], missed["rt_ms"]) == ("null", None)
        assert missed["onset_source"] == "presented"
        assert {row["status"] for row in rows(folder)} == {"completed"}


def test_no_response_is_accepted_during_the_reading_time(visit: Any, tmp_path: Path, rows: Any) -> None:
    folder = make_whole_study(tmp_path / "study", timing="{fixation_ms: 100, reading_ms: 1200}")
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor, answer=lambda prompt: visitor.page.wait_for_timeout(1400) or PRACTICE.get(prompt, 2))
        walker.to_trial(2)
        visitor.wait_for_trial()
        visitor.page.keyboard.press("3")
        visitor.page.locator("[data-option='3']").click(force=True)
        visitor.shoot_everywhere("time-to-read")
        walker.to_the_end()
        question = with_response(rows(folder))[2]
        assert json.loads(question["response"]) == 2
        assert question["rt_ms"] >= 1200
        assert json.loads(question["signals"])["too_early"] == 2


def test_practice_is_repeated_until_it_is_passed(visit: Any, folder: Path, rows: Any) -> None:
    wrong = iter([1])
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        before = "Which number comes before three?"
        walker = Walker(visitor, answer=lambda prompt: next(wrong, 2) if prompt == before else PRACTICE.get(prompt, 2))
        walker.to_trial(1)
        walker.step()
        walker.step()
        walker.look()
        expect(visitor.page.locator("h1")).to_have_text("Practise again")
        visitor.shoot_everywhere("practise-once-more")
        walker.to_the_end()
        assert walker.prompts[:4] == [*PRACTICE, *PRACTICE]
        assert [row["phase"] for row in with_response(rows(folder))].count("practice") == 4


def test_a_participant_who_fails_the_practice_gets_its_exit(visit: Any, folder: Path, rows: Any, query: Any) -> None:
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor, answer=lambda _prompt: 3)
        walker.to_the_end()
        expect(visitor.page.locator("#ended")).to_be_visible()
        expect(visitor.page.locator("#exit-code")).to_have_text("PRACTI26")
        expect(visitor.page.locator("#withdrawal-code")).to_be_visible()
        visitor.shoot_everywhere("practice-failed")
        visitor.page.reload()
        expect(visitor.page.locator("#ended")).to_be_visible()
        assert [row["phase"] for row in with_response(rows(folder))] == ["practice"] * 4
        (session,) = query(folder, "SELECT status, slot, release_reason FROM sessions")
        assert session == {"status": "active", "slot": "released", "release_reason": "practice not passed"}


def test_a_participant_who_fails_the_check_gets_its_code_and_is_replaced(
    visit: Any, folder: Path, rows: Any, query: Any
) -> None:
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        Walker(visitor, answer=lambda prompt: 1 if prompt == CHECK else PRACTICE.get(prompt, 2)).to_the_end()
        expect(visitor.page.locator("#completion-code")).to_have_text("CHECKS26")
        expect(visitor.page.locator("#exit-link")).to_have_attribute(
            "href", "https://panel.example.org/complete?cc=CHECKS26"
        )
        assert {row["status"] for row in rows(folder)} == {"completed"}
        assert query(folder, "SELECT slot, release_reason FROM sessions") == [
            {"slot": "released", "release_reason": "attention check"}
        ]


def test_refusing_consent_stores_nothing_and_has_its_own_exit(visit: Any, folder: Path, query: Any) -> None:
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor)
        walker.to("consent")
        visitor.page.locator("#consent-decline").click()
        expect(visitor.page.locator("#exit-code")).to_have_text("NOCONS26")
        for table in ("sessions", "participants", "responses", "visits", "identities"):
            assert query(folder, f"SELECT * FROM {table}") == []


def test_a_participant_can_withdraw_during_and_after_the_session(
    visit: Any, folder: Path, rows: Any, query: Any
) -> None:
    with verified(folder) as url:
        during: Visitor = visit(url)
        Walker(during).to_trial(4)
        during.page.locator("#leave-study").click()
        during.page.locator("#leave-confirm").click()
        expect(during.page.locator("#withdrawn")).to_be_visible()
        after: Visitor = visit(url)
        Walker(after).to_the_end()
        code = after.page.locator("#withdrawal-code").inner_text()
        other_browser: Visitor = visit(f"{url}/withdraw")  # another browser, which has only the code
        other_browser.page.locator("#code").fill(code.lower())
        other_browser.page.locator("#delete-answers").click()
        expect(other_browser.page.get_by_text("Your answers were deleted")).to_be_visible()
        other_browser.shoot_everywhere("withdrawn-by-code")
        assert with_response(rows(folder)) == []
        assert {row["status"] for row in rows(folder)} == {"withdrawn"}
        assert [row["demographics"] for row in query(folder, "SELECT demographics FROM sessions")] == [None, None]
        after.page.reload()
        expect(after.page.locator("#withdrawn")).to_be_visible()


def test_a_minute_offline_loses_no_response(visit: Any, folder: Path, rows: Any) -> None:
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor)
        walker.to_trial(3)
        visitor.context.set_offline(True)
        offline_from = time.monotonic()
        walker.to_trial(6)
        expect(visitor.page.locator("#save-status")).to_contain_text("Offline")
        visitor.shoot_everywhere("offline")
        assert len(with_response(rows(folder))) <= 4
        visitor.page.wait_for_timeout(max(0, OFFLINE_S - (time.monotonic() - offline_from)) * 1000)
        visitor.context.set_offline(False)
        walker.to_the_end()
        check_whole(rows(folder), walker)


def test_a_killed_and_restarted_server_loses_no_response(visit: Any, folder: Path, rows: Any) -> None:
    port = free_port()
    server = start_server(folder, port)
    try:
        visitor: Visitor = visit(f"http://127.0.0.1:{port}")
        visitor.expected.append("ERR_CONNECTION_REFUSED")
        walker = Walker(visitor)
        walker.to_trial(3)
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
        walker.to_trial(6)
        server = start_server(folder, port)
        walker.to_the_end()
        check_whole(rows(folder), walker)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()
    problems_in(folder)


def test_two_tabs_give_one_response_to_each_question(visit: Any, folder: Path, rows: Any) -> None:
    with verified(folder) as url:
        first: Visitor = visit(url)
        walker = Walker(first)
        walker.to_trial(3)
        second: Visitor = visit(url, beside=first)
        other = Walker(second)
        other.to_trial(1)
        walker.step()  # the second tab has already given a response to this question
        expect(first.page.get_by_text("perhaps in another window")).to_be_visible()
        other.to_the_end()
        given = with_response(rows(folder))
        assert len(given) == 2 + N_QUESTIONS
        assert len({row["trial_index"] for row in given}) == len(given)
        assert {row["visit"] for row in given} == {1, 2}


NO_STORAGE = """
for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get: () => { throw new DOMException("denied", "SecurityError"); } });
}
"""


def test_a_study_can_be_completed_without_browser_storage(visit: Any, folder: Path, rows: Any) -> None:
    with verified(folder) as url:
        visitor: Visitor = visit("about:blank")
        visitor.page.add_init_script(NO_STORAGE)
        visitor.page.goto(url)
        walker = Walker(visitor)
        walker.to_the_end()
        check_whole(rows(folder), walker)


def test_the_back_button_loses_no_trial(visit: Any, folder: Path, rows: Any) -> None:
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        walker = Walker(visitor)
        walker.to_trial(3)
        prompt = visitor.page.locator("#prompt").inner_text()
        for _ in range(2):
            visitor.page.evaluate("history.back()")
            visitor.page.wait_for_timeout(200)
            assert visitor.page.locator("#prompt").inner_text() == prompt
        walker.to_the_end()
        check_whole(rows(folder), walker)


@pytest.mark.parametrize(
    ("rules", "reason"), [("{max_reloads: 1}", "too often"), ("{max_age_min: 0.01}", "too long ago")]
)
def test_a_participant_who_resumes_beyond_the_limits_is_refused(
    visit: Any, tmp_path: Path, rows: Any, rules: str, reason: str
) -> None:
    folder = make_whole_study(tmp_path / "study", resume=rules)
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        Walker(visitor).to_trial(3)
        visitor.page.reload()
        if "reloads" in rules:
            Walker(visitor).look()
            visitor.page.reload()
        expect(visitor.page.locator("#ended")).to_contain_text(reason)
        visitor.shoot_everywhere(f"ended-{reason.replace(' ', '-')}")
        assert len(with_response(rows(folder))) == 3


def test_a_restarted_session_is_in_the_same_group(visit: Any, tmp_path: Path, query: Any) -> None:
    folder = make_whole_study(tmp_path / "study", resume="{max_reloads: 0, otherwise: restart}")
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        Walker(visitor).to_trial(3)
        visitor.page.reload()
        walker = Walker(visitor)
        walker.to_the_end()
        assert "consent" not in walker.stages
        assert "demographics" not in walker.stages
        assert walker.prompts[:2] == list(PRACTICE)
        first, second = query(
            folder, 'SELECT participant, "group", status, release_reason FROM sessions ORDER BY started_at'
        )
        assert first["participant"] == second["participant"]
        assert first["group"] == second["group"]
        assert (first["status"], first["release_reason"], second["status"]) == ("active", "restarted", "completed")


def test_events_on_the_page_are_recorded_with_their_trial(visit: Any, folder: Path, rows: Any) -> None:
    with verified(folder) as url:
        visitor: Visitor = visit(url)
        page = visitor.page
        walker = Walker(visitor)
        walker.to_trial(3)
        visitor.wait_for_trial()
        page.evaluate("document.dispatchEvent(new ClipboardEvent('copy', {bubbles: true}))")
        page.evaluate("document.dispatchEvent(new ClipboardEvent('paste', {bubbles: true}))")
        page.evaluate("document.exitFullscreen()")
        page.set_viewport_size({"width": 900, "height": 700})
        page.evaluate(
            "document.querySelector('#jspsych').dispatchEvent(new KeyboardEvent('keydown', {key: 'x', bubbles: true}))"
        )
        page.evaluate("window.dispatchEvent(new Event('blur'))")
        page.wait_for_timeout(300)
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        walker.to_the_end()
        given = with_response(rows(folder))
        signals = json.loads(given[3]["signals"])
        assert signals["copied"] == signals["pasted"] == 1
        assert signals["resized"] >= 1
        assert signals["fullscreen_left"] == 1
        assert signals["untrusted"] >= 1
        assert signals["away_ms"] >= 250
        assert given[3]["focus_lost"] == 1
        assert given[5]["signals"] is None
